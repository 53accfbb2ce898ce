"""Requests to a service over HTTP."""

import contextlib
import http.client
import json
import ssl
import urllib.parse

VERSION = {'X-OpenStack-Ironic-API-Version': '1.37', 'Content-Type': 'application/json'}


def ask(base, method, path, document=None, headers=(), certificate=None):
    """Send a request, and return (status, headers, body).

    :param certificate: path of the certificate of a service with TLS.
    """
    with contextlib.closing(connect(urllib.parse.urlparse(base), certificate)) as connection:
        body = None if document is None else json.dumps(document)
        connection.request(method, path, body, VERSION | dict(headers))
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def connect(url, certificate=None):
    """Return a connection to the service of a URL. With TLS, its certificate is verified."""
    if url.scheme == 'https':
        context = ssl.create_default_context(cafile=certificate)
        return http.client.HTTPSConnection(url.netloc, timeout=60, context=context)
    return http.client.HTTPConnection(url.netloc, timeout=60)


def make(base, **fields):
    """Create a node, and return its uuid."""
    status, _, body = ask(base, 'POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})
    assert status == 201, body
    return json.loads(body)['uuid']
