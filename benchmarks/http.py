"""An HTTP client for load tests, with keep-alive connections and without needless decoding."""

import http.client
import json
import os
import urllib.parse

VERSION = '1.37'
PLACEMENT_VERSION = '1.39'


class Connection:
    """A keep-alive connection to a base URL.

    :param base: http://HOST:PORT, with or without a path prefix.
    :param token: X-Auth-Token; by default that of the environment variable OS_TOKEN, if there is one.
    :param version: version of the Bare Metal API.
    :ivar etag: ETag of the last response; None if it had no ETag.
    """

    def __init__(self, base, token=None, version=VERSION):
        url = urllib.parse.urlparse(base)
        self.prefix = url.path.rstrip('/')
        self._headers = {
            'X-OpenStack-Ironic-API-Version': version,
            'OpenStack-API-Version': f'placement {PLACEMENT_VERSION}',
            'Accept': 'application/json',
        }
        token = token or os.environ.get('OS_TOKEN')
        self._headers |= {'X-Auth-Token': token} if token else {}
        self._connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=600)
        self.etag = None

    def close(self):
        """Close the connection."""
        self._connection.close()

    def ask(self, method, path, document=None, headers=None):
        """Send a request and read the whole response.

        :param document: body, to be encoded as JSON; None to send no body.
        :param headers: {name: value} of more headers, or None.
        :returns: (status, body as bytes).
        """
        body = None if document is None else json.dumps(document)
        headers = self._headers | (headers or {})
        headers |= {} if body is None else {'Content-Type': 'application/json'}
        for is_retry in (False, True):
            try:
                self._connection.request(method, self.prefix + path, body, headers)
                response = self._connection.getresponse()
                self.etag = response.getheader('ETag')
                return response.status, response.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                # A server may close a connection between two requests.
                self._connection.close()
                if is_retry:
                    raise
        raise AssertionError

    def ask_json(self, method, path, document=None):
        """Send a request and decode the response.

        :param document: body, to be encoded as JSON; None to send no body.
        :returns: (status, the decoded JSON document).
        """
        status, body = self.ask(method, path, document)
        return status, json.loads(body)
