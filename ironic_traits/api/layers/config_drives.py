"""Config drives at /config_drives/{uuid of a node}/{token}.img, which BMCs fetch without authentication."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT, ROUTE
from ironic_traits.inventory.provisioning import config_drives
from ironic_traits.redfish.config_drives import PREFIX


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
        environ[ROUTE] = f'{PREFIX}{{node}}/{{token}}.img'
        try:
            disk = config_drives.get(environ[CONTEXT], path)
        except Exception as error:
            return exceptions.answer_to(environ, error)(environ, start_response)
        # Many BMCs read parts of it, as the machine reads its disk.
        response = webob.Response(disk, content_type='application/octet-stream', charset=None)
        response.accept_ranges, response.conditional_response = 'bytes', True
        return response(environ, start_response)
