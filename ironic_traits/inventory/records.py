"""Stored records: chassis, ports, portgroups, volume connectors and targets.

Clients keep them here and get them back; what one kind has of its own stands in its declaration, a Kind.  Reads give
rows, JSON fields as the text that is stored.

A record of a node goes with the node: the foreign keys see to that, as the unique keys see to duplicates.  Where a
decision is made about a record or its node, the node's lock is taken first, then the record's own row.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes
from ironic_traits.db.types import Json, differ, now
from ironic_traits.deploy import states
from ironic_traits.inventory import node_filters, secrets, single_node
from ironic_traits.inventory.lock_wait import waiting_for_lock
from ironic_traits.inventory.paging import fetch
from ironic_traits.inventory.secrets import with_masks

#: The provision states in which a node is not in use: what belongs to it may be taken apart.
UNUSED = (states.ENROLL, states.INSPECTING, states.INSPECTWAIT, states.MANAGEABLE)
#: What is read of a node that is locked, for ``decide``.
_STATE = (nodes.c.provision_state, nodes.c.power_state, nodes.c.maintenance, nodes.c.instance_uuid, nodes.c.reservation)


def _anything_goes(connection, node, old, new):
    """Decide nothing."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of record.

    :ivar table: its table.
    :ivar what: its name, for sentences.
    :ivar settable: {field: value when a client leaves it out} of what clients may set (uuid apart).
    :ivar duplicates: {column of a unique key: what to say of a second row with the key}.
    :ivar decide: function of (connection, the node with its state, the record before, and after) that raises when a
        write must not be.  Before is None for a new record: its node is not locked yet, and the node is None.  After is
        None when the record goes.
    :ivar list_all: the policy rule of who sees those of all nodes.
    :ivar implicit: fields of ``settable`` that ``decide`` sees as None in a new record when the client left them out:
        their default is filled in afterwards.
    """

    table: sa.Table
    what: str
    settable: dict[str, Any]
    duplicates: dict[str, str] = dataclasses.field(default_factory=dict)
    decide: Callable = _anything_goes
    list_all: str = ''
    implicit: tuple[str, ...] = ()

    @functools.cached_property
    def json_fields(self):
        """Names of the fields that are JSON objects."""
        return frozenset(column.name for column in self.table.c if isinstance(column.type, Json))

    @functools.cached_property
    def sortable(self):
        """Names of the columns that a list can be sorted by."""
        return frozenset(column.name for column in self.table.c if not secrets.is_mask(column)) - self.json_fields

    @functools.cached_property
    def has_node(self):
        """Whether the records belong to nodes."""
        return 'node_uuid' in self.table.c


def get(context, kind, ident, fields):
    """Give one record.

    :param ident: uuid, or the name of a kind that has names.
    :param fields: names of the fields, a tuple.
    :returns: a row with these fields.
    :raises failures.RecordNotFound: there is none.
    """
    with context.read() as connection:
        return read(connection, kind, ident, _columns(context, kind, fields))


def owner(context, kind, ident):
    """Give whose node a record belongs to.

    :param ident: uuid, or the name of a kind that has names.
    :returns: a row with ``owner`` and ``lessee``.
    :raises failures.RecordNotFound: there is none.
    """
    table = kind.table
    statement = sa.select(nodes.c.owner, nodes.c.lessee).join(table, table.c.node_uuid == nodes.c.uuid)
    with context.read() as connection:
        row = connection.execute(statement.where(_is(kind, ident))).first()
    if row is None:
        raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident)
    return row


def find(context, kind, fields, filters, page):
    """List records.

    :param fields: names of the fields, a tuple.
    :param filters: {column: value} that must be equal; {'node': uuid or name}, {'portgroup': Kind and ident};
        {'shard': shards of the nodes, a list}.
    :param page: ironic_traits.inventory.paging.Page.
    :returns: (rows, whether there are more).
    :raises failures.RecordNotFound: the marker is no record that the caller may see.
    :raises failures.NodeNotFound: records of a node that is not there are asked for.
    """
    with context.read() as connection:
        statement = sa.select(*_columns(context, kind, fields)).where(*_where(context, connection, kind, filters))
        marker = functools.partial(read, connection, kind, page.marker, seen=_visible(context, kind))
        return fetch(connection, statement, kind.table, page, marker)


@retried
def create(context, kind, values, fields):
    """Make a record.

    :param values: {field: value} of settable fields, and ``uuid``; None for a field of ``kind.implicit`` that the
        client left out.
    :param fields: names of the fields to give back, a tuple.
    :returns: a row with these fields.
    :raises failures.RecordExists: the uuid, or another key, is taken.
    :raises failures.InvalidInput: there is no such node.
    :raises failures.Failure: what the kind's ``decide`` raises.
    """
    values = new_row(kind, values)
    try:
        with context.write() as connection:
            kind.decide(connection, None, None, values)
            connection.execute(sa.insert(kind.table).values(stored(kind, values)))
            return read(connection, kind, values['uuid'], _columns(context, kind, fields))
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(kind, error, values) from error
    except db_exception.DBReferenceError as error:
        raise no_node(values['node_uuid']) from error


def new_row(kind, values):
    """Return the columns of a record that is new.

    :param values: as for ``create``.
    """
    documents: dict[str, Any] = dict.fromkeys(kind.json_fields, {})
    return {'uuid': uuidutils.generate_uuid(), **documents, **values, 'created_at': now()}


def stored(kind, values):
    """Return the columns of a new record as they are stored: with implicit values, and masks of secrets.

    :param values: what ``new_row`` returned.
    """
    implicit = {name: kind.settable[name] for name in kind.implicit if values.get(name) is None}
    return with_masks(kind.table, values | implicit)


def find_by_nodes(context, connection, kind, node_uuids, fields):
    """Return the records of these nodes, a list of rows with ``fields``, and ``node_uuid`` last."""
    of_node = kind.table.c.node_uuid
    statement = sa.select(*_columns(context, kind, fields), of_node.label('of_node')).where(of_node.in_(node_uuids))
    return connection.execute(statement.order_by(kind.table.c.id)).all()


@waiting_for_lock
@retried
def update(context, kind, ident, change, fields):
    """Change a record.

    :param ident: uuid, or the name of a kind that has names.
    :param change: function from the settable fields that the record has (a dict) to those that it shall have.  Called
        under the lock, and again when the write is tried again.
    :param fields: names of the fields to give back, a tuple.
    :returns: a row with these fields.
    :raises failures.RecordNotFound: there is none.
    :raises failures.NodeLocked: work on its node goes on.
    :raises failures.Failure: what ``create`` and ``change`` raise.
    """
    new = {}
    try:
        with context.write() as connection:
            node, record = _take(connection, kind, ident)
            old = {name: getattr(record, name) for name in ('uuid', *kind.settable)}
            new = {'uuid': record.uuid, **change({name: old[name] for name in kind.settable})}
            kind.decide(connection, node, old, new)
            changes = {name: value for name, value in new.items() if differ(value, old[name])}
            if changes:
                statement = sa.update(kind.table).where(kind.table.c.id == record.id)
                connection.execute(statement.values(with_masks(kind.table, changes)))
            return read(connection, kind, record.uuid, _columns(context, kind, fields))
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(kind, error, new) from error
    except db_exception.DBReferenceError as error:
        raise no_node(new['node_uuid']) from error


@waiting_for_lock
@retried
def delete(context, kind, ident):
    """Delete a record.

    :param ident: uuid, or the name of a kind that has names.
    :raises failures.RecordNotFound: there is none.
    :raises failures.NodeLocked: work on its node goes on.
    :raises failures.NotEmpty: something that does not go with it belongs to it.
    :raises failures.Failure: what the kind's ``decide`` raises.
    """
    try:
        with context.write() as connection:
            node, record = _take(connection, kind, ident)
            kind.decide(connection, node, {name: getattr(record, name) for name in ('uuid', *kind.settable)}, None)
            connection.execute(sa.delete(kind.table).where(kind.table.c.id == record.id))
    except db_exception.DBReferenceError as error:
        # Nodes point to their chassis; everything else that points to a record goes with it.
        raise failures.NotEmpty(what=f'{kind.what} {ident}', members='nodes') from error


def read(connection, kind, ident, columns, seen=()):
    """Read a record.

    :param ident: uuid, or the name of a kind that has names.
    :param columns: what to select.
    :param seen: conditions on records that somebody may see.
    :returns: a row.
    :raises failures.RecordNotFound: there is none, or none that is seen.
    """
    row = connection.execute(sa.select(*columns).where(_is(kind, ident), *seen)).first()
    if row is None:
        raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident)
    return row


def _take(connection, kind, ident):
    """Lock a record, after its node if it has one: (node with its state, record), all columns of the latter.

    The node is known only when the record was read: it is read again under the lock, and may have moved.
    """
    table = kind.table
    node = None
    while True:
        seen = read(connection, kind, ident, tuple(table.c))
        same = [table.c.id == seen.id]
        if kind.has_node:
            try:
                node = single_node.take(connection, seen.node_uuid, *_STATE)
            except failures.NodeNotFound:
                raise failures.RecordNotFound(what=kind.what.capitalize(), ident=ident) from None
            if node.reservation:
                raise failures.NodeLocked(node=node.uuid, host=node.reservation)
            same.append(table.c.node_uuid == seen.node_uuid)
        if connection.execute(sa.update(table).where(*same).values(updated_at=now())).rowcount:
            return node, connection.execute(sa.select(table).where(table.c.id == seen.id)).one()


def _is(kind, ident):
    return kind.table.c['uuid' if uuidutils.is_uuid_like(ident) else 'name'] == ident


def _columns(context, kind, fields):
    """Return the columns of fields, JSON fields as text with their secrets masked, unless the caller may see them."""
    masked = secrets.masked(context, kind.table, fields)
    return tuple(
        secrets.column(kind.table, name, name in masked) if name in kind.json_fields else kind.table.c[name]
        for name in fields
    )


def _where(context, connection, kind, filters):
    table = kind.table
    seen = node_filters.visible(context, kind.list_all) if kind.has_node else []
    yield from _of_seen(table, seen)
    for name, value in filters.items():
        if name == 'node':
            node = single_node.read(connection, value, (nodes.c.uuid,), seen)
            yield table.c.node_uuid == node.uuid
        elif name == 'portgroup':
            portgroup_kind, ident = value
            groups = portgroup_kind.table
            portgroup = read(connection, portgroup_kind, ident, (groups.c.uuid,), _of_seen(groups, seen))
            yield table.c.portgroup_uuid == portgroup.uuid
        elif name == 'shard':
            yield table.c.node_uuid.in_(sa.select(nodes.c.uuid).where(nodes.c.shard.in_(value)))
        else:
            yield table.c[name] == value


def _visible(context, kind):
    """Return the conditions on the records that the caller may see."""
    return _of_seen(kind.table, node_filters.visible(context, kind.list_all)) if kind.has_node else []


def _of_seen(table, seen):
    """Give the conditions on records that are of nodes that somebody may see."""
    return [table.c.node_uuid.in_(sa.select(nodes.c.uuid).where(*seen))] if seen else []


def _duplicate(kind, error, values):
    # The databases name the columns, or the constraint, in their own ways; our constraints carry the columns' names.
    key = ' '.join(error.columns)
    for column, sentence in kind.duplicates.items():
        if column in key:
            return failures.RecordExists(what=kind.what, key=sentence.format(**values))
    return failures.RecordExists(what=kind.what, key=f'with UUID {values["uuid"]}')


def no_node(uuid):
    """Make the failure that says that a record cannot be of a node that is not there."""
    return failures.InvalidInput(reason=f'Node {uuid} could not be found.')
