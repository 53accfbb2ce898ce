"""/ and /v1: what is served, and at which versions."""

from oslo_utils import uuidutils

from ironic_traits.api import microversions
from ironic_traits.api.expose import CONTEXT, expose
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.resource import SUFFIXED, Resource
from ironic_traits.api.v1.chassis import ChassisController
from ironic_traits.api.v1.drivers import DriversController
from ironic_traits.api.v1.matches import MatchesController
from ironic_traits.api.v1.nodes import NodesController
from ironic_traits.api.v1.portgroups import PortgroupsController
from ironic_traits.api.v1.ports import PortsController
from ironic_traits.api.v1.reservations import ReservationsController
from ironic_traits.api.v1.shards import ShardsController
from ironic_traits.api.v1.volume import VolumeController
from ironic_traits.version import version

#: At the end of a path, nothing but the format of the answer; part of a name from this minor version on.
_SUFFIX = '.json'
_SUFFIX_UNTIL = 91


class V1Controller(Resource):
    """The Bare Metal API."""

    children = {
        'chassis': ChassisController(),
        'matches': MatchesController(),
        'nodes': NodesController(),
        'ports': PortsController(),
        'drivers': DriversController(),
        'portgroups': PortgroupsController(),
        'reservations': ReservationsController(),
        'shards': ShardsController(),
        'volume': VolumeController(),
    }

    @expose()
    def get_all(self, context, /):
        return {
            'id': 'v1',
            'links': [{'href': context.url('/v1/'), 'rel': 'self'}],
            'media_types': {'base': 'application/json', 'type': 'application/vnd.openstack.ironic.v1+json'},
            **{name: context.links(name, '') for name, child in self.children.items() if child.since <= context.minor},
            'version': _version(context),
        }


class RootController(Resource):
    """The service."""

    children = {'v1': V1Controller(), 'placement': PlacementController()}

    def locate(self, segments, request):
        """Find the route of a request, also where the path has no version, or ``.json`` at its end, as in Ironic."""
        if not segments or segments[0] == 'placement':
            return super().locate(segments, request)
        stem, _, rest = segments[-1].rpartition(_SUFFIX)
        suffixed = bool(stem and not rest) and request.environ[CONTEXT].minor < _SUFFIX_UNTIL
        if suffixed:
            segments[-1] = stem
        if segments[0] != 'v1':
            # Where the bookmark links lead.
            segments.insert(0, 'v1')
        route, parameters, path = super().locate(segments, request)
        # The suffix ended the path, so it ended its last parameter, unless the path ends in a word of its own.
        if suffixed and path.endswith('}') and route.path_names[-1].endswith('_ident'):
            # A deletion that is sent twice must not delete "my" after "my.json".
            if request.method != 'DELETE' or uuidutils.is_uuid_like(parameters[-1]):
                request.environ[SUFFIXED] = True
            parameters[-1] += _SUFFIX
        return route, parameters, path

    @expose()
    def get_all(self, context, /):
        return {
            'name': 'OpenStack Ironic API',
            'description': 'Ironic is an OpenStack project which enables the provision and management of baremetal '
            'machines.',
            # Of our own: clients look at the other keys.
            'ironic_traits_version': version(),
            'default_version': _version(context),
            'versions': [_version(context)],
        }


def _version(context):
    return {
        'id': 'v1',
        'links': [{'href': context.url('/v1/'), 'rel': 'self'}],
        'status': 'CURRENT',
        'min_version': microversions.text(microversions.MINIMUM),
        'version': microversions.text(microversions.MAXIMUM),
    }
