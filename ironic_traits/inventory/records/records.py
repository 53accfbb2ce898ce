"""Records: chassis, ports, portgroups, volume connectors, volume targets and runbooks.

This module has the code that all kinds of records share. ``record_kinds.Kind`` has the differences. Reads return rows
in which a JSON field is the stored text.

Foreign keys delete the records of a deleted node, and unique keys refuse duplicates. A write that depends on the state
of the node or the record locks the node first, then the record's row.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_filters, origins, secrets, single_node
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.resources.values import differ

#: The columns of a locked node that ``Kind.decide`` gets.
_STATE = (
    tables.nodes.c.provision_state,
    tables.nodes.c.power_state,
    tables.nodes.c.maintenance,
    tables.nodes.c.instance_uuid,
    tables.nodes.c.reservation,
    tables.nodes.c.owner,
)


class _Locked(NamedTuple):
    """A record that is locked, and the node that was locked before it.

    :ivar node: row with the columns of ``_STATE``; None if the kind has no node.
    :ivar record: row with all columns.
    """

    node: sa.Row | None
    record: sa.Row


def get(context: Context, grant: Grant, kind: Kind, fields: tuple[str, ...]) -> sa.Row:
    """Return a record.

    :param grant: Grant for the record.
    """
    with context.read() as connection:
        return read(connection, kind, grant.ident, columns(context, kind, fields))


def owner(context: Context, kind: Kind, ident: str) -> sa.Row:
    """Return the owner and the lessee of the node that a record belongs to.

    :param ident: uuid; or name, if the kind has names.
    :returns: a row with ``owner`` and ``lessee``.
    """
    table = kind.table
    statement = sa.select(tables.nodes.c.owner, tables.nodes.c.lessee).join(
        table, table.c.node_uuid == tables.nodes.c.uuid
    )
    with context.read() as connection:
        row = connection.execute(statement.where(_is(kind, ident))).first()
    if row is None:
        raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident)
    return row


def find(
    context: Context, grant: Grant, kind: Kind, fields: tuple[str, ...], filters: Mapping[str, Any], page: Page
) -> Rows:
    """List records.

    :param filters: {column: value that it must equal}, {'node': uuid or name of a node}, {'portgroup': (Kind, uuid or
        name)}, {'shard' or 'conductor_groups': [shard or conductor group of the node, …]}, {'description_contains':
        text}, {'project': project that owns the record, if it is not public}; all optional.
    :raises failures.RecordNotFound: the marker or the portgroup does not exist, or the caller may not see it.
    :raises failures.NodeNotFound: the node of the filter does not exist, or the caller may not see it.
    """
    with context.read() as connection:
        visible_nodes = node_filters.visible(context, grant, kind.list_all) if kind.has_node else []
        visible = kind.visible(context, grant) if kind.visible else _of_nodes(kind.table, visible_nodes)
        conditions = _where(connection, kind, filters, visible_nodes)
        statement = sa.select(*columns(context, kind, fields)).where(*visible, *conditions)
        marker = functools.partial(read, connection, kind, visible=visible)
        return fetch(connection, statement, kind.table, page, marker)


@retried
def create(context: Context, kind: Kind, values: Mapping[str, Any], fields: tuple[str, ...]) -> sa.Row:
    """Create a record.

    :param values: {field: value} of the settable fields, and ``uuid``; None for a field of ``kind.implicit`` that the
        client did not set.
    :raises failures.RecordExists: another record has the uuid, or another unique key.
    :raises failures.InvalidInput: there is no such node.
    :raises failures.Failure: what the kind's ``decide`` raises.
    """
    values = new_row(kind, values)
    try:
        with context.write() as connection:
            if kind.has_node:
                origins.check_own_uuid(connection, values['node_uuid'])
            kind.decide(connection, None, None, values)
            connection.execute(sa.insert(kind.table).values(stored(kind, values)))
            return read(connection, kind, values['uuid'], columns(context, kind, fields))
    except db_exception.DBDuplicateEntry as error:
        raise duplicate(kind, error, values) from error
    except db_exception.DBReferenceError as error:
        raise no_node(values['node_uuid']) from error


def new_row(kind: Kind, values: Mapping[str, Any]) -> Values:
    """Return the columns of a new record, as ``Kind.decide`` gets them.

    :param values: as for ``create``.
    :returns: {column: value}.
    """
    documents: Values = dict.fromkeys(kind.json_fields, {})
    return {'uuid': uuidutils.generate_uuid(), **documents, **values, 'created_at': now()}


def stored(kind: Kind, values: Values) -> Values:
    """Return the columns of a new record as stored, with the implicit defaults and the masked texts.

    :param values: the result of ``new_row``.
    :returns: {column: value}.
    """
    implicit = {name: kind.settable[name] for name in kind.implicit if values.get(name) is None}
    return with_masks(kind.table, values | implicit)


def find_by_nodes(
    context: Context, connection: sa.Connection, kind: Kind, node_uuids: Collection[str], fields: tuple[str, ...]
) -> Sequence[sa.Row]:
    """Return the records of some nodes.

    :param kind: Kind of records that belong to nodes.
    :param node_uuids: uuids of the nodes.
    :returns: [row with these fields, and the uuid of the node as ``of_node``, …], in the order of creation.
    """
    node_uuid = kind.table.c.node_uuid
    statement = sa.select(*columns(context, kind, fields), node_uuid.label('of_node')).where(node_uuid.in_(node_uuids))
    return connection.execute(statement.order_by(kind.table.c.id)).all()


@waiting_for_lock
@retried
def update(
    context: Context, kind: Kind, ident: str, change: Callable[[Values], Values], fields: tuple[str, ...]
) -> sa.Row:
    """Update a record.

    :param ident: uuid; or name, if the kind has names.
    :param change: function from {settable field: current value} to {settable field: new value}, both of all fields. It
        is called under the lock, and again if the transaction is retried.
    :raises failures.RecordMirrored: it is mirrored from a cloud.
    :raises failures.Failure: as ``create``, ``change`` and ``_check_target`` raise it.
    """
    new: Values = {}
    try:
        with context.write() as connection:
            node, record = _take(connection, kind, ident)
            old = {name: getattr(record, name) for name in ('uuid', *kind.settable)}
            new = {'uuid': record.uuid, **change({name: old[name] for name in kind.settable})}
            if node is not None and new['node_uuid'] != old['node_uuid']:
                _check_target(connection, kind, node, new['node_uuid'])
            kind.decide(connection, node, old, new)
            changes = {name: value for name, value in new.items() if differ(value, old[name])}
            if changes:
                statement = sa.update(kind.table).where(kind.table.c.id == record.id)
                connection.execute(statement.values(with_masks(kind.table, changes)))
            return read(connection, kind, record.uuid, columns(context, kind, fields))
    except db_exception.DBDuplicateEntry as error:
        raise duplicate(kind, error, new) from error
    except db_exception.DBReferenceError as error:
        raise no_node(new['node_uuid']) from error


def _check_target(connection: sa.Connection, kind: Kind, node: sa.Row, uuid: str) -> None:
    """Raise a failure unless a record may move to another node.

    As in Ironic, even the system's admin moves no record to a node of another owner.

    :param node: row of its node, with ``owner``.
    :param uuid: uuid of the other node.
    :raises failures.InvalidInput: there is no such node, or it has another owner.
    :raises failures.NodeMirrored: the other node is mirrored.
    """
    columns = (tables.nodes.c.uuid, tables.nodes.c.owner, tables.nodes.c.origin)
    try:
        target = single_node.read(connection, uuid, columns)
    except failures.NodeNotFound:
        raise no_node(uuid) from None
    if target.owner != node.owner:
        raise failures.InvalidInput(reason=f'A {kind.what} cannot move to node {uuid}, which has another owner.')
    origins.check_own(connection, target)


@waiting_for_lock
@retried
def delete(context: Context, kind: Kind, ident: str) -> None:
    """Delete a record.

    :param ident: uuid; or name, if the kind has names.
    :raises failures.NotEmpty: it is a chassis with nodes, or a portgroup with ports.
    :raises failures.Failure: what the kind's ``decide`` raises.
    """
    try:
        with context.write() as connection:
            node, record = _take(connection, kind, ident)
            kind.decide(connection, node, {name: getattr(record, name) for name in ('uuid', *kind.settable)}, None)
            connection.execute(sa.delete(kind.table).where(kind.table.c.id == record.id))
    except db_exception.DBReferenceError as error:
        # Only nodes can still refer to the record, as their chassis. Other references are deleted with the record.
        raise failures.NotEmpty(what=f'{kind.what} {ident}', members='nodes') from error


def read(
    connection: sa.Connection, kind: Kind, ident: str, columns: Columns, visible: Iterable[Condition] = ()
) -> sa.Row:
    """Read a record.

    :param ident: uuid; or name, if the kind has names.
    :param columns: columns to select.
    :param visible: conditions on the records that the caller may see; () for all.
    :returns: a row with these columns.
    :raises failures.RecordNotFound: there is no such record, or the caller may not see it.
    """
    row = connection.execute(prepared(sa.select(*columns).where(_is(kind, ident), *visible))).first()
    if row is None:
        raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident)
    return row


def lock(connection: sa.Connection, kind: Kind, ident: str) -> sa.Row:
    """Lock a record until the end of the transaction, and read it.

    :param ident: uuid; or name, if the kind has names.
    :returns: a row with all columns.
    :raises failures.NodeLocked: a worker holds the lock of its node.
    """
    return _take(connection, kind, ident).record


def _take(connection: sa.Connection, kind: Kind, ident: str) -> _Locked:
    """Lock the node of a record, if the kind has one, and then the record.

    The record names the node to lock first. If the record moves to another node before the lock is taken, the function
    starts again.
    """
    table = kind.table
    node = None
    while True:
        unlocked = read(connection, kind, ident, tuple(table.c))
        origins.check_own_record(connection, kind.what, unlocked)
        same = [table.c.id == unlocked.id]
        if kind.has_node:
            try:
                node = single_node.take(connection, unlocked.node_uuid, *_STATE)
            except failures.NodeNotFound:
                raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident) from None
            origins.check_own(connection, node)
            if node.reservation:
                raise failures.NodeLocked(node=node.uuid, host=node.reservation)
            same.append(table.c.node_uuid == unlocked.node_uuid)
        if connection.execute(sa.update(table).where(*same).values(updated_at=now())).rowcount:
            return _Locked(node, connection.execute(sa.select(table).where(table.c.id == unlocked.id)).one())


def _is(kind: Kind, ident: str) -> Condition:
    return kind.table.c['uuid' if uuidutils.is_uuid_like(ident) else 'name'] == ident


def columns(context: Context, kind: Kind, fields: tuple[str, ...]) -> Columns:
    """Return the columns for fields. A JSON field is text, with its secrets masked unless the caller may see them."""
    masked = secrets.masked(context, kind.table, fields)
    return tuple(
        kind.computed[name]
        if name in kind.computed
        else secrets.column(kind.table, name, name in masked)
        if name in kind.json_fields
        else kind.table.c[name]
        for name in fields
    )


def _where(
    connection: sa.Connection, kind: Kind, filters: Mapping[str, Any], visible_nodes: Sequence[Condition]
) -> Iterator[Condition]:
    """Yield the conditions of the filters of a list.

    :param visible_nodes: conditions on the nodes that the caller may see; [] for all. The node, or the node of the
        portgroup, of a filter must fulfil them.
    """
    table = kind.table
    for name, value in filters.items():
        if name == 'node':
            node = single_node.read(connection, value, (tables.nodes.c.uuid,), visible_nodes)
            yield table.c.node_uuid == node.uuid
        elif name == 'portgroup':
            portgroup_kind, ident = value
            groups = portgroup_kind.table
            portgroup = read(connection, portgroup_kind, ident, (groups.c.uuid,), _of_nodes(groups, visible_nodes))
            yield table.c.portgroup_uuid == portgroup.uuid
        elif name == 'shard':
            # As in Ironic, an empty list is no filter.
            yield from _of_nodes(table, [tables.nodes.c.shard.in_(value)] if value else [])
        elif name == 'conductor_groups':
            groups = [group.lower() for group in value]
            yield from _of_nodes(table, [tables.nodes.c.conductor_group.in_(groups)] if groups else [])
        elif name == 'description_contains':
            yield table.c.description.icontains(value, autoescape=True)
        elif name == 'project':
            yield sa.or_(table.c.owner == value, table.c.public)
        else:
            yield table.c[name] == value


def _of_nodes(table: sa.Table, conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions on records that their nodes fulfil conditions; [] if there are no conditions."""
    return [table.c.node_uuid.in_(sa.select(tables.nodes.c.uuid).where(*conditions))] if conditions else []


def duplicate(kind: Kind, error: db_exception.DBDuplicateEntry, values: Values) -> failures.RecordExists:
    """Return the failure for a record whose unique key another record has.

    :param values: {field: value} of the record.
    """
    # Databases name the columns, or the constraint, in different ways. Our constraints contain the columns' names.
    key = ' '.join(error.columns)
    for column, sentence in kind.duplicates.items():
        if column in key:
            return failures.RecordExists(what=kind.what, key=sentence.format(**values))
    return failures.RecordExists(what=kind.what, key=f'with UUID {values["uuid"]}')


def no_node(uuid: str) -> failures.InvalidInput:
    """Return the failure for a record whose node does not exist."""
    return failures.InvalidInput(reason=f'Node {uuid} could not be found.')
