"""/placement: the root of the Placement API, with its versions."""

from webob import exc

from ironic_traits.api.placement import microversions
from ironic_traits.api.placement.allocation_candidates import AllocationCandidatesController
from ironic_traits.api.placement.allocations import AllocationsController
from ironic_traits.api.placement.expose import expose, now
from ironic_traits.api.placement.reshaper import ReshaperController
from ironic_traits.api.placement.resource_classes import ResourceClassesController
from ironic_traits.api.placement.resource_providers import ResourceProvidersController
from ironic_traits.api.placement.schemas import LINKS, TEXT, array, response
from ironic_traits.api.placement.traits import TraitsController
from ironic_traits.api.placement.usages import UsagesController
from ironic_traits.api.resource import Found, Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.routes import PUBLIC
from ironic_traits.context import Context

_VERSION = response(
    {'id': TEXT, 'max_version': TEXT, 'min_version': TEXT, 'status': TEXT, 'links': LINKS},
)


class PlacementController(Resource):
    """The Placement API."""

    children = {
        'allocation_candidates': AllocationCandidatesController(),
        'allocations': AllocationsController(),
        'reshaper': ReshaperController(),
        'usages': UsagesController(),
        'resource_classes': ResourceClassesController(),
        'resource_providers': ResourceProvidersController(),
        'traits': TraitsController(),
    }

    def find(self, segments: list[str], method: str, taken: list[str], path: str) -> Found:
        """Return the route of a path, as ``Resource.find`` does."""
        if segments and segments[0] == 'v1':
            raise exc.HTTPNotFound('The Bare Metal API is not below /placement.')
        return super().find(segments, method, taken, path)

    @expose(PUBLIC, returns={0: {200: response({'versions': array(_VERSION)})}})
    def get_all(self, context: Context, /) -> Response:
        version = {
            'id': f'v{microversions.text(microversions.MINIMUM)}',
            'max_version': microversions.text(microversions.MAXIMUM),
            'min_version': microversions.text(microversions.MINIMUM),
            'status': 'CURRENT',
            # A relative link to this URL.
            'links': [{'rel': 'self', 'href': ''}],
        }
        return Response({'versions': [version]}, modified=now())
