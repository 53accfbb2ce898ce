"""A client of a keystone, as its administrator; and the options with which the service asks it."""

import json
import urllib.request
import uuid

from tests.keystone_server import PASSWORD

#: The password of each user that is made.
SECRET = 'secret-of-a-user'


class Keystone:
    """A client of a keystone, as its administrator.

    :param url: of the server, without a version.
    """

    def __init__(self, url):
        self.url = f'{url}/v3'
        self.token = self.login('admin', PASSWORD, 'admin')
        self.projects, self.users, self.roles = {}, {}, {}
        for role in self.ask('GET', '/roles')['roles']:
            self.roles[role['name']] = role['id']

    def ask(self, method, path, document=None, token=None, **headers):
        """Send a request and give the answer's document, and for a login the token."""
        told = {'Content-Type': 'application/json', **headers}
        if token or path != '/auth/tokens' or method != 'POST':
            told['X-Auth-Token'] = token or self.token
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(f'{self.url}{path}', body, told, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
            return answer.headers.get('X-Subject-Token') if path == '/auth/tokens' else json.loads(text or b'null')

    def login(self, user, password, project=None, domain=None):
        """Return a token of a user for a project, for a domain, or without either for the system."""
        scope = {'system': {'all': True}}
        if project:
            scope = {'project': {'name': project, 'domain': {'id': 'default'}}}
        elif domain:
            scope = {'domain': {'id': domain}}
        who = {'name': user, 'password': password, 'domain': {'id': 'default'}}
        identity = {'methods': ['password'], 'password': {'user': who}}
        return self.ask('POST', '/auth/tokens', {'auth': {'identity': identity, 'scope': scope}})

    def user(self, name, role, project=None):
        """Make a user with a role, and give a token of it."""
        made = self.ask('POST', '/users', {'user': {'name': name, 'password': SECRET}})['user']['id']
        self.users[name] = made
        if project and project not in self.projects:
            self.projects[project] = self.ask('POST', '/projects', {'project': {'name': project}})['project']['id']
        where = f'projects/{self.projects[project]}' if project else 'system'
        self.ask('PUT', f'/{where}/users/{made}/roles/{self.roles[role]}')
        return self.login(name, SECRET, project)

    def credential(self, token, name, **more):
        """Make an application credential of the user of a token, and give a token of that."""
        made = self.ask(
            'POST',
            f'/users/{self.users[name]}/application_credentials',
            {'application_credential': {'name': str(uuid.uuid4()), **more}},
            token,
        )['application_credential']
        identity = {
            'methods': ['application_credential'],
            'application_credential': {'id': made['id'], 'secret': made['secret']},
        }
        return self.ask('POST', '/auth/tokens', {'auth': {'identity': identity}})

    def serve(self, kind, url):
        """Put a service into the catalog."""
        service = self.ask('POST', '/services', {'service': {'type': kind, 'name': kind}})['service']['id']
        endpoint = {'service_id': service, 'interface': 'public', 'url': url, 'region_id': 'RegionOne'}
        self.ask('POST', '/endpoints', {'endpoint': endpoint})


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
# A token that is revoked is to be noticed at once.
token_cache_time = -1
http_request_max_retries = 0
http_connect_timeout = 1
"""
