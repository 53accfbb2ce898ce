"""What differs between the Bare Metal API and the Placement API outside of the routes: versions, headers, failures."""

import dataclasses
import functools
from collections.abc import Callable

from ironic_traits.api import microversions, rendering
from ironic_traits.api.placement import errors
from ironic_traits.api.placement import microversions as placement_microversions


@dataclasses.dataclass(frozen=True, eq=False)
class Protocol:
    """The conventions of one API.

    :ivar name: label of the API in the metrics.
    :ivar prefix: path prefix of the API.
    :ivar title: its name, for people.
    :ivar minimum: the minor version of a request that names none.
    :ivar maximum: the latest minor version.
    :ivar public: paths below the prefix that need no authentication.
    :ivar negotiate: function from the headers of a request to the minor version; raises a Failure.
    :ivar version_header: name of the header of a request that names the version.
    :ivar headers: function from the minor version to the version headers of each response, [(name, value), …].
    :ivar vary: the header of each response that names the headers of a request with the version.
    :ivar cached: the Cache-Control of responses that depend on who asks, [(name, value)].
    :ivar failure: function from a Failure and the WSGI environ to (body, content type).
    :ivar failure_schema: function from the minor version to the JSON schema of this body.
    :ivar takes_options: whether the response to every OPTIONS request is 200.
    """

    name: str
    title: str
    prefix: str
    minimum: int
    maximum: int
    public: tuple[str, ...]
    negotiate: Callable
    version_header: str
    headers: Callable
    vary: tuple[str, str]
    cached: list[tuple[str, str]]
    failure: Callable
    failure_schema: Callable
    takes_options: bool

    def minor(self, environ):
        """Return the minor version of a request.

        :param environ: its WSGI environ.
        :raises failures.Failure: the version is not supported, or malformed.
        """
        return _minor(self, *(environ.get(name) for name in _VERSION_HEADERS.values()))

    def is_public(self, serve, path):
        """Whether a path needs no authentication.

        :param serve: the option [api] serve.
        """
        return path.removeprefix('' if serve == 'placement' else self.prefix) in self.public


#: The first segments of the paths of the Placement API.
_PLACEMENT_ROOTS = frozenset(
    {
        'allocation_candidates', 'allocations', 'reshaper', 'resource_classes', 'resource_providers', 'traits',
        'usages',
    }
)  # fmt: skip


def is_for_placement(environ):
    """Whether a request of the Bare Metal API is meant for Placement: it has a path and names a version of it."""
    is_client = environ.get('HTTP_OPENSTACK_API_VERSION', '').lower().startswith('placement ')
    return is_client and environ['PATH_INFO'].lstrip('/').partition('/')[0] in _PLACEMENT_ROOTS


def _bare_metal_failure(error, environ):
    """Return the body of a failure. A client of Placement that was sent here does not understand the usual one."""
    return (errors if is_for_placement(environ) else rendering).failure(error, environ)


#: Path of the description of the APIs (``api.description``).
DESCRIPTION = '/openapi.json'
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
    version_header=microversions.HEADER,
    headers=microversions.headers,
    vary=('Vary', f'OpenStack-API-Version, {microversions.HEADER}'),
    cached=[('Cache-Control', 'private')],
    failure=_bare_metal_failure,
    failure_schema=lambda minor: rendering.FAILURE,
    takes_options=True,
)
PLACEMENT = Protocol(
    name='placement',
    title='Placement API',
    prefix='/placement',
    minimum=placement_microversions.MINIMUM,
    maximum=placement_microversions.MAXIMUM,
    public=('', '/', DESCRIPTION),
    negotiate=placement_microversions.negotiate,
    version_header=placement_microversions.HEADER,
    headers=placement_microversions.headers,
    vary=('vary', placement_microversions.HEADER.lower()),
    # Placement sends Cache-Control from 1.15 on (``placement.expose``). Its clients expect none before.
    cached=[],
    failure=errors.failure,
    failure_schema=errors.schema,
    takes_options=False,
)


#: {name in lower case of a header that has a version: its key in the WSGI environ}.
_VERSION_HEADERS = {
    name.lower(): f'HTTP_{name.upper().replace("-", "_")}' for name in (microversions.HEADER, 'OpenStack-API-Version')
}


# Clients send few different headers.
@functools.lru_cache(maxsize=256)
def _minor(protocol, *values):
    headers = zip(_VERSION_HEADERS, values, strict=True)
    return protocol.negotiate({name: value for name, value in headers if value is not None})


def of(conf, path):
    """Return the Protocol of a path."""
    return selector(conf.api.serve)(path)


def selector(serve):
    """Return the function from a path to its Protocol.

    :param serve: the option [api] serve.
    """
    if serve == 'placement':
        return lambda path: PLACEMENT
    prefix = f'{PLACEMENT.prefix}/'
    return lambda path: PLACEMENT if f'{path}/'.startswith(prefix) else BARE_METAL
