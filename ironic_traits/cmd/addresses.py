"""The address that the service listens on."""

import contextlib
import ipaddress
import socket
import sys


@contextlib.contextmanager
def reserved(conf):
    """Find the IP address to listen on, and a free port for port 0, which ``conf.port`` is set to.

    That port is held until the block ends: others cannot take it meanwhile.

    :param conf: ConfigOpts.
    :raises SystemExit: the host is not one of this machine, or the port is taken.
    """
    try:
        address, holder = _bind(conf)
    except OSError as error:
        sys.exit(f'Cannot listen on {conf.host}, port {conf.port}: {error.strerror}')
    with holder:
        yield address


def _bind(conf):
    """Return the IP address, and what holds the port: a socket for port 0, otherwise nothing.

    :raises OSError: the address cannot be listened on.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(conf.host, conf.port, type=socket.SOCK_STREAM)[0]
    with contextlib.ExitStack() as stack:
        probe = stack.enter_context(socket.socket(family, kind, protocol))
        # granian's workers share the port, and would share a port that is taken with another service, too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if conf.port else socket.SO_REUSEPORT, 1)
        probe.bind(address)
        if conf.port:
            return address[0], contextlib.nullcontext()
        conf.set_override('port', probe.getsockname()[1])
        return address[0], stack.pop_all()


def url(conf):
    """Return the URL of the service, for people and links."""
    return f'http://{_bracketed(conf.host)}:{conf.port}'


def local(address):
    """Return the address at which this machine reaches a server that listens on an address."""
    listens = ipaddress.ip_address(address)
    if not listens.is_unspecified:
        return address
    return '127.0.0.1' if listens.version == 4 else '::1'


def _bracketed(host):
    return f'[{host}]' if ':' in host else host
