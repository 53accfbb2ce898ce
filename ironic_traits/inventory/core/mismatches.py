"""Mismatches: expectations of inspection rules that nodes did not meet when the rules last ran on them.

A node with a mismatch is left out of matches, reservations and allocations.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits import clauses
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition

#: Maximum number of sentences that are stored for a rule.
_MAX_SENTENCES = 20

_OF_NODE = tables.node_mismatches.c.node_id == tables.nodes.c.id
#: Condition on nodes: the node has a mismatch.
MISMATCHED = sa.exists().where(_OF_NODE).correlate(tables.nodes)


def _first(column: sa.Column[str], label: str) -> sa.Label[str]:
    statement = sa.select(column).where(_OF_NODE).order_by(tables.node_mismatches.c.rule).limit(1)
    return statement.correlate(tables.nodes).scalar_subquery().label(label)


#: Columns of a SELECT from nodes: the rule and the message of the node's first mismatch; NULL without one.
FIRST = (
    _first(tables.node_mismatches.c.rule, 'mismatch_rule'),
    _first(tables.node_mismatches.c.message, 'mismatch_message'),
)


class Replacement(NamedTuple):
    """The mismatches of a node, before and after the rules ran.

    :ivar before: {name of a rule: message}.
    :ivar after: {name of a rule: message}.
    """

    node_id: int
    before: Mapping[str, str]
    after: Mapping[str, str]


def fails_rule(rule: str) -> Condition:
    """Return the condition on nodes that a node does not meet the expectations of a rule."""
    return sa.exists().where(_OF_NODE, tables.node_mismatches.c.rule == rule).correlate(tables.nodes)


def fails_other_rule(rules: Collection[str]) -> Condition:
    """Return the condition on nodes that a node does not meet the expectations of a rule that is not one of these."""
    return sa.exists().where(_OF_NODE, tables.node_mismatches.c.rule.not_in(rules)).correlate(tables.nodes)


def rules(connection: sa.Connection, conditions: Iterable[Condition], limit: int) -> list[str]:
    """Return the rules with mismatches now, those with the largest number first.

    :param conditions: conditions on the nodes to count.
    :param limit: maximum number of rules.
    """
    table, count = tables.node_mismatches, sa.func.count()
    statement = sa.select(table.c.rule).join(tables.nodes, _OF_NODE).where(*conditions).group_by(table.c.rule)
    return list(connection.scalars(statement.order_by(count.desc(), table.c.rule).limit(limit)))


def read_all(connection: sa.Connection, node_ids: Collection[int]) -> dict[int, dict[str, str]]:
    """Return the mismatches of nodes, {node id: {name of a rule: message}}, without the nodes that have none."""
    table = tables.node_mismatches
    statement = sa.select(table.c.node_id, table.c.rule, table.c.message).where(table.c.node_id.in_(node_ids))
    result: dict[int, dict[str, str]] = {}
    for node_id, rule, message in connection.execute(statement.order_by(table.c.node_id, table.c.rule)):
        result.setdefault(node_id, {})[rule] = message
    return result


def replace(connection: sa.Connection, replacements: Iterable[Replacement], moment: datetime.datetime) -> None:
    """Store the mismatches of nodes.

    :param connection: connection of a writer that has taken the locks of the nodes.
    :param moment: time by the database's clock, for new mismatches. Others keep their time.
    """
    gone, changed, new = [], [], []
    for node_id, before, after in replacements:
        gone += [{'of_node': node_id, 'of_rule': rule} for rule in before.keys() - after.keys()]
        for rule, message in after.items():
            if rule not in before:
                new.append({'node_id': node_id, 'rule': rule, 'message': message, 'since': moment})
            elif before[rule] != message:
                changed.append({'of_node': node_id, 'of_rule': rule, 'message': message})
    for statement, rows in ((_DELETE, gone), (_CHANGE, changed), (sa.insert(tables.node_mismatches), new)):
        if rows:
            connection.execute(statement, rows)


_SAME = (
    tables.node_mismatches.c.node_id == sa.bindparam('of_node'),
    tables.node_mismatches.c.rule == sa.bindparam('of_rule'),
)
_DELETE = sa.delete(tables.node_mismatches).where(*_SAME)
_CHANGE = sa.update(tables.node_mismatches).where(*_SAME).values(message=sa.bindparam('message'))


def message(sentences: Sequence[str]) -> str:
    """Return the message of a rule: its first sentences, one per line."""
    more = len(sentences) - _MAX_SENTENCES
    return '\n'.join((*sentences[:_MAX_SENTENCES], *([f'and {more} more'] if more > 0 else [])))


def text(rule: str, message: str) -> str:
    """Return a mismatch in one line, such as 'not what the inspection rule cpus expects: too few CPUs'."""
    return f'not what {clauses.EXPECTED.format(rule)}: {message.replace(chr(10), "; ")}'
