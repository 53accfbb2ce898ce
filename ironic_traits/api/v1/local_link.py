"""local_link_connection: the switch, and the port of the switch, that a port is connected to."""

import re
from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.context import Context

#: Keys that only some versions have: they came with 1.90, and Ironic removed them with 1.105.
_OVN = ('vtep-logical-switch', 'vtep-physical-switch')
_OVN_SINCE, _OVN_UNTIL = 90, 105
_KEYS = ('port_id', 'switch_id', 'hostname', 'switch_info', 'network_type', *_OVN)
_NETWORK_TYPES = ('managed', 'unmanaged')
_MAC = re.compile(r'[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')
#: An OpenFlow datapath.
_DATAPATH = re.compile(r'[0-9A-Fa-f]{16}')


class LocalLink(wsme.types.UserType):
    """An object that names a switch and one of its ports. It may be empty."""

    basetype = str
    name = 'local link'
    schema = {
        'type': 'object',
        'properties': dict.fromkeys(_KEYS, {'type': 'string'}) | {'network_type': {'enum': list(_NETWORK_TYPES)}},
        'additionalProperties': False,
    }

    def validate(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f'{value!r} is not an object')
        for key, text in value.items():
            if key not in _KEYS:
                raise ValueError(f"Additional properties are not allowed ('{key}' was unexpected)")
            if not isinstance(text, str):
                raise ValueError(f'{key}: {text!r} is not a string')
        if value.get('network_type', 'managed') not in _NETWORK_TYPES:
            raise ValueError("network_type must be 'managed' or 'unmanaged'")
        if len([key for key in _OVN if key in value]) == 1:
            raise ValueError(f"'{_OVN[0]}' and '{_OVN[1]}' are required together")
        if value and not _is_complete(value):
            raise ValueError("'port_id' is required, and also 'switch_id' or 'hostname'")
        return value | {'switch_id': _switch(value['switch_id'])} if 'switch_id' in value else value


def check(context: Context, old: dict[str, Any] | None, new: dict[str, Any]) -> None:
    """Raise unless the version of the request has all keys of a link that changes.

    :param old: the link before; None for that of a new port.
    :param new: the link.
    :raises failures.VersionTooLow: a key needs a later version.
    :raises failures.VersionTooHigh: a key needs an earlier version.
    """
    if old == new:
        return
    if 'network_type' in new:
        context.needs(64, "'network_type' in local_link_connection")
    if _OVN[0] in new:
        context.needs(_OVN_SINCE, f"'{_OVN[0]}' in local_link_connection")
        if context.minor >= _OVN_UNTIL:
            raise failures.VersionTooHigh(what=f"'{_OVN[0]}' in local_link_connection", version=f'1.{_OVN_UNTIL - 1}')


def shown(context: Context, text: str) -> str:
    """Return a link as the version of the request shows it: one with keys that the version does not have is empty.

    :param text: the link as JSON text.
    """
    return '{}' if _OVN[0] in text and not _OVN_SINCE <= context.minor < _OVN_UNTIL else text


def is_smart(link: dict[str, Any]) -> bool:
    """Whether a link has the keys that a smart NIC needs."""
    return 'port_id' in link and 'hostname' in link


def _is_complete(link: dict[str, Any]) -> bool:
    if link.get('network_type') == 'unmanaged' or is_smart(link):
        return True
    return 'port_id' in link and ('switch_id' in link or _OVN[0] in link)


def _switch(text: str) -> str:
    if not _MAC.fullmatch(text) and not _DATAPATH.fullmatch(text):
        raise ValueError(f'Expected a MAC address or OpenFlow datapath ID but received {text}.')
    return text.lower()
