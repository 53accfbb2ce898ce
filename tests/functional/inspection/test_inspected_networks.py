"""What inspections write to ports: links to switches, physical networks, and which port boots from the network."""

import json

import pytest

from ironic_traits.inventory.core import history
from tests.support import http_client, ramdisk
from tests.support.client import Client
from tests.support.history import entries
from tests.support.inspections import MACS, add_port, inspect, ports, post, ramdisk_data, waiting
from tests.support.lldp import frame, switch
from tests.support.rule_runs import rule, store_rules
from tests.support.service import ForkedServer, finish_work, make_app

LINK = {'switch_id': '00:1c:73:07:00:01', 'port_id': 'Ethernet7', 'switch_info': 'leaf-r7a'}
#: For the addresses of ``ramdisk_data``: 192.0.2.1 and 192.0.2.2.
BOTH, FIRST, DIFFERENT = (['192.0.2.0/24:net'], ['192.0.2.1/32:net'], ['192.0.2.1/32:net', '192.0.2.2/32:other'])
GROUP = 'ffffffff-0000-4000-8000-000000000001'


def links(client, uuid):
    """Return {MAC address: local_link_connection} of the ports of a node."""
    rows = client.get(f'/v1/nodes/{uuid}/ports?fields=address,local_link_connection')['ports']
    return {row['address']: row['local_link_connection'] for row in rows}


def networks(client, uuid):
    """Return {MAC address: physical_network} of the ports of a node, and that of its portgroup, if it has one."""
    rows = client.get(f'/v1/nodes/{uuid}/ports?fields=address,physical_network', version='1.115')['ports']
    groups = client.get(f'/v1/nodes/{uuid}/portgroups?fields=uuid,physical_network', version='1.115')['portgroups']
    return {row.get('address', 'group'): row['physical_network'] for row in [*rows, *groups]}


def warnings(client, uuid):
    """Return the warnings in the history of a node."""
    return [entry['event'] for entry in entries(client, uuid) if entry['severity'] == history.WARNING]


def finish(app, client, uuid, data):
    """End the inspection of a node with data."""
    assert post(client, data).status_int == 202
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}')['last_error'] is None


@pytest.mark.parametrize('interface', [None, '', 'eth0', '52:54:00:cc:00:01'])
def test_the_boot_interface_is_not_known(database_url, interface):
    """Each port keeps pxe_enabled. A new port has the default."""
    new = '52:54:00:aa:00:03'
    with make_app(database_url, inspection__add_ports='all') as app:
        client = Client(app)
        uuid = waiting(app, client)
        add_port(client, uuid, MACS[0], pxe_enabled=False)
        add_port(client, uuid, MACS[1], pxe_enabled=True)
        data = ramdisk_data(*MACS, new)
        data['inventory']['boot'] = interface if interface is None else {'pxe_interface': interface}
        finish(app, client, uuid, data)
        assert ports(client, uuid) == {MACS[0]: False, MACS[1]: True, new: True}
        interfaces = client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']['all_interfaces']
        assert not any('pxe_enabled' in each for each in interfaces.values())


def test_links(database_url):
    """What a port has stays. What it lacks is added: here, to an old port and to a new one."""
    with make_app(
        database_url, inspection__hooks=['local-link-connection', 'ports'], inspection__add_ports='all'
    ) as app:
        client = Client(app)
        uuid = waiting(app, client)
        own = {'switch_id': 'aa:bb:cc:dd:ee:ff', 'port_id': 'mine'}
        add_port(client, uuid, MACS[0], local_link_connection=own)
        data = ramdisk_data(*MACS)
        for interface in data['inventory']['interfaces']:
            interface['lldp'] = [*switch(), None, [1, 'zz']]
        finish(app, client, uuid, data)
        assert links(client, uuid) == {MACS[0]: LINK | own, MACS[1]: LINK}
        inspect(app, client, uuid)
        data['inventory']['interfaces'][1]['lldp'] = switch('moved', 'Ethernet8')
        finish(app, client, uuid, data)
        assert links(client, uuid) == {MACS[0]: LINK | own, MACS[1]: LINK}


def in_group(app, client, network=None, **fields):
    """Create a node that waits for data, and whose two ports are in a portgroup. Return its uuid.

    :param network: physical network of the portgroup and the ports.
    """
    uuid = waiting(app, client, **fields)
    document = {'uuid': GROUP, 'node_uuid': uuid, 'physical_network': network}
    assert client.ask('POST', '/v1/portgroups', document, version='1.115').status_int == 201
    for mac in MACS:
        add_port(client, uuid, mac, portgroup_uuid=GROUP, physical_network=network)
    return uuid


#: {name: (network before, [inspection] physical_network_cidr_map, network of the portgroup and both ports after)}.
GROUPS = {
    'both get a network': (None, BOTH, 'net'),
    'one would get a network': (None, FIRST, None),
    'one would get another network': ('old', FIRST, 'old'),
    'both would get different networks': (None, DIFFERENT, None),
    'both would leave the network of the portgroup': ('old', BOTH, 'old'),
    'as it is': ('net', BOTH, 'net'),
}


@pytest.mark.parametrize('name', GROUPS)
def test_networks_of_a_portgroup(database_url, name):
    """All ports of a portgroup have the same physical network. Otherwise they keep theirs, and a warning says why."""
    before, subnets, after = GROUPS[name]
    options = {'inspection__hooks': ['physical-network'], 'inspection__physical_network_cidr_map': subnets}
    with make_app(database_url, **options) as app:
        client = Client(app)
        uuid = in_group(app, client, before)
        finish(app, client, uuid, ramdisk_data(*MACS))
        assert networks(client, uuid) == dict.fromkeys([*MACS, 'group'], after)
        refused = [
            event
            for event in warnings(client, uuid)
            if f'cannot become a member of port group {GROUP} which has ports in physical network' in event
        ]
        assert len(refused) == (after == before and before != 'net')


def test_networks_of_single_ports(database_url):
    options = {'inspection__hooks': ['physical-network'], 'inspection__physical_network_cidr_map': DIFFERENT}
    with make_app(database_url, **options) as app:
        client = Client(app)
        uuid = waiting(app, client)
        add_port(client, uuid, MACS[0], physical_network='old')
        add_port(client, uuid, MACS[1])
        finish(app, client, uuid, ramdisk_data(*MACS))
        assert networks(client, uuid) == {MACS[0]: 'net', MACS[1]: 'other'}


def to_network(mac, network):
    """Return the action that changes the physical network of a port."""
    return 'set-port-attribute', {'port_id': mac, 'path': 'physical_network', 'value': network}


#: {name: ({MAC address: network that a rule sets}, network of the portgroup and both ports after)}.
RULES = {
    'both': ({MACS[0]: 'net', MACS[1]: 'net'}, 'net'),
    'one of them': ({MACS[0]: 'net'}, None),
    'different networks': ({MACS[0]: 'net', MACS[1]: 'other'}, None),
}


@pytest.mark.parametrize('name', RULES)
def test_rules_for_the_ports_of_a_portgroup(app, client, name):
    """The changes of a rule are checked together."""
    targets, after = RULES[name]
    store_rules(app, rule('net', *(to_network(mac, network) for mac, network in targets.items())))
    uuid = in_group(app, client)
    finish(app, client, uuid, ramdisk_data(*MACS))
    assert networks(client, uuid) == dict.fromkeys([*MACS, 'group'], after)
    assert [
        entry['event'].partition(' which ')[0] for entry in entries(client, uuid) if entry['severity'] == 'ERROR'
    ] == (
        []
        if after
        else [
            'The changes of the rule net were left out: Port with physical network net cannot become a member of port '
            f'group {GROUP}'
        ]
    )


def test_a_rule_that_fails_after_the_change_of_a_network(app, client):
    """The portgroup does not get the network of a port that stays as it is."""
    store_rules(app, rule('net', to_network(MACS[0], 'net'), ('set-attribute', {'path': 'name', 'value': 'a/b'})),
                rule('port', to_network(MACS[0], 'net'), to_network(MACS[1], 'x' * 65)))  # fmt: skip
    uuid = in_group(app, client)
    with app.service.write() as connection:
        connection.exec_driver_sql(f"DELETE FROM ports WHERE address = '{MACS[1]}'")
    add_port(client, uuid, MACS[1])
    finish(app, client, uuid, ramdisk_data(*MACS))
    assert networks(client, uuid) == dict.fromkeys([*MACS, 'group'])


def test_data_that_a_client_stores(app, client):
    """It is read like that of a ramdisk, so that rules see the same."""
    trait = {'name': 'CUSTOM_SWITCH_{plugin_data[parsed_lldp][eth0][switch_system_name]}', 'normalize': True}
    store_rules(app, rule('switch', ('add-trait', trait)))
    uuid = client.node()['uuid']
    data = ramdisk_data(MACS[0], lldp_raw={'eth0': switch()})
    preview = client.ask('POST', '/v1/inspection_rules/preview', {'inventory': data}, version='1.96')
    assert 'CUSTOM_SWITCH_LEAF_R7A' in preview.text
    response = client.ask('PUT', f'/v1/nodes/{uuid}/inventory', data)
    assert response.json['plugin_data']['parsed_lldp']['eth0']['switch_port_mtu'] == 9214
    assert 'CUSTOM_SWITCH_LEAF_R7A' in client.get(f'/v1/nodes/{uuid}/traits')['traits']


def test_a_disk_that_a_raid_controller_has_added(database_url):
    """The hook compares the disks with those of the inspection before."""
    with make_app(database_url, inspection__hooks=['raid-device']) as app:
        client = Client(app)
        uuid = waiting(app, client)
        add_port(client, uuid, MACS[0])
        disks = ramdisk_data(MACS[0])['inventory']['disks']
        for found in (disks[:1], disks):
            assert client.get(f'/v1/nodes/{uuid}')['properties'] == {}
            finish(app, client, uuid, ramdisk_data(MACS[0], disks=found))
            inspect(app, client, uuid)
        assert client.get(f'/v1/nodes/{uuid}')['properties'] == {'root_device': {'serial': 'S2'}}


@pytest.mark.skipif(not ramdisk.interfaces(), reason='This machine has no network interface.')
def test_the_real_ramdisk_receives_a_frame_of_a_switch(database_url, tmp_path):
    """From the bytes of a frame to the port and the traits of the node, with the hooks of a file of Ironic."""
    conf = tmp_path / 'ironic-traits.conf'
    conf.write_text('[inspection]\nhooks = $default_hooks,parse-lldp,local-link-connection\n')
    name, mac = next(iter(ramdisk.interfaces().items()))
    (tmp_path / 'commands').mkdir()
    with ForkedServer(database_url, '--config-file', str(conf), cwd=tmp_path) as server:

        def ask(method, path, document=None):
            status, _, body = http_client.ask(
                server.base, method, path, document, {'X-OpenStack-Ironic-API-Version': '1.115'}
            )
            assert status < 300, body
            return json.loads(body) if body else None

        def wait_for(state):
            server.wait_until(lambda: ask('GET', f'/v1/nodes/{uuid}')['provision_state'] == state)

        uuid = http_client.make(server.base, inspect_interface='agent')
        ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': mac})
        trait = f'CUSTOM_SWITCH_{{plugin_data[parsed_lldp][{name}][switch_system_name]}}'
        ask(
            'POST',
            '/v1/inspection_rules',
            {'actions': rule('', ('add-trait', {'name': trait, 'normalize': True}))['actions']},
        )
        for target, state in (('manage', 'manageable'), ('inspect', 'inspect wait')):
            ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': target})
            wait_for(state)
        ramdisk.run(f'{server.base}/v1/continue_inspection', tmp_path / 'commands', frame(switch()))
        wait_for('manageable')
        node = ask('GET', f'/v1/nodes/{uuid}')
        assert (node['last_error'], 'CUSTOM_SWITCH_LEAF_R7A' in node['traits']) == (None, True)
        (port,) = (
            each for each in ask('GET', f'/v1/nodes/{uuid}/ports?detail=true')['ports'] if each['address'] == mac
        )
        assert port['local_link_connection'] == LINK
        found = ask('GET', f'/v1/nodes/{uuid}/inventory')
        assert {tlv[0] for tlv in found['plugin_data']['lldp_raw'][name]} >= {1, 2, 127}
