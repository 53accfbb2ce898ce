"""The nodes that instances hold already, which the policies of a topology count."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.core import node_consumers, node_filters
from ironic_traits.inventory.core.eligibility import OF_NODE
from ironic_traits.inventory.search import node_groups
from ironic_traits.matching.group_limits import Cell
from ironic_traits.matching.topology import Policy


class RelatedNode(NamedTuple):
    """A node that an instance holds.

    :ivar cell: its group for each policy.
    """

    instance: str
    id: int
    uuid: str
    cell: Cell


class RelatedNodes(NamedTuple):
    """The nodes that policies count besides the nodes of the request.

    :ivar own: the nodes that instances of the request hold already. Each policy counts them.
    :ivar others: the nodes of the instances in ``relative_to``.
    """

    own: list[RelatedNode]
    others: list[RelatedNode]

    def numbers(self, policies: Sequence[Policy]) -> list[Counter[str]]:
        """Return, for each policy, the number of nodes in each group. Nodes without a group do not count."""
        values = ((node.cell[place] for node in self._of(policy)) for place, policy in enumerate(policies))
        return [Counter(value for value in each if value is not None) for each in values]

    def check(self, policies: Sequence[Policy]) -> None:
        """Raise NodeWithoutGroup if a hard policy counts a node that has no group."""
        for place, policy in enumerate(policies):
            for node in self._of(policy) if policy.is_hard else ():
                if node.cell[place] is None:
                    raise failures.NodeWithoutGroup(node=node.uuid, instance=node.instance, key=policy.key)

    def _of(self, policy: Policy) -> Collection[RelatedNode]:
        """Return the nodes that a policy counts, each once."""
        nodes = [*self.own, *(node for node in self.others if node.instance in policy.relative_to)]
        return {node.id: node for node in nodes}.values()


NONE = RelatedNodes([], [])


def read(
    context: Context, connection: sa.Connection, policies: tuple[Policy, ...], instances: Collection[str] = ()
) -> RelatedNodes:
    """Return the nodes that policies count.

    :param instances: uuids of the instances of the request.
    :raises failures.InvalidInput: an instance of ``relative_to`` holds no node that the caller may see.
    :raises failures.NodeWithoutGroup: a hard policy counts a node that has no group.
    """
    related = find(context, connection, policies, instances)
    names = {instance for policy in policies for instance in policy.relative_to}
    missing = names.difference(instances, (node.instance for node in related.others))
    if missing:
        raise failures.InvalidInput(
            reason=f"'relative_to' names instance {min(missing)}, which holds no node that you may see."
        )
    related.check(policies)
    return related


def find(
    context: Context, connection: sa.Connection, policies: tuple[Policy, ...], instances: Collection[str] = ()
) -> RelatedNodes:
    """Return the nodes that policies count, as ``read`` does, without its checks."""
    others = {instance for policy in policies for instance in policy.relative_to}.difference(instances)
    columns = (tables.nodes.c.id, tables.nodes.c.uuid, *node_groups.columns(policies))
    visible = node_filters.visible(context, Grant(()))

    def rows(statement: sa.Select) -> set[RelatedNode]:
        found = connection.execute(statement.where(*visible))
        return {RelatedNode(row.instance, row.id, row.uuid, node_groups.cell(policies, row)) for row in found}

    def held(names: Collection[str]) -> set[RelatedNode]:
        # Usually, the instances of the request hold nothing yet. This reads only indexes.
        if not names or not connection.scalar(_hold(names)):
            return set()
        return rows(_on(names, *columns)) | rows(_reserved(names, *columns))

    # An own instance that has allocated a node in Placement does not have its reservation yet.
    allocated = rows(node_consumers.with_nodes(others, *columns)) if others else set()
    return RelatedNodes(*(sorted(each, key=_by_id) for each in (held(instances), held(others) | allocated)))


def _by_id(node: RelatedNode) -> int:
    return node.id


def _on(instances: Collection[str], *columns: sa.ColumnElement) -> sa.Select:
    column = tables.nodes.c.instance_uuid
    return sa.select(column.label('instance'), *columns).where(column.in_(instances))


def _hold(instances: Collection[str]) -> sa.Select:
    both = tables.nodes.c.instance_uuid, tables.reservations.c.instance_uuid
    return sa.select(sa.or_(*(sa.exists().where(column.in_(instances)) for column in both)))


def _reserved(instances: Collection[str], *columns: sa.ColumnElement) -> sa.Select:
    column = tables.reservations.c.instance_uuid
    statement = sa.select(column.label('instance'), *columns).join_from(tables.nodes, tables.reservations, OF_NODE)
    return statement.where(column.in_(instances))
