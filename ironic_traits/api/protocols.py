"""The two protocols that the service speaks: what differs between them before and after a route."""

import dataclasses
import http
from collections.abc import Callable

from ironic_traits.api import microversions, rendering
from ironic_traits.api.placement import errors
from ironic_traits.api.placement import microversions as placement_microversions


@dataclasses.dataclass(frozen=True)
class Protocol:
    """One of the two.

    :ivar name: for those who watch the service.
    :ivar prefix: of the paths that it is spoken at.
    :ivar minimum: the minor version of a request that names none.
    :ivar public: paths below the prefix that everyone may ask without a token.
    :ivar negotiate: function from the request's headers to the minor version; raises a Failure.
    :ivar headers: function from the minor version to the headers of each answer, [(name, value), …].
    :ivar failure: function from a Failure and the request's environ to (body, content type).
    :ivar takes_options: whether an OPTIONS request is answered with 200, wherever it goes.
    """

    name: str
    prefix: str
    minimum: int
    public: tuple[str, ...]
    negotiate: Callable
    headers: Callable
    failure: Callable
    takes_options: bool

    def refuse(self, failure, environ, start_response, headers=()):
        """Answer with a failure, as a WSGI application that no route was asked by.

        :param headers: more of them, [(name, value), …].
        """
        body, content_type = self.failure(failure, environ)
        status = http.HTTPStatus(failure.status)
        told = [('Content-Type', content_type), ('Content-Length', str(len(body))), *headers]
        start_response(f'{status.value} {status.phrase}', told)
        return [body]


BARE_METAL = Protocol(
    name='baremetal',
    prefix='',
    minimum=microversions.MINIMUM,
    public=('', '/', '/v1', '/v1/'),
    negotiate=microversions.negotiate,
    headers=microversions.headers,
    failure=rendering.failure,
    takes_options=True,
)
PLACEMENT = Protocol(
    name='placement',
    prefix='/placement',
    minimum=placement_microversions.MINIMUM,
    public=('', '/'),
    negotiate=placement_microversions.negotiate,
    headers=placement_microversions.headers,
    failure=errors.failure,
    takes_options=False,
)


def of(conf, path):
    """Give the protocol that is spoken at a path."""
    if conf.api.serve == 'placement' or f'{path}/'.startswith(f'{PLACEMENT.prefix}/'):
        return PLACEMENT
    return BARE_METAL
