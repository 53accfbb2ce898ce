"""Config drives at /config_drives/{uuid of a node}/config-2-{token}.img, which BMCs fetch without authentication."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT, ROUTE
from ironic_traits.inventory.provisioning import config_drives
from ironic_traits.redfish.config_drives import PREFIX

#: Bytes that are copied at a time.
_BLOCK = 2**18


class ConfigDrives:
    """A WSGI layer that serves config drives.

    :param inside: the wrapped WSGI application, which gets all other requests.
    """

    def __init__(self, inside: WSGIApplication) -> None:
        self._inside = inside

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if environ['REQUEST_METHOD'] not in ('GET', 'HEAD') or not path.startswith(PREFIX):
            return self._inside(environ, start_response)
        environ[ROUTE] = f'{PREFIX}{{node}}/config-2-{{token}}.img'
        try:
            disk = config_drives.get(environ[CONTEXT], path)
        except Exception as error:
            return exceptions.answer_to(environ, error)(environ, start_response)
        return _response(webob.Request(environ), disk)(environ, start_response)


def _response(request: webob.Request, disk: bytes) -> webob.Response:
    """Return the response with a disk, or with the part of it that a request asks for. Many BMCs read parts of it."""
    response = webob.Response(content_type='application/octet-stream', charset=None)
    response.accept_ranges = 'bytes'
    start, end = 0, len(disk)
    if request.range:
        start, asked_end = request.range.start, request.range.end
        # A negative one counts from the end.
        start = start if start >= 0 else max(0, len(disk) + start)
        end = len(disk) if asked_end is None else min(asked_end, len(disk))
        if start >= len(disk):
            refused = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
            return webob.Response(status=refused, content_range=(None, None, len(disk)))
        response.status_int, response.content_range = HTTPStatus.PARTIAL_CONTENT, (start, end, len(disk))
    response.app_iter, response.content_length = _blocks(memoryview(disk)[start:end]), end - start
    return response


def _blocks(part: memoryview) -> Iterator[bytes]:
    for place in range(0, len(part), _BLOCK):
        yield bytes(part[place : place + _BLOCK])
