"""A small client of a WSGI application in this process."""

import json

from webob import Request

VERSION = '1.115'


class Client:
    """A client of an application.

    :param app: WSGI application.
    """

    def __init__(self, app):
        self.app = app

    def ask(self, method, path, document=None, *, version=VERSION, raw=None, headers=()):
        """Send a request.

        :param document: body, to be encoded as JSON; None to send no body.
        :param version: version of the Bare Metal API; None to send none.
        :param raw: body as bytes, instead of ``document``.
        :param headers: more headers, a dict.
        :returns: webob.Response.
        """
        request = Request.blank(path, method=method)
        request.headers['Accept'] = 'application/json'
        if version is not None:
            request.headers['X-OpenStack-Ironic-API-Version'] = version
        if document is not None:
            raw = json.dumps(document).encode()
        if raw is not None:
            request.body = raw
            request.content_type = 'application/json'
        request.headers.update(headers)
        return request.get_response(self.app)

    def get(self, path, **options):
        """Send a GET and return the JSON document of its response, which must be a 200."""
        response = self.ask('GET', path, **options)
        assert response.status_int == 200, response.text
        return response.json

    def placement(self, method, path, document=None, version='1.39'):
        """Send a request to the Placement API.

        :param path: path without /placement.
        :returns: webob.Response.
        """
        headers = {'OpenStack-API-Version': f'placement {version}'}
        return self.ask(method, f'/placement{path}', document, version=None, headers=headers)

    def node(self, **fields):
        """Create a node and return it."""
        response = self.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})
        assert response.status_int == 201, response.text
        return response.json


def message(response):
    """Return the message of an error response."""
    error = json.loads(response.json['error_message'])
    return error.get('faultstring') or error.get('description')


def ask_as(client, scope, method, path, document=None, version='1.82'):
    """Send a request under noauth2, and return the response.

    :param scope: "system" for the administrator of the system; otherwise, a member of the project alpha sends it.
    """
    headers = {'X-Auth-Token': 'user:alpha', 'X-Roles': 'member,reader'}
    if scope == 'system':
        headers |= {'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
    return client.ask(method, path, document, headers=headers, version=version)
