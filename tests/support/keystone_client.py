"""A client of keystone for its administrator, and the options with which the service uses keystone."""

import contextlib
import json
import urllib.request
import uuid

from tests.support.keystone_server import PASSWORD
from tests.support.peers import peer
from tests.support.servers import free_port

#: The password of all users that the tests create.
SECRET = 'secret-of-a-user'


class Keystone:
    """A client of keystone, with a token of the administrator.

    :param url: URL of the server, without a version.
    :ivar token: token of the administrator.
    :ivar projects: {name: id} of the projects that the tests created.
    :ivar users: {name: id} of the users that the tests created.
    :ivar roles: {name: id} of all roles.
    """

    def __init__(self, url):
        self.url = f'{url}/v3'
        self.token = self.login('admin', PASSWORD, 'admin')
        self.projects, self.users, self.roles = {}, {}, {}
        for role in self.ask('GET', '/roles')['roles']:
            self.roles[role['name']] = role['id']

    def ask(self, method, path, document=None, token=None, **headers):
        """Send a request.

        :param token: X-Auth-Token; None for the administrator's.
        :returns: the decoded document of the response; for a login, the token.
        """
        headers = {'Content-Type': 'application/json', **headers}
        if token or path != '/auth/tokens' or method != 'POST':
            headers['X-Auth-Token'] = token or self.token
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(f'{self.url}{path}', body, headers, method=method)
        with urllib.request.urlopen(request) as response:
            text = response.read()
            return response.headers.get('X-Subject-Token') if path == '/auth/tokens' else json.loads(text or b'null')

    def login(self, user, password, project=None, domain=None):
        """Return a token of a user for a project or for a domain; without either, for the system."""
        scope = {'system': {'all': True}}
        if project:
            scope = {'project': {'name': project, 'domain': {'id': 'default'}}}
        elif domain:
            scope = {'domain': {'id': domain}}
        credentials = {'name': user, 'password': password, 'domain': {'id': 'default'}}
        identity = {'methods': ['password'], 'password': {'user': credentials}}
        return self.ask('POST', '/auth/tokens', {'auth': {'identity': identity, 'scope': scope}})

    def user(self, name, role, project=None):
        """Create a user with a role in a project, or else in the system.  Return a token of the user."""
        user_id = self.ask('POST', '/users', {'user': {'name': name, 'password': SECRET}})['user']['id']
        self.users[name] = user_id
        if project and project not in self.projects:
            self.projects[project] = self.ask('POST', '/projects', {'project': {'name': project}})['project']['id']
        scope = f'projects/{self.projects[project]}' if project else 'system'
        self.ask('PUT', f'/{scope}/users/{user_id}/roles/{self.roles[role]}')
        return self.login(name, SECRET, project)

    def credential(self, token, name, **more):
        """Create an application credential of a user, and return a token for it.

        :param token: token of the user.
        :param name: name of the user.
        :param more: more fields of the application credential.
        """
        credential = self.ask(
            'POST',
            f'/users/{self.users[name]}/application_credentials',
            {'application_credential': {'name': str(uuid.uuid4()), **more}},
            token,
        )['application_credential']
        identity = {
            'methods': ['application_credential'],
            'application_credential': {'id': credential['id'], 'secret': credential['secret']},
        }
        return self.ask('POST', '/auth/tokens', {'auth': {'identity': identity}})

    def serve(self, kind, url):
        """Add a service to the catalog."""
        service = self.ask('POST', '/services', {'service': {'type': kind, 'name': kind}})['service']['id']
        endpoint = {'service_id': service, 'interface': 'public', 'url': url, 'region_id': 'RegionOne'}
        self.ask('POST', '/endpoints', {'endpoint': endpoint})


@contextlib.contextmanager
def running(directory):
    """Run a real keystone with the user and the project of services during the block, and provide its Keystone.

    :param directory: empty directory for its data.
    """
    with peer('tests.support.keystone_server', directory, free_port()) as url:
        keystone = Keystone(url)
        keystone.user('traits', 'service', 'service')
        yield keystone


OPTIONS = """
[keystone_authtoken]
www_authenticate_uri = {url}/v3
auth_type = password
auth_url = {url}/v3
username = traits
password = secret-of-a-user
project_name = service
user_domain_id = default
project_domain_id = default
# Tests revoke tokens, which must take effect at once.
token_cache_time = -1
http_request_max_retries = 0
http_connect_timeout = {timeout}
"""
