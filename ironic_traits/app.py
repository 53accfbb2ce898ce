"""The WSGI application: its layers, and the order in which a request passes them."""

import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_middleware import cors, healthcheck

from ironic_traits.api import datatypes, microversions
from ironic_traits.api.description.endpoint import Endpoint
from ironic_traits.api.layers import identity
from ironic_traits.api.layers.browsers import Browsers
from ironic_traits.api.layers.middleware import Middleware
from ironic_traits.api.layers.pages import Pages
from ironic_traits.api.layers.request_queue import RequestQueue
from ironic_traits.api.pecan_application import Application, FailureHook, Request
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.protocol import DESCRIPTION
from ironic_traits.api.resource import ROUTE
from ironic_traits.api.v1.root import RootController
from ironic_traits.service import Service


def build(service: Service, takes_turns: bool = False) -> RequestQueue:
    """Build the WSGI application.

    :param takes_turns: whether the server has threads for requests that wait, and requests run in turns.
    """
    conf = service.conf
    datatypes.prepare()
    root = PlacementController() if conf.api.serve == 'placement' else RootController()
    application: Any = Application(root, hooks=[FailureHook()], request_cls=Request)
    application = _dispatch({DESCRIPTION: Endpoint(conf)}, application)
    # From the inside out: a request passes the last of these layers first, a response passes it last.
    # Browsers refuses what foreign web pages send before a password is compared, which is slow. Pages serves the web
    # page to clients that have no token yet. Middleware makes the context that all of these need, and refuses what the
    # queue does not admit. Metrics counts what Middleware refuses, too. CORS is outside of these, so that web pages can
    # read the refusals of all layers. The queue is outermost, so that a request that waits needs nothing yet.
    application = identity.authenticate(application, conf)
    if conf.api.auth_strategy in ('noauth', 'http_basic'):
        application = Browsers(application, conf)
    if conf.api.enable_ui and conf.api.serve == 'all':
        application = Pages(application, conf)
    if 'redfish' in conf.deploy.enabled_hardware_types and conf.api.serve != 'placement':
        application = _with_config_drives(application)
    application = Middleware(_dispatch({'/healthcheck': _health(service)}, application), service)
    if conf.metrics.enabled:
        application = _with_metrics(application, service)
    if conf.cors.allowed_origin:
        application = _Cors(application, conf)
    queue = RequestQueue(application, conf.api, takes_turns)
    service.combined.turns = queue
    return queue


def _health(service: Service) -> WSGIApplication:
    """Return the WSGI application for /healthcheck, and for /healthcheck?detailed, with workers and mirrors, too."""
    backends = ['ironic_traits_database']
    if service.conf.api.auth_strategy == 'keystone':
        backends.append('ironic_traits_keystone')
    options = {'path': '/healthcheck', 'database': service.database, 'conf': service.conf, 'service': service}
    plain, detailed = (
        healthcheck.Healthcheck(None, {'backends': ','.join(names), **options})
        for names in (backends, [*backends, 'ironic_traits_workers', 'ironic_traits_mirrors'])
    )

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        query = urllib.parse.parse_qs(environ.get('QUERY_STRING', ''), keep_blank_values=True)
        return (detailed if 'detailed' in query else plain)(environ, start_response)

    return respond


def _with_config_drives(application: WSGIApplication) -> WSGIApplication:
    # Imported late: what it needs is installed only with the extra redfish.
    from ironic_traits.api.layers.config_drives import ConfigDrives

    return ConfigDrives(application)


def _with_metrics(application: WSGIApplication, service: Service) -> WSGIApplication:
    # Imported late: at import, prometheus_client reads from the environment whether to merge the counts of processes.
    from ironic_traits.api.layers.metrics import Metrics

    return Metrics(application, service)


class _Cors(cors.CORS):
    """The CORS middleware, which lets web pages of the origins in [cors] call the API."""

    simple_headers = [
        *cors.CORS.simple_headers,
        'Authorization',
        'X-Auth-Token',
        'X-OpenStack-Request-ID',
        microversions.HEADER,
        'OpenStack-API-Version',
    ]


def _dispatch(by_path: Mapping[str, WSGIApplication], otherwise: WSGIApplication) -> WSGIApplication:
    """Return a WSGI application that routes by exact path.

    :param by_path: {path: WSGI application}.
    :param otherwise: WSGI application for all other paths.
    """

    def dispatch(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if path in by_path:
            environ[ROUTE] = path
        return by_path.get(path, otherwise)(environ, start_response)

    return dispatch
