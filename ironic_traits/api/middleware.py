"""The door: what holds for every request and every answer, whoever gives it.

A plain WSGI layer around everything else.  It gives the request an id, chooses its version, makes its context; and it
puts the ids and the version headers on the answer, also when authentication or the router gave it.
"""

import logging
import re
import time
import urllib.parse

from oslo_context import context as oslo_context
from webob import request as webob_request

from ironic_traits import failures
from ironic_traits.api import protocols, request_log, worker_check
from ironic_traits.api.expose import CONTEXT
from ironic_traits.context import Context
from ironic_traits.db import outage

LOG = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r'req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Middleware:
    """The outermost WSGI application.

    :param inside: the WSGI application that answers.
    :param service: ironic_traits.app.Service.
    """

    def __init__(self, inside, service):
        self._inside = inside
        self.service = service
        self._request_log = request_log.RequestLog(service.conf)
        self._worker_check = worker_check.WorkerCheck(service)

    def __call__(self, environ, start_response):
        begun, statuses = time.monotonic(), ['500']

        def start(status, headers, exc_info=None):
            statuses.append(status[:3])
            return start_response(status, headers, exc_info)

        try:
            return self._answer(environ, start)
        finally:
            self._request_log.record(environ, statuses[-1], time.monotonic() - begun)
            self._worker_check.look()

    def _answer(self, environ, start_response):
        request_id = oslo_context.generate_request_id()
        protocol = protocols.of(self.service.conf, environ['PATH_INFO'])
        minor, refused = protocol.minimum, None
        try:
            minor = protocol.negotiate(_headers(environ))
        except failures.Failure as error:
            refused = error
        environ[CONTEXT] = self._context(environ, protocol, minor, request_id)
        own = [
            ('x-openstack-request-id', request_id),
            ('openstack-request-id', request_id),
            *protocol.headers(minor),
        ]

        def start(status, headers, exc_info=None):
            LOG.debug('%s %s: %s', environ['REQUEST_METHOD'], environ['PATH_INFO'], status)
            return start_response(status, headers + own, exc_info)

        try:
            refused = refused or _undecodable(environ)
            if refused:
                return protocol.refuse(refused, environ, start)
            if environ['REQUEST_METHOD'] == 'OPTIONS' and protocol.takes_options:
                start('200 OK', [('Content-Length', '0')])
                return []
            return self._inside(environ, start)
        except Exception as error:
            # Nothing below lets an exception through but by a defect.
            if not outage.is_one(error):
                LOG.exception('%s %s failed', environ['REQUEST_METHOD'], environ['PATH_INFO'])
            return protocol.refuse(failures.from_exception(error), environ, start)

    def _context(self, environ, protocol, minor, request_id):
        conf = self.service.conf
        # A request of HTTP/1.0 need not name a host; its links name this one.
        environ.setdefault('HTTP_HOST', f'{conf.host}:{conf.port}')
        base = conf.api.public_endpoint or webob_request.Request(environ).application_url
        asked = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
        return Context(
            self.service,
            protocol,
            minor,
            base=base.rstrip('/') + ('' if conf.api.serve == 'placement' else protocol.prefix),
            request_id=request_id,
            global_request_id=asked if _REQUEST_ID.fullmatch(asked) else None,
        )


def _headers(environ):
    """Give the request's headers as {name: value}, names in lower case."""
    return {name[5:].replace('_', '-').lower(): value for name, value in environ.items() if name.startswith('HTTP_')}


def _undecodable(environ):
    """Give the failure of an address that is no UTF-8 text, or has a NUL in it; None for a good one."""
    try:
        path = environ.get('PATH_INFO', '').encode('latin-1').decode()
        query = urllib.parse.unquote_to_bytes(environ.get('QUERY_STRING', '').encode('latin-1')).decode()
    except UnicodeError:
        return failures.InvalidInput(reason='The address is not UTF-8.')
    if '\0' in path + query:
        return failures.InvalidInput(reason='The address has a NUL character in it.')
    return None
