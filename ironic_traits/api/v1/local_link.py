"""local_link_connection: the switch, and the port of the switch, that a port is connected to."""

import re

import wsme.types

_KEYS = ('port_id', 'switch_id', 'hostname', 'switch_info', 'network_type')
_MAC = re.compile(r'[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}')
#: An OpenFlow datapath.
_DATAPATH = re.compile(r'[0-9A-Fa-f]{16}')


class LocalLink(wsme.types.UserType):
    """An object that names a switch and one of its ports. It may be empty."""

    basetype = str
    name = 'local link'

    def validate(self, value):
        if not isinstance(value, dict):
            raise ValueError(f'{value!r} is not an object')
        for key, text in value.items():
            if key not in _KEYS:
                raise ValueError(f"Additional properties are not allowed ('{key}' was unexpected)")
            if not isinstance(text, str):
                raise ValueError(f'{key}: {text!r} is not a string')
        if value.get('network_type', 'managed') not in ('managed', 'unmanaged'):
            raise ValueError("network_type must be 'managed' or 'unmanaged'")
        if value and not _is_complete(value):
            raise ValueError("'port_id' is required, and also 'switch_id' or 'hostname'")
        return value | {'switch_id': _switch(value['switch_id'])} if 'switch_id' in value else value


def is_smart(link):
    """Whether a link has the keys that a smart NIC needs."""
    return 'port_id' in link and 'hostname' in link


def _is_complete(link):
    return link.get('network_type') == 'unmanaged' or is_smart(link) or ('port_id' in link and 'switch_id' in link)


def _switch(text):
    if not _MAC.fullmatch(text) and not _DATAPATH.fullmatch(text):
        raise ValueError(f'Expected a MAC address or OpenFlow datapath ID but received {text}.')
    return text.lower()
