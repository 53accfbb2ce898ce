"""The hardware of a node on the web page, in a real browser: what inspections have found, and what is expected."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.support import http_client
from tests.support.service import ForkedServer, upgraded

INVENTORY = {
    'system_vendor': {
        'manufacturer': 'Dell Inc.',
        'product_name': 'PowerEdge R650',
        'serial_number': '5XKQ2J3',
        'firmware': {'version': '1.5.4', 'build_date': '2021-12-17'},
    },
    'cpu': {
        'model_name': 'Xeon Gold 6338',
        'socket_count': 2,
        'core_count': 64,
        'count': 128,
        'architecture': 'x86_64',
    },
    'memory': {'physical_mb': 524288, 'total': 549755813888},
    'disks': [
        {'name': '/dev/sda', 'size': 960197124096, 'rotational': False, 'model': 'MZ7LH960', 'serial': 'S1'},
        {'name': '/dev/sdb', 'size': 8001563222016, 'rotational': True},
        {'name': '/dev/nvme0n1', 'size': 3840755982336, 'rotational': False},
        {'name': 'Disk 3', 'protocol': 'SAS'},
        {'name': 'Disk 4'},
    ],
    'interfaces': [
        {'name': 'eth0', 'mac_address': '52:54:00:00:00:01', 'has_carrier': True, 'speed_mbps': 25000},
        {'name': 'eth1', 'mac_address': '52:54:00:00:00:02', 'has_carrier': False},
        {'name': 'eth2', 'mac_address': '52:54:00:00:00:03'},
    ],
    'boot': {'current_boot_mode': 'uefi'},
    'bmc_address': '192.0.2.7',
}
PLUGIN_DATA = {
    'parsed_lldp': {'eth0': {'switch_system_name': 'leaf-3', 'switch_port_id': 'Ethernet1/7'}},
    'redfish': {
        'memory': [
            {'name': 'DIMM A1', 'capacity_mib': 32768, 'type': 'DDR4', 'speed_mhz': 3200, 'part_number': 'M393A4K40'},
            {'name': 'DIMM A2'},
        ],
        'accelerators': [{'vendor': 'NVIDIA', 'model': 'A100 80GB', 'type': 'GPU'}],
        'firmware': [{'name': f'Part {number}', 'version': f'1.{number}'} for number in range(20)],
    },
}
#: Nothing has the type that it should have.
STRANGE = {
    'inventory': {
        'cpu': {'model_name': [], 'count': 'many'},
        'memory': {'physical_mb': 'a lot'},
        'disks': [{'size': 'large', 'rotational': 'no'}],
        'interfaces': [{'name': {'a': 1}, 'mac_address': 7}],
    },
    'plugin_data': {'redfish': [], 'parsed_lldp': 'none', 'pci_devices': [{'class': 3}, 4]},
}


@pytest.fixture(scope='module')
def look_around(tmp_path_factory):
    """The base URL of a service with nodes whose hardware is known."""
    with ForkedServer(upgraded(f'sqlite:///{tmp_path_factory.mktemp("hardware")}/x.sqlite')) as running:
        for name, document in {
            'full': {'inventory': INVENTORY, 'plugin_data': PLUGIN_DATA},
            'strange': STRANGE,
        }.items():
            ask(running.base, 'POST', '/v1/nodes', {'name': name, 'driver': 'fake-hardware'})
            ask(running.base, 'PUT', f'/v1/nodes/{name}/inventory', document)
        yield running.base


def ask(base, method, path, document):
    """Send a request to the API, and return the document of the response."""
    headers = {'X-OpenStack-Ironic-API-Version': '1.115', 'Content-Type': 'application/json'}
    status, _, body = http_client.ask(base, method, path, document, headers)
    assert status < 300, body
    return json.loads(body) if body else None


@pytest.fixture
def card(tab):
    """A function from the name of a node to its card of hardware."""

    def open_card(name):
        page = tab.open(f'#/nodes/{name}')
        page.get_by_role('button', name='Show the data of inspections').click()
        return page.get_by_role('region', name='Hardware')

    return open_card


def table(card, name):
    """Return the cells of a table, row by row, without its heading."""
    rows = card.get_by_role('region', name=f'Table of {name}').locator('tbody tr')
    return [row.locator('td').all_inner_texts() for row in rows.all()]


def test_the_machine(card, tab):
    fields = card('full').locator('dl')
    expect(fields).to_contain_text('Dell Inc. PowerEdge R650')
    terms, values = fields.locator('dt').all_inner_texts(), fields.locator('dd').all_inner_texts()
    assert dict(zip(terms, values, strict=True)) == {
        'Machine': 'Dell Inc. PowerEdge R650',
        'Serial': '5XKQ2J3',
        'CPU': 'Xeon Gold 6338 · 2 sockets, 64 cores, 128 threads · x86_64',
        'Memory': '512 GiB',
        'BIOS': '1.5.4 2021-12-17',
        'Boot mode': 'uefi',
        'BMC': '192.0.2.7',
    }
    tab.check_accessibility()


def test_the_parts(card):
    """What the data does not say is unknown, and not guessed."""
    found = card('full')
    expect(found.locator('tbody')).to_have_count(5)
    assert table(found, 'Memory modules') == [['DIMM A1', '32 GiB', 'DDR4 3200 MHz', 'M393A4K40']]
    assert table(found, 'Disks') == [
        ['/dev/sda', '960 GB', 'SSD', 'MZ7LH960', 'S1'],
        ['/dev/sdb', '8 TB', 'HDD', 'unknown', 'unknown'],
        ['/dev/nvme0n1', '3.84 TB', 'NVMe', 'unknown', 'unknown'],
        ['Disk 3', 'unknown', 'SAS', 'unknown', 'unknown'],
        ['Disk 4', 'unknown', 'unknown', 'unknown', 'unknown'],
    ]
    assert table(found, 'Network interfaces') == [
        ['eth0', '52:54:00:00:00:01', 'up 25 Gbit/s', 'leaf-3 port Ethernet1/7'],
        ['eth1', '52:54:00:00:00:02', 'down', 'unknown'],
        ['eth2', '52:54:00:00:00:03', 'unknown', 'unknown'],
    ]
    assert table(found, 'Accelerators') == [['NVIDIA A100 80GB', 'GPU']]


def test_long_tables_are_behind_a_fold(card):
    found = card('full')
    firmware = found.get_by_text('Firmware (20)')
    expect(found.get_by_text('Part 19')).to_be_hidden()
    firmware.click()
    expect(found.get_by_text('Part 19')).to_be_visible()


def test_strange_data(card):
    """The data of inspections is not trusted: what has another type is unknown."""
    found = card('strange')
    expect(found.locator('dd', has_text='unknown')).to_have_count(4)
    assert table(found, 'Network interfaces') == [['{"a":1}', '7']]
    found.get_by_text('All data').click()
    expect(found.locator('pre')).to_contain_text('"physical_mb": "a lot"')


def test_expected_against_found(look_around, card):
    """A mismatch is beside what was found, with the rule."""
    more = {'op': 'gt', 'args': {'values': ['{inventory[memory][physical_mb]}', 600000]}}
    rule = {
        'name': 'memory-of-gold',
        'actions': [{'op': 'expect', 'args': {'conditions': [more], 'msg': 'too little memory'}}],
    }
    ask(look_around, 'POST', '/v1/inspection_rules', rule)
    ask(look_around, 'PUT', '/v1/nodes/full/inventory', {'inventory': INVENTORY, 'plugin_data': PLUGIN_DATA})
    expect(card('full').locator('.note')).to_have_text(
        re.compile('Not as expected.*memory-of-gold expects: too little memory')
    )
