"""Inventories of providers: list, show, replace, add, change, delete.

Those of a node are derived from the node whenever they are read, and cannot be written: one unit of its class, which
is reserved exactly when the node could not be had.
"""

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.engine import referring, retried
from ironic_traits.db.models import inventories, nodes, resource_classes, resource_providers
from ironic_traits.db.types import now
from ironic_traits.inventory.reservations import ELIGIBLE
from ironic_traits.placement import failures, node_providers
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement.single_provider import bump, read, take

#: What a client says of an inventory, and reads of it.
FIELDS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

_CLASS = (resource_classes.c.id.label('class_id'), resource_classes.c.name.label('resource_class'))
_STORED = (
    sa.select(*_CLASS, *(inventories.c[name] for name in (*FIELDS, 'created_at', 'updated_at')))
    .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
    .order_by(resource_classes.c.id)
)
_ONE = {field: sa.literal(1.0 if field == 'allocation_ratio' else 1).label(field) for field in FIELDS}
_RESERVED = sa.case((node_providers.OFFERED, 0), else_=1).label('reserved')
_DERIVED = (
    sa.select(
        *_CLASS,
        *(_ONE | {'reserved': _RESERVED}).values(),
        resource_providers.c.created_at,
        resource_providers.c.updated_at,
    )
    .select_from(resource_providers)
    .join(resource_classes, resource_classes.c.id == resource_providers.c.resource_class_id)
    .join(nodes, nodes.c.id == resource_providers.c.node_id)
)


def find(context, uuid):
    """Give the inventories of a provider.

    :returns: (the provider's row, rows with ``resource_class``, FIELDS, ``created_at`` and ``updated_at``).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        return _of(connection, read(connection, uuid))


@retried
def replace(context, uuid, generation, wanted):
    """Give a provider these inventories and no others.  A node's stay what they are.

    :param generation: that the client knows.
    :param wanted: {resource class: {field: value, of all FIELDS}}.
    :returns: as ``find``.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ConcurrentUpdate: its generation is another one.
    :raises failures.ResourceClassNotFound: a resource class is not there.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        if provider.node_id:
            return _of(connection, provider)
        ids = classes.check(connection, wanted)
        present = {row.class_id for row in _rows(connection, provider)}
        _delete(connection, provider, present.difference(ids.values()))
        for name, values in wanted.items():
            if ids[name] in present:
                _update(connection, provider, ids[name], values)
            else:
                _insert(connection, provider, ids[name], values)
        bump(connection, provider)
        return _of(connection, read(connection, uuid))


@retried
def add(context, uuid, class_name, values):
    """Give a provider one inventory more.

    :param values: {field: value, of all FIELDS}.
    :returns: as ``find``.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ResourceClassNotFound: there is no such resource class.
    :raises failures.ConcurrentUpdate: the provider has one of the class.
    :raises failures.Conflict: the provider is a node.
    """
    try:
        with context.write() as connection:
            provider = _take_writable(connection, uuid)
            _insert(connection, provider, classes.check(connection, [class_name])[class_name], values)
            bump(connection, provider)
            return _of(connection, read(connection, uuid))
    except db_exception.DBDuplicateEntry as error:
        raise failures.ConcurrentUpdate(
            reason=f'Update conflict: resource provider {uuid} has an inventory of class {class_name} already.'
        ) from error


@retried
def change(context, uuid, class_name, generation, values):
    """Change one inventory of a provider.  A node's stays what it is.

    :param generation: that the client knows.
    :param values: {field: value, of all FIELDS}.
    :returns: as ``find``.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ConcurrentUpdate: its generation is another one.
    :raises failures.ResourceClassNotFound: there is no such resource class.
    :raises failures.BadRequest: the provider has none of the class.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        class_id = classes.check(connection, [class_name])[class_name]
        if class_id not in {row.class_id for row in _rows(connection, provider)}:
            raise failures.BadRequest(
                reason=f'No inventory record with resource class for resource provider {uuid}: No inventory of class '
                f'{class_name} found.'
            )
        if provider.node_id:
            return _of(connection, provider)
        _update(connection, provider, class_id, values)
        bump(connection, provider)
        return _of(connection, read(connection, uuid))


@retried
def delete(context, uuid, class_name=None):
    """Take one inventory away from a provider, or all.

    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.NotFound: it has none of the class.
    :raises failures.Conflict: the provider is a node.
    """
    with context.write() as connection:
        provider = _take_writable(connection, uuid)
        gone = {row.class_id for row in _rows(connection, provider) if class_name in (None, row.resource_class)}
        if class_name and not gone:
            raise failures.NotFound(
                reason=f'No inventory of class {class_name} found for delete: No inventory of class {class_name} found.'
            )
        _delete(connection, provider, gone)
        bump(connection, provider)


def has_room(class_id, amount):
    """Give the condition on providers that so much can be had of a resource class."""
    table = inventories.c
    stored = sa.select(table.resource_provider_id).where(
        table.resource_class_id == class_id,
        table.min_unit <= amount,
        table.max_unit >= amount,
        amount % table.step_size == 0,
        (table.total - table.reserved) * table.allocation_ratio >= amount,
    )
    if amount > 1:
        return resource_providers.c.id.in_(stored)
    node = sa.select(resource_providers.c.id).join(nodes, nodes.c.id == resource_providers.c.node_id)
    free = node.where(resource_providers.c.resource_class_id == class_id, ELIGIBLE)
    return resource_providers.c.id.in_(stored.union_all(free))


def _of(connection, provider):
    return provider, _rows(connection, provider)


def _rows(connection, provider):
    if provider.node_id:
        statement = _DERIVED.where(resource_providers.c.id == provider.id)
    else:
        statement = _STORED.where(inventories.c.resource_provider_id == provider.id)
    return connection.execute(statement).all()


def _take_writable(connection, uuid):
    provider = take(connection, uuid)
    if provider.node_id:
        raise failures.Conflict(reason=f'Resource provider {uuid} is a node: its inventory is what the node makes it.')
    return provider


def _insert(connection, provider, class_id, values):
    key = {'resource_provider_id': provider.id, 'resource_class_id': class_id}
    with referring():
        connection.execute(sa.insert(inventories).values(created_at=now(), **key, **values))


def _update(connection, provider, class_id, values):
    row = inventories.c.resource_provider_id == provider.id, inventories.c.resource_class_id == class_id
    connection.execute(sa.update(inventories).where(*row).values(updated_at=now(), **values))


def _delete(connection, provider, class_ids):
    rows = inventories.c.resource_provider_id == provider.id, inventories.c.resource_class_id.in_(class_ids)
    connection.execute(sa.delete(inventories).where(*rows))
