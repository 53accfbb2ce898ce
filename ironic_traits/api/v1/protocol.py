"""The conventions of the Bare Metal API."""

from wsgiref.types import WSGIEnvironment

from ironic_traits.api import microversions, rendering
from ironic_traits.api.placement import errors
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.protocol import DESCRIPTION, Protocol
from ironic_traits.failures import Failure


def is_for_placement(environ: WSGIEnvironment) -> bool:
    """Whether a request of the Bare Metal API is meant for Placement: it has a path and names a version of it."""
    is_client = environ.get('HTTP_OPENSTACK_API_VERSION', '').lower().startswith('placement ')
    return is_client and environ['PATH_INFO'].lstrip('/').partition('/')[0] in PlacementController.children


def _failure(error: Failure, environ: WSGIEnvironment) -> tuple[bytes, str]:
    """Return the body of a failure. A client of Placement that was sent here does not understand the usual one."""
    return (errors if is_for_placement(environ) else rendering).failure(error, environ)


#: Ramdisks cannot authenticate. A path works without /v1, and with a slash at its end.
_RAMDISK_PATHS = tuple(f'{prefix}/continue_inspection{end}' for prefix in ('/v1', '') for end in ('', '/'))

BARE_METAL = Protocol(
    name='baremetal',
    title='Bare Metal API',
    prefix='',
    minimum=microversions.MINIMUM,
    maximum=microversions.MAXIMUM,
    public=('', '/', '/v1', '/v1/', DESCRIPTION, *_RAMDISK_PATHS),
    negotiate=microversions.negotiate,
    names_additions=microversions.names_additions,
    version_header=microversions.HEADER,
    headers=microversions.headers,
    vary=('Vary', f'OpenStack-API-Version, {microversions.HEADER}'),
    cached=[('Cache-Control', 'private')],
    failure=_failure,
    failure_schema=lambda minor: rendering.FAILURE,
    takes_options=True,
    has_tags=True,
)
