"""The whole WSGI application, on one page."""

import functools

import pecan
from oslo_middleware import healthcheck

from ironic_traits.api.door import Door
from ironic_traits.api.expose import CONTEXT
from ironic_traits.api.hooks import FailureHook, Request
from ironic_traits.api.rendering import Renderer
from ironic_traits.api.v1.root import RootController
from ironic_traits.service import Service

# pecan makes a namedtuple class each time that it looks at a signature, twice for each request: a tenth of its time.
pecan.util._getargspec = functools.cache(pecan.util._getargspec)

#: What everyone may ask without a token.
PUBLIC = ('/', '/v1', '/v1/')


def build(conf):
    """Build the WSGI application.

    :param conf: a parsed ConfigOpts (``ironic_traits.conf.make``).
    :returns: a WSGI application.
    """
    service = Service(conf)
    application = pecan.make_app(
        RootController(),
        hooks=[FailureHook()],
        custom_renderers={'wsmejson': Renderer},
        request_cls=Request,
        force_canonical=False,
        # A node named my.json would arrive as "my".
        guess_content_type_from_ext=False,
    )
    if conf.api.auth_strategy == 'keystone':
        application = _with_tokens(application, conf)
    health = healthcheck.Healthcheck(
        None, {'path': '/healthcheck', 'backends': 'ironic_traits_database', 'database': service.database}
    )
    return Door(_dispatch({'/healthcheck': health}, application), service)


def _with_tokens(application, conf):
    # Takes a moment to import, and needs a keystone: only where it is wanted.
    from keystonemiddleware import auth_token

    def identified(environ, start_response):
        environ[CONTEXT] = environ[CONTEXT].identified(environ)
        return application(environ, start_response)

    checked = auth_token.AuthProtocol(identified, {'oslo_config_config': conf})
    return _dispatch(dict.fromkeys(PUBLIC, application), checked)


def _dispatch(by_path, otherwise):
    """Send requests for certain paths one way and all others another."""

    def dispatch(environ, start_response):
        return by_path.get(environ['PATH_INFO'] or '/', otherwise)(environ, start_response)

    return dispatch
