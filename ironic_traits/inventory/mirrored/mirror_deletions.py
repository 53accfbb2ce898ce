"""The deletion of mirrored nodes that their clouds no longer have.

A view that shrinks looks like deletions: the user of a mirror has lost a role, or a backup was restored. So the
deletion of more than a few nodes waits until an operator confirms it. Until then the nodes stay as they are.
"""

import datetime
import logging
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, retried
from ironic_traits.inventory.core import history, node_consumers, node_providers
from ironic_traits.inventory.core.single_node import write
from ironic_traits.inventory.holds import reservations
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_kept_nodes, mirror_leftovers
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.matching.sources import MIRROR

LOG = logging.getLogger(__name__)

_NODES, _MISSING = tables.nodes, tables.mirror_missing_nodes
#: The nodes that their cloud no longer shows.
_OF_CLOUD = _NODES.join(_MISSING, _MISSING.c.node_id == _NODES.c.id)


@retried
def waiting(context: Context, turn: Turn, gone: Collection[str], limit: float) -> set[str]:
    """Store which nodes a cloud no longer has, and return those whose deletion waits for an operator.

    As long as any deletion waits, all further ones do: they may have the same cause.

    :param gone: uuids of all nodes of the cloud in this service that the cloud no longer shows.
    :param limit: number of nodes that are deleted without a confirmation.
    """
    with context.write() as connection:
        moment = mirror_clouds.renew(connection, turn)
        before = {row.uuid: row for row in connection.execute(_select(turn.cloud))}
        back = [row.node_id for uuid, row in before.items() if uuid not in gone]
        if back:
            connection.execute(sa.delete(_MISSING).where(_MISSING.c.node_id.in_(back)))
        confirmed = {uuid for uuid, row in before.items() if row.confirmed}
        unconfirmed = set(gone) - confirmed
        if len(unconfirmed) <= limit and not unconfirmed & before.keys():
            return set()
        new = unconfirmed - before.keys()
        rows = connection.execute(sa.select(_NODES.c.id, _NODES.c.uuid).where(_NODES.c.origin == turn.cloud))
        values = [{'node_id': row.id, 'since': moment} for row in rows if row.uuid in new]
        if values:
            connection.execute(sa.insert(_MISSING), values)
            LOG.warning(
                'Cloud %s no longer shows %d nodes. They stay in this service until you confirm their deletion: '
                'ironic-traits-mirror --cloud %s missing',
                *(turn.cloud, len(unconfirmed), turn.cloud),
            )
        return unconfirmed


def find(context: Reader, cloud: str) -> Sequence[sa.Row]:
    """Return the nodes that a cloud no longer shows, and that are not deleted yet.

    :returns: [row with ``uuid``, ``name``, ``since`` and ``confirmed``, …], sorted by name and uuid.
    """
    with context.read() as connection:
        return connection.execute(_select(cloud).order_by(_NODES.c.name, _NODES.c.uuid)).all()


def is_confirmed(context: Reader, cloud: str) -> bool:
    """Whether the deletion of any node of a cloud is confirmed."""
    with context.read() as connection:
        return connection.execute(_select(cloud).where(_MISSING.c.confirmed).limit(1)).first() is not None


def without_nodes(context: Reader, table: sa.Table, uuids: Collection[str]) -> list[str]:
    """Return those of some records whose nodes are not missing in their cloud.

    :param table: table of the records.
    """
    missing = sa.select(_NODES.c.uuid).select_from(_OF_CLOUD)
    with context.read() as connection:
        kept = set(connection.scalars(sa.select(table.c.uuid).where(table.c.node_uuid.in_(missing))))
    return [uuid for uuid in uuids if uuid not in kept]


@retried
def confirm(context: Context, cloud: str, count: int | None = None) -> int:
    """Let the mirror delete the nodes that a cloud no longer shows, and return their number.

    :param count: the number that the operator has seen; None for any.
    :raises failures.RecordNotFound: no mirror has followed a cloud of this name.
    :raises failures.InvalidState: the number is another one, or no deletion waits.
    """
    mirror_clouds.get(context, cloud)
    with context.write() as connection:
        mirror_clouds.lock(connection, cloud)
        ids = [row.node_id for row in connection.execute(_select(cloud).where(~_MISSING.c.confirmed))]
        if not ids:
            raise failures.InvalidState(reason=f'No deletion of nodes of cloud {cloud} waits for a confirmation.')
        if count not in (None, len(ids)):
            raise failures.InvalidState(
                reason=f'By now, {len(ids)} nodes of cloud {cloud} wait for a confirmation, not {count}.'
            )
        connection.execute(sa.update(_MISSING).where(_MISSING.c.node_id.in_(ids)).values(confirmed=True))
        return len(ids)


def _select(cloud: str) -> sa.Select:
    columns = (_MISSING.c.node_id, _MISSING.c.since, _MISSING.c.confirmed, _NODES.c.uuid, _NODES.c.name)
    return sa.select(*columns).select_from(_OF_CLOUD).where(_NODES.c.origin == cloud)


def end_replaced(
    context: Context,
    connection: sa.Connection,
    turn: Turn,
    moment: datetime.datetime,
    nodes: tuple[Mapping[str, datetime.datetime | None], dict[str, sa.Row]],
) -> dict[str, str]:
    """Delete the nodes in this service that were deleted in the cloud, and created again with their uuids.

    :param nodes: ({uuid: when the node of the cloud was created}, {uuid: row of the node in this service}). The rows of
        deleted nodes are removed.
    :returns: {uuid: why the node in this service stays, as a sentence}.
    """
    created, present = nodes
    held = {}
    for uuid, row in list(present.items()):
        times = {row.created_at, created[uuid]} - {None}
        if row.origin != turn.cloud or len(times) < 2:
            continue
        if reason := end(context, connection, row, moment, _REPLACED):
            held[uuid] = reason
        else:
            mirror_leftovers.forget(connection, turn.cloud, uuid)
            del present[uuid]
    return held


_REPLACED = 'The cloud has deleted the node, and created another one with its uuid'


def end(context: Context, connection: sa.Connection, node: sa.Row, moment: datetime.datetime, cause: str) -> str | None:
    """Delete a mirrored node. If it is held in this service, put it into maintenance instead.

    :param node: result of ``mirrored_nodes.take_many``.
    :param cause: why, as a sentence without its full stop.
    :returns: why the node stays, as a sentence; None if it was deleted.
    """
    held = holder(connection, node)
    if held is None:
        remove(context, connection, node, moment, MIRROR + node.origin)
        return None
    reason = f'{cause}. It is kept while it is held in this service: {held}'
    changes = {'maintenance': True, 'maintenance_reason': reason}
    write(connection, node, changes)
    return reason


def remove(
    context: Context, connection: sa.Connection, node: sa.Row, moment: datetime.datetime, source: str | None
) -> None:
    """Delete a mirrored node with its provider, traits, ports and other records.

    :param node: result of ``mirrored_nodes.take_many``.
    :param source: source of the entry in the history; None for a command.
    """
    kept = mirror_kept_nodes.keep(context, connection, node, moment)
    mirror_leftovers.keep(connection, node, moment if source else None)
    reservations.settle_nodes(connection, [node.uuid])
    node_providers.delete(connection, node)
    connection.execute(sa.delete(_NODES).where(_NODES.c.id == node.id))
    until = f' If it returns within {context.conf.mirror.keep_deleted} days, it gets back: {kept}.' if kept else ''
    event = f'The node was deleted.{until}'
    history.record(connection, history.entry(context, node.uuid, moment, history.NODE, event, source=source))
    LOG.info('Node %s of cloud %s is deleted in this service.%s', node.uuid, node.origin, until)


def holder(connection: sa.Connection, node: sa.Row) -> str | None:
    """Return the holder of a node in this service, as a sentence; None if it has none.

    :param node: row of a locked node, with ``id`` and ``uuid``.
    """
    try:
        node_consumers.check_allocation(connection, node)
        if reservation := reservations.node_reservation(connection, node.uuid):
            raise reservations.reserved(node.uuid, reservation)
    except failures.Failure as failure:
        return str(failure)
    return None
