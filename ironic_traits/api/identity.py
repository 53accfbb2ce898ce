"""Who asks: found out before a request reaches its route, as [api] auth_strategy says."""

from webob import exc

from ironic_traits.api.expose import CONTEXT


def known(application, conf):
    """Put what finds out who asks in front of an application.

    What is public goes through as it is.

    :param application: WSGI application.
    :param conf: ConfigOpts.
    :returns: WSGI application.
    """

    def identified(environ, start_response):
        environ[CONTEXT] = environ[CONTEXT].identified(environ)
        return application(environ, start_response)

    if conf.api.auth_strategy == 'keystone':
        # Takes a moment to import, and needs a keystone: only where it is wanted.
        from keystonemiddleware import auth_token

        checked = auth_token.AuthProtocol(identified, {'oslo_config_config': conf})
    elif conf.api.auth_strategy == 'noauth2':
        checked = _believed(identified)
    else:
        return application

    def asked(environ, start_response):
        protocol = environ[CONTEXT].protocol
        prefix = '' if conf.api.serve == 'placement' else protocol.prefix
        public = environ['PATH_INFO'].removeprefix(prefix) in protocol.public
        return (application if public else checked)(environ, start_response)

    return asked


def _believed(application):
    """Believe the headers, as the real services' noauth2 does: for tests of policies."""

    def believed(environ, start_response):
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return exc.HTTPUnauthorized()(environ, start_response)
        user, _, project = token.partition(':')
        environ['HTTP_X_USER_ID'] = user
        environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')
        if 'HTTP_OPENSTACK_SYSTEM_SCOPE' not in environ:
            environ.setdefault('HTTP_X_PROJECT_ID', project or user)
        return application(environ, start_response)

    return believed
