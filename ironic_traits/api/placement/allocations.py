"""/placement/allocations and /placement/resource_providers/{uuid}/allocations"""

import contextlib
from collections.abc import Iterator
from typing import Any

from oslo_utils import uuidutils

from ironic_traits.api.holder import holder
from ironic_traits.api.placement.expose import expose, modified
from ironic_traits.api.placement.schemas import (
    GENERATION,
    IDENTITY,
    NAME,
    NATURAL,
    TEXT,
    UUID,
    UUID_KEY,
    Schema,
    by_uuid,
    document,
    growing,
    response,
    returning,
    table,
)
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import allocations, consumers, failures
from ironic_traits.uuids import canonical

#: The minor versions that brought projects and users, objects by provider, POST, generations of consumers, mappings and
#: types of consumers.
OWNERS_SINCE = 8
OBJECTS_SINCE = 12
POST_SINCE = 13
GENERATIONS_SINCE = 28
MAPPINGS_SINCE = 34
TYPES_SINCE = 38

_RESOURCES = table(NAME, NATURAL, 1)
_OWNERS = {'project_id': IDENTITY, 'user_id': IDENTITY}
_PROVIDERS = table(UUID_KEY, document({'generation': GENERATION, 'resources': _RESOURCES}, ['resources']))
_OF_CONSUMER = {'allocations': _PROVIDERS, **_OWNERS}
_LIST = {
    'type': 'array',
    'minItems': 1,
    'items': document(
        {'resource_provider': document({'uuid': UUID}, ['uuid']), 'resources': _RESOURCES},
        ['resource_provider', 'resources'],
    ),
}
#: The pattern appears in messages, so it stays as in Placement. It accepts a newline at the end.
TYPE = '^[A-Z0-9_]+$'
#: The fields that later versions added to the demand of a consumer: {minor version: (name, schema, whether required)}.
_LATER_FIELDS: dict[int, tuple[str, Schema, bool]] = {
    GENERATIONS_SINCE: ('consumer_generation', {'type': ['integer', 'null']}, True),
    MAPPINGS_SINCE: (
        'mappings',
        # Validated and ignored, as in Placement.
        {
            'type': 'object',
            'minProperties': 1,
            'patternProperties': {'[a-zA-Z0-9_-]{1,64}': {'type': 'array', 'minItems': 1, 'items': UUID}},
        },
        False,
    ),
    TYPES_SINCE: ('consumer_type', IDENTITY | {'pattern': TYPE, 'not': {'pattern': r'\n'}}, True),
}


def _claims() -> Iterator[tuple[int, Schema]]:
    """Yield the schema of the demand of one consumer at each version from 1.12 on: (minor version, schema)."""
    properties: dict[str, Schema] = dict(_OF_CONSUMER)
    required = list(_OF_CONSUMER)
    yield OBJECTS_SINCE, document(properties, required)
    for since, (name, schema, is_required) in _LATER_FIELDS.items():
        properties = properties | {name: schema}
        required = required + [name] * is_required
        yield since, document(properties, required)


_CLAIMS = dict(_claims())
#: The schema of the body of POST at each version.
CLAIMS = {POST_SINCE if since == OBJECTS_SINCE else since: table(UUID_KEY, schema) for since, schema in _CLAIMS.items()}
_PUT = {
    0: document({'allocations': _LIST}, ['allocations']),
    OWNERS_SINCE: document({'allocations': _LIST, **_OWNERS}, ['allocations', *_OWNERS]),
    **_CLAIMS,
    # An empty demand needs a generation (1.28). Before that, clients use DELETE.
    OBJECTS_SINCE: document(_OF_CONSUMER | {'allocations': _PROVIDERS | {'minProperties': 1}}, _OF_CONSUMER),
}

_AMOUNTS = table(NAME, NATURAL)
#: A consumer without allocations has none of the further properties.
_OF_CONSUMER_SHOWN = {
    minor: schema | {'required': ['allocations']}
    for minor, schema in growing(
        {
            0: {'allocations': table(UUID_KEY, response({'generation': GENERATION, 'resources': _AMOUNTS}))},
            OBJECTS_SINCE: _OWNERS,
            GENERATIONS_SINCE: {'consumer_generation': GENERATION},
            TYPES_SINCE: {'consumer_type': TEXT},
        }
    ).items()
}
_OF_PROVIDER_SHOWN = {
    minor: response({'allocations': table(UUID_KEY, schema), 'resource_provider_generation': GENERATION})
    for minor, schema in growing(
        {0: {'resources': _AMOUNTS}, GENERATIONS_SINCE: {'consumer_generation': GENERATION}}
    ).items()
}


class AllocationsController(Resource):
    """The allocations of consumers."""

    @expose(
        'placement:allocations:manage',
        since=POST_SINCE,
        body={since: schema | {'minProperties': 1} for since, schema in CLAIMS.items()},
    )
    def post(self, context: Context, /, *, body: dict[str, Any]) -> None:
        with allocation_failures('Unable to allocate inventory'):
            holder(context.conf).replace(context, demands(context, body))

    @expose('placement:allocations:list', returns=returning(_OF_CONSUMER_SHOWN))
    def get_one(self, context: Context, consumer_uuid: str, /) -> Response:
        consumer, rows = allocations.consumer_allocations(context, _consumer(consumer_uuid))
        by_provider: dict[str, dict] = {}
        for row in rows:
            provider = {'generation': row.provider_generation, 'resources': {}}
            by_provider.setdefault(row.provider_uuid, provider)['resources'][row.resource_class] = row.used
        body: dict[str, object] = {'allocations': by_provider}
        if consumer and context.minor >= OBJECTS_SINCE:
            body |= {'project_id': consumer.project_id, 'user_id': consumer.user_id}
        if consumer and context.minor >= GENERATIONS_SINCE:
            body['consumer_generation'] = consumer.generation
        if consumer and context.minor >= TYPES_SINCE:
            body['consumer_type'] = consumer.consumer_type or 'unknown'
        return Response(body, modified=modified(rows))

    @expose('placement:allocations:update', body=_PUT)
    def put(self, context: Context, consumer_uuid: str, /, *, body: dict[str, Any]) -> None:
        if not uuidutils.is_uuid_like(consumer_uuid):
            raise failures.BadRequest(reason=f'Malformed consumer_uuid: {consumer_uuid}')
        uuid = _consumer(consumer_uuid)
        if context.minor < OBJECTS_SINCE:
            by_provider = {
                item['resource_provider']['uuid']: {'resources': item['resources']} for item in body['allocations']
            }
            body = body | {'allocations': by_provider}
        with allocation_failures(f'Unable to allocate inventory for consumer {uuid}:'):
            holder(context.conf).replace(context, demands(context, {uuid: body}))

    @expose('placement:allocations:delete')
    def delete(self, context: Context, consumer_uuid: str, /) -> None:
        holder(context.conf).delete(context, _consumer(consumer_uuid))


class ProviderAllocationsController(Resource):
    """The allocations of a provider."""

    @expose('placement:resource_providers:allocations:list', returns=returning(_OF_PROVIDER_SHOWN))
    def get_all(self, context: Context, uuid: str, /) -> Response:
        provider, rows = allocations.provider_allocations(context, uuid)
        by_consumer: dict[str, dict] = {}
        for row in rows:
            consumer = by_consumer.setdefault(row.consumer_uuid, {'resources': {}})
            consumer['resources'][row.resource_class] = row.used
            if context.minor >= GENERATIONS_SINCE:
                consumer['consumer_generation'] = row.consumer_generation
        body = {'allocations': by_consumer, 'resource_provider_generation': provider.generation}
        return Response(body, modified=modified(rows))


def _consumer(uuid: str) -> str:
    """Return the uuid of a consumer in canonical form; '' for a malformed uuid, which matches no consumer."""
    return canonical(uuid) if uuidutils.is_uuid_like(uuid) else ''


def demands(context: Context, bodies: dict[str, Any]) -> list[consumers.Demand]:
    """Return the demands in the body of a request.

    :param bodies: {uuid of a consumer: its demand}.
    :raises failures.BadRequest: a uuid is malformed, or occurs twice.
    """
    conf = context.conf.placement
    return [
        consumers.Demand(
            uuid,
            {provider: item['resources'] for provider, item in by_uuid(body['allocations']).items()},
            body.get('project_id', conf.incomplete_consumer_project_id),
            body.get('user_id', conf.incomplete_consumer_user_id),
            body.get('consumer_type'),
            body.get('consumer_generation', consumers.ANY),
        )
        for uuid, body in by_uuid(bodies).items()
    ]


@contextlib.contextmanager
def allocation_failures(prefix: str) -> Iterator[None]:
    """Translate failures of the block into those that Placement reports for allocations.

    :param prefix: prefix of the message about an unknown resource class.
    :raises failures.BadRequest: there is no such resource class.
    :raises failures.Conflict: the inventory does not exist, or cannot provide the resources.
    """
    try:
        yield
    except failures.ResourceClassNotFound as error:
        raise failures.BadRequest(reason=f'{prefix} {error}') from error
    except (failures.InventoryInvalid, failures.CapacityExceeded, failures.ConstraintsViolated) as error:
        raise failures.Conflict(reason=f'Unable to allocate inventory: {error}') from error
