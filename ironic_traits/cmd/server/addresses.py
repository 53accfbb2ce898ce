"""The address that the service listens on."""

import contextlib
import ipaddress
import socket
import sys
from collections.abc import Iterator
from typing import Any

from oslo_config import cfg


@contextlib.contextmanager
def reserved(conf: cfg.ConfigOpts) -> Iterator[str]:
    """Yield the IP address to listen on. If ``conf.port`` is 0, set it to a free port.

    The free port is reserved until the block ends, so that no other process takes it.

    :raises SystemExit: the host is not an address of this machine, or the port is in use.
    """
    try:
        address, reservation = _bind(conf)
    except OSError as error:
        sys.exit(f'Cannot listen on {conf.host}, port {conf.port}: {error.strerror}')
    with reservation:
        yield address


def _bind(conf: cfg.ConfigOpts) -> tuple[str, contextlib.AbstractContextManager[Any]]:
    """Check that the service can listen on ``conf.host`` and ``conf.port``.

    :returns: the IP address, and a context manager. For port 0, it is a socket that reserves the free port. For another
        port, it does not reserve anything.
    :raises OSError: the service cannot listen there.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(conf.host, conf.port, type=socket.SOCK_STREAM)[0]
    with contextlib.ExitStack() as stack:
        probe = stack.enter_context(socket.socket(family, kind, protocol))
        # granian's workers share the port by SO_REUSEPORT, and would also share a port that another service uses.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if conf.port else socket.SO_REUSEPORT, 1)
        probe.bind(address)
        if conf.port:
            return str(address[0]), contextlib.nullcontext()
        conf.set_override('port', probe.getsockname()[1])
        return str(address[0]), stack.pop_all()


def url(conf: cfg.ConfigOpts) -> str:
    """Return the URL of the service, to print and to link to."""
    return f'http://{_bracketed(conf.host)}:{conf.port}'


def local(address: str) -> str:
    """Return the address at which this machine reaches a server that listens on ``address``: 0.0.0.0 is 127.0.0.1."""
    listening = ipaddress.ip_address(address)
    if not listening.is_unspecified:
        return address
    return '127.0.0.1' if listening.version == 4 else '::1'


def _bracketed(host: str) -> str:
    return f'[{host}]' if ':' in host else host
