"""LLDP: what a switch announces on a port, in the bytes of IEEE 802.1AB."""

import struct

#: Identifiers of the organizations IEEE 802.1 and IEEE 802.3.
DOT1, DOT3 = '0080c2', '00120f'
#: The multicast address of LLDP, and its Ethernet type.
_NEIGHBOUR, _TYPE = bytes.fromhex('0180c200000e'), bytes.fromhex('88cc')


def tlv(kind, value):
    """Return a TLV as the ramdisk sends it.

    :param value: bytes, or a text.
    """
    return [kind, (value.encode() if isinstance(value, str) else value).hex()]


def of_organization(identifier, subtype, value):
    """Return a TLV of an organization."""
    return tlv(127, bytes.fromhex(identifier) + bytes([subtype]) + value)


def vlan(number, name):
    """Return the TLV with the name of a VLAN."""
    return of_organization(DOT1, 3, struct.pack('!HB', number, len(name)) + name.encode())


def switch(name='leaf-r7a', port='Ethernet7', mac='00:1c:73:07:00:01', rack='rack 7, unit 1'):
    """Return the TLVs of a port of a switch: all that it announces by default, with two VLANs in a bond."""
    return [
        tlv(1, b'\x04' + bytes.fromhex(mac.replace(':', ''))),
        tlv(2, f'\x05{port}'),
        tlv(3, struct.pack('!H', 120)),
        tlv(4, rack),
        tlv(5, name),
        tlv(6, 'Arista Networks EOS version 4.31.2F running on an Arista Networks DCS-7050SX3-48YC8'),
        tlv(7, struct.pack('!HH', 0x14, 0x14)),
        tlv(8, bytes([5, 1, 192, 0, 2, 7, 2, 0, 0, 0x0F, 0x42, 0x3F, 0])),
        of_organization(DOT1, 1, struct.pack('!H', 100)),
        vlan(100, 'provisioning'),
        vlan(207, 'storage'),
        of_organization(DOT3, 1, struct.pack('!BHH', 3, 0x6C01, 30)),
        of_organization(DOT1, 7, struct.pack('!BI', 3, 1000007)),
        of_organization(DOT3, 4, struct.pack('!H', 9214)),
        tlv(0, b''),
    ]


def frame(tlvs):
    """Return the Ethernet frame with TLVs, as a network interface receives it."""
    values = [(kind, bytes.fromhex(value)) for kind, value in tlvs]
    body = b''.join(struct.pack('!H', kind << 9 | len(value)) + value for kind, value in values)
    return _NEIGHBOUR + bytes.fromhex('001c73070107') + _TYPE + body
