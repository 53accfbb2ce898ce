"""The whole WSGI application, on one page."""

import functools
import urllib.parse

import pecan
from oslo_middleware import cors, healthcheck

from ironic_traits.api import identity, microversions
from ironic_traits.api.browsers import Browsers
from ironic_traits.api.hooks import FailureHook, Request
from ironic_traits.api.middleware import Middleware
from ironic_traits.api.overload import Overload
from ironic_traits.api.placement.root import PlacementController
from ironic_traits.api.rendering import Renderer
from ironic_traits.api.resource import ROUTE
from ironic_traits.api.v1.root import RootController
from ironic_traits.service import Service

# pecan makes a namedtuple class each time that it looks at a signature, twice for each request: a tenth of its time.
pecan.util._getargspec = functools.cache(pecan.util._getargspec)


def build(conf):
    """Build the WSGI application.

    :param conf: a parsed ConfigOpts (``ironic_traits.conf.make``).
    :returns: a WSGI application, with its ``service``.
    """
    service = Service(conf)
    application = pecan.make_app(
        PlacementController() if conf.api.serve == 'placement' else RootController(),
        hooks=[FailureHook()],
        custom_renderers={'wsmejson': Renderer},
        request_cls=Request,
        force_canonical=False,
        # A node named my.json would arrive as "my".
        guess_content_type_from_ext=False,
    )
    application = identity.authenticate(application, conf)
    if conf.api.auth_strategy in ('noauth', 'http_basic'):
        application = Browsers(application, conf)
    application = Overload(application, conf.api.threads)
    application = Middleware(_dispatch({'/healthcheck': _health(service)}, application), service)
    if conf.metrics.enabled:
        application = _counted(application)
    if conf.cors.allowed_origin:
        application = _Shared(application, conf)
    return application


def _health(service):
    """Build what answers /healthcheck, and /healthcheck?detailed, which says more to people."""
    backends = ['ironic_traits_database']
    if service.conf.api.auth_strategy == 'keystone':
        backends.append('ironic_traits_keystone')
    options = {'path': '/healthcheck', 'database': service.database, 'conf': service.conf, 'service': service}
    plain, detailed = (
        healthcheck.Healthcheck(None, {'backends': ','.join(names), **options})
        for names in (backends, [*backends, 'ironic_traits_workers'])
    )

    def answer(environ, start_response):
        query = urllib.parse.parse_qs(environ.get('QUERY_STRING', ''), keep_blank_values=True)
        return (detailed if 'detailed' in query else plain)(environ, start_response)

    return answer


def _counted(application):
    # Whether processes count together is decided by the environment when the library is imported.
    from ironic_traits.api.metrics import Metrics

    return Metrics(application, application.service)


class _Shared(cors.CORS):
    """Lets pages of other origins ask, as [cors] says.

    :ivar service: of the application inside.
    """

    simple_headers = [
        *cors.CORS.simple_headers,
        'Authorization',
        'X-Auth-Token',
        'X-OpenStack-Request-ID',
        microversions.HEADER,
        'OpenStack-API-Version',
    ]

    def __init__(self, application, conf):
        super().__init__(application, conf)
        self.service = application.service


def _dispatch(by_path, otherwise):
    """Send requests for certain paths one way and all others another."""

    def dispatch(environ, start_response):
        path = environ['PATH_INFO']
        if path in by_path:
            environ[ROUTE] = path
        return by_path.get(path, otherwise)(environ, start_response)

    return dispatch
