"""Authentication of requests before they reach their route, as [api] auth_strategy says."""

import logging
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import bcrypt
from oslo_config import cfg
from webob import exc

from ironic_traits import failures
from ironic_traits.api.exceptions import answer
from ironic_traits.api.resource import CONTEXT

LOG = logging.getLogger(__name__)


def authenticate(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Wrap an application with authentication.

    Requests for public paths are not authenticated.

    :raises oslo_config.cfg.Error: the authentication options are missing or invalid.
    """

    def identified(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[CONTEXT] = environ[CONTEXT].identified(environ)
        return application(environ, start_response)

    if conf.api.auth_strategy == 'keystone':
        protected = _with_token(identified, conf)
    elif conf.api.auth_strategy == 'http_basic':
        protected = _with_password(application, conf)
    elif conf.api.auth_strategy == 'noauth2':
        protected = _with_trusted_headers(identified)
    else:
        return application

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_public = environ[CONTEXT].protocol.is_public(conf.api.serve, environ['PATH_INFO'])
        return (application if is_public else protected)(environ, start_response)

    return respond


def _with_token(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return an application that requires a valid keystone token."""
    # Imported late: keystonemiddleware is slow to import, and needed only with keystone.
    from keystoneauth1.exceptions import ClientException
    from keystonemiddleware import auth_token

    def scoped(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        # With a service token, keystonemiddleware reports the scope of that token instead of the user's.
        token = environ['keystone.token_info']['token']
        environ['HTTP_OPENSTACK_SYSTEM_SCOPE'] = 'all' if (token.get('system') or {}).get('all') else None
        return application(environ, start_response)

    _check_plugin(conf)
    try:
        middleware = auth_token.AuthProtocol(scoped, {'oslo_config_config': conf})
    except ClientException as error:
        raise cfg.Error(f'[keystone_authtoken]: {error}') from error
    for name in ('cafile', 'certfile', 'keyfile'):
        path = conf.keystone_authtoken[name]
        if path:
            _check_readable(path, f'[keystone_authtoken] {name}')

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return middleware(environ, start_response)
        except ClientException as error:
            # keystonemiddleware does not handle a keystone that never responds, or a catalog without a keystone.
            LOG.error('Keystone could not validate a token: %s', error)
            return answer(environ, failures.IdentityUnavailable())(environ, start_response)

    return respond


def _check_plugin(conf: cfg.ConfigOpts) -> None:
    """Raise cfg.Error unless auth_type names an authentication plugin that is installed."""
    from keystoneauth1 import loading

    loading.register_auth_conf_options(conf, 'keystone_authtoken')
    group = conf.keystone_authtoken.auth_section or 'keystone_authtoken'
    loading.register_auth_conf_options(conf, group)
    name = conf[group].auth_type
    if not name:
        raise cfg.Error(f'[{group}] auth_type is not set: the service needs it to validate tokens with keystone')
    if name not in loading.get_available_plugin_names():
        raise cfg.Error(f'[{group}] auth_type = {name}: no such keystoneauth plugin is installed')


def _with_password(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return an application that requires a user of the file of users, and the right password."""
    from oslo_middleware import basic_auth, exceptions

    path = conf.api.http_basic_auth_user_file
    option = '[api] http_basic_auth_user_file'
    _check_readable(path, option)
    try:
        if not _users(path):
            raise cfg.Error(f'{option} = {path}: the file has no users')
        basic_auth.validate_auth_file(path)
    except (OSError, exceptions.ConfigInvalid, exc.HTTPError) as error:
        raise cfg.Error(f'{option} = {path}: {error}') from error

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            token = basic_auth.parse_header(environ)
            user = _authenticate(path, *basic_auth.parse_token(token))
        except OSError as error:
            LOG.error('[api] http_basic_auth_user_file cannot be read: %s', error)
            return answer(environ, failures.UsersUnavailable())(environ, start_response)
        except (exc.HTTPError, ValueError) as error:
            # bcrypt raises ValueError for passwords that are too long.
            LOG.info('Authentication failed: %s', error)
            challenge = ('WWW-Authenticate', 'Basic realm="Baremetal API"')
            return answer(environ, failures.Unauthorized(), [challenge])(environ, start_response)
        environ.update(REMOTE_USER=user, HTTP_X_USER=user, HTTP_X_USER_NAME=user)
        return application(environ, start_response)

    return respond


def _check_readable(path: str, option: str) -> None:
    """Raise cfg.Error with the reason if the file of an option cannot be read."""
    try:
        open(path, 'rb').close()
    except OSError as error:
        raise cfg.Error(f'{option} = {path}: cannot be read: {error.strerror}') from error


def _users(path: str) -> list[str]:
    """Return the lines of the file of users that have a user.

    :raises OSError: the file cannot be read.
    """
    try:
        with open(path) as file:
            return [line.strip() for line in file if ':' in line]
    except UnicodeDecodeError as error:
        raise OSError('it is not text in UTF-8') from error


def _authenticate(path: str, user: str, password: bytes) -> str:
    """Return the user, if the password is right.

    ``basic_auth.authenticate`` returns at once for a user that is not in the file, which reveals the user names. This
    function takes as long for an unknown user as for a wrong password.

    :param path: of the file of users.
    :raises OSError: the file cannot be read.
    :raises ValueError: user or password is wrong.
    :raises webob.exc.HTTPError: the user's line is not a bcrypt password.
    """
    from oslo_middleware import basic_auth

    entries = _users(path)
    user_entry = next((entry for entry in entries if entry.startswith(f'{user}:')), None)
    entry = user_entry or (entries[0] if entries else None)
    if not entry or not bcrypt.checkpw(password, basic_auth.parse_entry(entry)[1]) or not user_entry:
        raise ValueError('wrong user or password')
    return user


def _with_trusted_headers(application: WSGIApplication) -> WSGIApplication:
    """Return an application that trusts the identity headers of a request, like Placement's noauth2.

    This is for tests of policies.
    """

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return exc.HTTPUnauthorized()(environ, start_response)
        user, _, project = token.partition(':')
        environ['HTTP_X_USER_ID'] = user
        environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')
        if not {'HTTP_OPENSTACK_SYSTEM_SCOPE', 'HTTP_X_DOMAIN_ID'} & environ.keys():
            environ.setdefault('HTTP_X_PROJECT_ID', project or user)
        return application(environ, start_response)

    return respond
