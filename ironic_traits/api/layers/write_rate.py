"""A limit on how many writes per second a client may send, if [api] max_writes_per_second is set.

Each client has a bucket of tokens in each process. A write takes one, and they come back at the rate of the limit. A
bucket holds those of one second.

The response is 503, not 429: openstacksdk (for the Bare Metal API) and ironicclient send a request again after 503, and
give up after 429. keystoneauth treats both alike.
"""

import collections
import threading
import time

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT, READS

#: Clients whose buckets are kept. A bucket that is dropped is a full one when its client comes back.
MAX_CLIENTS = 10_000


class Buckets:
    """The tokens of all clients.

    :param rate: tokens per second, and most tokens of a client.
    """

    def __init__(self, rate):
        self._rate = rate
        self._lock = threading.Lock()
        #: {client: (tokens, when)}, those first that have written least recently.
        self._tokens: collections.OrderedDict[str, tuple[float, float]] = collections.OrderedDict()

    def take(self, client):
        """Take a token of a client, and return whether it had one."""
        with self._lock:
            now = time.monotonic()
            tokens, when = self._tokens.pop(client, (self._rate, now))
            tokens = min(self._rate, tokens + (now - when) * self._rate)
            self._tokens[client] = (tokens - 1 if tokens >= 1 else tokens, now)
            if len(self._tokens) > MAX_CLIENTS:
                self._tokens.popitem(last=False)
            return tokens >= 1


class WriteRate:
    """A WSGI layer inside the authentication that refuses writes of clients that send too many.

    :param inside: the wrapped WSGI application.
    :param rate: maximum number of writes per second of a client.
    """

    def __init__(self, inside, rate):
        self._inside, self._rate = inside, rate
        self._buckets = Buckets(rate)

    def __call__(self, environ, start_response):
        if environ['REQUEST_METHOD'] in READS or self._buckets.take(_client(environ)):
            return self._inside(environ, start_response)
        return exceptions.answer(environ, failures.TooManyWrites(limit=self._rate))(environ, start_response)


def _client(environ):
    """Return a text that identifies the client: its user; its address if it has none.

    A user and an address are never the same text. REMOTE_USER is no header, so clients cannot set it.
    """
    user = environ[CONTEXT].user_id or environ.get('REMOTE_USER')
    return f'user {user}' if user else f'address {environ.get("REMOTE_ADDR")}'
