"""A client for load: keep-alive, nothing decoded that need not be."""

import http.client
import json
import urllib.parse

VERSION = '1.37'
PLACEMENT_VERSION = '1.39'


class Connection:
    """One keep-alive connection to a base URL.

    :param base: http://HOST:PORT, with a path prefix or without.
    :param token: X-Auth-Token; None for none.
    :param version: of the Bare Metal API.
    """

    def __init__(self, base, token=None, version=VERSION):
        url = urllib.parse.urlparse(base)
        self.prefix = url.path.rstrip('/')
        self._headers = {
            'X-OpenStack-Ironic-API-Version': version,
            'OpenStack-API-Version': f'placement {PLACEMENT_VERSION}',
            'Accept': 'application/json',
        }
        self._headers |= {'X-Auth-Token': token} if token else {}
        self._connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=600)

    def ask(self, method, path, document=None):
        """Send a request and read the whole answer.

        :returns: (status, bytes).
        """
        body = None if document is None else json.dumps(document)
        headers = self._headers if body is None else self._headers | {'Content-Type': 'application/json'}
        for last in (False, True):
            try:
                self._connection.request(method, self.prefix + path, body, headers)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                # A server may close a connection between two requests.
                self._connection.close()
                if last:
                    raise
        raise AssertionError

    def ask_json(self, method, path, document=None):
        """Send a request and read the answer.

        :returns: (status, the JSON document).
        """
        status, body = self.ask(method, path, document)
        return status, json.loads(body)
