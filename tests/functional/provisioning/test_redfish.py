"""The hardware type redfish: power, inspection, and what it refuses."""

import contextlib
import sys
import threading

import pytest
from oslo_config import cfg

from tests.support import transitions
from tests.support.bmc_nodes import bmc_client, carry_out, history, manageable
from tests.support.bmc_server import serving
from tests.support.client import message
from tests.support.redfish_trees import to
from tests.support.service import finish_work


@pytest.fixture
def bmc():
    with serving() as server:
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url) as client:
        yield client


def set_power(client, uuid, target):
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': target}).status_int == 202
    finish_work(client.app)
    transitions.pass_time(client.app, 5)
    finish_work(client.app)
    return client.get(f'/v1/nodes/{uuid}')


def test_manage_reads_the_power_state(client, bmc):
    uuid = manageable(client, bmc)
    assert client.get(f'/v1/nodes/{uuid}')['power_state'] == 'power off'


def test_manage_with_a_wrong_password(client, bmc):
    bmc.refused = True
    node = carry_out(client, client.node(driver='redfish', driver_info=bmc.driver_info)['uuid'], 'manage')
    assert (node['provision_state'], node['power_state']) == ('enroll', None)
    assert node['last_error'].endswith('The BMC refuses the user name or the password (401).')


@pytest.mark.parametrize(('before', 'target', 'after', 'reset'), [
    ('Off', 'power on', 'power on', 'On'),
    ('On', 'power on', 'power on', None),
    ('On', 'power off', 'power off', 'ForceOff'),
    ('Off', 'power off', 'power off', None),
    ('On', 'soft power off', 'power off', 'GracefulShutdown'),
    ('On', 'rebooting', 'power on', 'ForceRestart'),
    ('Off', 'rebooting', 'power on', 'On'),
    (None, 'power on', 'power on', 'On'),
    ('PoweringOff', 'power on', 'power on', 'On'),
])  # fmt: skip
def test_power(client, bmc, before, target, after, reset):
    uuid = manageable(client, bmc)
    bmc.system['PowerState'] = before
    if before == 'PoweringOff':
        threading.Timer(1, lambda: bmc.system.update(PowerState='Off')).start()
    assert set_power(client, uuid, target)['power_state'] == after
    posted = [path for method, path in bmc.requests if method == 'POST' and 'Actions' in path]
    assert len(posted) == (reset is not None)


def test_a_reset_that_the_bmc_does_not_know(client, bmc):
    uuid = manageable(client, bmc)
    bmc.system['PowerState'] = 'On'
    node = set_power(client, uuid, 'soft rebooting')
    assert node['last_error'].endswith('The BMC does not know GracefulRestart. It knows: ForceOff, ForceRestart, '
                                       'GracefulShutdown, On.')  # fmt: skip
    assert node['target_power_state'] is None


def test_validate_says_what_is_missing(client, bmc):
    uuid = client.node(driver='redfish')['uuid']
    results = client.get(f'/v1/nodes/{uuid}/validate')
    for interface in ('power', 'management', 'inspect'):
        assert results[interface] == {'result': False, 'reason': 'redfish_address is missing in driver_info.'}
    assert 'only lets a machine boot an ISO image' in results['deploy']['reason']
    uuid = client.node(driver='redfish', driver_info=bmc.driver_info)['uuid']
    results = client.get(f'/v1/nodes/{uuid}/validate')
    assert [results[each]['result'] for each in ('power', 'management', 'inspect', 'boot')] == [True] * 4


def test_deploy_is_refused_with_who_deploys(client, bmc):
    uuid = manageable(client, bmc)
    assert carry_out(client, uuid, 'provide')['provision_state'] == 'available'
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'})
    assert response.status_int == 400
    assert 'and adopt it (the verb "adopt"), or mirror that service' in message(response)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'available'


def test_adopt_and_undeploy(client, bmc):
    uuid = manageable(client, bmc)
    assert carry_out(client, uuid, 'adopt')['provision_state'] == 'active'
    # The disks still have the data of the instance.
    node = carry_out(client, uuid, 'deleted')
    assert node['provision_state'] == 'error'
    assert 'does not erase disks' in node['last_error']
    patch = [{'op': 'add', 'path': '/automated_clean', 'value': False}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    transitions.ask(client, uuid, 'deleted')
    finish_work(client.app)
    transitions.pass_time(client.app, 5)
    finish_work(client.app)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'available'


@pytest.mark.parametrize('library', ['sushy', 'archspec'])
def test_what_to_install(database_url, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    expected = f'redfish cannot be used: {library} is not installed. Run: pip install'
    with pytest.raises(cfg.Error, match=expected), bmc_client(database_url):
        pass


@pytest.mark.parametrize('lease_seconds', [50, 55, 56])
def test_the_lease_includes_the_end_of_the_session(database_url, lease_seconds):
    is_long = lease_seconds == 56
    expected = r'lease_seconds must be more than 5 seconds longer than \[redfish\] system_timeout\.'
    refused = contextlib.nullcontext() if is_long else pytest.raises(cfg.Error, match=expected)
    with refused, bmc_client(database_url, redfish__system_timeout=50, deploy__lease_seconds=lease_seconds):
        assert is_long


@pytest.mark.parametrize('verb', ['clean', 'service'])
def test_steps_are_refused(client, bmc, verb):
    uuid = manageable(client, bmc)
    if verb == 'service':
        carry_out(client, uuid, 'adopt')
    step = {'interface': 'deploy', 'step': 'erase_devices'}
    transitions.ask(client, uuid, verb, **{f'{verb}_steps': [step]})
    finish_work(client.app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == f'{verb} failed'
    assert f'node does not support this {verb} step' in node['last_error']


def test_inspect(client, bmc):
    uuid = manageable(client, bmc)
    node = carry_out(client, uuid, 'inspect')
    assert (node['provision_state'], node['last_error']) == ('manageable', None)
    assert {'HW_ARCH_X86_64', 'HW_CPU_X86_AVX512F'} <= set(node['traits'])
    assert node['properties']['cpu_arch'] == 'x86_64'
    ports = client.get(f'/v1/ports?node={uuid}')['ports']
    assert [port['address'] for port in ports] == ['52:54:00:00:00:01']
    document = client.get(f'/v1/nodes/{uuid}/inventory')
    assert document['plugin_data']['redfish']['uuid'] == bmc.system['UUID']
    assert document['plugin_data']['redfish']['unread'] == {
        'firmware': "The BMC answers 404 for '/redfish/v1/UpdateService'."
    }
    assert "The BMC did not show everything: firmware: The BMC answers 404 for '/redfish/v1/UpdateService'." in history(
        client, uuid
    )


def test_a_part_that_fails_keeps_its_traits(client, bmc):
    uuid = manageable(client, bmc)
    before = carry_out(client, uuid, 'inspect')
    processors = bmc.documents.pop('/Systems/1/Processors')
    after = carry_out(client, uuid, 'inspect')
    assert after['traits'] == before['traits']
    assert 'processors' in client.get(f'/v1/nodes/{uuid}/inventory')['plugin_data']['redfish']['unread']
    bmc.documents['/Systems/1/Processors'] = processors
    bmc.documents['/Systems/1/Processors/cpu']['Model'] = 'Another'
    assert 'HW_CPU_X86_AVX512F' not in carry_out(client, uuid, 'inspect')['traits']


def test_an_inspection_deletes_no_ports(client, bmc):
    uuid = manageable(client, bmc)
    port = {'node_uuid': uuid, 'address': '52:54:00:00:00:99'}
    assert client.ask('POST', '/v1/ports', port).status_int == 201
    bmc.documents['/Systems/1/EthernetInterfaces']['Members'] = []
    carry_out(client, uuid, 'inspect')
    assert len(client.get(f'/v1/ports?node={uuid}')['ports']) == 1


def test_a_bmc_that_cannot_be_used_fails_the_inspection(client, bmc):
    uuid = manageable(client, bmc)
    del bmc.documents['/Systems/1']
    node = carry_out(client, uuid, 'inspect')
    assert node['provision_state'] == 'inspect failed'
    assert "The BMC answers 404 for '/redfish/v1/Systems/1'." in node['last_error']


def test_boot_devices(client, bmc):
    uuid = manageable(client, bmc)
    path = f'/v1/nodes/{uuid}/management/boot_device'
    assert client.get(f'{path}/supported') == {'supported_boot_devices': ['pxe', 'disk', 'cdrom']}
    assert client.get(path) == {'boot_device': None, 'persistent': None}
    assert client.ask('PUT', path, {'boot_device': 'disk', 'persistent': True}).status_int == 204
    assert client.get(path) == {'boot_device': 'disk', 'persistent': True}
    assert client.ask('PUT', path, {'boot_device': 'bios'}).status_int == 400


def test_the_only_system_need_not_be_named(client, bmc):
    bmc.documents['/Systems']['Members'].append(to('/Systems/2'))
    bmc.documents['/Systems/2'] = bmc.system | {'PowerState': 'On'}
    node = carry_out(client, client.node(driver='redfish', driver_info=bmc.driver_info)['uuid'], 'manage')
    assert 'Set redfish_system_id to one of: /redfish/v1/Systems/1, /redfish/v1/Systems/2.' in node['last_error']
