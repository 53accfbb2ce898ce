"""The origins of nodes and allocations. Changes that only the Ironic of their cloud can make are refused here."""

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db import tables

#: Condition on nodes: the node is this service's own.
OWN = tables.nodes.c.origin.is_(None)
#: The values that a lock of nodes writes, {column: expression with the parameter ``now``}. ``updated_at`` of a mirrored
#: node keeps the value of its cloud, because the mirror uses it to find where to continue.
LOCKED = {
    'generation': tables.nodes.c.generation + 1,
    'updated_at': sa.case(
        (OWN, sa.bindparam('now', type_=tables.nodes.c.updated_at.type)), else_=tables.nodes.c.updated_at
    ),
}


def check_own(connection: sa.Connection, node: sa.Row) -> None:
    """Raise NodeMirrored if a node is mirrored.

    :param node: row with ``uuid`` and ``origin``.
    """
    if node.origin:
        endpoint = _endpoint(connection, node.origin)
        raise failures.NodeMirrored(node=node.uuid, cloud=node.origin, endpoint=endpoint)


def check_mirrored(node: sa.Row) -> None:
    """Raise InvalidState unless a node is mirrored.

    :param node: row with ``uuid`` and ``origin``.
    """
    if not node.origin:
        raise failures.InvalidState(reason=f'Node {node.uuid} is not mirrored.')


def check_own_uuid(connection: sa.Connection, uuid: str) -> None:
    """Raise NodeMirrored if the node with a uuid exists and is mirrored."""
    columns = (tables.nodes.c.uuid, tables.nodes.c.origin)
    node = connection.execute(sa.select(*columns).where(tables.nodes.c.uuid == uuid)).first()
    if node:
        check_own(connection, node)


def check_own_record(connection: sa.Connection, what: str, record: sa.Row) -> None:
    """Raise RecordMirrored if a record is mirrored from a cloud.

    :param what: name of its kind, for the message.
    :param record: row with ``uuid``, and with ``origin`` if records of the kind have one.
    """
    cloud = getattr(record, 'origin', None)
    if cloud:
        endpoint = _endpoint(connection, cloud)
        raise failures.RecordMirrored(what=what.capitalize(), uuid=record.uuid, cloud=cloud, endpoint=endpoint)


def _endpoint(connection: sa.Connection, cloud: str) -> str:
    """Return the URL of a cloud's Ironic."""
    clouds = tables.mirror_clouds.c
    return connection.scalar(sa.select(clouds.endpoint).where(clouds.name == cloud)) or 'unknown'
