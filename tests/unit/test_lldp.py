"""LLDP, and the other hooks that only read data, compared with Ironic's hooks on the same data."""

import json
import random
import struct

import pytest

from ironic_traits import conf
from ironic_traits.deploy import inspection_hooks, lldp
from tests.support import ironic_hooks
from tests.support.inspections import MACS, ramdisk_data
from tests.support.lldp import DOT1, DOT3, of_organization, switch, tlv, vlan

HOOKS = [
    *('validate-interfaces', 'parse-lldp', 'local-link-connection', 'physical-network', 'pci-devices'),
    *('accelerators', 'extra-hardware'),
]
OPTIONS = {
    'physical_network_cidr_map': ['192.0.2.0/31:net_a', '2001:db8::/64:net_b', '192.0.2.0/24:net_c'],
    'pci_device_alias': [
        json.dumps({'vendor_id': '10de', 'product_id': '1eb8', 'name': 't4'}),
        json.dumps({'vendor_id': '8086', 'product_id': '1572', 'name': 'x710'}),
    ],
}
T4, NIC = ({'vendor_id': vendor, 'product_id': product, 'bus': f'0000:{product[:2]}:00.0', 'class': '030200'}
           for vendor, product in (('10de', '1eb8'), ('8086', '1572')))  # fmt: skip
ROWS = [['cpu', 'physical_0', 'flags', 'sse avx'], ['disk', 'sda', 'size', '480'], [], ['disk', 'sda', 'slot', None]]


@pytest.fixture(scope='module')
def options():
    settings = conf.make(['--database', 'sqlite://'])
    for name, value in OPTIONS.items():
        settings.set_override(name, value, group='inspection')
    settings.set_override('hooks', HOOKS, group='inspection')
    return settings.inspection


def case(interface=(), properties=(), ports=None, inventory=(), **plugin_data):
    """Return a node with one network interface, and the data of its inspection."""
    data = ramdisk_data(MACS[0])['inventory']
    data |= {'interfaces': [{**data['interfaces'][0], **dict(interface)}], **dict(inventory)}
    ports = {mac: {} for mac in MACS} if ports is None else ports
    return {'inventory': data, 'plugin_data': plugin_data, 'properties': dict(properties), 'ports': ports}


def after(options, case):
    """Return a case after the hooks of this service, in the form of ``ironic_hooks``."""
    found = inspection_hooks.run(options, 'uuid', case['properties'], case)
    ports = {
        mac: {
            'physical_network': found.ports.networks.get(mac, port.get('physical_network')),
            'local_link_connection': found.ports.links.get(mac, {}) | port.get('local_link_connection', {}),
        }
        for mac, port in case['ports'].items()
    }
    return {'plugin_data': found.plugin_data, 'properties': found.properties, 'ports': ports}


CASES = {
    'a switch': case({'lldp': switch()}),
    'an older ramdisk': case(lldp_raw={'eth0': switch(), 'eth1': switch('other')}),
    'both': case({'lldp': switch('other')}, lldp_raw={'eth0': switch()}),
    'lldp_raw is empty': case({'lldp': switch()}, lldp_raw={'eth0': []}),
    'no LLDP': case({'lldp': None}),
    'nothing was received': case({'lldp': []}),
    'a port with a link': case({'lldp': switch()}, ports={MACS[0]: {'local_link_connection': {'port_id': 'mine'}}}),
    'the chassis is a name': case({'lldp': [tlv(1, '\x07leaf'), *switch()[1:]]}),
    'the chassis is an address': case({'lldp': [tlv(1, b'\x05\x01' + bytes([192, 0, 2, 7])), *switch()[1:]]}),
    'twice': case({'lldp': [*switch(), *switch('other', 'Ethernet8', '00:1c:73:07:00:02')]}),
    'another subnet': case({'ipv4_address': '192.0.2.77'}),
    'no subnet': case({'ipv4_address': '198.51.100.1'}, ports={MACS[0]: {'physical_network': 'old'}}),
    'a network that differs': case({'ipv4_address': '192.0.2.1'}, ports={MACS[0]: {'physical_network': 'old'}}),
    'IPv6': case({'ipv4_address': None, 'ipv6_address': '2001:db8::7'}),
    'PCI devices': case(pci_devices=[T4, NIC, T4], properties={'capabilities': 'boot_mode:uefi,t4:1'}),
    'PCI devices of Redfish': case(inventory={'pci_devices': []}, pci_devices=[NIC]),
    'the cards have gone': case(pci_devices=[NIC], properties={'accelerators': [{'type': 'GPU'}]}),
    'no PCI devices are known': case(properties={'accelerators': [{'type': 'GPU'}], 'capabilities': 't4:1'}),
    'extra hardware': case(data=ROWS),
    'no rows': case(data={'a': 1}),
}


def test_same_results_as_ironic(options):
    expected = ironic_hooks.run(HOOKS, OPTIONS, list(CASES.values()))
    for (name, each), result in zip(CASES.items(), expected, strict=True):
        assert after(options, each) == result, name
    assert expected[0]['plugin_data']['parsed_lldp']['eth0'] == lldp.parsed(switch())
    assert expected[0]['ports'][MACS[0]] == {
        'physical_network': 'net_a',
        'local_link_connection': {'switch_id': '00:1c:73:07:00:01', 'port_id': 'Ethernet7', 'switch_info': 'leaf-r7a'},
    }


def test_facts_that_have_gone(options):
    """In Ironic, accelerators stay if there is no PCI device at all, and capabilities stay always."""
    stale = {'accelerators': [{'type': 'GPU'}], 'capabilities': 'boot_mode:uefi,t4:1'}
    found = after(options, case(properties=stale, pci_devices=[]))
    assert found['properties'] == {'accelerators': [], 'capabilities': 'boot_mode:uefi'}
    for unknown in (None, {}, 'x', 1):
        assert after(options, case(properties=stale, pci_devices=unknown))['properties'] == stale


def random_tlv(chooser):
    """Return a TLV whose form is right, mostly."""
    text = chooser.choice(['', 'leaf', 'Ethernet7', 'größe', 'x' * 255, '\0a\0']).encode()
    number = chooser.randbytes(2)
    address = chooser.choice(
        [b'\x01' + chooser.randbytes(4), b'\x02\x20' + chooser.randbytes(15), b'\x06' + number * 3]
    )
    identifier = bytes([chooser.randrange(9)]) + chooser.choice([text, address, chooser.randbytes(6)])
    value = chooser.choice([text, chooser.randbytes(chooser.randrange(9)), identifier, b'\x03' + chooser.randbytes(4)])
    return chooser.choice(
        [
            tlv(chooser.randrange(1, 3), identifier),
            tlv(chooser.randrange(4, 7), text),
            tlv(7, chooser.randbytes(4)),
            tlv(8, bytes([len(address)]) + address + number),
            of_organization(DOT1, chooser.choice([1, 6]), number),
            of_organization(DOT1, 2, chooser.randbytes(3)),
            vlan(7, chooser.choice(['prov', 'a\0'])),
            of_organization(DOT1, 4, bytes([len(number)]) + number),
            of_organization(chooser.choice([DOT1, DOT3]), chooser.choice([3, 7]), chooser.randbytes(5)),
            of_organization(DOT3, 1, bytes([chooser.randrange(4)]) + number + bytes([0, chooser.randrange(60)])),
            of_organization(DOT3, 4, number),
            of_organization(chooser.choice([DOT1, DOT3, '00aabb']), chooser.randrange(9), value),
            tlv(chooser.randrange(128), value),
        ]
    )  # fmt: skip


def test_random_frames(options):
    """Where Ironic's hooks do not fail, the values are the same, besides those that are no values."""
    chooser = random.Random(802)
    # Ironic loses what organizations define if nothing else comes before.
    cases = [case({'lldp': [tlv(6, 'EOS'), *(random_tlv(chooser) for _ in range(3))]}) for _ in range(1500)]
    expected = ironic_hooks.run(HOOKS, OPTIONS, cases)
    compared = [(after(options, each), result) for each, result in zip(cases, expected, strict=True)]
    both = [(ours, ironic) for ours, ironic in compared if ironic is not None]
    assert len(both) > len(cases) / 2
    for ours, ironic in both:
        assert values(ours) == values(ironic)


def values(result):
    """Return the LLDP of a result without the intended differences.

    In Ironic, an identifier may be empty, or null if its family is not known, and "10BASE-T fdx" depends on the bit of
    "10BASE-T hdx".
    """
    found = result['plugin_data'].get('parsed_lldp', {}).get('eth0', {})
    found = {key: value for key, value in found.items() if value or not key.endswith(('chassis_id', 'port_id'))}
    names = found.get('switch_port_physical_capabilities')
    if names is not None:
        found['switch_port_physical_capabilities'] = [name for name in names if name != '10BASE-T fdx']
    link = result['ports'][MACS[0]]['local_link_connection']
    return found, {key: text for key, text in link.items() if text}


MALFORMED = {
    'odd': [1, '040'],
    'not hexadecimal': [2, 'zz'],
    'not ASCII': [2, 'ü0'],
    'truncated MAC address': [1, '040090'],
    'truncated': [7, '00'],
    'no subtype': [127, '0080c2'],
    'other organization': [127, '00aabb01'],
    'unknown subtype': [1, '0941'],
    'empty identifier': [2, '05'],
    'not text': [5, 'ff'],
    'name longer than the TLV': [127, '0080c203000720' + '61'],
    'too long': [5, '61' * 512],
    'null': None,
    'no value': [5, None],
    'bytes': [5, [115]],
    'one item': [5],
    'three items': [5, '61', 1],
    'text as the type': ['5', '61'],
    'true as the type': [True, '0461'],
    'object': {'5': '61'},
}


@pytest.mark.parametrize('name', MALFORMED)
def test_malformed(name):
    """A malformed TLV is as one that is missing. The others count."""
    good = tlv(4, 'uplink')
    assert lldp.parsed([MALFORMED[name], good]) == {'switch_port_description': 'uplink'}
    assert lldp.link([MALFORMED[name], tlv(2, '\x05eth1')]) == {'port_id': 'eth1'}


@pytest.mark.parametrize('tlvs', [None, {}, {'a': 1}, 'x', 1, [[]], [[1, 2]], [None]])
def test_no_tlvs(options, tlvs):
    result = after(options, case({'lldp': tlvs}, lldp_raw=tlvs))
    assert ('parsed_lldp' in result['plugin_data'], result['ports'][MACS[0]]['local_link_connection']) == (False, {})


def test_negotiated_capabilities():
    """Each bit has its own name, in Ironic all but one."""
    assert lldp.parsed([of_organization(DOT3, 1, struct.pack('!BHH', 1, 1 << 13, 0))]) == {
        'switch_port_autonegotiation_enabled': False,
        'switch_port_autonegotiation_support': True,
        'switch_port_physical_capabilities': ['10BASE-T fdx'],
        'switch_port_mau_type': 'Unknown',
    }
