"""/ and /v1: what is served, and at which versions."""

from ironic_traits.api import microversions
from ironic_traits.api.expose import expose
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.chassis import ChassisController
from ironic_traits.api.v1.drivers import DriversController
from ironic_traits.api.v1.matches import MatchesController
from ironic_traits.api.v1.nodes import NodesController
from ironic_traits.api.v1.portgroups import PortgroupsController
from ironic_traits.api.v1.ports import PortsController
from ironic_traits.api.v1.reservations import ReservationsController
from ironic_traits.api.v1.shards import ShardsController
from ironic_traits.api.v1.volume import VolumeController


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

    @expose()
    def get_all(self, context, /):
        return {
            'name': 'OpenStack Ironic API',
            'description': 'Ironic is an OpenStack project which enables the provision and management of baremetal '
            'machines.',
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
