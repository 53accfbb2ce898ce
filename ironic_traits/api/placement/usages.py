"""/placement/usages and /placement/resource_providers/{uuid}/usages"""

from webob.multidict import MultiDict

from ironic_traits.api.placement.expose import expose, now
from ironic_traits.api.placement.schemas import GENERATION, IDENTITY, NAME, document, response, returning, table
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import usages

#: The minor versions that brought usages of projects, and types of consumers.
SINCE = 9
TYPES_SINCE = 38

_OWNERS = {'project_id': IDENTITY, 'user_id': IDENTITY}
_TYPE = IDENTITY | {'pattern': r'^([A-Z0-9_]+|all|unknown)\Z'}

#: By resource class; in usages by type of consumers, with the number of consumers.
_AMOUNTS = table(NAME, {'type': 'integer'})
_AMOUNTS_OF_TYPE = {'type': 'object', 'additionalProperties': {'type': 'integer'}, 'required': ['consumer_count']}


class ProviderUsagesController(Resource):
    """The usages of a provider."""

    @expose(
        'placement:resource_providers:usages',
        returns=returning({0: response({'resource_provider_generation': GENERATION, 'usages': _AMOUNTS})}),
    )
    def get_all(self, context: Context, uuid: str, /) -> Response:
        provider, used = usages.provider_usage(context, uuid)
        return Response({'resource_provider_generation': provider.generation, 'usages': used}, modified=now())


class UsagesController(Resource):
    """The usages of the consumers of a project."""

    since = SINCE

    @expose(
        'placement:usages',
        target=lambda query: {'project_id': query['project_id']},
        since=SINCE,
        query={
            SINCE: document(_OWNERS, ['project_id']),
            TYPES_SINCE: document(_OWNERS | {'consumer_type': _TYPE}, ['project_id']),
        },
        returns=returning(
            {
                SINCE: response({'usages': _AMOUNTS}),
                TYPES_SINCE: response({'usages': {'type': 'object', 'additionalProperties': _AMOUNTS_OF_TYPE}}),
            }
        ),
    )
    def get_all(self, context: Context, /, *, query: MultiDict) -> Response:
        owners = query['project_id'], query.get('user_id')
        if context.minor < TYPES_SINCE:
            return Response({'usages': usages.project_usage(context, *owners)}, modified=now())
        return Response({'usages': usages.by_type(context, *owners, query.get('consumer_type'))}, modified=now())
