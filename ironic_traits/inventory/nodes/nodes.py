"""Nodes: create, show, list, update, delete.

Reads return SQLAlchemy rows with the requested fields (``node_columns``).

Every write takes the node's lock first (``single_node``). Checks under the lock are valid until the commit.
"""

import datetime
import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context, Grant, target_of
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import now
from ironic_traits.deploy import drivers, states
from ironic_traits.inventory.core import (
    history,
    node_consumers,
    node_filters,
    node_providers,
    origins,
    trait_filters,
)
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.inventory.core.single_node import MOMENT, read, take
from ironic_traits.inventory.core.single_node import change as write
from ironic_traits.inventory.holds import allocations, node_guards, promise_claims, reservations
from ironic_traits.inventory.nodes import node_parents
from ironic_traits.inventory.nodes.node_columns import JSON_FIELDS, all_columns, columns, sort_column, with_sources
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.chassis import CHASSIS
from ironic_traits.inventory.traits import reclaim
from ironic_traits.matching.traits import Filter
from ironic_traits.resources.nodes import INTERFACES, NODES
from ironic_traits.resources.values import differ

#: Columns that the checks of a write need, besides the settable fields.
_GUARDED = (
    tables.nodes.c.provision_state,
    tables.nodes.c.target_provision_state,
    tables.nodes.c.reservation,
    tables.nodes.c.allocation_uuid,
)
_HELD = (tables.nodes.c.instance_uuid, tables.nodes.c.maintenance, tables.nodes.c.protected)
_MAINTENANCE = (tables.nodes.c.maintenance, tables.nodes.c.maintenance_reason, tables.nodes.c.fault)
#: Filters that many nodes pass, for each of their values.
_USUAL_FILTERS = frozenset({'associated', 'eligible', 'include_children'})
#: Maximum number of characters of ``instance_name``.
_MAX_NAME_LENGTH = 255


def get(context: Context, grant: Grant, fields: tuple[str, ...]) -> sa.Row:
    """Return a node."""
    with context.read() as connection:
        row = read(connection, grant.ident, columns(context, fields))
        return with_sources(context, connection, fields, [row])[0]


def owner(context: Context, ident: str) -> sa.Row:
    """Return the owner and the lessee of a node.

    :returns: a row with ``owner`` and ``lessee``.
    """
    with context.read() as connection:
        return read(connection, ident, (tables.nodes.c.owner, tables.nodes.c.lessee))


def uuid_of(context: Context, ident: str) -> str:
    """Return the uuid of a node, whether or not the caller may see it."""
    with context.read() as connection:
        return read(connection, ident, (tables.nodes.c.uuid,)).uuid


def find(
    context: Context, grant: Grant, fields: tuple[str, ...], filters: Mapping[str, Any], traits: Filter, page: Page
) -> Rows:
    """List nodes.

    :param filters: {filter: value}, as for ``node_filters.conditions``.
    :raises failures.NodeNotFound: the marker does not exist, or the caller may not see it.
    :raises failures.RecordNotFound: the chassis of the filter does not exist, and the caller may see chassis.
    """
    visible = node_filters.visible(context, grant)
    with context.read() as connection:
        # With another order, or a filter that few nodes pass, it may be better not to begin with the traits.
        begin = page.sort_key == 'id' and _USUAL_FILTERS.issuperset(filters)
        selected = sa.select(*columns(context, fields))
        if begin:
            selected, traits = trait_filters.begin_with(selected, connection.dialect.name, traits), Filter()
        statement = _listed(selected, context, grant, filters, traits)
        if 'chassis_uuid' in filters and context.may('baremetal:chassis:get'):
            records.read(connection, CHASSIS, filters['chassis_uuid'], (CHASSIS.table.c.id,))
        marker = functools.partial(read, connection, visible=visible)
        rows, has_more = fetch(connection, statement, tables.nodes, page, marker, sort_column(context, page.sort_key))
        return Rows(with_sources(context, connection, fields, rows), has_more)


def find_changed(
    context: Context,
    grant: Grant,
    fields: tuple[str, ...],
    filters: Mapping[str, Any],
    traits: Filter,
    uuids: Collection[str],
) -> Sequence[sa.Row]:
    """Return the nodes that are in a list, from a set of changed nodes.

    :param filters: as for ``find``, as are ``traits``.
    :param uuids: uuids of the changed nodes.
    :returns: [row with these fields, …], in the order of creation.
    """
    selected = sa.select(*columns(context, fields)).where(tables.nodes.c.uuid.in_(uuids))
    statement = _listed(selected, context, grant, filters, traits)
    with context.read() as connection:
        rows = connection.execute(statement.order_by(tables.nodes.c.id)).all()
        return with_sources(context, connection, fields, rows)


def _listed(
    selected: sa.Select, context: Context, grant: Grant, filters: Mapping[str, Any], traits: Filter
) -> sa.Select:
    """Return a SELECT from nodes, limited to those in a list. The parameters are those of ``find``."""
    return selected.where(
        *node_filters.visible(context, grant),
        *node_filters.conditions(filters).values(),
        *trait_filters.where(traits),
        # Last, because nearly all nodes fulfil it, and SQLite evaluates conditions in their order.
        *node_filters.without_children(filters),
    )


@retried
def create(context: Context, values: Values, fields: tuple[str, ...]) -> sa.Row:
    """Create a node.

    :param values: {field: value} of the fields that clients may set, and of ``provision_state``.
    :raises failures.InvalidInput: the driver, one of its interfaces, the chassis or the parent does not exist.
    :raises failures.NodeExists: another node has the uuid or the name.
    :raises failures.InstanceAssociated: the instance is on another node.
    :raises failures.InstanceReserved: the instance has a reservation of another node.
    :raises failures.InstanceUnavailable: the same, and the caller may not see that node.
    """
    values = new_row(context, values)
    try:
        with context.write() as connection:
            if values.get('parent_node'):
                values['parent_node'] = node_parents.resolved(context, connection, values)
            insert(context, connection, values)
            if values.get('instance_uuid'):
                reservations.check_instance(context, connection, values['uuid'], values['instance_uuid'])
            return read(connection, values['uuid'], columns(context, fields))
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, values) from error
    except db_exception.DBReferenceError as error:
        raise _no_chassis(values) from error


def insert(context: Context, connection: sa.Connection, values: Values) -> None:
    """Insert a node with its provider and the first entry of its history.

    :param values: {column: value}.
    :raises db_exception.DBDuplicateEntry: another node has a unique value.
    """
    inserted = connection.execute(sa.insert(tables.nodes).values(with_masks(tables.nodes, values)))
    assert inserted.inserted_primary_key
    node_providers.create(connection, inserted.inserted_primary_key.id)
    change_feed.record(connection, change_feed.NODE, [values['uuid']])
    history.record(connection, created(context, values, None))


def created(context: Context, values: Values, moment: datetime.datetime | None) -> Values:
    """Return the first entry in the history of a new node.

    :param values: {column: value} of the node.
    :param moment: time of the creation, by the database's clock; None for now.
    """
    states_of_node = {name: values.get(name) for name in ('provision_state', 'target_provision_state')}
    return history.entry(context, values['uuid'], moment, history.NODE, history.CREATED, **states_of_node)


def new_row(context: Context, values: Values) -> Values:
    """Return the columns of a new node.

    :param values: as for ``create``.
    :returns: {column: value}.
    :raises failures.InvalidInput: the driver, or one of its interfaces, does not exist.
    """
    values = {'uuid': uuidutils.generate_uuid(), **dict.fromkeys(JSON_FIELDS, {}), **values, 'created_at': now()}
    return values | _interfaces(context, values)


def find_by_idents(
    context: Context, connection: sa.Connection, idents: Collection[str], fields: tuple[str, ...]
) -> Sequence[sa.Row]:
    """Return the nodes that have one of these uuids or names.

    :param idents: uuids, in the form in which they are stored, and names.
    :returns: [row with these fields, …].
    """
    statement = sa.select(*all_columns(fields, frozenset(), None)).where(node_filters.among(idents))
    rows = connection.execute(statement).all()
    return with_sources(context, connection, fields, rows)


@promise_claims.beginning_again
@retried
def update(context: Context, ident: str, change: Callable[[Values], Values], fields: tuple[str, ...]) -> sa.Row:
    """Update a node.

    :param change: function from {settable field: current value} to {settable field: new value}, both of all fields. It
        is called under the node's lock, and again if the transaction is retried.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.NodeAssociated: the node has an instance, and ``instance_uuid`` names another.
    :raises failures.NodeReserved: the node is reserved for an instance other than ``instance_uuid``.
    :raises failures.NodeAllocated: the node is allocated to a consumer other than ``instance_uuid``.
    :raises failures.CapacityPromised: capacity reservations need the node.
    :raises failures.InvalidState: the node's state, or its allocation, does not allow the changes.
    :raises failures.Failure: as ``create`` and ``change`` raise it.
    """
    new: Values = {}
    try:
        with context.write() as connection:
            node = take(connection, ident, *_GUARDED, *(tables.nodes.c[name] for name in NODES.settable), MOMENT)
            origins.check_own(connection, node)
            old = {name: getattr(node, name) for name in NODES.settable}
            new = change(old)
            new |= _interfaces(context, new)
            new |= _synchronized(old, new)
            if node.instance_uuid and new['instance_uuid'] not in (None, node.instance_uuid):
                raise failures.NodeAssociated(node=node.uuid, instance=node.instance_uuid)
            changes = {name: value for name, value in new.items() if differ(value, old[name])}
            node_guards.check_update(node, changes)
            if changes.get('parent_node'):
                changes['parent_node'] = node_parents.resolved(context, connection, {**new, 'uuid': node.uuid})
            _check_owner(context, node, changes)
            if changes.get('instance_uuid'):
                _check_holders(context, connection, node, changes['instance_uuid'])
            if 'resource_class' in changes and old['resource_class']:
                node_guards.check_free(connection, node)
            changes |= _cleared(changes)
            if node.allocation_uuid:
                changes |= allocations.follow(context, connection, node, changes)
            if changes:
                write(connection, node, changes)
                history.record(connection, *_events(context, node, changes))
                if node.instance_uuid and not new['instance_uuid']:
                    author = functools.partial(history.entry, context)
                    reclaim.write(context, connection, node, node.moment, author, is_clean=False)
            return read(connection, node.uuid, columns(context, fields))
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, {**new, 'uuid': ident}) from error
    except db_exception.DBReferenceError as error:
        raise _no_chassis(new) from error


def _check_holders(context: Context, connection: sa.Connection, node: sa.Row, instance: str) -> None:
    """Raise a failure if something else than an instance, which is on no other node, has a right to a node."""
    if reservations.is_held(connection, node.id, instance):
        node_guards.check_reservation(connection, node.uuid, instance)
        node_consumers.check_allocation(connection, node, instance)
        reservations.check_instance(context, connection, node.uuid, instance)
    else:
        reservations.touch_key(connection, node.uuid, instance)
    promise_claims.take_named(context, connection, node.id, context.project_id)


@waiting_for_lock
@retried
def delete(context: Context, ident: str) -> None:
    """Delete a node with its provider, traits, ports and other records.

    :raises failures.NodeProtected: the node is protected.
    :raises failures.NodeReserved: the node has a live reservation.
    :raises failures.NodeAllocated: the node is allocated to a consumer.
    :raises failures.NodeAssociated: the node has an instance.
    :raises failures.InvalidState: the node's provision state does not allow the deletion.
    :raises failures.ProviderInUse: the node's provider has children.
    """
    with context.write() as connection:
        node = take(connection, ident, *_GUARDED, *_HELD, MOMENT)
        origins.check_own(connection, node)
        node_guards.check_delete(node, context.conf.inventory.allow_deleting_available_nodes)
        node_guards.check_reservation(connection, node.uuid)
        node_consumers.check_allocation(connection, node)
        # Otherwise an expired reservation would be deleted with the node, without a record in the change feed.
        reservations.settle_nodes(connection, [node.uuid])
        node_providers.delete(connection, node)
        connection.execute(sa.delete(tables.nodes).where(tables.nodes.c.id == node.id))
        deleted = history.entry(context, node.uuid, node.moment, history.NODE, 'The node was deleted.')
        history.record(connection, deleted)


@retried
def set_maintenance(context: Context, ident: str, maintenance: bool, reason: str | None = None) -> None:
    """Set or clear the maintenance of a node.

    :param maintenance: True or False.
    :param reason: text for ``maintenance_reason``; None for no reason.
    """
    with context.write() as connection:
        node = take(connection, ident, *_MAINTENANCE, MOMENT)
        origins.check_own(connection, node)
        write(connection, node, _maintenance(maintenance, reason))
        if not is_maintenance(node, maintenance, reason):
            author = functools.partial(history.entry, context)
            history.record(connection, history.maintenance(author, node, maintenance, reason))


def is_maintenance(node: sa.Row, maintenance: bool, reason: str | None = None) -> bool:
    """Whether ``set_maintenance`` would not change the maintenance of a node.

    :param node: row with ``maintenance``, ``maintenance_reason`` and ``fault``.
    """
    return all(getattr(node, name) == value for name, value in _maintenance(maintenance, reason).items())


def _maintenance(maintenance: bool, reason: str | None = None) -> Values:
    if maintenance:
        return {'maintenance': True, 'maintenance_reason': reason}
    return {'maintenance': False, 'maintenance_reason': None, 'fault': None}


def _cleared(changes: Values) -> Values:
    """Return the fields that are cleared together with their flag, {column: value}."""
    cleared = _maintenance(False) if changes.get('maintenance') is False else {}
    return cleared | {f'{flag}_reason': None for flag in ('protected', 'retired') if changes.get(flag) is False}


def _synchronized(old: Values, new: Values) -> dict[str, str]:
    """Return the ``instance_name`` of a node whose ``instance_info`` changes: the display name, unless it is set."""
    name = new['instance_info'].get('display_name')
    if new['instance_name'] or not name or not isinstance(name, str | int):
        return {}
    is_changed = differ(new['instance_info'], old['instance_info'])
    return {'instance_name': str(name)} if is_changed and len(str(name)) <= _MAX_NAME_LENGTH else {}


def _events(context: Context, node: sa.Row, changes: Values) -> Iterator[Values]:
    """Yield the entries in the history for an update of a node.

    :param node: the row before the update, with ``moment``.
    :param changes: {column: new value}.
    """
    author = functools.partial(history.entry, context)
    if 'maintenance' in changes:
        yield history.maintenance(author, node, changes['maintenance'], None)
    if 'instance_uuid' in changes:
        new = changes['instance_uuid']
        event = f'Instance {new} was set.' if new else f'Instance {node.instance_uuid} was removed.'
        yield author(node.uuid, node.moment, history.NODE, event)


def _check_owner(context: Context, node: sa.Row, changes: Values) -> None:
    if not changes.get('owner') or node.provision_state != states.ACTIVE:
        return
    if not context.may('baremetal:node:update_owner_provisioned', target_of(node)):
        raise failures.InvalidState(
            reason=f'Cannot update owner of node "{node.uuid}" while it is in state "{node.provision_state}".'
        )


def _interfaces(context: Context, values: Values) -> dict[str, str]:
    requested = {interface: values.get(f'{interface}_interface') for interface in INTERFACES}
    return drivers.interfaces(context.service.drivers, values['driver'], requested)


def _no_chassis(values: Values) -> failures.InvalidInput:
    # The chassis is the only row that a node refers to.
    return failures.InvalidInput(reason=f'Chassis {values["chassis_uuid"]} could not be found.')


def _duplicate(
    error: db_exception.DBDuplicateEntry, values: Values
) -> failures.InstanceAssociated | failures.NodeExists:
    # Databases name the columns, or the constraint, in different ways. Our constraints contain the columns' names.
    key = ' '.join(error.columns)
    if 'instance_uuid' in key:
        return failures.InstanceAssociated(instance=values['instance_uuid'], node=values['uuid'])
    if 'uuid' in key:
        return failures.NodeExists(what='UUID', value=values['uuid'])
    return failures.NodeExists(what='name', value=values['name'])
