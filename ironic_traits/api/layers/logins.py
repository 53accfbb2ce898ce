"""/ui/login: how the web page authenticates, its columns and filters, and tokens of keystone.

The page's Content-Security-Policy lets it send requests to this service only, and keystone need not allow its origin.
So the service sends the password on to the keystone that it validates tokens with. It keeps neither password nor token.
"""

import json
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from wsgiref.types import StartResponse, WSGIEnvironment

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.layers.health import TIMEOUT
from ironic_traits.api.v1.match_types import FILTERS
from ironic_traits.inventory.nodes import node_columns
from ironic_traits.resources.nodes import NODES

if TYPE_CHECKING:
    from keystoneauth1.session import Session

LOG = logging.getLogger(__name__)
PATH = '/ui/login'
#: Maximum size of a request in bytes.
_MAX_BODY = 8192
#: The keys of a request. All but ``system`` are strings.
_KEYS = ('user', 'password', 'user_domain', 'project', 'project_domain', 'system')
_DEFAULT_DOMAIN = 'Default'


class Logins:
    """A WSGI application: GET names what the page needs, POST returns a token, DELETE revokes that of the request."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        methods = {'GET': self._show, 'POST': self._create, 'DELETE': self._revoke}
        if self._conf.api.auth_strategy != 'keystone':
            del methods['POST'], methods['DELETE']
        try:
            if environ['REQUEST_METHOD'] not in methods:
                raise failures.MethodNotAllowed(allowed=methods)
            document = methods[environ['REQUEST_METHOD']](environ)
        except failures.Failure as failure:
            return exceptions.answer(environ, failure)(environ, start_response)
        body = json.dumps(document).encode()
        headers = [('Content-Type', 'application/json'), ('Cache-Control', 'no-store')]
        start_response('200 OK', [*headers, ('Content-Length', str(len(body)))])
        return [body]

    def _show(self, environ: WSGIEnvironment) -> dict[str, Any]:
        columns = {
            name: {
                'label': column.label,
                'is_facet': column.is_facet,
                'is_in_requests': name in FILTERS,
                'is_selectable': NODES[name].is_selectable,
                'is_sortable': name in node_columns.SORTABLE,
            }
            for name, column in NODES.columns.items()
        }
        flags = {each.argument: each.words for each in NODES.list_filters.values() if each.words}
        return {'auth_strategy': self._conf.api.auth_strategy, 'columns': columns, 'flags': flags}

    def _create(self, environ: WSGIEnvironment) -> dict[str, Any]:
        """Return a new token, and what it is for, from the user and the password in the body."""
        from keystoneauth1 import exceptions as errors
        from keystoneauth1.identity import generic

        values = _body(environ)
        scope = {'system_scope': 'all'} if values.get('system') else {'project_name': values.get('project')}
        try:
            plugin = generic.Password(
                self._auth_url(),
                username=values['user'],
                password=values['password'],
                user_domain_name=values.get('user_domain') or _DEFAULT_DOMAIN,
                project_domain_name=(values.get('project_domain') or _DEFAULT_DOMAIN)
                if scope.get('project_name')
                else None,
                **scope,
            )
            access: Any = plugin.get_access(self._session())
        except errors.HTTPClientError as error:
            # Without the name: some users type their password in its place.
            LOG.info('Keystone refused a login.')
            raise failures.LoginRefused from error
        except errors.ClientException as error:
            LOG.error('Keystone could not be asked for a token: %s', type(error).__name__)
            raise failures.IdentityUnavailable from error
        return {
            'token': access.auth_token,
            'expires_at': access.expires.isoformat(),
            'user': access.username,
            'user_id': access.user_id,
            'project': access.project_name,
            'project_id': access.project_id,
            'system': bool(access.system_scoped),
            'roles': sorted(access.role_names),
        }

    def _revoke(self, environ: WSGIEnvironment) -> dict[str, Any]:
        """Revoke the token of the request."""
        from keystoneauth1 import discover
        from keystoneauth1 import exceptions as errors

        token = environ.get('HTTP_X_AUTH_TOKEN')
        if not token:
            raise failures.Unauthorized
        session = self._session()
        try:
            url = discover.Discover(session, self._auth_url()).url_for((3,)) or ''
            headers = {'X-Auth-Token': token, 'X-Subject-Token': token}
            session.delete(f'{url.rstrip("/")}/auth/tokens', headers=headers, authenticated=False, log=False)
        except (errors.Unauthorized, errors.NotFound):
            LOG.debug('The token of a logout was not valid any more.')
        except errors.ClientException as error:
            raise failures.IdentityUnavailable from error
        return {}

    def _auth_url(self) -> str:
        from keystoneauth1 import loading

        plugin: Any = loading.load_auth_from_conf_options(self._conf, 'keystone_authtoken')
        return plugin.auth_url

    def _session(self) -> 'Session':
        """Return a session with the options by which tokens are validated."""
        from keystoneauth1 import session

        options = self._conf.keystone_authtoken
        return session.Session(
            verify=False if options.insecure else options.cafile or True,
            cert=(options.certfile, options.keyfile) if options.certfile else None,
            timeout=options.http_connect_timeout or TIMEOUT,
        )


def _body(environ: WSGIEnvironment) -> dict[str, Any]:
    """Return the body of a login.

    :raises failures.InvalidInput: it is not JSON, or has wrong keys or values.
    """
    length = environ.get('CONTENT_LENGTH') or '0'
    if not length.isdecimal() or int(length) > _MAX_BODY:
        raise failures.InvalidInput(reason=f'A login is a JSON document of at most {_MAX_BODY} bytes.')
    try:
        values = json.loads(environ['wsgi.input'].read(int(length)))
    except ValueError:
        values = None
    is_valid = (
        isinstance(values, dict)
        and values.keys() <= set(_KEYS)
        and all(isinstance(value, bool if key == 'system' else str) for key, value in values.items())
    )
    if not is_valid or not values.get('user') or not values.get('password'):
        raise failures.InvalidInput(reason=f"A login is a JSON object with 'user' and 'password'. Keys: {_KEYS}.")
    return values
