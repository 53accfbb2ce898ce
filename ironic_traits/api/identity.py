"""Who asks: found out before a request reaches its route, as [api] auth_strategy says."""

import logging
import os

import bcrypt
from oslo_config import cfg
from webob import exc

from ironic_traits import failures
from ironic_traits.api.expose import CONTEXT

LOG = logging.getLogger(__name__)


def authenticate(application, conf):
    """Put what finds out who asks in front of an application.

    What is public goes through as it is.

    :param application: WSGI application.
    :param conf: ConfigOpts.
    :returns: WSGI application.
    :raises oslo_config.cfg.Error: the options of how that is to be found out are not what they must be.
    """

    def identified(environ, start_response):
        environ[CONTEXT] = environ[CONTEXT].identified(environ)
        return application(environ, start_response)

    if conf.api.auth_strategy == 'keystone':
        checked = _with_token(identified, conf)
    elif conf.api.auth_strategy == 'http_basic':
        checked = _with_password(application, conf)
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


def _with_token(application, conf):
    """Let through whoever has a token that keystone knows."""
    # Takes a moment to import, and needs a keystone: only where it is wanted.
    from keystoneauth1.exceptions import ClientException
    from keystonemiddleware import auth_token

    def scoped(environ, start_response):
        # The middleware takes the scope of a service's token, when there is one, for that of the user's.
        token = environ['keystone.token_info']['token']
        environ['HTTP_OPENSTACK_SYSTEM_SCOPE'] = 'all' if (token.get('system') or {}).get('all') else None
        return application(environ, start_response)

    _check_plugin(conf)
    try:
        checked = auth_token.AuthProtocol(scoped, {'oslo_config_config': conf})
    except ClientException as error:
        raise cfg.Error(f'[keystone_authtoken]: {error}') from error
    for name in ('cafile', 'certfile', 'keyfile'):
        path = conf.keystone_authtoken[name]
        if path and not os.access(path, os.R_OK):
            raise cfg.Error(f'[keystone_authtoken] {name} = {path}: cannot be read')

    def asked(environ, start_response):
        try:
            return checked(environ, start_response)
        except ClientException as error:
            # What the middleware does not expect: a keystone that never answers, a catalog without one.
            LOG.error('Keystone could not be asked: %s', error)
            return environ[CONTEXT].protocol.refuse(failures.IdentityUnavailable(), environ, start_response)

    return asked


def _check_plugin(conf):
    """Raise cfg.Error unless the configuration names a way to ask keystone that is installed."""
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, 'keystone_authtoken')
    group = conf.keystone_authtoken.auth_section or 'keystone_authtoken'
    loading.register_auth_conf_options(conf, group)
    name = conf[group].auth_type
    if not name:
        raise cfg.Error(f'[{group}] does not say how to ask keystone about tokens: auth_type is not set')
    if name not in loading.get_available_plugin_names():
        raise cfg.Error(f'[{group}] auth_type = {name}: no such way to ask keystone is installed')


def _with_password(application, conf):
    """Let through whoever is in the file of users, with the password of that."""
    from oslo_middleware import basic_auth, exceptions

    path = conf.api.http_basic_auth_user_file
    if not os.access(path, os.R_OK):
        raise cfg.Error(f'[api] http_basic_auth_user_file = {path}: cannot be read')
    try:
        basic_auth.validate_auth_file(path)
    except (exceptions.ConfigInvalid, exc.HTTPError) as error:
        raise cfg.Error(f'[api] http_basic_auth_user_file = {path}: {error}') from error

    def asked(environ, start_response):
        try:
            token = basic_auth.parse_header(environ)
            user = _authenticate(path, *basic_auth.parse_token(token))
        except OSError as error:
            LOG.error('[api] http_basic_auth_user_file cannot be read: %s', error)
            return environ[CONTEXT].protocol.refuse(failures.UsersUnavailable(), environ, start_response)
        except (exc.HTTPError, ValueError) as error:
            # The latter is what bcrypt says of passwords that are too long for it.
            LOG.info('No user known: %s', error)
            challenge = ('WWW-Authenticate', 'Basic realm="Baremetal API"')
            return environ[CONTEXT].protocol.refuse(failures.Unauthorized(), environ, start_response, [challenge])
        environ.update(REMOTE_USER=user, HTTP_X_USER=user, HTTP_X_USER_NAME=user)
        return application(environ, start_response)

    return asked


def _authenticate(path, user, password):
    """Return a user whose password is right.

    ``basic_auth.authenticate`` answers at once for a user that the file does not have, which tells user names.  Here
    that takes as long as a wrong password.

    :param path: of the file of users.
    :param password: bytes.
    :raises OSError: the file cannot be read.
    :raises ValueError: user or password is wrong.
    :raises webob.exc.HTTPError: the user's line is not a bcrypt password.
    """
    from oslo_middleware import basic_auth

    with open(path) as file:
        entries = [line.strip() for line in file if ':' in line]
    own = next((entry for entry in entries if entry.startswith(f'{user}:')), None)
    compared = own or (entries[0] if entries else None)
    if not compared or not bcrypt.checkpw(password, basic_auth.parse_entry(compared)[1]) or not own:
        raise ValueError('wrong user or password')
    return user


def _believed(application):
    """Believe the headers, as the real services' noauth2 does: for tests of policies."""

    def believed(environ, start_response):
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return exc.HTTPUnauthorized()(environ, start_response)
        user, _, project = token.partition(':')
        environ['HTTP_X_USER_ID'] = user
        environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')
        if not {'HTTP_OPENSTACK_SYSTEM_SCOPE', 'HTTP_X_DOMAIN_ID'} & environ.keys():
            environ.setdefault('HTTP_X_PROJECT_ID', project or user)
        return application(environ, start_response)

    return believed
