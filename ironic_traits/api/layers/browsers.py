"""Protection against requests that a foreign web page makes a browser send.

Under noauth and http_basic, a page needs no token: the browser sends the password by itself. A page of any origin can
make a browser send a POST without a body, or one whose Content-Type is not JSON. A page whose host name resolves to
this service can even read the responses (DNS rebinding). This module refuses these kinds of request.
"""

import functools
import ipaddress
import re
import socket
import urllib.parse
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.resource import READS

_JSON = re.compile(r'application/([a-z0-9.-]+\+)?json\s*(;|$)', re.IGNORECASE)
#: A host name, or an IP address, and a port (section 3.2.2 of RFC 3986). Links in responses contain it.
_HOST = re.compile(r'([\w.~-]+|\[[0-9a-f:.]+\])(:\d*)?', re.IGNORECASE | re.ASCII)
_PORTS = {'http': 80, 'https': 443}


class Origins:
    """A WSGI layer that refuses writes of web pages of other origins, unless [cors] allows the origin.

    Browsers say which page sends a request. Other clients do not, and are let through.
    """

    def __init__(self, inside: WSGIApplication, conf: cfg.ConfigOpts) -> None:
        self._inside = inside
        self._public = _host(conf.api.public_endpoint or '')
        self._allowed = {origin.rstrip('/').lower() for origin in conf.cors.allowed_origin or ()}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['REQUEST_METHOD'] not in READS and not self._is_own(environ):
            failure = failures.OriginNotAllowed(origin=environ.get('HTTP_ORIGIN', 'unknown'))
            return exceptions.answer(environ, failure)(environ, start_response)
        return self._inside(environ, start_response)

    def _is_own(self, environ: WSGIEnvironment) -> bool:
        """Whether the request is of a page of this service, of an allowed one, or of no page."""
        site, origin = environ.get('HTTP_SEC_FETCH_SITE'), environ.get('HTTP_ORIGIN', '').lower()
        # A page cannot set this header. "none" is a request that the user has made.
        if site in ('same-origin', 'none') or (site is None and not origin):
            return True
        if '*' in self._allowed or origin in self._allowed:
            return True
        # Over plain HTTP, browsers send no Sec-Fetch-Site.
        scheme, host = origin.partition(':')[0], _host(origin)
        own = _host(f'{scheme}://{environ.get("HTTP_HOST", "")}'), self._public
        return site is None and host is not None and host in own


def _host(url: str) -> tuple[str, int | None] | None:
    """Return the host and the port of a URL; None if it has none."""
    try:
        parts = urllib.parse.urlsplit(url)
        return (parts.hostname, parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
    except ValueError:
        return None


class Browsers:
    """A WSGI layer that refuses bodies without a JSON Content-Type and, under noauth, foreign host names."""

    def __init__(self, inside: WSGIApplication, conf: cfg.ConfigOpts) -> None:
        self._inside = Origins(inside, conf)
        self._any_host = conf.api.auth_strategy != 'noauth'
        public = urllib.parse.urlsplit(conf.api.public_endpoint or '').hostname
        names = {*conf.api.allowed_hosts, conf.host, socket.gethostname(), public}
        self._names = {name.lower() for name in names if name}
        # Clients use few different names.
        self._is_allowed = functools.lru_cache(maxsize=256)(self._is_trusted)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        failure = self._failure(environ)
        if failure:
            return exceptions.answer(environ, failure)(environ, start_response)
        return self._inside(environ, start_response)

    def _failure(self, environ: WSGIEnvironment) -> failures.Failure | None:
        """Return the failure that refuses a request; None if it is allowed."""
        host = environ.get('HTTP_HOST', '')
        if not _HOST.fullmatch(host):
            return failures.InvalidInput(reason='The Host header is neither a host name nor an IP address.')
        if not self._any_host and not self._is_allowed(host):
            return failures.HostNotAllowed(host=host)
        if _has_body(environ) and not _JSON.match(environ.get('CONTENT_TYPE') or ''):
            return failures.UnsupportedMediaType(content_type=environ.get('CONTENT_TYPE') or 'no Content-Type')
        return None

    def _is_trusted(self, host: str) -> bool:
        """Whether nobody else can control the host name of a Host header.

        That is so for IP addresses, for names without a dot (which only the local network resolves), for names below
        ``localhost``, and for the names in the configuration.
        """
        try:
            name = urllib.parse.urlsplit(f'//{host}').hostname or ''
        except ValueError:
            return False
        if name in self._names or name.endswith('.localhost') or ('.' not in name and ':' not in name):
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _has_body(environ: WSGIEnvironment) -> bool:
    return environ.get('CONTENT_LENGTH') not in (None, '', '0') or 'HTTP_TRANSFER_ENCODING' in environ
