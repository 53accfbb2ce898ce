"""/placement/resource_providers"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from webob.multidict import MultiDict

from ironic_traits.api.chunks import Chunks
from ironic_traits.api.placement import aggregates, query_parameters
from ironic_traits.api.placement import traits as traits_api
from ironic_traits.api.placement.aggregates import AggregatesController
from ironic_traits.api.placement.allocations import ProviderAllocationsController
from ironic_traits.api.placement.expose import expose, latest, modified
from ironic_traits.api.placement.inventories import InventoriesController
from ironic_traits.api.placement.provider_traits import ProviderTraitsController
from ironic_traits.api.placement.schemas import (
    GENERATION,
    LINKS,
    TEXT,
    UUID,
    Schema,
    array,
    document,
    growing,
    response,
    returning,
)
from ironic_traits.api.placement.usages import ProviderUsagesController
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import failures, resource_providers
from ironic_traits.uuids import canonical

#: The minor versions that brought trees, a POST that returns the provider, and moves of providers with a parent.
TREES_SINCE = 14
POST_RETURNS_SINCE = 20
MOVES_SINCE = 37

_NAME: Schema = {'type': 'string', 'maxLength': 200}
_PARENT = {'parent_provider_uuid': {'anyOf': [UUID, {'type': 'null'}]}}
_NEW = {'name': _NAME | {'minLength': 1}, 'uuid': UUID}
_QUERY = {
    0: {'name': TEXT, 'uuid': UUID},
    3: {'member_of': TEXT},
    4: {'resources': TEXT},
    TREES_SINCE: {'in_tree': UUID},
    18: {'required': TEXT},
}

_SHOWN = growing(
    {
        0: {'uuid': UUID, 'name': _NAME, 'generation': GENERATION, 'links': LINKS},
        TREES_SINCE: {**_PARENT, 'root_provider_uuid': UUID},
    }
)


def _queries() -> Iterator[tuple[int, Schema]]:
    """Yield the schema of the query at each version: (minor version, schema). Each version adds parameters."""
    properties: dict[str, dict] = {}
    for minor, more in _QUERY.items():
        properties = properties | more
        yield minor, document(properties)


class ResourceProvidersController(Resource):
    """Resource providers: those of nodes, and those that clients create."""

    members = {
        'inventories': InventoriesController(),
        'usages': ProviderUsagesController(),
        'aggregates': AggregatesController(),
        'traits': ProviderTraitsController(),
        'allocations': ProviderAllocationsController(),
    }

    @expose(
        'placement:resource_providers:list',
        query=dict(_queries()),
        returns=returning({minor: response({'resource_providers': array(each)}) for minor, each in _SHOWN.items()}),
    )
    def get_all(self, context: Context, /, *, query: MultiDict) -> Response:
        try:
            return _list(context, resource_providers.find(context, _filters(query, context.minor)))
        except failures.ResourceClassNotFound as error:
            raise failures.BadRequest(reason=f'Invalid resource class in resources parameter: {error}') from error
        except failures.TraitNotFound as error:
            raise failures.BadRequest(reason=f'Invalid trait(s) in "required" parameter: {error}') from error

    @expose('placement:resource_providers:show', returns=returning(_SHOWN))
    def get_one(self, context: Context, uuid: str, /) -> Response:
        row = resource_providers.get(context, uuid)
        return Response(_show(context, row), modified=modified([row]))

    @expose(
        'placement:resource_providers:create',
        body={0: document(_NEW, ['name']), TREES_SINCE: document(_NEW | _PARENT, ['name'])},
        returns={0: {201: None}, POST_RETURNS_SINCE: {200: _SHOWN[TREES_SINCE]}},
    )
    def post(self, context: Context, /, *, body: dict[str, Any]) -> Response:
        uuid = canonical(body['uuid']) if 'uuid' in body else None
        row = resource_providers.create(context, body['name'], uuid, *_parent(body))
        location = f'/resource_providers/{row.uuid}'
        if context.minor < POST_RETURNS_SINCE:
            return Response(status=201, location=location)
        return Response(_show(context, row), modified=modified([row]), location=location)

    @expose(
        'placement:resource_providers:update',
        body={0: document({'name': _NAME}, ['name']), TREES_SINCE: document({'name': _NAME} | _PARENT, ['name'])},
        returns=returning(_SHOWN),
    )
    def put(self, context: Context, uuid: str, /, *, body: dict[str, Any]) -> Response:
        row = resource_providers.update(context, uuid, body['name'], _parent(body), context.minor >= MOVES_SINCE)
        return Response(_show(context, row), modified=modified([row]))

    @expose('placement:resource_providers:delete')
    def delete(self, context: Context, uuid: str, /) -> None:
        try:
            resource_providers.delete(context, uuid)
        except failures.ProviderNotFound as error:
            raise failures.NotFound(reason=f'{error} for delete') from error


def _parent(body: dict[str, Any]) -> list[str | None]:
    """Return the requested parent: [uuid], [None] for no parent, or [] if the body does not have the field."""
    return [uuid and canonical(uuid) for uuid in (body[key] for key in _PARENT if key in body)]


def _filters(arguments: MultiDict, minor: int) -> dict[str, Any]:
    """Return the filters of a list: {name: value}."""
    filters: dict[str, Any] = {name: canonical(arguments[name]) for name in ('uuid', 'in_tree') if name in arguments}
    if arguments.get('name'):
        # In Placement, too, an empty name is no filter.
        filters['name'] = arguments['name']
    if 'member_of' in arguments:
        filters['member_of'], filters['not_member_of'] = query_parameters.member_of(
            'member_of', arguments.getall('member_of'), minor
        )
    if 'required' in arguments:
        filters['required'], filters['forbidden'] = query_parameters.required(
            'required', arguments.getall('required'), minor
        )
    if 'resources' in arguments:
        filters['resources'] = query_parameters.resources(arguments['resources'])
    return filters


#: The links of a provider, and the minor version that brought each.
_LINKS = {
    'inventories': 0,
    'usages': 0,
    'aggregates': aggregates.SINCE,
    'traits': traits_api.SINCE,
    'allocations': 11,
}


def _list(context: Context, batches: Iterator[Sequence[sa.Row]]) -> Response:
    """Return the Response with providers.

    A list may have all providers, of nearly 1 KB each. So from the second batch on, its text is made while it is sent,
    from the values of the rows as JSON. They take a tenth of the memory of the text.

    :param batches: [[row as of ``resource_providers.find``, …], …], an iterator.
    """
    first: Sequence = next(batches, [])
    times = [row[-1] for row in first]
    packed = []
    for rows in batches:
        packed.append(orjson.dumps([tuple(row[:-1]) for row in rows]))
        times = [max(times), max(row[-1] for row in rows)]
    parts = _parts(_listed(_template(context)), first, packed)
    return Response(Chunks(parts) if packed else b''.join(parts), modified=latest(times))


def _parts(view: Callable[..., bytes], first: Sequence[sa.Row], packed: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the text of a list of providers in parts, as bytes.

    :param first: [row, …], the first batch.
    :param packed: the further batches: the rows without their times, as JSON.
    """
    yield b'{"resource_providers":['
    yield b','.join([view(*row) for row in first])
    for text in packed:
        yield b',' + b','.join([view(*values) for values in orjson.loads(text)])
    yield b']}'


def _listed(template: str) -> Callable[..., bytes]:
    """Return the function from the values of ``single_provider.LISTED`` to a provider as JSON.

    The template is divided at its places beforehand. To fill it by name takes much longer, and so does text in place of
    bytes.
    """
    usual = template % {'uuid': '\0', 'name': '"\0"', 'generation': 0, 'parent': 'null', 'root': '\0'}
    begin, end = (part.split(b'\0') for part in usual.encode().split(b'"generation":0'))
    begin[-1] += b'"generation":'

    def view(
        uuid: str, name: str | None, generation: int, parent: str | None, root: str | None, moment: Any = None
    ) -> bytes:
        if name is root is None:
            key = uuid.encode()
            return b'%b%d%b' % (key.join(begin), generation, key.join(end))
        values = {
            'name': _json(uuid if name is None else name),
            'parent': f'"{parent}"' if parent else 'null',
            'root': root or uuid,
        }
        return (template % {'uuid': uuid, 'generation': generation, **values}).encode()

    return view


def _show(context: Context, row: sa.Row) -> orjson.Fragment:
    parent = f'"{row.parent_provider_uuid}"' if row.parent_provider_uuid else 'null'
    values = {'name': _json(row.name), 'parent': parent, 'root': row.root_provider_uuid}
    text = _template(context) % {'uuid': row.uuid, 'generation': row.generation, **values}
    return orjson.Fragment(text)


def _template(context: Context) -> str:
    """Return the JSON text of a provider, with places for ``%``.

    To format a text takes a fifth of the time for objects of dicts and lists.
    """
    path = _json(context.path('/resource_providers/'))[1:-1].replace('%', '%%')
    rels = [rel for rel, since in _LINKS.items() if context.minor >= since]
    further = (f',{{"rel":"{rel}","href":"{path}%(uuid)s/{rel}"}}' for rel in rels)
    links = f'{{"rel":"self","href":"{path}%(uuid)s"}}{"".join(further)}'
    template = f'{{"uuid":"%(uuid)s","name":%(name)s,"generation":%(generation)d,"links":[{links}]'
    if context.minor >= TREES_SINCE:
        template += ',"parent_provider_uuid":%(parent)s,"root_provider_uuid":"%(root)s"'
    return f'{template}}}'


def _json(value: str) -> str:
    return orjson.dumps(value).decode()
