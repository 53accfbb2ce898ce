"""Connections to BMCs that end in bounded time, and read a bounded amount of data.

sushy speaks the protocol. This module replaces its transport: a BMC may hang, send a byte a second, never end, or lead
to another host.
"""

import contextlib
import logging
import queue
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import requests
import sushy.connector
from requests.adapters import HTTPAdapter
from urllib3 import connection, connectionpool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from ironic_traits.redfish.addresses import BadAddress, check_address

#: Maximum number of bytes of one answer, and of all answers of a connection.
MAX_ANSWER, MAX_TOTAL = 2 * 2**20, 16 * 2**20
#: Seconds for the request that ends a session.
LOGOUT = 5
#: Bytes that are read at a time.
_CHUNK = 65536

# Its messages repeat texts of the BMC, which may repeat passwords. What went wrong is in ``last_error``.
logging.getLogger('sushy').setLevel(logging.CRITICAL)


class Stopped(Exception):
    """A request that was ended, because it reached a limit. The text is a sentence."""


class Limits:
    """The limits of one connection to a BMC.

    :param timeout: seconds for one request.
    :param total: seconds for all requests.
    :param local: whether addresses of this machine and its link are allowed.
    """

    def __init__(self, timeout: float, total: float, local: bool) -> None:
        self._timeout, self._total, self._local = timeout, total, local
        self._end = time.monotonic() + total
        self._bytes = 0
        self._sockets: list[socket.socket] = []

    def check(self, address: str) -> None:
        """Raise addresses.BadAddress for an IP address that is not allowed."""
        if not self._local:
            check_address(address)

    def add(self, connected: socket.socket) -> socket.socket:
        """Add a socket, and return it. It is shut down when the time is over."""
        # A duplicate, because TLS takes the socket away. A BMC has one connection at a time.
        self.close()
        self._sockets.append(connected.dup())
        return connected

    def begin_logout(self) -> None:
        """Allow the last request, even if the time for all requests is over."""
        self._end = time.monotonic() + LOGOUT

    def close(self) -> None:
        """Close the duplicates of the sockets."""
        while self._sockets:
            self._sockets.pop().close()

    def count(self, size: int) -> None:
        """Count bytes that were read.

        :raises Stopped: they are too many.
        """
        self._bytes += size
        if self._bytes > MAX_TOTAL:
            raise Stopped(f'The BMC has sent more than {MAX_TOTAL >> 20} MiB.')

    @contextlib.contextmanager
    def request(self) -> Iterator[float]:
        """Limit the time of one request, also of an answer that comes a little at a time. Yield its seconds.

        :raises Stopped: the time was too short, or none is left.
        """
        is_last = self._timeout >= self._end - time.monotonic()
        end = self._end if is_last else time.monotonic() + self._timeout
        seconds = max(end - time.monotonic(), 0.001)
        timer = threading.Timer(seconds, self._shut_down)
        timer.daemon = True
        timer.start()
        try:
            yield seconds
        except (OSError, ValueError):
            if time.monotonic() < end:
                raise
        finally:
            timer.cancel()
        # After the sockets were shut down, an answer without a length seems to be whole.
        if time.monotonic() >= end:
            raise Stopped(
                f'The answers of the BMC took more than {self._total:g} seconds ([redfish] system_timeout).'
                if is_last
                else 'The BMC did not answer in time ([redfish] timeout).'
            )

    def _shut_down(self) -> None:
        for each in list(self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Connector(sushy.connector.Connector):
    """The connector of sushy, with limits, for one host.

    :param url: of the BMC: scheme, host and port.
    :param verify: whether the certificate is verified, or the path of the certificates that are trusted.
    """

    def __init__(self, url: str, verify: bool | str, limits: Limits) -> None:
        super().__init__(url, verify=verify, server_side_retries=2, server_side_retries_delay=1)
        # Many requests follow each other. With sushy's default, each would need a TLS handshake.
        self._session.headers['Connection'] = 'keep-alive'
        # No proxies of the environment, and no passwords of a file .netrc.
        self._session.trust_env = False
        self._limits = limits
        for scheme in ('http://', 'https://'):
            self._session.mount(scheme, HostAdapter(url, limits))

    def begin_logout(self) -> None:
        """See ``Limits``."""
        self._limits.begin_logout()

    def close(self) -> None:
        """Close the connections."""
        super().close()
        self._limits.close()

    def _op(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request, and log in no second time: the session before would stay open."""
        return super()._op(*args, **{'allow_reauth': False, **options})

    @property
    def token(self) -> str:
        """The token of the session of the BMC; '' if there is none."""
        return str(self._session.headers.get('X-Auth-Token') or '')


class Adapter(HTTPAdapter):
    """A transport with limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        super().__init__(pool_connections=1, pool_maxsize=1)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Let the limits know each connection."""
        super().init_poolmanager(*args, **kwargs)
        limits = self._limits

        class Plain(connection.HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return _connect(self, super()._new_conn, limits)

        class Encrypted(connection.HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return _connect(self, super()._new_conn, limits)

        plain = type('PlainPool', (connectionpool.HTTPConnectionPool,), {'ConnectionCls': Plain})
        encrypted = type('EncryptedPool', (connectionpool.HTTPSConnectionPool,), {'ConnectionCls': Encrypted})
        self.poolmanager.pool_classes_by_scheme = {'http': plain, 'https': encrypted}

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request, also one that follows a redirect, and read the whole answer.

        :raises Stopped: it reached a limit.
        """
        with self._limits.request() as seconds:
            response = super().send(request, **{**kwargs, 'stream': True, 'timeout': seconds})
            content = bytearray()
            for chunk in response.iter_content(_CHUNK):
                self._limits.count(len(chunk))
                content += chunk
                if len(content) > MAX_ANSWER:
                    response.close()
                    raise Stopped(f'An answer of the BMC is larger than {MAX_ANSWER >> 20} MiB.')
            response._content = bytes(content)
            return response


class HostAdapter(Adapter):
    """A transport with limits for one host."""

    def __init__(self, url: str, limits: Limits) -> None:
        self._base = urllib.parse.urlsplit(url)
        super().__init__(limits)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request, and read the whole answer.

        :raises Stopped: it reached a limit, or leads to another host, which would get the password.
        """
        target = urllib.parse.urlsplit(request.url or '')
        if target.hostname != self._base.hostname or (self._base.scheme, target.scheme) == ('https', 'http'):
            raise Stopped('The BMC leads to another host.')
        return super().send(request, *args, **kwargs)


def _connect(
    connected: connection.HTTPConnection, connect: Callable[[], socket.socket], limits: Limits
) -> socket.socket:
    """Connect to the first address of a host that answers. The lookup and the addresses share the time.

    :param connect: connects to ``host`` of the connection.
    :raises addresses.BadAddress: its last address is not allowed.
    """
    name, seconds = connected.host, connected.timeout or 1
    end = time.monotonic() + seconds
    addresses = _look_up(connected, seconds)
    try:
        for number, address in enumerate(addresses):
            connected.host = address
            connected.timeout = max(end - time.monotonic(), 0.001) / (len(addresses) - number)
            try:
                limits.check(address)
                return limits.add(connect())
            except (NewConnectionError, ConnectTimeoutError, BadAddress):
                if number == len(addresses) - 1:
                    raise
    finally:
        # The certificate is for the name.
        connected.host = name
    raise NewConnectionError(connected, f'{name} has no address')


def _look_up(connected: connection.HTTPConnection, seconds: float) -> list[str]:
    """Return the IP addresses of the host of a connection. The system may look longer for them."""
    found = queue.SimpleQueue[Any]()

    def look() -> None:
        try:
            found.put(socket.getaddrinfo(connected.host, connected.port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            found.put(error)

    threading.Thread(target=look, daemon=True).start()
    try:
        result = found.get(timeout=seconds)
    except queue.Empty:
        raise ConnectTimeoutError(connected, f'{connected.host} was not found in time') from None
    if isinstance(result, socket.gaierror):
        raise NameResolutionError(connected.host, connected, result)
    if isinstance(result, Exception):
        raise result
    return list(dict.fromkeys(str(each[4][0]) for each in result))
