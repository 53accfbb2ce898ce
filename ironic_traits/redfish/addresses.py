"""Addresses of BMCs: which ones this service connects to.

A user who may write ``driver_info`` makes the service connect to an address. So addresses of this machine are refused,
and link-local ones, where clouds have their metadata, unless an option allows them.
"""

import ipaddress
import urllib.parse

from oslo_utils import netutils


class BadAddress(ValueError):
    """An address that is not used. The text is a sentence."""


def url(address: str) -> str:
    """Return the URL of a BMC: scheme, host and port.

    :param address: ``redfish_address``: a URL, or a host, for which https is used as in Ironic.
    :raises BadAddress: it is no URL of http or https, or has more than scheme, host and port.
    """
    text = address if '://' in address else f'https://{netutils.escape_ipv6(address)}'
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise BadAddress('redfish_address is no URL.') from None
    if parts.scheme not in ('http', 'https') or not host or not text.isprintable() or ' ' in text:
        raise BadAddress('redfish_address must be a URL with http or https and a host, such as https://10.0.0.5.')
    if parts.username is not None or parts.path.strip('/') or parts.query or parts.fragment:
        raise BadAddress('redfish_address must have nothing but a scheme, a host and a port.')
    return host_url(parts.scheme, host, port)


def host_url(scheme: str, host: str, port: int | None) -> str:
    """Return a URL with a scheme, a host or an IP address, and maybe a port."""
    name = f'[{host}]' if ':' in host else host
    return f'{scheme}://{name}' + (f':{port}' if port else '')


def check_address(address: str) -> None:
    """Raise BadAddress for an IP address that leads to this machine or to its link.

    :param address: the IP address, after names were resolved.
    :raises BadAddress: it is a loopback, link-local, multicast or unspecified address.
    """
    ip = ipaddress.ip_address(address.partition('%')[0])
    ip = getattr(ip, 'ipv4_mapped', None) or ip
    if ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        raise BadAddress(f'{ip} is an address of this machine or its link. [redfish] allow_local_addresses allows it.')
