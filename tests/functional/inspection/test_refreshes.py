"""Refreshes: BMCs that are read again, in any state of their nodes."""

import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.deploy.base import Facts
from ironic_traits.inventory.inspection import refreshes
from ironic_traits.inventory.provisioning import workers
from tests.support import transitions
from tests.support.bmc_nodes import WORKER, bmc_client, carry_out, history, manageable, power_sync, read_due
from tests.support.bmc_server import serving
from tests.support.client import message
from tests.support.redfish_trees import to
from tests.support.service import finish_work

ONE, TWO = (f'00000000-0000-4000-8000-00000000000{number}' for number in (1, 2))


@pytest.fixture
def bmc():
    with serving() as server:
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url) as client:
        yield client


@pytest.fixture
def uuid(client, bmc):
    uuid = manageable(client, bmc)
    carry_out(client, uuid, 'inspect')
    return uuid


def refresh(client, uuid):
    """Read the BMC of a node, and return the node."""
    assert client.ask('POST', f'/v1/nodes/{uuid}/inventory/refresh').status_int == 202
    read_due(client)
    return client.get(f'/v1/nodes/{uuid}')


def pass_time(client, seconds):
    """Move the times of all refreshes back."""
    table = tables.inventory_refreshes
    with client.app.service.write() as connection:
        for row in connection.execute(sa.select(table)).all():
            values = {'due_at': row.due_at - datetime.timedelta(seconds=seconds)}
            if row.leased_until:
                values['leased_until'] = row.leased_until - datetime.timedelta(seconds=seconds)
            connection.execute(sa.update(table).where(table.c.node_id == row.node_id).values(values))


def changes(client):
    """Return the end of the change feed."""
    change_feed.number(client.app.service)
    return client.get('/v1/changes')


def other_cpu(bmc, name='AMD EPYC 9354 32-Core Processor'):
    bmc.documents['/Systems/1/Processors/cpu']['Model'] = name


def test_an_active_node_gets_new_traits(client, bmc, uuid):
    before = carry_out(client, uuid, 'adopt')
    assert before['provision_state'] == 'active'
    bmc.documents['/Systems/1/EthernetInterfaces/nic']['MACAddress'] = '52:54:00:00:00:77'
    other_cpu(bmc)
    after = refresh(client, uuid)
    assert 'HW_CPU_X86_SVM' not in before['traits']
    assert set(after['traits']) - set(before['traits'])
    assert (after['provision_state'], after['properties']) == ('active', before['properties'])
    ports = client.get(f'/v1/ports?node={uuid}')['ports']
    assert [port['address'] for port in ports] == ['52:54:00:00:00:01']


@pytest.mark.parametrize('state', ['enroll', 'manageable', 'available', 'active', 'inspect failed'])
def test_any_state(client, bmc, state):
    if state == 'enroll':
        uuid = client.node(driver='redfish', driver_info=bmc.driver_info)['uuid']
    else:
        uuid = manageable(client, bmc)
    if state == 'inspect failed':
        system = bmc.documents.pop('/Systems/1')
        carry_out(client, uuid, 'inspect')
        bmc.documents['/Systems/1'] = system
    for verb in {'available': ['provide'], 'active': ['adopt']}.get(state, []):
        carry_out(client, uuid, verb)
    node = refresh(client, uuid)
    assert node['provision_state'] == state
    assert 'HW_ARCH_X86_64' in node['traits']


def test_unchanged_facts_write_nothing(client, bmc, uuid):
    refresh(client, uuid)
    before = client.get(f'/v1/nodes/{uuid}'), history(client, uuid), changes(client)
    refresh(client, uuid)
    assert (client.get(f'/v1/nodes/{uuid}'), history(client, uuid), changes(client)) == before


def test_a_failure_is_recorded_once_and_removed_later(client, bmc, uuid):
    system = bmc.documents.pop('/Systems/1')
    node = refresh(client, uuid)
    sentence = "The BMC could not be read: The BMC answers 404 for '/redfish/v1/Systems/1'."
    assert (node['last_error'], node['provision_state']) == (sentence, 'manageable')
    refresh(client, uuid)
    assert history(client, uuid).count(sentence) == 1
    bmc.documents['/Systems/1'] = system
    assert refresh(client, uuid)['last_error'] is None


def test_what_could_not_be_read_is_recorded_once(client, bmc, uuid):
    del bmc.documents['/Systems/1/EthernetInterfaces']
    for _ in range(2):
        refresh(client, uuid)
    (event,) = [each for each in history(client, uuid) if 'nics: ' in each]
    assert "nics: The BMC answers 404 for '/redfish/v1/Systems/1/EthernetInterfaces'." in event
    assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['interfaces'][0]['mac_address']


def test_what_a_ramdisk_has_found_stays(client, bmc, uuid):
    flags = {'architecture': 'x86_64', 'count': 4, 'flags': ['aes'], 'model_name': 'Found by the ramdisk'}
    document = {'inventory': {'cpu': flags, 'interfaces': [{'name': 'eno1', 'mac_address': '52:54:00:00:00:01'}]}}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', document).status_int == 200
    node = refresh(client, uuid)
    found = client.get(f'/v1/nodes/{uuid}/inventory')
    assert found['inventory']['cpu'] == flags | {'core_count': 18, 'socket_count': 1}
    assert found['inventory']['interfaces'][0]['name'] == 'eno1'
    assert found['inventory']['system_vendor']['manufacturer'] == 'Acme'
    assert 'HW_CPU_X86_AESNI' in node['traits']
    assert 'HW_CPU_X86_AVX512F' not in node['traits']


def test_what_the_bmc_adds_to_the_facts_of_a_ramdisk_follows_it(client, bmc, uuid):
    document = {'inventory': {'system_vendor': {'manufacturer': 'Of the ramdisk'}, 'interfaces': []}}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', document).status_int == 200
    for version in ('1.0', '2.0'):
        bmc.system['BiosVersion'] = version
        refresh(client, uuid)
        vendor = client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['system_vendor']
        assert (vendor['manufacturer'], vendor['firmware']) == ('Of the ramdisk', {'version': version})


def test_a_machine_that_is_off_keeps_its_facts(client, bmc, uuid):
    before = client.get(f'/v1/nodes/{uuid}')['traits']
    bmc.documents['/Systems/1/Processors']['Members'] = []
    bmc.documents['/Systems/1/EthernetInterfaces']['Members'] = []
    assert refresh(client, uuid)['traits'] == before
    assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['interfaces']
    bmc.system['PowerState'] = 'On'
    refresh(client, uuid)
    assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['interfaces'] == []


@pytest.mark.parametrize('status', [202, 204, 503])
def test_an_answer_without_a_document_changes_no_facts(client, bmc, uuid, status):
    before = client.get(f'/v1/nodes/{uuid}')['traits']
    bmc.answers['/Systems/1'] = lambda handler: handler.answer({}, status)
    node = refresh(client, uuid)
    assert node['traits'] == before
    assert f"The BMC answers {status} for '/redfish/v1/Systems/1'." in node['last_error']


def test_a_broken_member_does_not_freeze_the_others(client, bmc, uuid):
    nics = '/Systems/1/EthernetInterfaces'
    bmc.documents[nics]['Members'] += [to(f'{nics}/gone'), to(f'{nics}/new')]
    bmc.documents[f'{nics}/new'] = {'MACAddress': '52:54:00:00:00:02'}
    bmc.documents[f'{nics}/nic']['SpeedMbps'] = 25000
    refresh(client, uuid)
    found = client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['interfaces']
    assert {each['mac_address']: each.get('speed_mbps') for each in found} == {
        '52:54:00:00:00:01': 25000, '52:54:00:00:00:02': None,
    }  # fmt: skip


@pytest.mark.parametrize('stored', ['text', {'places': 5}, {'places': [{}]}, {'unread': 'text'}, None])
def test_odd_data_of_a_client_ends_no_refresh(client, bmc, uuid, stored):
    document = {'inventory': {'cpu': None}, 'plugin_data': {'redfish': stored, 'a.b': 1}}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', document).status_int == 200
    assert 'HW_ARCH_X86_64' in refresh(client, uuid)['traits']
    assert client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']['a.b'] == 1


def test_a_request_while_the_bmc_is_read_is_not_lost(client, bmc, uuid):
    def request_again(handler):
        del bmc.answers['/Systems/1']
        assert client.ask('POST', f'/v1/nodes/{uuid}/inventory/refresh').status_int == 202
        handler.answer(bmc.system | {'Model': 'Old'})

    bmc.system['Model'] = 'New'
    bmc.answers['/Systems/1'] = request_again
    refresh(client, uuid)
    read_due(client)
    assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['system_vendor']['product_name'] == 'New'


def test_facts_of_another_machine_are_not_stored(client, bmc, uuid):
    def move(handler):
        bmc.answers.clear()
        patch = [{'op': 'replace', 'path': '/driver_info/redfish_address', 'value': other.url}]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
        handler.answer(bmc.system | {'Model': 'Old'})

    with serving() as other:
        other.system['Model'] = 'Other'
        bmc.answers['/Systems/1'] = move
        refresh(client, uuid)
        vendor = client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['system_vendor']
        assert vendor['product_name'] != 'Old'
        read_due(client)
        vendor = client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['system_vendor']
        assert vendor['product_name'] == 'Other'


def test_the_error_of_other_work_stays(client, bmc, uuid):
    bmc.refused = True
    failed = carry_out(client, uuid, 'provide')
    assert failed['provision_state'] == 'available'
    with client.app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(last_error='Clean failed.'))
    assert refresh(client, uuid)['last_error'] == 'Clean failed.'


def test_an_old_observation_is_not_stored(client, bmc, uuid):
    def turn_on(handler):
        bmc.answers.clear()
        with client.app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(power_state='power on'))
        handler.answer(bmc.system | {'PowerState': 'Off', 'Status': {'Health': 'Warning'}})

    bmc.answers['/Systems/1'] = turn_on
    sync(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['power_state'], node['health']) == ('power on', None)


def test_refused(client, bmc):
    fake = client.node()['uuid']
    response = client.ask('POST', f'/v1/nodes/{fake}/inventory/refresh')
    assert response.status_int == 400
    assert message(response) == "The inspect interface 'fake' of driver 'fake-hardware' reads no BMC."
    without = client.node(driver='redfish', inspect_interface='no-inspect')['uuid']
    assert client.ask('POST', f'/v1/nodes/{without}/inventory/refresh').status_int == 400
    assert client.ask('POST', f'/v1/nodes/{ONE}/inventory/refresh').status_int == 404
    assert client.ask('POST', f'/v1/nodes/{fake}/inventory/refresh', version='1.80').status_int == 404


def test_a_worker_that_dies_is_replaced(client, bmc, uuid):
    assert client.ask('POST', f'/v1/nodes/{uuid}/inventory/refresh').status_int == 202
    service = client.app.service
    (row,) = refreshes.due(service, 9)
    dead = refreshes.claim(service, row)
    assert refreshes.claim(service, row) is None
    assert not refreshes.due(service, 9)
    pass_time(client, service.conf.deploy.lease_seconds)
    other_cpu(bmc)
    read_due(client)
    node = client.get(f'/v1/nodes/{uuid}')
    # It was not dead, but slow. What it has read is older.
    refreshes.settle(Context(service, None, 0, ''), dead, Facts({'inventory': {}, 'plugin_data': {'redfish': {}}}))
    assert client.get(f'/v1/nodes/{uuid}') == node


def test_a_node_that_is_locked_is_read_again(client, bmc, uuid):
    carry_out(client, uuid, 'provide')
    other_cpu(bmc)
    before = client.get(f'/v1/nodes/{uuid}')['traits']
    with client.app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation='one'))
    assert refresh(client, uuid)['traits'] == before
    with client.app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation=None))
    pass_time(client, 11)
    read_due(client)
    assert client.get(f'/v1/nodes/{uuid}')['traits'] != before


def test_regular_refreshes(client, bmc, uuid):
    service = client.app.service
    enrolled = client.node(driver='redfish', driver_info=bmc.driver_info)['uuid']
    service.conf.set_override('refresh_interval', 3600, group='inspection')
    assert refreshes.schedule(service) == 1
    assert refreshes.schedule(service) == 0
    for name in ('AMD EPYC 9354 32-Core Processor', 'Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz'):
        other_cpu(bmc, name)
        read_due(client)
        assert client.get(f'/v1/nodes/{uuid}/inventory')['inventory']['cpu']['model_name'] == name
        read_due(client)
        pass_time(client, 4000)
    assert client.get(f'/v1/nodes/{enrolled}')['traits'] == []
    service.conf.set_override('refresh_interval', 0, group='inspection')
    read_due(client)
    assert refreshes.due(service, 9) == []


def test_an_inspection_and_a_refresh_at_once(client, bmc, uuid):
    assert client.ask('POST', f'/v1/nodes/{uuid}/inventory/refresh').status_int == 202
    transitions.ask(client, uuid, 'inspect')
    other_cpu(bmc)
    read_due(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['reservation'] is None) == ('inspecting', False)
    finish_work(client.app)
    pass_time(client, 11)
    read_due(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['last_error']) == ('manageable', None)


def sync(client, times=1, worker=ONE):
    workers.beat(client.app.service, worker, **WORKER)
    with power_sync(client, worker) as syncing:
        for _ in range(times):
            syncing.sync(lambda: False)


def test_power_and_health_follow_the_bmc(client, bmc, uuid):
    bmc.documents['/Systems/1'] |= {'PowerState': 'On', 'Status': {'HealthRollup': 'Critical', 'Health': 'OK'}}
    sync(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['power_state'], node['health']) == ('power on', 'Critical')
    events = history(client, uuid)
    assert 'The BMC shows the power state "power on".' in events
    assert 'The BMC shows the health Critical, before unknown.' in events
    sync(client, 2)
    assert history(client, uuid) == events
    assert client.get(f'/v1/nodes/{uuid}')['updated_at'] == node['updated_at']


def test_a_bmc_that_does_not_answer_and_comes_back(client, bmc, uuid):
    carry_out(client, uuid, 'provide')
    system = bmc.documents.pop('/Systems/1')
    sync(client, 2)
    assert client.get(f'/v1/nodes/{uuid}')['power_state'] == 'power off'
    sync(client, 3)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['power_state'], node['maintenance'], node['fault']) == ('error', True, 'power failure')
    assert node['maintenance_reason'].startswith('The power state could not be read: The BMC answers 404')
    bmc.documents['/Systems/1'] = system
    # It is asked less often now.
    sync(client, 4)
    assert client.get(f'/v1/nodes/{uuid}')['maintenance']
    sync(client, 5)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['power_state'], node['maintenance'], node['fault']) == ('power off', False, None)
    assert node['last_error'] is None


def test_the_maintenance_of_an_operator_stays(client, bmc, uuid):
    assert client.ask('PUT', f'/v1/nodes/{uuid}/maintenance', {'reason': 'Mine'}).status_int == 202
    system = bmc.documents.pop('/Systems/1')
    sync(client, 5)
    bmc.documents['/Systems/1'] = system
    sync(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['maintenance'], node['maintenance_reason'], node['fault']) == (True, 'Mine', None)


def test_each_node_is_asked_by_one_worker(client, bmc, uuid):
    for _ in range(5):
        manageable(client, bmc)
    for worker in (ONE, TWO):
        workers.beat(client.app.service, worker, **WORKER)
    bmc.requests.clear()
    with power_sync(client, ONE) as one, power_sync(client, TWO) as two:
        one.sync(lambda: False)
        first = len(bmc.requests)
        two.sync(lambda: False)
    assert 0 < first < len(bmc.requests)
    read = [path for _, path in bmc.requests if path == '/Systems/1']
    assert len(read) == 6
