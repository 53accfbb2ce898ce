"""/placement/resource_providers/{uuid}/inventories"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.api.placement.expose import expose, modified
from ironic_traits.api.placement.schemas import (
    GENERATION,
    MAX_INTEGER,
    NAME,
    Schema,
    document,
    response,
    returning,
    table,
)
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import failures, inventories, resource_providers
from ironic_traits.placement.inventory_usage import FIELDS

#: The minor versions that brought DELETE of all inventories, and inventories that are completely reserved.
DELETE_ALL_SINCE = 5
ALL_RESERVED_SINCE = 26

_DEFAULTS: dict[str, Any] = {
    'reserved': 0,
    'min_unit': 1,
    'max_unit': MAX_INTEGER,
    'step_size': 1,
    'allocation_ratio': 1.0,
}
_NATURAL: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_INTEGER}
_FIELDS: dict[str, Schema] = {
    'resource_provider_generation': GENERATION,
    'total': _NATURAL,
    'reserved': _NATURAL | {'minimum': 0},
    'min_unit': _NATURAL,
    'max_unit': _NATURAL,
    'step_size': _NATURAL,
    # Zero leaves no capacity. A negative one is stored, as by Placement, if all is reserved. The limits are those of a
    # single-precision float.
    'allocation_ratio': {'type': 'number', 'minimum': -3.40282e38, 'maximum': 3.40282e38},
}
_ONE = document(_FIELDS, ['total', 'resource_provider_generation'])
_NEW = document(_FIELDS | {'resource_class': {'type': 'string', 'pattern': NAME}}, ['total', 'resource_class'])
#: The schema of all inventories of a provider.
ALL = document(
    {
        'resource_provider_generation': GENERATION,
        'inventories': table(NAME, document(_FIELDS, ['total'])),
    },
    ['resource_provider_generation', 'inventories'],
)

_SHOWN = response({**{name: _FIELDS[name] for name in FIELDS}, 'resource_provider_generation': GENERATION})
_SHOWN_ALL = response(
    {
        'resource_provider_generation': GENERATION,
        'inventories': table(NAME, response({name: _FIELDS[name] for name in FIELDS})),
    }
)


class InventoriesController(Resource):
    """The inventories of a provider, by resource class."""

    @expose('placement:resource_providers:inventories:list', returns=returning({0: _SHOWN_ALL}))
    def get_all(self, context: Context, uuid: str, /) -> Response:
        return _show_all(*inventories.find(context, uuid))

    @expose('placement:resource_providers:inventories:show', returns=returning({0: _SHOWN}))
    def get_one(self, context: Context, uuid: str, resource_class: str, /) -> Response:
        provider, rows = inventories.find(context, uuid)
        if resource_class not in {row.resource_class for row in rows}:
            raise failures.NotFound(reason=f'No inventory of class {resource_class} for {uuid}')
        return _show(provider, rows, resource_class)

    @expose(
        'placement:resource_providers:inventories:create',
        body={0: _NEW},
        exists=resource_providers.get,
        returns=returning({0: _SHOWN}, 201),
    )
    def post(self, context: Context, uuid: str, /, *, body: dict[str, Any]) -> Response:
        name = body['resource_class']
        with _bad_request(
            'Unable to create inventory', uuid, failures.InvalidInventory, failures.ResourceClassNotFound
        ):
            provider, rows = inventories.add(context, uuid, name, _checked(context, uuid, name, body))
        location = f'/resource_providers/{uuid}/inventories/{name}'
        return _show(provider, rows, name, status=201, location=location)

    @expose(
        'placement:resource_providers:inventories:update',
        body={0: ALL},
        exists=resource_providers.get,
        returns=returning({0: _SHOWN_ALL}),
    )
    def put_all(self, context: Context, uuid: str, /, *, body: dict[str, Any]) -> Response:
        with _bad_request('Unable to update inventory', uuid, failures.InvalidInventory):
            by_class = {name: _checked(context, uuid, name, item) for name, item in body['inventories'].items()}
        with _bad_request('Unknown resource class in inventory', uuid, failures.ResourceClassNotFound):
            return _show_all(*inventories.replace(context, uuid, body['resource_provider_generation'], by_class))

    @expose(
        'placement:resource_providers:inventories:update',
        body={0: _ONE},
        exists=resource_providers.get,
        returns=returning({0: _SHOWN}),
    )
    def put(self, context: Context, uuid: str, resource_class: str, /, *, body: dict[str, Any]) -> Response:
        with _bad_request('Unable to update inventory', uuid, failures.InvalidInventory):
            values = _checked(context, uuid, resource_class, body)
        generation = body['resource_provider_generation']
        provider, rows = inventories.change(context, uuid, resource_class, generation, values)
        return _show(provider, rows, resource_class)

    @expose('placement:resource_providers:inventories:delete', since=DELETE_ALL_SINCE, before=405)
    def delete_all(self, context: Context, uuid: str, /) -> None:
        inventories.delete(context, uuid)

    @expose('placement:resource_providers:inventories:delete')
    def delete(self, context: Context, uuid: str, resource_class: str, /) -> None:
        try:
            inventories.delete(context, uuid, resource_class)
        except failures.InventoryInUse as error:
            # Placement reports this with the code of a concurrent update, only here.
            raise failures.ConcurrentUpdate(
                reason=f'Unable to delete inventory of class {resource_class}: {error}'
            ) from error


@contextlib.contextmanager
def _bad_request(prefix: str, uuid: str, *causes: type[Exception]) -> Iterator[None]:
    """Translate some failures of the block into a BadRequest that names the provider.

    :param causes: the classes of these failures.
    """
    try:
        yield
    except causes as error:
        raise failures.BadRequest(reason=f'{prefix} for resource provider {uuid}: {error}') from error


def with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all fields of an inventory, with defaults for missing ones."""
    return {field: document.get(field, _DEFAULTS.get(field)) for field in FIELDS}


def _checked(context: Context, uuid: str, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Return what ``with_defaults`` returns, after a check.

    :raises failures.InvalidInventory: the reserved amount leaves too little capacity.
    """
    values = with_defaults(document)
    available = values['total'] - values['reserved']
    minimum = 0 if context.minor >= ALL_RESERVED_SINCE else 1
    if int(available * values['allocation_ratio']) < minimum:
        how = 'greater than' if minimum == 0 else 'greater than or equal to'
        raise failures.InvalidInventory(name=name, uuid=uuid, how=how)
    return values


def _show_all(provider: sa.Row, rows: Sequence[sa.Row]) -> Response:
    by_class = {row.resource_class: _fields(row) for row in rows}
    body = {'resource_provider_generation': provider.generation, 'inventories': by_class}
    return Response(body, modified=modified(rows))


def _show(provider: sa.Row, rows: Sequence[sa.Row], resource_class: str, **rest: Any) -> Response:
    (row,) = (row for row in rows if row.resource_class == resource_class)
    body = _fields(row) | {'resource_provider_generation': provider.generation}
    return Response(body, modified=modified([row]), **rest)


def _fields(row: sa.Row) -> dict[str, Any]:
    return {field: getattr(row, field) for field in FIELDS}
