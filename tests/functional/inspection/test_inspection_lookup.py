"""The lookup of the node of inspection data. A ramdisk learns nothing about other nodes."""

import pytest

from ironic_traits.inventory.inspection.inspection_lookup import bmc_addresses
from tests.support.client import message
from tests.support.concurrency import at_once
from tests.support.inspections import MACS, PATH, RAMDISK, add_port, post, ramdisk_data, waiting
from tests.support.keystone_client import SECRET
from tests.support.service import finish_work, make_app
from tests.support.transitions import ask, put_in, state

ANOTHER = '52:54:00:bb:00:01'
NO_NODE = 'aaaaaaaa-0000-4000-8000-00000000000f'


@pytest.fixture
def nodes(app, client):
    """The uuids of three nodes with ports and BMCs. Two of them wait for inspection data."""
    first = waiting(app, client, name='first', driver_info={'ipmi_address': '198.51.100.1', 'ipmi_password': SECRET})
    second = waiting(app, client, name='second', driver_info={'redfish_address': 'https://BMC2.example.org/redfish/v1'})
    idle = client.node(name='idle', driver_info={'ipmi_address': '198.51.100.3'})['uuid']
    for uuid, mac in ((first, MACS[0]), (second, MACS[1]), (idle, ANOTHER)):
        add_port(client, uuid, mac)
    return {'first': first, 'second': second, 'idle': idle}


#: {name: (MAC addresses, BMC, name of the node in the query, name of the node that the data is for)}.
MATCHES = {
    'MAC': ([MACS[0]], None, None, 'first'),
    'one MAC of several': ([ANOTHER[:-1] + '7', MACS[1].upper()], None, None, 'second'),
    'BMC': ([ANOTHER[:-1] + '7'], '198.51.100.1', None, 'first'),
    'BMC by name': ([ANOTHER[:-1] + '7'], 'bmc2.example.org', None, 'second'),
    'MAC and unknown BMC': ([MACS[0]], '198.51.100.9', None, 'first'),
    'uuid alone': ([ANOTHER[:-1] + '7'], None, 'second', 'second'),
    'all three': ([MACS[0]], '198.51.100.1', 'first', 'first'),
}


def test_a_node_that_waits(client, nodes):
    for case, (macs, bmc, query, name) in MATCHES.items():
        path = f'{PATH}?node_uuid={nodes[query]}' if query else PATH
        response = client.ask('POST', path, ramdisk_data(*macs, bmc=bmc), version='1.84')
        assert response.status_int == 202, case
        assert response.json['node']['uuid'] == nodes[name], case


#: {name: (MAC addresses, BMC, name or uuid of the node in the query)}.
REFUSED = {
    'unknown MAC': ([ANOTHER[:-1] + '7'], None, None),
    'the node does not wait': ([ANOTHER], None, None),
    'the node does not wait, by BMC': ([ANOTHER[:-1] + '7'], '198.51.100.3', None),
    'the node does not wait, by uuid': ([ANOTHER[:-1] + '7'], None, 'idle'),
    'no such node': ([MACS[0]], None, NO_NODE),
    'MACs of two nodes': (MACS, None, None),
    'MAC and BMC of two nodes': ([MACS[0]], 'bmc2.example.org', None),
    'MAC and uuid of two nodes': ([MACS[0]], None, 'second'),
    'BMC and uuid of two nodes': ([ANOTHER[:-1] + '7'], '198.51.100.1', 'second'),
}


def test_all_others_get_the_same_response(client, nodes):
    texts = set()
    for macs, bmc, query in REFUSED.values():
        path = f'{PATH}?node_uuid={nodes.get(query, query)}' if query else PATH
        response = client.ask('POST', path, ramdisk_data(*macs, bmc=bmc), version='1.84')
        texts.add((response.status_int, response.text))
    ((status, text),) = texts
    assert (status, 'Resource could not be found.' in text) == (404, True)
    assert {state(client, nodes[name]) for name in ('first', 'second')} == {'inspect wait'}


def test_a_node_whose_inspection_is_the_work_of_others(app, client):
    """Data is refused for a node that this service does not inspect, such as a mirrored node."""
    uuid = client.node()['uuid']
    add_port(client, uuid, MACS[0])
    put_in(app, uuid, 'inspect wait')
    assert post(client, ramdisk_data(MACS[0])).status_int == 404
    assert client.ask('GET', f'/v1/nodes/{uuid}/inventory').status_int == 404


def test_nodes_behind_one_bmc(app, client):
    """Nodes behind one BMC need ports."""
    for _ in range(2):
        waiting(app, client, driver_info={'ipmi_address': '198.51.100.1'})
    assert post(client, ramdisk_data(MACS[0], bmc='198.51.100.1')).status_int == 404


BMCS = {
    'IPMI': ({'ipmi_address': '198.51.100.1', 'ipmi_username': 'x'}, {'198.51.100.1'}),
    'URL': ({'redfish_address': 'https://[2001:DB8::0:1]:8443/redfish'}, {'2001:db8::1'}),
    'brackets': ({'drac_address': '[2001:db8::1]'}, {'2001:db8::1'}),
    'names': ({'redfish_address': 'HTTPS://Bmc.Example.Org'}, {'bmc.example.org'}),
    'bridged': ({'ipmi_address': '198.51.100.1', 'ipmi_bridging': 'single'}, set()),
    'loopback': ({'ipmi_address': '127.0.0.1', 'a_address': 'localhost', 'b_address': 'http://[::1]/'}, set()),
    'no texts': (
        {'a_address': 1, 'b_address': None, 'c_address': ['x'], 'd_address': '', 'e_address': 'http://['},
        set(),
    ),
}


@pytest.mark.parametrize(('driver_info', 'hosts'), BMCS.values(), ids=BMCS)
def test_addresses_of_a_bmc(driver_info, hosts):
    assert bmc_addresses(driver_info) == hosts


def test_ramdisks_are_not_authenticated(shared_database_url, app, client):
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    with make_app(shared_database_url, api__auth_strategy='noauth2') as guarded:
        own = type(client)(guarded)
        assert own.ask('GET', '/v1/nodes').status_int == 401
        assert post(own, ramdisk_data(ANOTHER)).status_int == 404
        for path in ('/continue_inspection', f'{PATH}/'):
            assert post(own, ramdisk_data(MACS[0]), path=path).status_int == 202
        finish_work(app)
        ask(client, uuid, 'inspect')
        finish_work(app)
        response = own.ask('POST', PATH, ramdisk_data(MACS[0]), version='1.84')
    assert response.json['node']['uuid'] == uuid
    assert SECRET not in response.text


def test_ramdisks_can_be_refused(shared_database_url, app, client):
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    with make_app(shared_database_url, api__enable_ramdisk_endpoints=False) as closed:
        response = post(type(client)(closed), ramdisk_data(MACS[0]))
    assert (response.status_int, message(response).endswith(PATH)) == (403, True)
    assert state(client, uuid) == 'inspect wait'


def test_versions(app, client):
    waiting(app, client)
    for version in ('1.2', '1.83'):
        response = client.ask('POST', PATH, ramdisk_data(MACS[0]), version=version)
        assert (response.status_int, '1.84' in message(response)) == (404, True)
    response = client.ask('POST', f'{PATH}?node_uuid={NO_NODE}', ramdisk_data(MACS[0]), **RAMDISK)
    assert (response.status_int, '1.84' in message(response)) == (404, True)


#: Invalid bodies of a ramdisk: {name: (body, part of the message)}.
BAD = {
    'list': ([], 'is a JSON object'),
    'no inventory': ({}, "'inventory' is required"),
    'no interfaces': ({'inventory': {'interfaces': []}}, "'interfaces' is required"),
    'no MAC': ({'inventory': {'interfaces': [{}, 1]}}, "'mac_address' is required in interfaces[0]"),
    'MAC is no MAC': ({'inventory': {'interfaces': [{'mac_address': 'x'}]}}, 'No lookup information provided'),
    'BMC': ({'inventory': {'interfaces': [{'mac_address': 'x'}], 'bmc_address': {}}}, 'must be a string, or null'),
    'many interfaces': ({'inventory': {'interfaces': [{'mac_address': MACS[0]}] * 1001}}, 'at most 1000'),
}


def test_bad_data_of_a_ramdisk(app, client):
    waiting(app, client)
    for case, (body, sentence) in BAD.items():
        response = post(client, body)
        assert (response.status_int, sentence in message(response)) == (400, True), case


def test_only_some_problems_are_named(app, client):
    waiting(app, client)
    response = post(client, {'inventory': {'interfaces': [{}] * 1000}})
    assert message(response).count('is required') == 10


def test_ramdisks_and_an_abort_at_once(app, client, clients):
    """The inspection is aborted. Data is stored exactly if a request with data was accepted."""
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])

    def work(own, number):
        if number:
            return post(own, ramdisk_data(MACS[0])).status_int
        return own.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'abort'}).status_int

    aborted, *posted = at_once(clients[:4], work)
    finish_work(app)
    assert aborted == 202
    assert set(posted) <= {202, 404}
    assert state(client, uuid) == 'inspect failed'
    stored = client.ask('GET', f'/v1/nodes/{uuid}/inventory').status_int
    assert stored == (200 if 202 in posted else 404)
