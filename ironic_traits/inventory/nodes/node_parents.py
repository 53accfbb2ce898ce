"""Parents and children: nodes that are parts of another node, such as the DPUs of a server.

A child names its parent. As in Ironic, there is no foreign key: a parent can be deleted, and its children stay.
"""

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant, target_of
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.core import node_filters
from ironic_traits.inventory.core.single_node import read
from ironic_traits.uuids import canonical

_COLUMNS = (tables.nodes.c.uuid, tables.nodes.c.owner, tables.nodes.c.lessee)


def resolved(context: Context, connection: sa.Connection, node: Values) -> str:
    """Return the uuid of the parent of a node.

    :param node: {field: value}, with ``uuid``, ``owner`` and the uuid or the name of the parent in ``parent_node``.
    :raises failures.InvalidInput: the parent does not exist, the caller may not see it, it has another owner, or it is
        the node itself.
    """
    refusal = failures.InvalidInput(
        reason=f"Unable to apply the requested parent_node '{node['parent_node']}'. Requested value was invalid."
    )
    ident = node['parent_node']
    try:
        parent = read(connection, canonical(ident), _COLUMNS)
    except failures.NodeNotFound:
        raise refusal from None
    # One message for all cases, which does not reveal whether there is such a node.
    if parent.owner != node.get('owner') or not context.may('baremetal:node:get', target_of(parent)):
        raise refusal
    if parent.uuid == node['uuid']:
        raise failures.InvalidInput(reason='A node cannot be its own parent.')
    return parent.uuid


def children(context: Context, grant: Grant, ident: str) -> tuple[str, list[str]]:
    """Return the uuid of a node, and the uuids of its children that the caller may see, in the order of creation."""
    visible = node_filters.visible(context, grant)
    with context.read() as connection:
        parent = read(connection, ident, (tables.nodes.c.uuid,)).uuid
        statement = sa.select(tables.nodes.c.uuid).where(tables.nodes.c.parent_node == parent, *visible)
        return parent, list(connection.scalars(statement.order_by(tables.nodes.c.id)))
