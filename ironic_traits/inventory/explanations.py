"""Why nodes do not match a request: the figures for all nodes in one query.

The database encodes each node as a few integers: one bit for each trait of the request that the node carries, and one
for each other clause that the node fails. It groups the nodes by these integers and counts each group.
``matching.explanations`` computes the figures from the counts.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory import eligibility, mismatches
from ironic_traits.inventory.matches import NodeRequest, among
from ironic_traits.matching.explanations import MAX_LISTED, Explanation, TraitClauses

#: Most bits used in one integer: a signed 64-bit integer has 63, and one is left unused.
_MAX_BITS = 62
#: Most rules that have a clause of their own; the others share one.
_MAX_RULES = 20
#: The integers of a node, in the order of ``_Facts.numbers``.
_Numbers = tuple[int, ...]


def explain(
    context: Context, node_request: NodeRequest, instance: str | None = None, needed: int = 1
) -> dict[str, Any]:
    """Explain how many nodes match a request, and which clauses reject the others.

    :param instance: uuid of the instance to reserve a node for: a node that is allocated to it is not rejected for
        that. None for no instance.
    :param needed: how many nodes are to match.
    :returns: {'considered': number of nodes, 'matched': number of nodes, 'clauses': [{'clause', 'rejected',
        'rejected_only'}, …], 'relaxations': [{'drop': [clause, …], 'nodes': number of nodes}, …], 'near_misses':
        [{'node': uuid, 'name': name, 'rejected_by': [clause, …]}, …]}.
    """
    with context.read() as connection:
        facts = _Facts(context, connection, node_request, instance)
        numbers_of_mask: dict[int, list[_Numbers]] = {}
        failing: Counter[int] = Counter()
        for *numbers, count in connection.execute(facts.counted()):
            mask = facts.mask(tuple(numbers))
            failing[mask] += count
            numbers_of_mask.setdefault(mask, []).append(tuple(numbers))
        explanation = Explanation(facts.clauses, failing)
        nearest = [numbers for mask in explanation.near_misses() for numbers in numbers_of_mask[mask]]
        misses = connection.execute(facts.nodes_with(nearest)).all() if nearest else []
    return {
        'considered': explanation.considered,
        'matched': explanation.matched,
        'clauses': explanation.rejected(),
        'relaxations': explanation.relaxations(needed),
        'near_misses': [
            {'node': uuid, 'name': name, 'rejected_by': explanation.names(facts.mask(tuple(numbers)))}
            for uuid, name, *numbers in misses
        ],
    }


def rejections(context: Context, node_request: NodeRequest, instance: str | None = None) -> dict[str, list[str]]:
    """Return which clauses reject each node that the caller may see (of the list, if the request has one).

    :param instance: as for ``explain``.
    :returns: {uuid of a node: [clause, …]}.
    """
    with context.read() as connection:
        facts = _Facts(context, connection, node_request, instance)
        rows = connection.execute(sa.select(facts.inner.c.uuid, *facts.numbers)).all()
    explanation = Explanation(facts.clauses, Counter())
    return {uuid: explanation.names(facts.mask(tuple(numbers))) for uuid, *numbers in rows}


class _Facts:
    """The SELECT that encodes each node as integers, and what their bits mean.

    :ivar clauses: names of the clauses: those about traits first.
    :ivar inner: the SELECT as a subquery, with the node's ``id``, ``uuid`` and ``name``.
    :ivar numbers: its integer columns: ``failed``, ``traits_0``, ``traits_1``, …

    The subquery, for two required traits (simplified)::

        SELECT nodes.id, nodes.uuid, nodes.name,
               CASE WHEN (CLAUSE 0) THEN 0 ELSE 1 END + CASE WHEN (CLAUSE 1) THEN 0 ELSE 2 END + … AS failed,
               coalesce(carried.traits_0, 0) AS traits_0
        FROM nodes LEFT JOIN (
            SELECT node_id, sum(CASE trait WHEN 'CUSTOM_A' THEN 1 WHEN 'CUSTOM_B' THEN 2 ELSE 0 END) AS traits_0
            FROM node_traits WHERE trait IN ('CUSTOM_A', 'CUSTOM_B') GROUP BY node_id
        ) AS carried ON carried.node_id = nodes.id
        LIMIT 2147483647
    """

    def __init__(
        self, context: Context, connection: sa.Connection, node_request: NodeRequest, instance: str | None
    ) -> None:
        self._of_traits = TraitClauses(node_request.request)
        names = self._of_traits.traits
        self._words = [names[begin : begin + _MAX_BITS] for begin in range(0, len(names), _MAX_BITS)]
        flags = node_request.flags() | {
            f'eligible:{reason}': ~condition for reason, condition in eligibility.reasons(instance).items()
        }
        conditions = node_request.considered(context)
        flags |= _expectations(connection, conditions)
        self.clauses = [*self._of_traits.names, *flags]
        columns = [tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.name, _number(flags.values()).label('failed')]
        source: sa.FromClause = tables.nodes
        if names:
            carried = _carried(self._words)
            source = tables.nodes.outerjoin(carried, carried.c.node_id == tables.nodes.c.id)
            columns += [sa.func.coalesce(carried.c[_word(number)], 0).label(_word(number)) for number in self._range]
        statement = sa.select(*columns).select_from(source).where(*conditions)
        if node_request.idents is not None:
            statement = statement.where(among(node_request.idents))
        # This LIMIT cuts nothing. It makes the databases evaluate the subquery once: without it they inline the
        # expressions of its columns wherever one is used, and evaluate them each time.
        self.inner = statement.limit(2**31 - 1).subquery()
        self.numbers = [self.inner.c.failed, *(self.inner.c[_word(number)] for number in self._range)]
        self._failed = functools.cache(self._of_traits.failed)

    @property
    def _range(self) -> range:
        return range(len(self._words))

    def counted(self) -> sa.Select:
        """Return the SELECT that counts the nodes with the same numbers.

        ::

            SELECT failed, traits_0, count(*) FROM (…) GROUP BY failed, traits_0
        """
        return sa.select(*self.numbers, sa.func.count()).group_by(*self.numbers)

    def nodes_with(self, ranking: Sequence[_Numbers]) -> sa.Select:
        """Return the SELECT of the uuid, the name and the numbers of the first MAX_LISTED nodes of a ranking.

        :param ranking: [numbers, …]: nodes with the first of them come first.
        """
        alike = [
            sa.and_(*(column == number for column, number in zip(self.numbers, numbers, strict=True)))
            for numbers in ranking[:MAX_LISTED]
        ]
        place = sa.case(*((condition, position) for position, condition in enumerate(alike)))
        statement = sa.select(self.inner.c.uuid, self.inner.c.name, *self.numbers).where(sa.or_(*alike))
        return statement.order_by(place, self.inner.c.id).limit(MAX_LISTED)

    def mask(self, numbers: _Numbers) -> int:
        """Return the mask of the clauses that nodes with these numbers fail."""
        failed, *words = numbers
        carried = sum(word << number * _MAX_BITS for number, word in enumerate(words))
        return self._failed(carried) | failed << len(self._of_traits.names)


def _expectations(connection: sa.Connection, conditions: Sequence[Condition]) -> dict[str, Condition]:
    """Return the clauses of the rules whose expectations are not met now: {name of the clause: condition on nodes}.

    :param conditions: on the nodes that the request is about.
    """
    rules = mismatches.rules(connection, conditions, _MAX_RULES + 1)
    named, more = rules[:_MAX_RULES], rules[_MAX_RULES:]
    clauses = {f'expect:{rule}': ~mismatches.of_rule(rule) for rule in named}
    return clauses | ({'expect': ~mismatches.of_other_rules(named)} if more else {})


def _carried(words: Sequence[Sequence[str]]) -> sa.Subquery:
    """Return the subquery of which traits the nodes carry, as integers: one column for each list of names.

    Nodes that carry none of the traits have no row.

    :param words: [[trait, …], …]; bit n of a column stands for name n of its list.
    """
    numbers = [
        sa.cast(sa.func.sum(sa.case(_bits(names), value=tables.node_traits.c.trait, else_=0)), sa.BigInteger).label(
            _word(number)
        )
        for number, names in enumerate(words)
    ]
    named = tables.node_traits.c.trait.in_([name for names in words for name in names])
    return (
        sa.select(tables.node_traits.c.node_id, *numbers).where(named).group_by(tables.node_traits.c.node_id).subquery()
    )


def _bits(names: Iterable[str]) -> dict[str, sa.ColumnElement[int]]:
    return {name: sa.literal(1 << bit, sa.BigInteger) for bit, name in enumerate(names)}


def _number(conditions: Iterable[Condition]) -> sa.ColumnElement[int]:
    """Return the SQL expression of an integer in which bit n is set if condition n does not hold."""
    number: sa.ColumnElement = sa.literal(0)
    for bit, condition in enumerate(conditions):
        number += sa.case((condition, 0), else_=1 << bit)
    return number


def _word(number: int) -> str:
    return f'traits_{number}'
