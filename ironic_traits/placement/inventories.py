"""Inventories of providers: list, show, replace, add, change, delete.

The inventory of a node's provider is derived from the node at each read (``inventory_usage``), and cannot be written.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import referring, retried
from ironic_traits.db.statements.types import now
from ironic_traits.placement import failures, inventory_usage
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement.single_provider import bump, read, take

#: {field of an inventory: value}.
Fields = Mapping[str, Any]
#: (row of the provider, [row as of ``inventory_usage.rows``, …]).
Inventories = tuple[sa.Row, Sequence[sa.Row]]


def find(context: Context, uuid: str) -> Inventories:
    """Return the inventories of a provider.

    :returns: (row of the provider, [row as of ``inventory_usage.rows``, …]).
    """
    with context.read() as connection:
        return _of(connection, read(connection, uuid))


@retried
def replace(context: Context, uuid: str, generation: int, new_inventories: Mapping[str, Fields]) -> Inventories:
    """Set the inventories of a provider. Change nothing if it is a node's.

    :param generation: the provider's generation in the request.
    :param new_inventories: {resource class: {field: value, of all ``inventory_usage.FIELDS``}}.
    :returns: as for ``find``.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    :raises failures.InventoryInUse: an inventory that is to be deleted has allocations.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        if provider.node_id:
            return _of(connection, provider)
        ids = classes.check(connection, new_inventories)
        keep(connection, provider, ids.values())
        put(connection, provider, {ids[name]: values for name, values in new_inventories.items()})
        bump(connection, provider)
        return _of(connection, read(connection, uuid))


@retried
def add(context: Context, uuid: str, class_name: str, values: Fields) -> Inventories:
    """Add an inventory to a provider.

    :param class_name: name of the resource class.
    :param values: {field: value, of all ``inventory_usage.FIELDS``}.
    :returns: as for ``find``.
    :raises failures.ConcurrentUpdate: the provider has an inventory of the class already.
    :raises failures.Conflict: the provider is a node's.
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
def change(context: Context, uuid: str, class_name: str, generation: int, values: Fields) -> Inventories:
    """Update an inventory of a provider. Change nothing if it is a node's.

    :param class_name: name of the resource class.
    :param generation: the provider's generation in the request.
    :param values: {field: value, of all ``inventory_usage.FIELDS``}.
    :returns: as for ``find``.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    :raises failures.BadRequest: the provider has no inventory of the class.
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
def delete(context: Context, uuid: str, class_name: str | None = None) -> None:
    """Delete one inventory of a provider, or all of them.

    :param class_name: name of the resource class; None for all inventories.
    :raises failures.NotFound: the provider has no inventory of the class.
    :raises failures.InventoryInUse: the inventory has allocations.
    :raises failures.Conflict: the provider is a node's.
    """
    with context.write() as connection:
        provider = _take_writable(connection, uuid)
        gone = [row for row in _rows(connection, provider) if class_name in (None, row.resource_class)]
        if class_name and not gone:
            raise failures.NotFound(
                reason=f'No inventory of class {class_name} found for delete: No inventory of class {class_name} found.'
            )
        _delete(connection, provider, gone)
        bump(connection, provider)


def put(connection: sa.Connection, provider: sa.Row, new_inventories: Mapping[int, Fields]) -> None:
    """Add or update inventories of a provider that is not a node's. Its generation does not move.

    :param connection: of a writer that has locked the provider.
    :param provider: row of the provider.
    :param new_inventories: {id of a resource class: {field: value, of all ``inventory_usage.FIELDS``}}.
    """
    existing = {row.class_id for row in _rows(connection, provider)}
    for class_id, values in new_inventories.items():
        write = _update if class_id in existing else _insert
        write(connection, provider, class_id, values)


def keep(connection: sa.Connection, provider: sa.Row, class_ids: Collection[int]) -> None:
    """Delete all other inventories of a provider that is not a node's. Its generation does not move.

    :param connection: of a writer that has locked the provider.
    :param provider: row of the provider.
    :param class_ids: ids of the resource classes whose inventories stay.
    :raises failures.InventoryInUse: an inventory that is to be deleted has allocations.
    """
    _delete(connection, provider, [row for row in _rows(connection, provider) if row.class_id not in class_ids])


def _of(connection: sa.Connection, provider: sa.Row) -> Inventories:
    return provider, _rows(connection, provider)


def _rows(connection: sa.Connection, provider: sa.Row) -> Sequence[sa.Row]:
    return inventory_usage.rows_of(connection, [provider.id])


def _take_writable(connection: sa.Connection, uuid: str) -> sa.Row:
    provider = take(connection, uuid)
    if provider.node_id:
        raise failures.Conflict(
            reason=f'Resource provider {uuid} is a node: its inventory follows the state of the node, and cannot be '
            'written.'
        )
    return provider


def _insert(connection: sa.Connection, provider: sa.Row, class_id: int, values: Fields) -> None:
    key = {'resource_provider_id': provider.id, 'resource_class_id': class_id}
    with referring():
        connection.execute(sa.insert(tables.inventories).values(created_at=now(), **key, **values))


def _update(connection: sa.Connection, provider: sa.Row, class_id: int, values: Fields) -> None:
    row = tables.inventories.c.resource_provider_id == provider.id, tables.inventories.c.resource_class_id == class_id
    connection.execute(sa.update(tables.inventories).where(*row).values(updated_at=now(), **values))


def _delete(connection: sa.Connection, provider: sa.Row, gone: Sequence[sa.Row]) -> None:
    used = [row.resource_class for row in gone if row.used]
    if used:
        raise failures.InventoryInUse(classes=', '.join(used), uuid=provider.uuid)
    ids = [row.class_id for row in gone]
    rows = tables.inventories.c.resource_provider_id == provider.id, tables.inventories.c.resource_class_id.in_(ids)
    connection.execute(sa.delete(tables.inventories).where(*rows))
