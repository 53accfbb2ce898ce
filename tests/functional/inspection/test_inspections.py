"""The data of inspections: from a ramdisk, from a client, and in responses."""

from ironic_traits.inventory.core import history
from tests.support.client import Client, message
from tests.support.history import entries
from tests.support.inspections import MACS, PATH, add_port, inspect, ports, post, ramdisk_data, waiting
from tests.support.service import finish_work, make_app
from tests.support.transitions import ask, pass_time


def shown(client, uuid):
    """Return the state, the error and the properties of a node."""
    node = client.get(f'/v1/nodes/{uuid}')
    return node['provision_state'], node['last_error'], node['properties']


def test_an_inspection_with_the_data_of_a_ramdisk(app, client):
    uuid = waiting(app, client, properties={'rack': 1})
    add_port(client, uuid, MACS[1], extra={'a': 1})
    response = post(client, ramdisk_data(MACS[0], MACS[1].upper(), logs='bG9ncw==', lldp_raw={'eth0': []}))
    assert (response.status_int, response.json) == (202, {'uuid': uuid})
    assert client.get(f'/v1/nodes/{uuid}/states')['provision_state'] == 'inspect wait'
    finish_work(app)
    facts = {'cpu_arch': 'x86_64', 'cpus': 8, 'memory_mb': 16384, 'local_gb': 99, 'rack': 1}
    assert shown(client, uuid) == ('manageable', None, facts)
    assert ports(client, uuid) == {MACS[0]: True, MACS[1]: False}
    inventory = client.get(f'/v1/nodes/{uuid}/inventory')
    assert inventory['inventory'] == ramdisk_data(MACS[0], MACS[1].upper())['inventory']
    assert inventory['plugin_data'].keys() == {
        *('root_disk', 'lldp_raw', 'all_interfaces', 'valid_interfaces', 'macs', 'local_gb'),
    }


def test_a_ramdisk_that_sends_its_data_twice(app, client):
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    for hostname in ('same', 'same', 'other'):
        assert post(client, ramdisk_data(MACS[0], hostname=hostname)).status_int == 202
    finish_work(app)
    assert shown(client, uuid)[:2] == ('manageable', None)
    assert client.ask('GET', f'/v1/nodes/{uuid}/inventory?previous=true').status_int == 404
    assert post(client, ramdisk_data(MACS[0])).status_int == 404


def test_a_client_does_not_replace_data_that_a_worker_still_has_to_read(database_url):
    """The properties come from the ramdisk's data, although a client stores other data before the worker reads it."""
    with make_app(database_url, deploy__node_locked_retry_attempts=0) as app:
        client = Client(app)
        uuid = waiting(app, client)
        add_port(client, uuid, MACS[0])
        put = ('PUT', f'/v1/nodes/{uuid}/inventory', {'inventory': {'cpu': {'count': 99}}})
        assert client.ask(*put).status_int == 200
        post(client, ramdisk_data(MACS[0]))
        assert client.ask(*put).status_int == 409
        finish_work(app)
        assert client.ask(*put).status_int == 200
        assert shown(client, uuid)[2]['cpus'] == 8


def test_the_data_before_the_last(app, client):
    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    for hostname in ('first', 'second', 'third'):
        post(client, ramdisk_data(MACS[0], hostname=hostname))
        finish_work(app)
        inspect(app, client, uuid)
    last, previous = (client.get(f'/v1/nodes/{uuid}/inventory{query}') for query in ('', '?previous=true'))
    assert (last['inventory']['hostname'], previous['inventory']['hostname']) == ('third', 'second')


def test_the_time_for_an_inspection_ends(app, client):
    uuid = waiting(app, client)
    pass_time(app, 1800)
    with app.service.write() as connection:
        connection.exec_driver_sql("UPDATE transitions SET begun_at = '2020-01-01 00:00:00'")
    finish_work(app)
    assert shown(client, uuid)[:2] == ('inspect failed', 'timeout reached while inspecting the node')


def test_data_in_time_is_used_whenever_a_worker_comes(app, client):
    uuid = waiting(app, client)
    with app.service.write() as connection:
        connection.exec_driver_sql("UPDATE transitions SET begun_at = '2020-01-01 00:00:00'")
    add_port(client, uuid, MACS[0])
    post(client, ramdisk_data(MACS[0]))
    finish_work(app)
    assert shown(client, uuid)[0] == 'manageable'


def test_an_inspection_that_is_aborted(app, client):
    uuid = waiting(app, client)
    ask(client, uuid, 'abort')
    finish_work(app)
    assert shown(client, uuid)[:2] == ('inspect failed', 'Inspection was aborted by request.')


def test_the_times_of_an_inspection(app, client):
    """As in Ironic, an inspection has a beginning until it ends, and an end once it has succeeded."""

    def has_times():
        node = client.get(f'/v1/nodes/{uuid}')
        return node['inspection_started_at'] is not None, node['inspection_finished_at'] is not None

    uuid = waiting(app, client)
    add_port(client, uuid, MACS[0])
    assert has_times() == (True, False)
    post(client, ramdisk_data(MACS[0]))
    finish_work(app)
    assert has_times() == (False, True)
    inspect(app, client, uuid)
    assert has_times() == (True, False)
    post(client, ramdisk_data(MACS[0], error='it burns'))
    finish_work(app)
    assert has_times() == (False, False)
    inspect(app, client, uuid)
    ask(client, uuid, 'abort')
    assert has_times() == (False, False)


#: {name: (data of the ramdisk, part of last_error)}.
FAILURES = {
    'error of the ramdisk': (ramdisk_data(MACS[0], error='it burns'), 'Ramdisk reported error: it burns'),
    'long error': (ramdisk_data(MACS[0], error='x' * 100_000), f'Ramdisk reported error: {"x" * 4096}…'),
    'long architecture': (ramdisk_data(MACS[0], cpu={'architecture': 'x' * 256}), 'malformed or missing CPU'),
    'no architecture': (ramdisk_data(MACS[0], cpu=None), 'missing CPU architecture information: None'),
    'interface without a name': (
        {'inventory': {'interfaces': [{'mac_address': MACS[0]}]}},
        'no valid network interfaces',
    ),
    'other types': (ramdisk_data(MACS[0], cpu='x', boot=None), "'cpu' in the inventory must be an object."),
    'huge numbers': (ramdisk_data(MACS[0], cpu={'architecture': [1]}), 'CPU architecture'),
}


def test_an_inspection_that_fails(app, client, caplog):
    """A failed inspection keeps the data, and changes nothing else."""
    uuid = waiting(app, client, properties={'cpus': 1})
    add_port(client, uuid, MACS[0])
    for case, (data, reason) in FAILURES.items():
        assert post(client, data).status_int == 202, case
        finish_work(app)
        state, error, properties = shown(client, uuid)
        assert (state, properties) == ('inspect failed', {'cpus': 1}), case
        assert error.startswith('Failed to finish inspection: '), case
        assert reason in error, case
        assert f'inspect failed, now inspect failed: {error}' in caplog.text, case
        assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory'] == data['inventory'], case
        assert entries(client, uuid)[-1]['severity'] == history.ERROR, case
        inspect(app, client, uuid)


def test_a_port_of_another_node(app, client):
    other = client.node()['uuid']
    uuid = waiting(app, client, driver_info={'ipmi_address': '198.51.100.1'})
    add_port(client, other, MACS[0])
    response = client.ask('POST', f'{PATH}?node_uuid={uuid}', ramdisk_data(MACS[1]))
    assert response.status_int == 202
    with app.service.write() as connection:
        connection.exec_driver_sql(f"UPDATE ports SET address = '{MACS[1]}'")
    finish_work(app)
    assert shown(client, uuid)[0] == 'manageable'
    assert (ports(client, uuid), ports(client, other)) == ({}, {MACS[1]: True})
    warning = [entry for entry in entries(client, uuid) if entry['severity'] == history.WARNING]
    assert [entry['event'] for entry in warning] == [
        f'No port was added for the MAC address {MACS[1]}, because a port of another node has it.'
    ]


def test_the_node_in_the_response_from_1_84(app, client):
    waiting(app, client, driver_info={'redfish_address': 'https://[2001:db8::1]:443/redfish'})
    data = ramdisk_data(MACS[0])
    data['inventory']['bmc_v6address'] = '2001:DB8:0::1'
    response = post(client, data, version='1.84')
    assert response.status_int == 202
    assert response.json['node'].keys() == {'uuid', 'properties', 'instance_info', 'driver_internal_info', 'links'}
    assert response.json['config'] == {}


def test_data_of_a_client(client):
    """A client may store data as a ramdisk sends it, and as ``baremetal node inventory save`` writes it."""
    path = f'/v1/nodes/{client.node()["uuid"]}/inventory'
    for body in ({'inventory': {'a': 1}, 'lldp': 2}, {'inventory': {'a': 1}, 'plugin_data': {'lldp': 2, 'logs': 'x'}}):
        response = client.ask('PUT', path, body, version='1.81')
        assert response.status_int == 200, response.text
        assert response.json == client.get(path) == {'inventory': {'a': 1}, 'plugin_data': {'lldp': 2}}
    assert client.ask('PUT', path, {'inventory': {}, 'plugin_data': None}).json == {'inventory': {}, 'plugin_data': {}}


BAD = {
    'list': ([], 'is a JSON object'),
    'no inventory': ({'x': 1}, "'inventory' is required"),
    'inventory null': ({'inventory': None}, "'inventory' is required"),
    'types': (
        {'inventory': {'cpu': 1, 'disks': {}, 'interfaces': [1], 'bmc_address': 1}},
        "'cpu' in the inventory must be an object. 'interfaces' in the inventory must be a list of objects. 'disks' in "
        "the inventory must be a list of objects. 'bmc_address' in the inventory must be a string, or null.",
    ),
    'plugin data of both forms': ({'inventory': {}, 'plugin_data': {}, 'lldp': 1}, "'plugin_data' must be an object"),
    'plugin data': ({'inventory': {}, 'plugin_data': []}, "'plugin_data' must be an object"),
    'many interfaces': ({'inventory': {'interfaces': [{}] * 1001}}, 'at most 1000 network interfaces'),
}


def test_bad_data_of_a_client(client):
    path = f'/v1/nodes/{client.node()["uuid"]}/inventory'
    for case, (body, sentence) in BAD.items():
        response = client.ask('PUT', path, body)
        assert (response.status_int, sentence in message(response)) == (400, True), case


def test_the_size_of_data(app, shared_database_url, client):
    """Inspection data has its own size limits. Other requests keep theirs."""
    uuid = client.node()['uuid']
    waiting(app, client)
    options = {'inspection__max_data_size': 3000, 'inspection__max_ramdisk_data_size': 2500}
    with make_app(shared_database_url, api__max_request_body_size=1000, **options) as small:
        own = type(client)(small)
        for size, statuses in ((2000, (200, 404, 413)), (2800, (200, 413, 413)), (4000, (413, 413, 413))):
            body = {'inventory': {'interfaces': [{'mac_address': MACS[0]}], 'x': 'x' * size}}
            answers = (
                own.ask('PUT', f'/v1/nodes/{uuid}/inventory', body),
                post(own, body),
                own.ask('PATCH', f'/v1/nodes/{uuid}', body),
            )
            assert tuple(answer.status_int for answer in answers) == statuses


def test_data_for_a_node_that_is_locked(app, client):
    uuid = client.node()['uuid']
    app.service.conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    ask(client, uuid, 'manage')
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', {'inventory': {}}).status_int == 409
    finish_work(app)
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', {'inventory': {}}).status_int == 200
