"""The allocation calls of python-ironicclient and openstacksdk, against a running server."""

import json

import openstack
import pytest
from openstack import exceptions

from tests.support.cli import run
from tests.support.service import ForkedServer


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('allocations')) as running:
        yield running


@pytest.fixture(scope='module')
def sdk(server):
    """openstacksdk's bare metal proxy, with two available nodes."""
    connection = openstack.connect(auth_type='none', endpoint=server.base, baremetal_endpoint_override=server.base)
    for name in ('rack1-1', 'rack1-2'):
        node = connection.baremetal.create_node(driver='fake-hardware', name=name, resource_class='gold')
        for target in ('manage', 'provide'):
            connection.baremetal.set_node_provision_state(node, target, wait=True, timeout=60)
    connection.baremetal.set_node_traits('rack1-2', ['CUSTOM_A'])
    yield connection.baremetal
    for allocation in connection.baremetal.allocations():
        connection.baremetal.delete_allocation(allocation)
    connection.close()


def test_openstacksdk(sdk):
    """openstacksdk creates, awaits, shows, lists, changes and deletes allocations."""
    allocation = sdk.create_allocation(
        resource_class='gold', name='web1', traits=['CUSTOM_A'], candidate_nodes=['rack1-1', 'rack1-2'], extra={'a': 1}
    )
    waited = sdk.wait_for_allocation(allocation, timeout=60)
    assert (waited.state, waited.node_id) == ('active', sdk.get_node('rack1-2').id)
    assert sdk.get_allocation('web1').candidate_nodes == [sdk.get_node(name).id for name in ('rack1-1', 'rack1-2')]
    assert sdk.get_allocation(allocation.id, fields=['uuid', 'state']).state == 'active'
    assert sdk.get_node('rack1-2').allocation_id == allocation.id
    assert [each.name for each in sdk.allocations(node='rack1-2')] == ['web1']
    assert list(sdk.allocations(state='error', resource_class='gold')) == []
    changed = sdk.update_allocation(allocation, name='web2', extra={'b': 2})
    assert (changed.name, changed.extra) == ('web2', {'b': 2})
    patched = sdk.patch_allocation(changed, [{'op': 'remove', 'path': '/name'}])
    assert patched.name is None
    failed = sdk.create_allocation(resource_class='gold', traits=['CUSTOM_A'], name='web3')
    with pytest.raises(exceptions.SDKException, match='"has no instance" rules out'):
        sdk.wait_for_allocation(failed, timeout=60)
    assert sdk.wait_for_allocation(failed, timeout=60, ignore_error=True).state == 'error'
    sdk.delete_allocation('web3')
    sdk.delete_allocation(allocation.id)
    with pytest.raises(exceptions.NotFoundException):
        sdk.get_allocation(allocation.id)
    assert sdk.get_node('rack1-2').instance_id is None


def test_baremetal(sdk, server):
    """The allocation commands of python-ironicclient work."""

    def baremetal(*arguments):
        return json.loads(run(server, 'baremetal', *arguments, '-f', 'json'))

    created = baremetal(
        *('allocation', 'create', '--resource-class', 'gold', '--name', 'web1', '--trait', 'CUSTOM_A'),
        *('--candidate-node', 'rack1-2', '--extra', 'a=1', '--wait', '10'),
    )
    assert (created['state'], created['traits'], created['extra']) == ('active', ['CUSTOM_A'], {'a': 1})
    assert baremetal('allocation', 'show', 'web1')['uuid'] == created['uuid']
    (listed,) = baremetal('allocation', 'list', '--state', 'active', '--node', 'rack1-2')
    assert listed['name'] == 'web1'
    run(server, 'baremetal', 'allocation', 'set', 'web1', '--name', 'web2', '--extra', 'b=2')
    run(server, 'baremetal', 'allocation', 'unset', 'web2', '--extra', 'a')
    assert baremetal('allocation', 'show', 'web2')['extra'] == {'b': 2}
    run(server, 'baremetal', 'allocation', 'unset', 'web2', '--name')
    assert baremetal('node', 'show', 'rack1-2')['allocation_uuid'] == created['uuid']
    assert 'Deleted allocation' in run(server, 'baremetal', 'allocation', 'delete', created['uuid'])
    run(server, 'baremetal', 'node', 'deploy', 'rack1-1', '--wait')
    backfilled = baremetal('allocation', 'create', '--node', 'rack1-1', '--name', 'web4', '--resource-class', 'gold')
    assert backfilled['state'] == 'active'
    run(server, 'baremetal', 'node', 'undeploy', 'rack1-1', '--wait')
    assert baremetal('allocation', 'list') == []
