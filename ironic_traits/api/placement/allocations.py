"""/placement/allocations, and those of a provider"""

import contextlib

from oslo_utils import uuidutils

from ironic_traits.api.placement.expose import Answer, expose, modified
from ironic_traits.api.placement.schemas import (
    GENERATION,
    IDENTITY,
    NAME,
    NATURAL,
    UUID,
    UUID_KEY,
    by_uuid,
    canonical,
    document,
    table,
)
from ironic_traits.api.resource import Resource
from ironic_traits.placement import allocations, failures

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
#: The pattern is part of the wire, and lets a newline pass.
TYPE = '^[A-Z0-9_]+$'
#: What came to the claim of a consumer, and whether it must be there.
_MORE = {
    GENERATIONS_SINCE: ('consumer_generation', {'type': ['integer', 'null']}, True),
    MAPPINGS_SINCE: (
        'mappings',
        # Read and forgotten, as there.
        {
            'type': 'object',
            'minProperties': 1,
            'patternProperties': {'[a-zA-Z0-9_-]{1,64}': {'type': 'array', 'minItems': 1, 'items': UUID}},
        },
        False,
    ),
    TYPES_SINCE: ('consumer_type', IDENTITY | {'pattern': TYPE, 'not': {'pattern': r'\n'}}, True),
}


def _claims():
    """Give the schema of what one consumer claims, at each version from 1.12 on."""
    properties, required = dict(_OF_CONSUMER), list(_OF_CONSUMER)
    yield OBJECTS_SINCE, document(properties, required)
    for since, (name, schema, must) in _MORE.items():
        properties = properties | {name: schema}
        required = required + [name] * must
        yield since, document(properties, required)


_CLAIMS = dict(_claims())
#: Of the body of POST at each version.
CLAIMS = {POST_SINCE if since == OBJECTS_SINCE else since: table(UUID_KEY, schema) for since, schema in _CLAIMS.items()}
_PUT = {
    0: document({'allocations': _LIST}, ['allocations']),
    OWNERS_SINCE: document({'allocations': _LIST, **_OWNERS}, ['allocations', *_OWNERS]),
    **_CLAIMS,
    # Without a generation, nothing cannot be claimed: it is deleted.
    OBJECTS_SINCE: document(_OF_CONSUMER | {'allocations': _PROVIDERS | {'minProperties': 1}}, _OF_CONSUMER),
}


class AllocationsController(Resource):
    """What consumers take from providers."""

    @expose(
        'placement:allocations:manage',
        since=POST_SINCE,
        body={since: schema | {'minProperties': 1} for since, schema in CLAIMS.items()},
    )
    def post(self, context, /, *, body):
        with told('Unable to allocate inventory'):
            allocations.replace(context, claims(context, body))
        return Answer(status=204)

    @expose('placement:allocations:list')
    def get_one(self, context, consumer_uuid, /):
        consumer, rows = allocations.of_consumer(context, _consumer(consumer_uuid))
        shown: dict[str, dict] = {}
        for row in rows:
            of_provider = shown.setdefault(row.provider_uuid, {'generation': row.provider_generation, 'resources': {}})
            of_provider['resources'][row.resource_class] = row.used
        body: dict[str, object] = {'allocations': shown}
        if rows and context.minor >= OBJECTS_SINCE:
            body |= {'project_id': consumer.project_id, 'user_id': consumer.user_id}
        if rows and context.minor >= GENERATIONS_SINCE:
            body['consumer_generation'] = consumer.generation
        if rows and context.minor >= TYPES_SINCE:
            body['consumer_type'] = consumer.consumer_type or 'unknown'
        return Answer(body, modified(rows))

    @expose('placement:allocations:update', body=_PUT)
    def put(self, context, consumer_uuid, /, *, body):
        if not uuidutils.is_uuid_like(consumer_uuid):
            raise failures.BadRequest(reason=f'Malformed consumer_uuid: {consumer_uuid}')
        uuid = _consumer(consumer_uuid)
        if context.minor < OBJECTS_SINCE:
            listed = {
                item['resource_provider']['uuid']: {'resources': item['resources']} for item in body['allocations']
            }
            body = body | {'allocations': listed}
        with told(f'Unable to allocate inventory for consumer {uuid}:'):
            allocations.replace(context, claims(context, {uuid: body}))
        return Answer(status=204)

    @expose('placement:allocations:delete')
    def delete(self, context, consumer_uuid, /):
        allocations.delete(context, _consumer(consumer_uuid))
        return Answer(status=204)


class ProviderAllocationsController(Resource):
    """What consumers have of a provider."""

    @expose('placement:resource_providers:allocations:list')
    def get_all(self, context, uuid, /):
        provider, rows = allocations.of_provider(context, uuid)
        shown: dict[str, dict] = {}
        for row in rows:
            of_consumer = shown.setdefault(row.consumer_uuid, {'resources': {}})
            of_consumer['resources'][row.resource_class] = row.used
            if context.minor >= GENERATIONS_SINCE:
                of_consumer['consumer_generation'] = row.consumer_generation
        body = {'allocations': shown, 'resource_provider_generation': provider.generation}
        return Answer(body, modified(rows))


def _consumer(uuid):
    """Write the uuid of a consumer as the tables keep it; what is none is nobody's."""
    return canonical(uuid) if uuidutils.is_uuid_like(uuid) else ''


def claims(context, bodies):
    """Read what consumers claim.

    :param bodies: {uuid of a consumer: what it claims}.
    :returns: [ironic_traits.placement.allocations.Claim, …].
    """
    nobody = context.conf.placement
    return [
        allocations.Claim(
            uuid,
            {provider: given['resources'] for provider, given in by_uuid(body['allocations']).items()},
            body.get('project_id', nobody.incomplete_consumer_project_id),
            body.get('user_id', nobody.incomplete_consumer_user_id),
            body.get('consumer_type'),
            body.get('consumer_generation', allocations.ANY),
        )
        for uuid, body in by_uuid(bodies).items()
    ]


@contextlib.contextmanager
def told(unknown):
    """Say of what is refused that it is an allocation.

    :param unknown: what begins the sentence about a resource class that is none.
    """
    try:
        yield
    except failures.ResourceClassNotFound as error:
        raise failures.BadRequest(reason=f'{unknown} {error}') from error
    except (failures.InventoryInvalid, failures.CapacityExceeded, failures.ConstraintsViolated) as error:
        raise failures.Conflict(reason=f'Unable to allocate inventory: {error}') from error
