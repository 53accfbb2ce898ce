"""/placement/resource_providers/{uuid}/aggregates"""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from ironic_traits.api.placement.expose import expose, now
from ironic_traits.api.placement.schemas import GENERATION, TEXT, UUID, array, document, growing, returning
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.placement import aggregates, resource_providers

#: The minor versions that brought aggregates, and their generations.
SINCE = 1
GENERATION_SINCE = 19

# As in Placement, uuids of aggregates are stored and compared exactly as clients wrote them. The column has 36
# characters, which is enough for the usual notations.
_LIST = {'type': 'array', 'items': UUID | {'maxLength': 36}, 'uniqueItems': True}
_DOCUMENT = document(
    {'aggregates': _LIST, 'resource_provider_generation': GENERATION}, ['aggregates', 'resource_provider_generation']
)

_SHOWN = returning(
    growing({SINCE: {'aggregates': array(TEXT)}, GENERATION_SINCE: {'resource_provider_generation': GENERATION}})
)


class AggregatesController(Resource):
    """The aggregates that a provider is a member of."""

    @expose('placement:resource_providers:aggregates:list', since=SINCE, returns=_SHOWN)
    def get_all(self, context: Context, uuid: str, /) -> Response:
        return _show(context, *aggregates.find(context, uuid))

    @expose(
        'placement:resource_providers:aggregates:update',
        since=SINCE,
        body={SINCE: _LIST, GENERATION_SINCE: _DOCUMENT},
        exists=resource_providers.get,
        returns=_SHOWN,
    )
    def put(self, context: Context, uuid: str, /, *, body: dict[str, Any]) -> Response:
        if context.minor < GENERATION_SINCE:
            body = {'aggregates': body, 'resource_provider_generation': None}
        generation, uuids = body['resource_provider_generation'], body['aggregates']
        return _show(context, aggregates.replace(context, uuid, generation, uuids), uuids)


def _show(context: Context, provider: sa.Row, uuids: Collection[str]) -> Response:
    body = {'aggregates': uuids}
    if context.minor >= GENERATION_SINCE:
        body['resource_provider_generation'] = provider.generation
    # The database does not have the times of membership.
    return Response(body, modified=now())
