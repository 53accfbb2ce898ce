"""Reads what switches announce by LLDP, which the ramdisk has received on the network interfaces of a node.

The ramdisk sends the TLVs (type, length, value) of an interface as ``[[type, value in hexadecimal], …]``. The formats
are those of IEEE 802.1AB-2016 (clause 8), IEEE 802.1Q-2014 (annex D) and IEEE 802.3-2015 (clause 79). The names of the
values are Ironic's. A TLV that is malformed or not known has no values.

>>> parsed([[1, '0400906901001f'], [2, '0565746831'], [127, '0080c2010007']])
{'switch_chassis_id': '00:90:69:01:00:1f', 'switch_port_id': 'eth1', 'switch_port_untagged_vlan_id': 7}
"""

import binascii
import ipaddress
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: Maximum length of the value of a TLV, in bytes.
_MAX_LENGTH = 511
_CHASSIS_ID, _ORGANIZATION = 1, 127
#: Subtype of a chassis id that is a MAC address.
_CHASSIS_MAC = 4
#: Values of which an interface may have several.
_LISTS = (
    'switch_mgmt_addresses', 'switch_port_protocol_vlan_ids', 'switch_port_vlans', 'switch_protocol_identities',
)  # fmt: skip
_LINK = {'switch_chassis_id': 'switch_id', 'switch_port_id': 'port_id', 'switch_system_name': 'switch_info'}

#: Bits of the system capabilities (IEEE 802.1AB-2016, table 8-4), in the order of Ironic: (bit, name).
_CAPABILITIES = (
    (1, 'Repeater'),
    (2, 'Bridge'),
    (3, 'WLAN'),
    (4, 'Router'),
    (5, 'Telephone'),
    (6, 'DOCSIS cable device'),
    (7, 'Station only'),
    (8, 'C-Vlan'),
    (9, 'S-Vlan'),
    (10, 'TPMR'),
)

#: What a port can negotiate, from the highest bit but one to the lowest (RFC 4836, IANAifMauAutoNegCapBits 1 to 15).
_PHYSICAL_CAPABILITIES = (
    '10BASE-T hdx', '10BASE-T fdx', '10BASE-T4', '100BASE-TX hdx', '100BASE-TX fdx',
    '100BASE-T2 hdx', '100BASE-T2 fdx', 'PAUSE fdx', 'Asym PAUSE fdx', 'Sym PAUSE fdx', 'Asym and Sym PAUSE fdx',
    '1000BASE-X hdx', '1000BASE-X fdx', '1000BASE-T hdx', '1000BASE-T fdx',
)  # fmt: skip

#: Types of medium attachment units, from 0 (RFC 4836, dot3MauType).
_MAU_TYPES = (
    'Unknown', 'AUI', '10BASE-5', 'FOIRL', '10BASE-2', '10BASE-T duplex mode unknown', '10BASE-FP', '10BASE-FB',
    '10BASE-FL duplex mode unknown', '10BROAD36', '10BASE-T half duplex', '10BASE-T full duplex',
    '10BASE-FL half duplex', '10BASE-FL full duplex', '100 BASE-T4',
    '100BASE-TX half duplex', '100BASE-TX full duplex', '100BASE-FX half duplex', '100BASE-FX full duplex',
    '100BASE-T2 half duplex', '100BASE-T2 full duplex', '1000BASE-X half duplex', '1000BASE-X full duplex',
    '1000BASE-LX half duplex', '1000BASE-LX full duplex', '1000BASE-SX half duplex', '1000BASE-SX full duplex',
    '1000BASE-CX half duplex', '1000BASE-CX full duplex', '1000BASE-T half duplex', '1000BASE-T full duplex',
    '10GBASE-X', '10GBASE-LX4', '10GBASE-R', '10GBASE-ER', '10GBASE-LR', '10GBASE-SR',
    '10GBASE-W', '10GBASE-EW', '10GBASE-LW', '10GBASE-SW', '10GBASE-CX4', '2BASE-TL', '10PASS-TS',
    '100BASE-BX10D', '100BASE-BX10U', '100BASE-LX10', '1000BASE-BX10D', '1000BASE-BX10U', '1000BASE-LX10',
    '1000BASE-PX10D', '1000BASE-PX10U', '1000BASE-PX20D', '1000BASE-PX20U',
)  # fmt: skip

Values = dict[str, Any]


def parsed(tlvs: Any) -> Values:
    """Return the values of an interface, under Ironic's names. If a value is there twice, the first one counts.

    :param tlvs: the TLVs of the interface; any JSON value.
    """
    result: Values = {}
    for kind, data in _decoded(tlvs):
        for name, value in _values(kind, data).items():
            if name in _LISTS:
                result.setdefault(name, []).append(value)
            else:
                result.setdefault(name, value)
    return result


def link(tlvs: Any) -> dict[str, str]:
    """Return what ``local_link_connection`` of a port has: {'switch_id': …, 'port_id': …, 'switch_info': …}.

    As in Ironic, ``switch_id`` is a MAC address. If a value is there twice, the last one counts.

    :param tlvs: the TLVs of the interface; any JSON value.
    """
    result: dict[str, str] = {}
    for kind, data in _decoded(tlvs):
        if kind != _CHASSIS_ID or data[:1] == bytes([_CHASSIS_MAC]):
            values = _values(kind, data)
            result |= {_LINK[name]: values[name] for name in _LINK if values.get(name)}
    return result


def _decoded(tlvs: Any) -> Iterator[tuple[int, bytes]]:
    """Yield (type, value) of the TLVs in the right format."""
    for tlv in tlvs if isinstance(tlvs, list) else ():
        if isinstance(tlv, list) and len(tlv) == 2 and type(tlv[0]) is int and isinstance(tlv[1], str):
            try:
                data = binascii.unhexlify(tlv[1])
            except ValueError:
                continue
            if len(data) <= _MAX_LENGTH:
                yield tlv[0], data


def _values(kind: int, data: bytes) -> Values:
    """Return the values of a TLV by name; {} if it is malformed or not known."""
    if kind == _ORGANIZATION:
        form, data = _OF_ORGANIZATIONS.get(data[:4]), data[4:]
    else:
        form = _BASIC.get(kind)
    if form is None or form.length not in (None, len(data)):
        return {}
    try:
        return form.read(data)
    except (IndexError, KeyError, ValueError, struct.error):
        return {}


def _text(data: bytes) -> str:
    return data.decode()


def _mac(data: bytes) -> str:
    return ':'.join(f'{byte:02x}' for byte in struct.unpack_from('6B', data))


def _address(data: bytes) -> str:
    """Return an address that begins with the number of its family, as IANA has it."""
    family, address = data[0], data[1:]
    if family == 1:
        return str(ipaddress.IPv4Address(address[:4]))
    return str(ipaddress.IPv6Address(address[:16])) if family == 2 else {6: _mac}[family](address)


def _identifier(name: str, texts: tuple[int, ...], mac: int, address: int) -> Callable[[bytes], Values]:
    """Return a function that reads an identifier.

    :param texts: subtypes of identifiers that are texts.
    :param mac: subtype of those that are MAC addresses.
    :param address: subtype of those that are network addresses.
    """
    functions: dict[int, Callable[[bytes], str]] = {**dict.fromkeys(texts, _text), mac: _mac, address: _address}

    def read(data: bytes) -> Values:
        text = functions[data[0]](data[1:])
        return {name: text} if text else {}

    return read


def _texts(name: str) -> Callable[[bytes], Values]:
    return lambda data: {name: _text(data)}


def _number(name: str) -> Callable[[bytes], Values]:
    return lambda data: {name: struct.unpack_from('!H', data)[0]}


def _capabilities(data: bytes) -> Values:
    supported, enabled = (
        [name for bit, name in _CAPABILITIES if bits >> bit & 1] for bits in struct.unpack('!HH', data)
    )
    return {'switch_capabilities_support': supported, 'switch_capabilities_enabled': enabled}


def _protocol_vlan(data: bytes) -> Values:
    flags, vlan = struct.unpack('!BH', data)
    name = 'switch_port_protocol_vlan'
    return {f'{name}_enabled': bool(flags & 4), f'{name}_support': bool(flags & 2), f'{name}_ids': vlan}


def _vlan(data: bytes) -> Values:
    vlan, length = struct.unpack_from('!HB', data)
    return {'switch_port_vlans': {'name': _text(_first(data[3:], length).rstrip(b'\0')), 'id': vlan}}


def _protocol(data: bytes) -> Values:
    return {'switch_protocol_identities': _first(data[1:], data[0]).hex()}


def _aggregation(data: bytes) -> Values:
    status, port = struct.unpack('!BI', data)
    name = 'switch_port_link_aggregation'
    return {f'{name}_enabled': bool(status & 2), f'{name}_support': bool(status & 1), f'{name}_id': port}


def _negotiation(data: bytes) -> Values:
    status, bits, mau_type = struct.unpack('!BHH', data)
    names = [name for bit, name in enumerate(reversed(_PHYSICAL_CAPABILITIES)) if bits >> bit & 1]
    return {
        'switch_port_autonegotiation_enabled': bool(status & 2),
        'switch_port_autonegotiation_support': bool(status & 1),
        'switch_port_physical_capabilities': sorted(names),
        'switch_port_mau_type': _MAU_TYPES[mau_type],
    }


def _first(data: bytes, length: int) -> bytes:
    if len(data) < length:
        raise ValueError('the data is shorter than it says')
    return data[:length]


class _Form(NamedTuple):
    """The form of a TLV.

    :ivar read: function that returns its values by name.
    :ivar length: its length in bytes; None for any.
    """

    read: Callable[[bytes], Values]
    length: int | None = None


_BASIC = {
    _CHASSIS_ID: _Form(_identifier('switch_chassis_id', (1, 2, 3, 6, 7), mac=_CHASSIS_MAC, address=5)),
    2: _Form(_identifier('switch_port_id', (1, 2, 5, 7), mac=3, address=4)),
    4: _Form(_texts('switch_port_description')),
    5: _Form(_texts('switch_system_name')),
    6: _Form(_texts('switch_system_description')),
    7: _Form(_capabilities, 4),
    # The first byte is the length of the address with its family.
    8: _Form(lambda data: {'switch_mgmt_addresses': _address(data[1:])}),
}
#: {identifier of the organization, and subtype}.
_OF_ORGANIZATIONS = {
    bytes.fromhex(key): form
    for key, form in {
        '0080c2 01': _Form(_number('switch_port_untagged_vlan_id')),
        '0080c2 02': _Form(_protocol_vlan, 3),
        '0080c2 03': _Form(_vlan),
        '0080c2 04': _Form(_protocol),
        '0080c2 06': _Form(_number('switch_port_management_vlan_id')),
        '0080c2 07': _Form(_aggregation, 5),
        '00120f 01': _Form(_negotiation, 5),
        '00120f 03': _Form(_aggregation, 5),
        '00120f 04': _Form(_number('switch_port_mtu')),
    }.items()
}
