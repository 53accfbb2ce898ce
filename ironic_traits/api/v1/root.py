"""/ and /v1: the root of the API, with its versions and resources."""

from typing import Any

from oslo_utils import uuidutils
from webob import exc

from ironic_traits.api import microversions, types
from ironic_traits.api.expose import expose
from ironic_traits.api.pecan_application import Request
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.resource import CONTEXT, METHODS, SUFFIXED, Resource
from ironic_traits.api.routes import PUBLIC
from ironic_traits.api.v1 import unserved
from ironic_traits.api.v1.allocations import AllocationsController
from ironic_traits.api.v1.capacity import CapacityController
from ironic_traits.api.v1.capacity_reservations import CapacityReservationsController
from ironic_traits.api.v1.changes import ChangesController
from ironic_traits.api.v1.chassis import ChassisController
from ironic_traits.api.v1.conductors import ConductorsController
from ironic_traits.api.v1.continue_inspection import ContinueInspectionController
from ironic_traits.api.v1.deploy_templates import DeployTemplatesController
from ironic_traits.api.v1.drift import DriftController
from ironic_traits.api.v1.drivers import DriversController
from ironic_traits.api.v1.explanations import ExplanationsController
from ironic_traits.api.v1.facets import FacetsController
from ironic_traits.api.v1.history import HistoryController
from ironic_traits.api.v1.inspection_rules import InspectionRulesController
from ironic_traits.api.v1.matches import MatchesController
from ironic_traits.api.v1.mirrors import MirrorsController
from ironic_traits.api.v1.node_boot_mode import BootModeController, SecureBootController
from ironic_traits.api.v1.node_management import InjectNmiController
from ironic_traits.api.v1.node_traits import NodeTraitsController
from ironic_traits.api.v1.nodes import NodesController
from ironic_traits.api.v1.portgroups import PortgroupsController
from ironic_traits.api.v1.ports import PortsController
from ironic_traits.api.v1.protocol import is_for_placement
from ironic_traits.api.v1.reservations import ReservationsController
from ironic_traits.api.v1.runbooks import RunbooksController
from ironic_traits.api.v1.shards import ShardsController
from ironic_traits.api.v1.traits import TraitsController
from ironic_traits.api.v1.volume import NodeVolumeController, VolumeController
from ironic_traits.context import Context
from ironic_traits.resources.additions import Addition
from ironic_traits.version import version

#: At the end of a path, this suffix names the format of the response. From this minor version on, it is part of a name.
_SUFFIX = '.json'
_SUFFIX_UNTIL = 91
#: Resources of nodes after which the path may name the node: /v1/nodes/states/console/X. No node has such a name.
_BELOW_NODES = frozenset({'maintenance', 'management', 'states', 'vendor_passthru'})


class Version(types.Base):
    """A version of the API."""

    id = str
    links = types.LINKS
    status = str
    min_version = str
    version = str


class Root(types.Base):
    """The service, and its versions."""

    name = str
    description = str
    ironic_traits_version = str
    default_version = Version
    versions = [Version]


_CHILDREN = {
    'allocations': AllocationsController(),
    'capacity': CapacityController(),
    'capacity_reservations': CapacityReservationsController(),
    'changes': ChangesController(),
    'chassis': ChassisController(),
    'conductors': ConductorsController(),
    'continue_inspection': ContinueInspectionController(),
    'deploy_templates': DeployTemplatesController(),
    'explanations': ExplanationsController(),
    'facets': FacetsController(),
    'history': HistoryController(),
    'inspection_rules': InspectionRulesController(),
    'matches': MatchesController(),
    'mirrors': MirrorsController(),
    'nodes': NodesController(),
    'ports': PortsController(),
    'drift': DriftController(),
    'drivers': DriversController(),
    'portgroups': PortgroupsController(),
    'reservations': ReservationsController(),
    'runbooks': RunbooksController(),
    'shards': ShardsController(),
    'traits': TraitsController(),
    'volume': VolumeController(),
}

#: The resources of Ironic that refuse a method that they never have with 405, also before their version.
_REFUSING: tuple[type[Resource], ...] = (
    BootModeController,
    InjectNmiController,
    NodeVolumeController,
    SecureBootController,
    *(type(child) for child in _CHILDREN.values() if not isinstance(child.since, Addition)),
)


class _V1(types.Base):
    """The Bare Metal API, but for the links to its resources."""

    id = str
    links = types.LINKS
    media_types = {str: str}
    version = Version


#: The Bare Metal API, with links to its resources.
V1 = type(
    'V1',
    (_V1,),
    dict.fromkeys(_CHILDREN, types.LINKS) | {'_since': {name: child.since for name, child in _CHILDREN.items()}},
)


class V1Controller(Resource):
    """The Bare Metal API."""

    children = _CHILDREN

    @expose(PUBLIC, V1)
    def get_all(self, context: Context, /) -> dict[str, Any]:
        return {
            'id': 'v1',
            'links': [{'href': context.url('/v1/'), 'rel': 'self'}],
            'media_types': {'base': 'application/json', 'type': 'application/vnd.openstack.ironic.v1+json'},
            **{name: context.links(name, '') for name, child in self.children.items() if context.has(child.since)},
            'version': _version(context),
        }


class RootController(Resource):
    """The root of the service."""

    children = {'v1': V1Controller(), 'placement': PlacementController()}

    def locate(self, segments: list[str], request: Request) -> tuple[Any, list[str], str]:
        """Return the route of a request. As in Ironic, the path may lack /v1, and may end in ``.json``."""
        if not segments or segments[0] == 'placement':
            return super().locate(segments, request)
        names_placement = is_for_placement(request.environ)
        if segments[0] in PlacementController.children and (names_placement or segments[0] not in _CHILDREN):
            raise exc.HTTPNotFound(f'The Placement API is at {request.environ[CONTEXT].url("/placement")}.')
        stem, _, rest = segments[-1].rpartition(_SUFFIX)
        has_suffix = bool(stem and not rest) and request.environ[CONTEXT].minor < _SUFFIX_UNTIL
        if has_suffix:
            segments[-1] = stem
        if segments[0] != 'v1':
            # The bookmark links have no version.
            segments.insert(0, 'v1')
        if len(segments) > 3 and segments[1] == 'nodes' and segments[2] in _BELOW_NODES:
            # As in Ironic, the node may be at the end.
            segments.insert(2, segments.pop())
        try:
            method, parameters, path = super().locate(segments, request)
        except exc.HTTPNotFound:
            unserved.check(request.environ[CONTEXT], request.method, segments)
            raise
        except exc.HTTPMethodNotAllowed as error:
            _check_since(request, error)
            raise
        # If the path ends in a parameter, the suffix may be part of its value: a node may be named "my.json".
        if has_suffix and path.endswith('}') and method.route.path_names[-1].endswith('_ident'):
            # For DELETE, the suffix is always part of a name: a repeated DELETE of "my.json" must not delete "my".
            if request.method != 'DELETE' or uuidutils.is_uuid_like(parameters[-1]):
                request.environ[SUFFIXED] = True
            parameters[-1] += _SUFFIX
        return method, parameters, path

    @expose(PUBLIC, Root)
    def get_all(self, context: Context, /) -> dict[str, Any]:
        return {
            'name': 'OpenStack Ironic API',
            'description': 'Ironic is an OpenStack project which enables the provision and management of baremetal '
            'machines.',
            # Our own key: Ironic does not have it, and clients ignore it.
            'ironic_traits_version': version(),
            'default_version': _version(context),
            'versions': [_version(context)],
        }


def _check_since(request: Request, error: exc.HTTPMethodNotAllowed) -> None:
    """Raise HTTPNotFound if a method is not allowed, but the client would not find the resource at its version.

    Which methods are refused with 405 before the version of the resource depends on the resource, as in Ironic.

    :param error: as ``Resource.find`` raises it.
    """
    if request.environ[CONTEXT].has(error.since):
        return
    # The path /detail below a list refuses what the list refuses.
    resource = getattr(error.resource, 'of', error.resource)
    methods = [getattr(resource, name, None) for name in METHODS.get(request.method, ())]
    is_refused = isinstance(resource, _REFUSING) or (isinstance(resource, NodeTraitsController) and not methods)
    if not is_refused or any(method and method.route.before == 404 for method in methods):
        raise exc.HTTPNotFound(f'{request.path} needs API version 1.{error.since}.') from None


def _version(context: Context) -> dict[str, Any]:
    return {
        'id': 'v1',
        'links': [{'href': context.url('/v1/'), 'rel': 'self'}],
        'status': 'CURRENT',
        'min_version': microversions.text(microversions.MINIMUM),
        'version': microversions.text(microversions.MAXIMUM),
    }
