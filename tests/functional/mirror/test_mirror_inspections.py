"""Inspections of mirrored nodes that are in progress in a real Ironic."""

import pytest

from tests.functional.mirror.test_mirror import (
    inspect,
    ironic,  # noqa: F401, a fixture
    wait_for,
)
from tests.support import rule_runs
from tests.support.inspections import PATH, post, ramdisk_data, waiting
from tests.support.mirror import catch_up, follower

MAC, UNKNOWN = '52:54:00:00:00:01', '52:54:00:00:00:99'
BMC = {'redfish_address': 'https://192.0.2.7'}


def _data(count):
    """Return the data of a machine with some CPUs."""
    cpu = {'count': count, 'architecture': 'x86_64', 'flags': ['vmx']}
    return ramdisk_data(MAC, bmc='192.0.2.7', cpu=cpu)


def _rule(trait):
    return rule_runs.add('own', trait, conditions=rule_runs.has_flag('vmx'))


def _begin(ironic, uuid):  # noqa: F811
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'inspect'})
    wait_for(ironic, uuid, 'inspect wait')


@pytest.fixture
def inspected(ironic, app):  # noqa: F811
    """A mirror, and the uuid of a node that was inspected there and is inspected again. A rule here adds a trait."""
    uuid = ironic.node(name='one', inspect_interface='agent', driver_info=BMC)
    ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': MAC})
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    wait_for(ironic, uuid, 'manageable')
    rule_runs.store_rules(app, _rule('CUSTOM_BEFORE'))
    inspect(ironic, uuid, _data(8))
    mirror = follower(app)
    catch_up(mirror)
    _begin(ironic, uuid)
    catch_up(mirror)
    return mirror, uuid


def _shown(client, uuid):
    """Return the state of a node, the number of CPUs in its data, and the traits of the rule."""
    traits = {name for name, sources in rule_runs.sources(client, uuid).items() if 'rule:own' in sources}
    data = client.get(f'/v1/nodes/{uuid}/inventory')['inventory']
    return client.get(f'/v1/nodes/{uuid}')['provision_state'], data['cpu']['count'], traits


@pytest.mark.parametrize('end', ['data', 'abort'])
def test_rules_during_an_inspection(ironic, app, client, inspected, end):  # noqa: F811
    """Rules run on the data of the last inspection until the cloud has new data."""
    mirror, uuid = inspected
    assert _shown(client, uuid) == ('inspect wait', 8, {'CUSTOM_BEFORE'})
    rule_runs.store_rules(app, _rule('CUSTOM_DURING'))
    digest = client.ask('POST', '/v1/inspection_rules/preview', {'where': {}}).json['digest']
    applied = client.ask('POST', '/v1/inspection_rules/apply', {'where': {}, 'digest': digest}).json
    assert (applied['changed'], applied['locked']) == (1, [])
    assert _shown(client, uuid) == ('inspect wait', 8, {'CUSTOM_DURING'})
    if end == 'abort':
        ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'abort'})
        wait_for(ironic, uuid, 'inspect failed')
        expected = ('inspect failed', 8, {'CUSTOM_DURING'})
    else:
        rule_runs.store_rules(app, _rule('CUSTOM_AFTER'))
        ironic.ask('POST', f'/v1/continue_inspection?node_uuid={uuid}', _data(9))
        wait_for(ironic, uuid, 'manageable')
        expected = ('manageable', 9, {'CUSTOM_AFTER'})
    catch_up(mirror)
    assert _shown(client, uuid) == expected
    assert ironic.traits(uuid) == set()


def test_ramdisk_that_sends_its_data_here(app, client, inspected):
    """A mirrored node does not wait here. It does not hide an own node with the same BMC that waits, either."""
    _, uuid = inspected
    for path in (PATH, f'{PATH}?node_uuid={uuid}'):
        assert post(client, _data(9), path).status_int == 404
    # Nobody waits for a large body. Otherwise its size would be refused with 413.
    assert post(client, {'a': 'b' * 2**22}).status_int == 404
    own = waiting(app, client, driver_info=BMC)
    assert post(client, _data(9)).status_int == 404
    response = post(client, ramdisk_data(UNKNOWN, bmc='192.0.2.7'))
    assert (response.status_int, response.json['uuid']) == (202, own)
    assert _shown(client, uuid) == ('inspect wait', 8, {'CUSTOM_BEFORE'})


def test_data_of_an_inspection_by_redfish(ironic, app, client):  # noqa: F811
    """Ironic has no flags then, and on most machines no architecture: both follow from the name of the processor."""
    uuid = ironic.node(name='one', inspect_interface='agent', driver_info=BMC)
    ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': MAC})
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    wait_for(ironic, uuid, 'manageable')
    cpu = {'count': 192, 'architecture': '', 'model_name': 'AMD EPYC 9654 96-Core Processor', 'frequency': 3700}
    data = ramdisk_data(MAC, bmc='192.0.2.7', cpu=cpu)
    data['inventory']['disks'] = [{'name': 'd', 'size': 10**12, 'model': None, 'serial': None, 'vendor': None}]
    data['inventory']['interfaces'][0]['speed_mbps'] = 25000
    inspect(ironic, uuid, data)
    catch_up(follower(app))
    sources = rule_runs.sources(client, uuid)
    assert {'HW_ARCH_X86_64', 'HW_CPU_X86_AVX512VNNI', 'HW_CPU_X86_SSE4A'} <= {
        name for name, found in sources.items() if found == ['rule:standard.cpu-model']
    }
    assert {'CUSTOM_CPU_VENDOR_AMD', 'CUSTOM_NIC_SPEED_25G'} <= sources.keys()
    assert not sources.keys() & {'HW_CPU_X86_SVM', 'STORAGE_DISK_HDD', 'STORAGE_DISK_SSD'}
