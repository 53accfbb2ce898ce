"""A small HTTP client of a WSGI application in process."""

import json

from webob import Request

VERSION = '1.82'


class Client:
    """Asks an application.

    :param app: WSGI application.
    """

    def __init__(self, app):
        self.app = app

    def ask(self, method, path, document=None, *, version=VERSION, raw=None, headers=()):
        """Send a request.

        :param document: body, as JSON.
        :param raw: body, as bytes.
        :param version: of the API; None to send none.
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
        """Send a GET and give the JSON answer; it must be a 200."""
        answer = self.ask('GET', path, **options)
        assert answer.status_int == 200, answer.text
        return answer.json

    def placement(self, method, path, document=None, version='1.39'):
        """Send a request to the Placement API; the path is below it."""
        headers = {'OpenStack-API-Version': f'placement {version}'}
        return self.ask(method, f'/placement{path}', document, version=None, headers=headers)

    def node(self, **fields):
        """Make a node and give it."""
        answer = self.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})
        assert answer.status_int == 201, answer.text
        return answer.json


def message(answer):
    """Give the sentence of a failure."""
    told = json.loads(answer.json['error_message'])
    return told.get('faultstring') or told.get('description')
