"""Machines of BMCs become nodes: once each, and never two machines one node."""

import contextlib
import logging

import pytest
from keystoneauth1 import noauth, session

from ironic_traits.client import Client
from ironic_traits.redfish.discovery import Discovered
from tests.support.bmc_nodes import serving_redfish
from tests.support.bmc_server import PASSWORD, SYSTEM, serving, tree
from tests.support.redfish_trees import to

UUID = '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a61'
OTHER = '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a62'
DEFAULT = '03000200-0400-0500-0006-000700080009'


@pytest.fixture(scope='module')
def service(tmp_path_factory):
    with serving_redfish(tmp_path_factory.mktemp('service')) as running:
        yield running


@pytest.fixture
def client(service):
    """A client of a service without nodes."""
    client = Client(session.Session(noauth.NoAuth()), endpoint_override=service.base)
    for node in client.nodes(fields='uuid'):
        client.ask('DELETE', f'/v1/nodes/{node["uuid"]}')
    return client


@contextlib.contextmanager
def rack(*machines):
    """Run a BMC for each machine.

    :param machines: (UUID, last byte of each MAC address).
    """
    with contextlib.ExitStack() as stack:
        servers = []
        for uuid_, *macs in machines:
            documents = tree(UUID=uuid_)
            nics = documents['/Systems/1/EthernetInterfaces']['Members'] = []
            for mac in macs:
                nics.append(to(f'/Systems/1/EthernetInterfaces/{mac}'))
                documents[f'/Systems/1/EthernetInterfaces/{mac}'] = {'Id': mac, 'MACAddress': f'52:54:00:00:00:{mac}'}
            servers.append(stack.enter_context(serving(documents)))
        yield servers


def enroll(client, *servers, **options):
    """Enroll the machines of BMCs, and return what was done, in the order of the BMCs."""
    found = client.discover(bmcs=[server.driver_info for server in servers])
    results = {each.found.address: each for each in client.enroll(found, **options)}
    return [results[server.url] for server in servers]


def ports(client):
    """Return {MAC address: node}."""
    query = {'fields': 'address,node_uuid'}
    return {port['address']: port['node_uuid'] for port in client.pages('/v1/ports', 'ports', query)}


def everything(client):
    """Return all that an enrollment could change."""
    nodes = list(client.pages('/v1/nodes/detail', 'nodes', {}))
    return nodes, list(client.pages('/v1/ports/detail', 'ports', {})), client.change_token()


def test_a_node_with_ports_and_facts(client):
    with rack((UUID.upper(), '01', '02')) as [bmc]:
        [done] = enroll(client, bmc, resource_class='gold')
        assert (done.node, done.result, done.is_failed) == (UUID, 'created: 2 new ports', False)
        node = client.ask('GET', f'/v1/nodes/{UUID}')
        assert (node['driver'], node['resource_class'], node['provision_state']) == ('redfish', 'gold', 'enroll')
        assert node['driver_info'] == {
            **bmc.driver_info,
            'redfish_password': '******',
            'redfish_system_id': SYSTEM,
        }
        assert ports(client) == {'52:54:00:00:00:01': UUID, '52:54:00:00:00:02': UUID}
        assert client.traits(UUID) == done.found.traits
        assert client.inventory(UUID)['plugin_data']['redfish']['uuid'] == UUID.upper()


@pytest.mark.parametrize('own', [UUID, DEFAULT, 'nonsense', ''])
def test_a_second_run_changes_nothing(client, own):
    with rack((own, '01', '02')) as [bmc]:
        [first] = enroll(client, bmc)
        before = everything(client)
        [second] = enroll(client, bmc)
        assert (second.node, second.result) == (first.node, 'unchanged')
        assert everything(client) == before
        assert (first.node == UUID) is (own == UUID)
        assert first.node != DEFAULT


def test_a_preview_changes_nothing(client):
    before = everything(client)
    with rack((UUID, '01')) as [bmc]:
        [done] = enroll(client, bmc, preview=True)
        assert (done.node, done.result) == (UUID, 'would be created: 1 new port')
        assert everything(client) == before
        enroll(client, bmc)
        assert [each.result for each in enroll(client, bmc, preview=True)] == ['unchanged']


@pytest.mark.parametrize('own', [UUID, DEFAULT])
def test_what_is_missing_is_added(client, own):
    """An earlier run may have been interrupted, and machines get further network interfaces."""
    with rack((own, '01', '02')) as [bmc]:
        [first] = enroll(client, bmc)
        [port] = client.pages('/v1/ports', 'ports', {'address': '52:54:00:00:00:02'})
        client.ask('DELETE', f'/v1/ports/{port["uuid"]}')
        bmc.system['Manufacturer'] = 'Another'
        [second] = enroll(client, bmc)
        assert (second.node, second.result) == (first.node, 'changed: 1 new port, new facts')
        assert ports(client) == dict.fromkeys(['52:54:00:00:00:01', '52:54:00:00:00:02'], first.node)
        for port in client.pages('/v1/ports', 'ports', {}):
            client.ask('DELETE', f'/v1/ports/{port["uuid"]}')
        [third] = enroll(client, bmc)
        assert (third.node, third.result) == (first.node, 'changed: 2 new ports')


def test_a_uuid_that_two_machines_have(client):
    """Neither gets it. They are told apart by their MAC addresses."""
    with rack((UUID, '01'), (UUID, '02'), (OTHER, '03')) as servers:
        done = enroll(client, *servers)
        assert len({each.node for each in done} - {UUID}) == 3
        assert done[2].node == OTHER
        before = everything(client)
        assert [each.result for each in enroll(client, *servers)] == ['unchanged'] * 3
        assert everything(client) == before
        # Alone, the UUID of the first machine seems to be its own.
        assert [each.result for each in enroll(client, servers[0])] == ['unchanged']
        assert everything(client) == before


def test_a_uuid_that_a_machine_of_an_earlier_run_has(client):
    with rack((UUID, '01'), (UUID, '02')) as [one, other]:
        enroll(client, one)
        [done] = enroll(client, other)
        assert done.is_failed
        assert done.result == f'Node {UUID} has its UUID, but no port with one of its MAC addresses.'
        assert [each.node for each in enroll(client, one, other)] == [UUID, ports(client)['52:54:00:00:00:02']]


def test_a_machine_without_uuid_and_macs(client):
    with rack((DEFAULT,), ('',)) as servers:
        done = enroll(client, *servers)
        assert {each.result for each in done} == {'It shows neither a UUID of its own nor a MAC address.'}
        assert all(each.is_failed for each in done)
    assert everything(client)[:2] == ([], [])


def test_a_machine_without_macs(client):
    with rack((UUID,)) as servers:
        assert [each.result for each in enroll(client, *servers)] == ['created']
        assert [each.result for each in enroll(client, *servers)] == ['unchanged']


@pytest.mark.parametrize('own', [UUID, DEFAULT])
def test_a_node_that_an_operator_has_created(client, own):
    """It has one of the MAC addresses. A machine with a UUID of its own would be there twice."""
    node = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'rack7'})['uuid']
    client.ask('POST', '/v1/ports', {'node_uuid': node, 'address': '52:54:00:00:00:02'})
    with rack((own, '01', '02')) as servers:
        [done] = enroll(client, *servers)
        if own == UUID:
            assert done.result == f'Node {node} has ports with its MAC addresses: 52:54:00:00:00:02.'
            assert list(client.nodes(fields='uuid')) == [{'uuid': node}]
        else:
            assert (done.node, done.result) == (node, 'changed: 1 new port, new facts')


def test_macs_of_two_nodes(client):
    nodes = sorted(client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'})['uuid'] for _ in range(2))
    for number, node in enumerate(nodes, 1):
        client.ask('POST', '/v1/ports', {'node_uuid': node, 'address': f'52:54:00:00:00:0{number}'})
    with rack((DEFAULT, '01', '02')) as servers:
        [done] = enroll(client, *servers)
    assert done.result.startswith(f'Node {nodes[0]}, {nodes[1]} has ports with its MAC addresses: ')


def test_a_machine_with_two_addresses(client):
    with rack((UUID, '01'), (UUID, '01')) as servers:
        done = sorted(enroll(client, *servers), key=lambda each: each.is_failed)
        assert [each.is_failed for each in done] == [False, True]
        assert done[1].result == f'{done[0].found.address}{SYSTEM} shows the same MAC address 52:54:00:00:00:01.'
    assert len(list(client.nodes(fields='uuid'))) == 1


def test_the_order_of_addresses(client):
    numbers = (5, 10, 9, 100)
    found = [Discovered({'redfish_address': f'https://10.0.0.{number}'}, problem='x') for number in numbers]
    addresses = [each.found.address.rpartition('.')[2] for each in client.enroll(found)]
    assert addresses == ['5', '9', '10', '100']


def test_one_failure_does_not_stop_the_others(client):
    with rack((UUID, '01'), (OTHER, '02')) as [one, other]:
        other.refused = True
        done = enroll(client, other, one, resource_class='gold')
        assert [each.result for each in done] == [
            'The BMC refuses the user name or the password (401).',
            'created: 1 new port',
        ]
        other.refused = False
        [done] = enroll(client, other, resource_class='a b\n' * 50)
        assert done.is_failed
        assert not client.find(f'/v1/nodes/{OTHER}')


def test_no_secret_is_logged(client, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, 'keystoneauth')
    with rack((UUID, '01')) as servers:
        enroll(client, *servers)
    document = {'nodes': [{'uuid': UUID, 'driver': 'redfish', 'driver_info': {'redfish_password': f'{PASSWORD}2'}}]}
    list(client.import_inventory(document))
    assert '/v1/nodes' in caplog.text
    assert PASSWORD not in caplog.text
