"""Requests to a service over HTTP."""

import contextlib
import http.client
import json
import urllib.parse

VERSION = {'X-OpenStack-Ironic-API-Version': '1.37', 'Content-Type': 'application/json'}


def ask(base, method, path, document=None, headers=()):
    """Send a request, and return (status, headers, body)."""
    with contextlib.closing(http.client.HTTPConnection(urllib.parse.urlparse(base).netloc, timeout=60)) as connection:
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, VERSION | dict(headers))
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def make(base, **fields):
    """Create a node, and return its uuid."""
    status, _, body = ask(base, 'POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})
    assert status == 201, body
    return json.loads(body)['uuid']
