"""Ironic's allocations: each holds a node by its ``instance_uuid``, or is in the state "error" and holds nothing.

An active allocation and the ``instance_uuid`` of its node have the same uuid, and are written in the same transaction,
under the node's lock. When the ``instance_uuid`` is removed, the allocation ends. ``allocate`` creates allocations.
"""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.deploy import states
from ironic_traits.inventory.core import history, node_filters, origins
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.inventory.core.single_node import MOMENT, change, take
from ironic_traits.inventory.core.single_node import read as read_node
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.inventory.traits import reclaim
from ironic_traits.resources import ALLOCATIONS

KIND = Kind(ALLOCATIONS, duplicates={'name': 'with name {name}'})
#: An allocation of a mirrored node is ``allocating`` until the node is held in its cloud.
ACTIVE, ALLOCATING, ERROR = 'active', 'allocating', 'error'

_ENDED = (
    tables.nodes.c.allocation_uuid,
    tables.nodes.c.instance_info,
    tables.nodes.c.reservation,
    tables.nodes.c.maintenance,
    tables.nodes.c.provision_state,
    tables.nodes.c.target_provision_state,
    MOMENT,
)


def owner(context: Context, ident: str) -> str | None:
    """Return the project that owns an allocation; None if it has no owner.

    :param ident: uuid or name.
    """
    with context.read() as connection:
        return records.read(connection, KIND, ident, (KIND.table.c.owner,)).owner


def node_allocation(context: Context, ident: str) -> sa.Row:
    """Return the allocation that holds a node.

    :returns: a row with ``uuid`` and ``owner``.
    :raises failures.AllocationNotFound: no allocation holds the node.
    """
    with context.read() as connection:
        node = read_node(connection, ident, (tables.nodes.c.uuid,))
        same_node = KIND.table.c.node_uuid == node.uuid
        row = connection.execute(sa.select(KIND.table.c.uuid, KIND.table.c.owner).where(same_node)).first()
    if row is None:
        raise failures.AllocationNotFound(node=ident)
    return row


def find(
    context: Context, project: str | None, fields: tuple[str, ...], filters: Mapping[str, Any], page: Page
) -> Rows:
    """List allocations.

    :param project: the project whose allocations the caller may see; None for all.
    :param filters: {column: value that it must equal}, {'node': uuid or name of a node}; all optional.
    :raises failures.InvalidInput: the node of the filter does not exist, or the caller may not see it.
    :raises failures.RecordNotFound: the marker does not exist, or the caller may not see it.
    """
    table = KIND.table
    visible = [table.c.owner == project] if project else []
    conditions = [table.c[name] == value for name, value in filters.items() if name != 'node']
    columns = records.columns(context, KIND, fields)
    with context.read() as connection:
        if 'node' in filters:
            conditions.append(table.c.node_uuid == _node_uuid(context, connection, filters['node']))
        marker = functools.partial(_read_marker, connection, visible)
        return fetch(connection, sa.select(*columns).where(*visible, *conditions), table, page, marker)


def _node_uuid(context: Context, connection: sa.Connection, ident: str) -> str:
    visible_nodes = node_filters.visible(context, Grant(()))
    try:
        return read_node(connection, ident, (tables.nodes.c.uuid,), visible_nodes).uuid
    except failures.NodeNotFound as error:
        raise failures.InvalidInput(reason=str(error)) from error


def _read_marker(connection: sa.Connection, visible: Iterable[Condition], ident: str, columns: Columns) -> sa.Row:
    return records.read(connection, KIND, ident, columns, visible)


@waiting_for_lock
@retried
def delete(context: Context, ident: str) -> str:
    """Delete an allocation, which frees its node, and return its uuid.

    :param ident: uuid or name.
    :raises failures.RecordMirrored: it is mirrored from a cloud.
    :raises failures.InvalidState: the node is in use, and not in maintenance.
    """
    with context.write() as connection:
        columns = KIND.table.c
        row = records.read(connection, KIND, ident, (columns.uuid, columns.node_uuid, columns.origin))
        origins.check_own_record(connection, KIND.what, row)
        missing = failures.RecordNotFound(what='Allocation', ident=ident)
        if row.node_uuid is None:
            if not _delete_row(connection, row.uuid):
                raise missing
            return row.uuid
        try:
            node = take(connection, row.node_uuid, *_ENDED)
        except failures.NodeNotFound:
            raise missing from None
        if node.allocation_uuid != row.uuid:
            raise missing
        _check_end(node)
        event = f'Allocation {row.uuid} was deleted.'
        history.record(connection, history.entry(context, node.uuid, node.moment, history.RESERVATION, event))
        if node.origin:
            # The node's instance is removed here after it is removed in the cloud (``mirror_settlements``).
            end(connection, node)
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.id == node.id).values(allocation_uuid=None))
        else:
            change(connection, node, {'instance_uuid': None, **end(connection, node)})
            author = functools.partial(history.entry, context)
            reclaim.write(context, connection, node, node.moment, author, is_clean=False)
        return row.uuid


def follow(context: Context, connection: sa.Connection, node: sa.Row, changes: Values) -> Values:
    """End the allocation of a node if an update removes its ``instance_uuid``. Return the changes that follow.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: a row with the settable fields before the update, ``allocation_uuid``, ``provision_state`` and
        ``moment``.
    :param changes: {field: new value} of the update.
    :returns: {column of the node: value}.
    :raises failures.InvalidState: the node is in use, and not in maintenance; or the update changes the owner of the
        node, and a project owns the allocation.
    """
    if changes.get('owner') and connection.scalar(_owner_of(node.allocation_uuid)):
        raise failures.InvalidState(
            # With two spaces, as in Ironic.
            reason=f'Cannot update owner of node "{node.uuid}" while it is allocated to an allocation with an  owner.'
        )
    if 'instance_uuid' not in changes:
        return {}
    if changes['instance_uuid'] is None and node.provision_state not in states.RECONFIGURABLE and not node.maintenance:
        raise failures.InvalidState(
            reason=f'Node {node.uuid} with an allocation can not have instance_uuid removed unless it is in one of '
            f'allowed ({", ".join(states.RECONFIGURABLE)}) states or in maintenance mode. '
            f"Current state is '{node.provision_state}'."
        )
    event = f'Allocation {node.allocation_uuid} ended, because its instance was removed from the node.'
    history.record(connection, history.entry(context, node.uuid, node.moment, history.RESERVATION, event))
    return {**end(connection, node), **changes}


def end(connection: sa.Connection, node: sa.Row) -> Values:
    """Delete the allocation of a node. Return the resulting changes of the node besides ``instance_uuid``.

    The traits of the allocation are removed from ``instance_info``, so that the next deploy does not check them, or
    run the steps of their deploy templates.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: a row with ``allocation_uuid`` and ``instance_info``.
    :returns: {column of the node: value}.
    """
    same = KIND.table.c.uuid == node.allocation_uuid
    traits = connection.scalar(sa.select(KIND.table.c.traits).where(same))
    _delete_row(connection, node.allocation_uuid)
    changes: Values = {'allocation_uuid': None}
    if traits is not None and node.instance_info.get('traits') == traits:
        changes['instance_info'] = {name: value for name, value in node.instance_info.items() if name != 'traits'}
    return changes


def _owner_of(uuid: str) -> sa.Select:
    return sa.select(KIND.table.c.owner).where(KIND.table.c.uuid == uuid)


def _delete_row(connection: sa.Connection, uuid: str) -> int:
    """Delete the row of an allocation. Return the number of deleted rows: 1 or 0."""
    return connection.execute(sa.delete(KIND.table).where(KIND.table.c.uuid == uuid)).rowcount


def _check_end(node: sa.Row) -> None:
    """Raise a failure unless the state of a node allows the deletion of its allocation."""
    if node.reservation:
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)
    if node.maintenance:
        return
    refusal = f'Cannot remove allocation {node.allocation_uuid} for node {node.uuid}, because the node is '
    if node.target_provision_state and node.provision_state not in states.UPDATABLE:
        raise failures.InvalidState(
            reason=f'{refusal}in state {node.provision_state} where updates are not allowed '
            '(and maintenance mode is off)'
        )
    if node.provision_state == states.ACTIVE:
        raise failures.InvalidState(reason=f'{refusal}active (and maintenance mode is off)')
