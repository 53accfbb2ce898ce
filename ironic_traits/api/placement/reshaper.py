"""/placement/reshaper"""

from typing import Any

from ironic_traits.api.holder import holder
from ironic_traits.api.placement.allocations import (
    CLAIMS,
    GENERATIONS_SINCE,
    POST_SINCE,
    allocation_failures,
    demands,
)
from ironic_traits.api.placement.expose import expose
from ironic_traits.api.placement.inventories import ALL, with_defaults
from ironic_traits.api.placement.schemas import UUID_KEY, by_uuid, document, table
from ironic_traits.api.resource import Resource
from ironic_traits.context import Context
from ironic_traits.placement import failures

#: The minor version that brought the reshaper.
SINCE = 30

_INVENTORIES = table(UUID_KEY, ALL, 1)
_BODY = {
    SINCE if since == GENERATIONS_SINCE else since: document(
        {'inventories': _INVENTORIES, 'allocations': schema}, ['inventories', 'allocations']
    )
    for since, schema in CLAIMS.items()
    if since != POST_SINCE
}


class ReshaperController(Resource):
    """The reshaper, which changes inventories and allocations in one transaction."""

    since = SINCE

    @expose('placement:reshaper:reshape', since=SINCE, body=_BODY)
    def post(self, context: Context, /, *, body: dict[str, Any]) -> None:
        by_provider = {
            uuid: (
                item['resource_provider_generation'],
                # As in Placement, without the check of the reserved amount.
                {name: with_defaults(values) for name, values in item['inventories'].items()},
            )
            for uuid, item in by_uuid(body['inventories']).items()
        }
        try:
            with allocation_failures('malformed reshaper data:'):
                holder(context.conf).reshape(context, by_provider, demands(context, body['allocations']))
        except failures.ProviderNotFound as error:
            raise failures.ReshapedProviderNotFound(
                reason=f'Resource provider {error.facts["uuid"]} in inventories not found: {error}'
            ) from error
