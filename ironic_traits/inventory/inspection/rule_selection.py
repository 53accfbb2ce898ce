"""The rules in force, and the nodes on which a request runs them."""

import datetime
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.core import node_filters, single_node
from ironic_traits.inventory.core.node_selection import Selection, batches, check_rights, select
from ironic_traits.inventory.records import inspection_rules
from ironic_traits.matching.rules import rule_digest
from ironic_traits.matching.rules.inspection_rules import Rule

#: The policy rule for the inspection data of nodes. It must allow the request for each node.
_SEE_RULE = 'baremetal:node:inventory:get'


class Selected(NamedTuple):
    """Nodes that a request selects.

    :ivar nodes: [row with ``id``, ``uuid``, ``name`` and ``reservation``, …], sorted by id.
    :ivar received: {node id: when the data of its inspection was stored}, for the nodes with data.
    """

    nodes: Sequence[sa.Row]
    received: dict[int, datetime.datetime]

    @property
    def without_data(self) -> int:
        """The number of nodes without data."""
        return len(self.nodes) - len(self.received)

    def digest(self, rules: str) -> str:
        """Return the digest of a run on the nodes.

        :param rules: digest of the rules (``rule_digest.digest``).
        """
        return rule_digest.run_digest(rules, ((node.uuid, self.received.get(node.id)) for node in self.nodes))

    def page(self, start: int, limit: int) -> tuple[list[sa.Row], str | None]:
        """Return a page of nodes with data, and the marker of the next page; None after the last one.

        :param start: id of the last node of the previous page; 0 for the first page.
        :param limit: maximum number of nodes.
        """
        rest = [node for node in self.nodes if node.id > start and node.id in self.received]
        return rest[:limit], rest[limit - 1].uuid if len(rest) > limit else None

    def received_by(self, nodes: Iterable[sa.Row]) -> dict[int, datetime.datetime]:
        """Return ``received`` of some nodes with data, in their order."""
        return {node.id: self.received[node.id] for node in nodes}


def read(
    context: Context,
    connection: sa.Connection,
    grant: Grant,
    selection: Selection,
    rule: str,
    ids: Sequence[int] | None = None,
) -> Selected:
    """Return the nodes that a request selects.

    :param rule: name of the policy rule that must allow the request for each of them.
    :param ids: as for ``select``.
    :raises failures.NodeNotFound: the selection names nodes that do not exist, or that the caller may not see.
    :raises failures.EditForbidden: policy does not allow the request for one of the nodes.
    """
    nodes = select(context, connection, grant, selection, ids)
    check_rights(context, [rule, _SEE_RULE], nodes)
    table = tables.node_inventories.c
    received: dict[int, datetime.datetime] = {}
    for batch in batches(nodes):
        statement = sa.select(table.node_id, table.received_at).where(table.node_id.in_([node.id for node in batch]))
        received |= {row.node_id: row.received_at for row in connection.execute(statement)}
    return Selected(nodes, received)


def start(context: Context, connection: sa.Connection, grant: Grant, marker: str | None) -> int:
    """Return the id of the last node of the previous page; 0 without a marker.

    :raises failures.NodeNotFound: the marker does not exist, or the caller may not see it.
    """
    if not marker:
        return 0
    return single_node.read(connection, marker, (tables.nodes.c.id,), node_filters.visible(context, grant)).id


def rules(
    context: Context, connection: sa.Connection, added: Iterable[Rule] = (), without: Collection[str] = ()
) -> list[Rule]:
    """Return the rules in force, with additions and without some rules.

    :param added: rules to add. They replace rules with the same names.
    :param without: names of rules to leave out.
    :raises failures.InvalidInput: ``without`` names a rule that is not in force.
    """
    by_name = {rule.name: rule for rule in inspection_rules.in_force(context.service, connection)}
    if unknown := sorted(set(without) - by_name.keys()):
        raise failures.InvalidInput(reason=f"'without' names rules that are not in force: {', '.join(unknown)[:500]}")
    kept = {name: rule for name, rule in by_name.items() if name not in without}
    return list((kept | {rule.name: rule for rule in added}).values())
