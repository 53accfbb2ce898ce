"""The VIFs (virtual network interfaces) that are attached to nodes.

They can also be attached and detached while a worker holds the node's lock: nova detaches them after the cleaning has
begun.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import origins
from ironic_traits.inventory.core.single_node import read, take


def list_all(context: Context, grant: Grant) -> list[str]:
    """Return the ids of a node's VIFs.

    :param grant: Grant for the node.
    :returns: [id, …] in the order in which they were attached.
    """
    with context.read() as connection:
        node = read(connection, grant.ident, (tables.nodes.c.uuid,))
        attached = sa.select(tables.node_vifs.c.vif).where(tables.node_vifs.c.node_uuid == node.uuid)
        return list(connection.scalars(attached.order_by(tables.node_vifs.c.id)))


@retried
def attach(context: Context, ident: str, vif: str, info: Mapping[str, Any]) -> None:
    """Attach a VIF to a node.

    :param vif: id of the VIF.
    :param info: {key: value}: the other fields of the request.
    :raises failures.VifAlreadyAttached: the VIF is attached to the node already.
    """
    with context.write() as connection:
        node = take(connection, ident)
        origins.check_own(connection, node)
        if connection.execute(sa.select(tables.node_vifs.c.id).where(*_is(node, vif))).first():
            raise failures.VifAlreadyAttached(vif=vif, node=node.uuid)
        row = {'node_uuid': node.uuid, 'vif': vif, 'info': info, 'created_at': now()}
        connection.execute(sa.insert(tables.node_vifs).values(row))


@retried
def detach(context: Context, ident: str, vif: str) -> None:
    """Detach a VIF from a node.

    :param vif: id of the VIF.
    :raises failures.VifNotAttached: the VIF is not attached to the node.
    """
    with context.write() as connection:
        node = take(connection, ident)
        origins.check_own(connection, node)
        if not connection.execute(sa.delete(tables.node_vifs).where(*_is(node, vif))).rowcount:
            raise failures.VifNotAttached(vif=vif, node=node.uuid)


def _is(node: sa.Row, vif: str) -> tuple[Condition, Condition]:
    return tables.node_vifs.c.node_uuid == node.uuid, tables.node_vifs.c.vif == vif
