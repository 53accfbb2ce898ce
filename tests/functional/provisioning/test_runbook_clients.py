"""Runbooks, service and holds through python-ironicclient's command line and openstacksdk."""

import json

import openstack
import pytest

from tests.support.cli import rows, run
from tests.support.service import ForkedServer

RESET = {'interface': 'bios', 'step': 'factory_reset'}
APPLY = {'interface': 'bios', 'step': 'apply_configuration', 'args': {'settings': [{'password': 'hush-hush'}]}}
LOG = {'interface': 'vendor', 'step': 'log_passthrough', 'args': {}}


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """A service with an active node "one", which has CUSTOM_A."""
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('runbooks')) as running:
        run(running, 'baremetal', 'node', 'create', '--driver', 'fake-hardware', '--name', 'one')
        run(running, 'baremetal', 'node', 'add', 'trait', 'one', 'CUSTOM_A')
        for verb in ('manage', 'provide', 'deploy'):
            run(running, 'baremetal', 'node', verb, 'one', '--wait', '30')
        yield running


def _until(server, state):
    for _ in range(200):
        node = rows(server, 'baremetal', 'node', 'show', 'one')
        if node['provision_state'] == state:
            return node
    raise TimeoutError(node)


def test_baremetal_runbook(server):
    steps = [APPLY | {'order': 2}, LOG | {'order': 1}]
    created = rows(
        server, 'baremetal', 'runbook', 'create', '--name', 'flash', '--description', 'x', '--steps', json.dumps(steps)
    )
    assert created['steps'][0]['args'] == {'settings': [{'password': '******'}]}
    assert (created['name'], created['description'], created['traits']) == ('flash', 'x', [])
    assert rows(server, 'baremetal', 'runbook', 'list', '--fields', 'name') == [{'name': 'flash'}]
    assert 'flash' in str(rows(server, 'baremetal', 'runbook', 'list', '--long'))
    run(server, 'baremetal', 'runbook', 'set', 'flash', '--public', 'true', '--extra', 'a=b')
    run(server, 'baremetal', 'runbook', 'set', 'flash', '--name', 'flash-bios')
    assert rows(server, 'baremetal', 'runbook', 'show', 'flash-bios', '--fields', 'public', 'extra') == {
        'public': True,
        'extra': {'a': 'b'},
    }
    run(server, 'baremetal', 'runbook', 'unset', 'flash-bios', '--public', '--extra', 'a')
    run(server, 'baremetal', 'runbook', 'trait', 'add', 'flash-bios', 'CUSTOM_A', 'CUSTOM_B')
    run(server, 'baremetal', 'runbook', 'trait', 'remove', 'flash-bios', 'CUSTOM_B')
    assert rows(server, 'baremetal', 'runbook', 'trait', 'list', 'flash-bios') == [{'traits': 'CUSTOM_A'}]
    run(server, 'baremetal', 'node', 'service', 'one', '--runbook', 'flash-bios', '--wait', '30')
    run(server, 'baremetal', 'runbook', 'trait', 'remove', 'flash-bios', '--all')
    refused = run(server, 'baremetal', 'node', 'service', 'one', '--runbook', 'flash-bios', code=1)
    assert 'has no traits configured' in refused
    run(server, 'baremetal', 'runbook', 'delete', 'flash-bios')
    assert 'could not be found' in run(server, 'baremetal', 'runbook', 'show', 'flash-bios', code=1)


def test_baremetal_service_and_unhold(server):
    steps = [{'interface': 'power', 'step': 'hold'}, RESET]
    run(server, 'baremetal', 'node', 'service', 'one', '--service-steps', json.dumps(steps))
    assert _until(server, 'service hold')['service_step']['step'] == 'hold'
    run(server, 'baremetal', 'node', 'power', 'off', 'one', '--soft')
    run(server, 'baremetal', 'node', 'unhold', 'one')
    _until(server, 'active')
    run(server, 'baremetal', 'node', 'service', 'one', '--service-steps', json.dumps(steps))
    _until(server, 'service hold')
    run(server, 'baremetal', 'node', 'abort', 'one')
    assert _until(server, 'active')['service_step'] == {}


def test_openstacksdk(sdk):
    created = sdk.create_runbook(name='CUSTOM_A', steps=[RESET | {'order': 1, 'args': {}}], description='x')
    assert (created.name, created.description, created.traits) == ('CUSTOM_A', 'x', [])
    sdk.add_runbook_trait(created, 'CUSTOM_B')
    sdk.set_runbook_traits(created, ['CUSTOM_A', 'CUSTOM_C'])
    sdk.remove_runbook_trait(created, 'CUSTOM_C')
    assert sdk.get_runbook(created.id).traits == ['CUSTOM_A']
    assert [each.name for each in sdk.runbooks(details=True)] == ['CUSTOM_A']
    assert sdk.patch_runbook('CUSTOM_A', [{'op': 'replace', 'path': '/public', 'value': True}]).public is True
    node = sdk.get_node('one')
    node.set_provision_state(sdk, 'service', runbook='CUSTOM_A', wait=False)
    (node,) = sdk.wait_for_nodes_provision_state(['one'], 'active', timeout=30)
    assert node.service_step == {}
    node.set_provision_state(sdk, 'service', service_steps=[LOG])
    sdk.wait_for_nodes_provision_state(['one'], 'active', timeout=30)
    with pytest.raises(openstack.exceptions.ConflictException, match='A runbook with name CUSTOM_A already exists'):
        sdk.create_runbook(name='CUSTOM_A', steps=[RESET | {'order': 1}])
    sdk.delete_runbook(created)
    with pytest.raises(openstack.exceptions.NotFoundException):
        sdk.get_runbook('CUSTOM_A')
