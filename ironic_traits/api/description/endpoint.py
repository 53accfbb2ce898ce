"""/openapi.json: the description of an API at a version. It needs no authentication, like the version documents."""

import functools
import re
import urllib.parse
import zlib
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

import webob
from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api import conditional, exceptions, rendering
from ironic_traits.api.microversions import text
from ironic_traits.api.placement.protocol import PLACEMENT
from ironic_traits.api.protocol import Protocol
from ironic_traits.api.v1.protocol import BARE_METAL

_VERSION = re.compile(r'1\.([0-9]{1,9})')
_PROTOCOLS = {each.name: each for each in (BARE_METAL, PLACEMENT)}
_METHODS = ('GET', 'HEAD')
_PARAMETERS = {'api', 'version'}


class Endpoint:
    """The WSGI application for /openapi.json.

    A document is built when it is first requested, and kept compressed: there are as many as versions.

    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._is_placement = conf.api.serve == PLACEMENT.name
        self._compressed = functools.cache(self._build)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return self._response(environ)(environ, start_response)
        except failures.Failure as error:
            return exceptions.answer(environ, error)(environ, start_response)

    def _response(self, environ: WSGIEnvironment) -> webob.Response:
        if environ['REQUEST_METHOD'] not in _METHODS:
            raise failures.MethodNotAllowed(allowed=_METHODS)
        compressed, tag = self._compressed(*self._requested(environ.get('QUERY_STRING', '')))
        response = webob.Response(zlib.decompress(compressed), content_type=rendering.CONTENT_TYPE, charset=None)
        response.conditional_response, response.etag = True, tag
        return response

    def _build(self, api: str, minor: int) -> tuple[bytes, str]:
        """Return a document, compressed, and its ETag."""
        # Imported late: it is slow to import, as it has all policy rules.
        from ironic_traits.api.description.documents import document

        body = rendering.dump(document(api, minor, self._conf.api.auth_strategy, not self._is_placement))
        return zlib.compress(body), conditional.digest_of(body)

    def _requested(self, query: str) -> tuple[str, int]:
        """Return the API and the minor version that a query asks for."""
        arguments = urllib.parse.parse_qs(query, keep_blank_values=True)
        if unknown := arguments.keys() - _PARAMETERS:
            raise failures.UnexpectedArguments(unknown, _PARAMETERS)
        names = [PLACEMENT.name] if self._is_placement else list(_PROTOCOLS)
        name = arguments.get('api', names)[0]
        if name not in names:
            raise failures.InvalidInput(reason=f"Invalid api: '{name}'. This service has {' and '.join(names)}.")
        return name, _minor(_PROTOCOLS[name], arguments.get('version', ['latest'])[0])


def _minor(protocol: Protocol, requested: str) -> int:
    if requested == 'latest':
        return protocol.maximum
    match = _VERSION.fullmatch(requested)
    if not match or not protocol.minimum <= int(match[1]) <= protocol.maximum:
        raise failures.InvalidInput(
            reason=f"Invalid version: '{requested}'. The {protocol.title} has the versions {text(protocol.minimum)} to "
            f'{text(protocol.maximum)}.'
        )
    return int(match[1])
