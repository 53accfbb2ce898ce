"""/placement/resource_providers/{uuid}/traits"""

import datetime
from collections.abc import Mapping
from typing import Any

from ironic_traits.api.placement.expose import expose, latest
from ironic_traits.api.placement.schemas import GENERATION, TEXT, array, document, response, returning
from ironic_traits.api.placement.traits import SINCE
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.context import Context
from ironic_traits.matching.traits import MAX_LENGTH
from ironic_traits.placement import failures, provider_traits

_TRAIT = {'type': 'string', 'minLength': 1, 'maxLength': MAX_LENGTH}
_BODY = document(
    {'traits': {'type': 'array', 'items': _TRAIT}, 'resource_provider_generation': GENERATION},
    ['traits', 'resource_provider_generation'],
)

_SHOWN = returning({SINCE: response({'traits': array(TEXT), 'resource_provider_generation': GENERATION})})


class ProviderTraitsController(Resource):
    """The traits of a provider."""

    @expose('placement:resource_providers:traits:list', since=SINCE, returns=_SHOWN)
    def get_all(self, context: Context, uuid: str, /) -> Response:
        return _show(*provider_traits.find(context, uuid))

    @expose('placement:resource_providers:traits:update', since=SINCE, body={SINCE: _BODY}, returns=_SHOWN)
    def put(self, context: Context, uuid: str, /, *, body: dict[str, Any]) -> Response:
        try:
            return _show(*provider_traits.replace(context, uuid, body['resource_provider_generation'], body['traits']))
        except failures.TraitNotFound as error:
            raise failures.BadRequest(reason=f'No such trait {error.facts["names"]}') from error

    @expose('placement:resource_providers:traits:delete', since=SINCE)
    def delete(self, context: Context, uuid: str, /) -> None:
        provider_traits.replace(context, uuid, None, [])


def _show(generation: int, moments: Mapping[str, datetime.datetime]) -> Response:
    return Response(
        {'traits': list(moments), 'resource_provider_generation': generation}, modified=latest(moments.values())
    )
