"""Runs of inspection rules at the end of an inspection, and when a client stores data, on each database."""

import pytest

from tests.support.inspections import MACS, add_port, inspect, post, ramdisk_data, waiting
from tests.support.rule_runs import add, data, expect, history, rule, run, sources, store_rules
from tests.support.service import finish_work

SET = {'path': 'extra/cpus', 'value': '{node.properties[cpus]}'}


def inspected(app, client, *rules, **fields):
    """Return the uuid of a node after an inspection with rules."""
    store_rules(app, *rules)
    uuid = waiting(app, client, **fields)
    add_port(client, uuid, MACS[0], name='first')
    assert post(client, ramdisk_data(MACS[0], rack='r7')).status_int == 202
    finish_work(app)
    return uuid


def state(client, uuid):
    node = client.get(f'/v1/nodes/{uuid}')
    return node['provision_state'], node['last_error']


def errors(client, uuid):
    return [event for severity, _, event in history(client, uuid) if severity == 'ERROR']


def test_an_inspection_gives_traits(app, client):
    """The standard rules add traits."""
    uuid = inspected(app, client)
    assert state(client, uuid) == ('manageable', None)
    assert sources(client, uuid) == {
        'CUSTOM_CPU_VENDOR_INTEL': ['rule:standard.cpu-vendor'],
        'HW_ARCH_X86_64': ['rule:standard.architecture'],
        'CUSTOM_BOOT_MODE_UEFI': ['rule:standard.firmware-settings'],
        'HW_CPU_X86_AESNI': ['rule:standard.cpu-flags'],
        'HW_CPU_X86_AVX2': ['rule:standard.cpu-flags'],
        'HW_CPU_X86_INTEL_VMX': ['rule:standard.cpu-flags'],
        'HW_CPU_X86_VMX': ['rule:standard.cpu-flags'],
        'STORAGE_DISK_HDD': ['rule:standard.disks'],
        'STORAGE_DISK_SSD': ['rule:standard.disks'],
    }
    # Without the fact, the trait is removed.
    inspect(app, client, uuid)
    one_disk = ramdisk_data(MACS[0])
    del one_disk['inventory']['disks'][1:]
    post(client, one_disk)
    finish_work(app)
    assert 'STORAGE_DISK_SSD' not in sources(client, uuid)
    assert history(client, uuid)[-1] == (
        'INFO',
        'rule:standard.disks',
        'Source rule:standard.disks: removed STORAGE_DISK_SSD.',
    )


def test_rules_change_the_node_its_ports_and_the_plugin_data(app, client):
    """Rules change the node, its ports and the plugin data. They see the results of the hooks."""
    uuid = inspected(
        app,
        client,
        rule(
            'all',
            ('set-attribute', SET),
            ('set-attribute', {'path': 'resource_class', 'value': 'gold'}),
            ('set-attribute', {'path': 'driver_info/address', 'value': 'a'}),
            ('set-capability', {'name': 'rack', 'value': '{plugin_data[rack]}'}),
            ('set-plugin-data', {'path': 'tier', 'value': 'gold'}),
            ('set-port-attribute', {'port_id': MACS[0].upper(), 'path': 'extra/rack', 'value': 'r7'}),
            ('set-port-attribute', {'port_id': MACS[0], 'path': 'physical_network', 'value': 'net1'}),
            ('del-port-attribute', {'port_id': MACS[0], 'path': 'name'}),
            priority=5,
        ),
        rule('later', ('add-trait', {'name': 'CUSTOM_{node.resource_class}_{plugin_data[tier]}', 'normalize': True})),
        driver_info={'ipmi_password': 'hush', 'x': 1},
    )
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['extra'], node['resource_class']) == ({'cpus': 8}, 'gold')
    assert node['properties']['capabilities'] == 'rack:r7'
    assert node['driver_info'] == {'ipmi_password': '******', 'x': 1, 'address': 'a'}
    assert sources(client, uuid)['CUSTOM_GOLD_GOLD'] == ['rule:later']
    assert client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']['tier'] == 'gold'
    (port,) = client.get(f'/v1/nodes/{uuid}/ports/detail')['ports']
    assert (port['extra'], port['physical_network'], port['name']) == ({'rack': 'r7'}, 'net1', None)
    with app.service.read() as connection:
        assert 'hush' in connection.exec_driver_sql('SELECT driver_info FROM nodes').scalar_one()
    # The node has a provider now, with these traits.
    assert 'CUSTOM_GOLD_GOLD' in client.placement('GET', f'/resource_providers/{uuid}/traits').json['traits']
    assert errors(client, uuid) == []


def test_a_rule_ends_the_inspection(app, client):
    """The data is stored. Nothing else changes."""
    fail = rule('fail', ('fail', {'msg': 'no rack {plugin_data[rack]}'}), priority=1)
    uuid = inspected(app, client, fail, add('a', 'CUSTOM_A', priority=2), rule('b', ('set-attribute', SET), priority=2))
    error = 'Failed to finish inspection: Failed to inspect hardware. Reason: no rack r7'
    assert state(client, uuid) == ('inspect failed', error)
    assert sources(client, uuid) == {}
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['extra'], node['properties']) == ({}, {})
    assert client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']['rack'] == 'r7'


REFUSED = {
    'name of another node': (('path', 'name', 'taken'), 'another node has the name taken'),
    'no name': (('path', 'name', 'a/b'), "'a/b' is not a valid name of a node"),
    'reserved name': (('path', 'name', 'states'), "'states' is not a valid name of a node"),
    'name of another type': (('path', 'name', 7), 'name would not be a text of at most 255 characters'),
    'long class': (('path', 'resource_class', 'x' * 90), 'resource_class would not be a text of at most 80 characters'),
    'no object': (('path', 'extra', ['x']), 'extra would not be an object'),
    'network data': (('path', 'network_data', {'links': 1}), 'network_data would lack links, networks or services'),
    'other port': (('port', 'extra/a', 1, 'aa:bb:cc:dd:ee:ff'), "the node has no port 'aa:bb:cc:dd:ee:ff'"),
    'address': (('port', 'address', MACS[1]), 'rules cannot change address of a port, only category'),
    'boolean': (('port', 'pxe_enabled', 'yes'), 'pxe_enabled would be neither true nor false'),
    'long network': (('port', 'physical_network', 'x' * 65), 'physical_network would not be a text of at most 64'),
    'name of another port': (('port', 'name', 'taken'), "'taken' cannot be the name of the port"),
}


@pytest.mark.parametrize(('change', 'reason'), REFUSED.values(), ids=REFUSED)
def test_changes_that_are_not_allowed(app, client, change, reason):
    """None of the rule's changes are applied, and its traits stay. Other rules are not affected."""
    other = client.node(name='taken')['uuid']
    add_port(client, other, MACS[1], name='taken')
    kind, path, value, *port = change
    args = {'path': path, 'value': value, **({'port_id': port[0] if port else MACS[0]} if kind == 'port' else {})}
    action = ('set-port-attribute' if kind == 'port' else 'set-attribute', args)
    bad = rule('bad', ('set-attribute', {'path': 'extra/bad', 'value': 1}), action, ('add-trait', {'name': 'CUSTOM_A'}))
    uuid = inspected(app, client, bad, rule('good', ('set-attribute', SET)), name='one')
    assert state(client, uuid) == ('manageable', None)
    (error,) = errors(client, uuid)
    assert error.startswith(f'The changes of the rule bad were left out: {reason}')
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['extra'], node['name'], node['network_data']) == ({'cpus': 8}, 'one', {})
    assert sources(client, uuid)['CUSTOM_A'] == ['rule:bad']


def test_changes_of_sensitive_rules_that_are_not_allowed(app, client):
    """The history does not show values that only sensitive rules see."""
    action = ('set-attribute', {'path': 'name', 'value': '{node.driver_info[token]}'})
    bad = rule('bad', action, sensitive=True)
    uuid = inspected(app, client, bad, driver_info={'token': 'hush/hush'})
    assert errors(client, uuid) == ['The changes of the rule bad were left out: the rule is sensitive.']


def test_the_class_of_a_node_that_is_held(app, client):
    store_rules(app, rule('class', ('set-attribute', {'path': 'resource_class', 'value': 'gold'})))
    uuid = waiting(app, client, resource_class='silver', instance_uuid='aaaaaaaa-0000-4000-8000-000000000009')
    add_port(client, uuid, MACS[0])
    post(client, ramdisk_data(MACS[0]))
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}')['resource_class'] == 'silver'
    assert errors(client, uuid)[-1].startswith('The changes of the rule class were left out: ')


def test_a_client_stores_data(app, client):
    """Only traits and expectations change. Storing the same data again changes nothing."""
    store_rules(app, rule('a', ('add-trait', {'name': 'CUSTOM_A'}), ('set-attribute', {'path': 'extra/x', 'value': 1}),
                          ('set-plugin-data', {'path': 'x', 'value': 1})), expect('cpus', 16))  # fmt: skip
    uuid = client.node(name='one')['uuid']
    document = data(cpu={'count': 8}, disks=None)
    for _ in range(2):
        response = client.ask('PUT', f'/v1/nodes/{uuid}/inventory', document)
        assert response.json == document, response.text
        assert sources(client, uuid) == {'CUSTOM_A': ['rule:a']}
        assert client.get(f'/v1/nodes/{uuid}')['extra'] == {}
        assert client.get(f'/v1/nodes/{uuid}/validate')['inspect']['result'] is False
        assert len(history(client, uuid)) == 2
    (entry,) = client.get(f'/v1/history?node={uuid}&event_type=trait')['history']
    assert (entry['source'], entry['conductor'], entry['request_id'][:4]) == ('rule:a', None, 'req-')


def test_rules_and_the_ramdisk_hooks_agree_with_a_later_run(app, client):
    """A run over the stored data does not change the result of the inspection."""
    tier = rule('tier', ('set-plugin-data', {'path': 'tier', 'value': 'GOLD'}), priority=5)
    uuid = inspected(
        app, client, tier, rule('b', ('add-trait', {'name': 'CUSTOM_{plugin_data[tier]}', 'format': True}))
    )
    assert 'CUSTOM_GOLD' in sources(client, uuid)
    document = client.get(f'/v1/nodes/{uuid}/inventory')
    assert not run(app, uuid, document).is_changing
