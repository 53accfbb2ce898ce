"""Clean and deploy steps of clients, compared with Ironic 39 and its fake-hardware."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import message
from tests.support.service import finish_work

RESET = {'interface': 'bios', 'step': 'factory_reset'}
UNKNOWN = {'interface': 'deploy', 'step': 'erase_devices'}
APPLY = {'interface': 'bios', 'step': 'apply_configuration'}


@pytest.fixture
def node_in(app, client):
    """Function that creates a node in a state, and returns its uuid."""

    def make(state, **fields):
        uuid = client.node(**fields)['uuid']
        with app.service.write() as connection:
            changes = {'provision_state': state, 'power_state': 'power off'}
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
        return uuid

    return make


def provision(client, uuid, target, **arguments):
    return client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': target, **arguments})


def clean(app, client, uuid, steps):
    """Clean a node with steps, and return the node."""
    response = provision(client, uuid, 'clean', clean_steps=steps)
    assert response.status_int == 202, response.text
    finish_work(app)
    return client.get(f'/v1/nodes/{uuid}')


@pytest.mark.parametrize(
    'steps',
    [
        [RESET],
        [RESET, RESET],
        [APPLY | {'args': {'settings': []}}],
        [{'interface': 'vendor', 'step': 'log_passthrough'}],
        [{'interface': 'power', 'step': 'reboot'}, {'interface': 'deploy', 'step': 'wait'}],
    ],
)
def test_clean_steps_of_the_driver(app, client, node_in, steps):
    node = clean(app, client, node_in('manageable'), steps)
    assert (node['provision_state'], node['last_error']) == ('manageable', None)


@pytest.mark.parametrize(
    ('steps', 'errors'),
    [
        ([UNKNOWN], f'node does not support this clean step: {UNKNOWN}'),
        ([RESET, UNKNOWN], f'node does not support this clean step: {UNKNOWN}'),
        (
            [UNKNOWN, {'interface': 'raid', 'step': 'nope', 'args': {'a': 1}}],
            f'node does not support this clean step: {UNKNOWN}; node does not support this clean step: '
            "{'interface': 'raid', 'step': 'nope', 'args': {'a': 1}}",
        ),
        ([RESET | {'args': {'a': 1, 'b': 2}}], 'has these unexpected arguments: a, b'),
        ([APPLY], 'is missing these required arguments: settings (List of BIOS settings,'),
    ],
)
def test_clean_steps_that_the_driver_does_not_have(app, client, node_in, steps, errors):
    """The clean fails before its first step, without maintenance or a fault."""
    uuid = node_in('manageable', driver_info={'fake_delays': {'clean': 300}})
    node = clean(app, client, uuid, steps)
    assert (node['provision_state'], node['target_provision_state']) == ('clean failed', 'manageable')
    assert node['last_error'].startswith(f'Cannot clean node {uuid}: ')
    assert errors in node['last_error']
    assert (node['maintenance'], node['fault'], node['maintenance_reason']) == (False, None, None)
    assert node['reservation'] is None
    assert provision(client, uuid, 'manage').status_int == 202


def test_disabled_interface_has_no_steps(app, client, node_in):
    uuid = node_in('manageable', bios_interface='no-bios')
    last_error = clean(app, client, uuid, [RESET])['last_error']
    assert last_error == f'Cannot clean node {uuid}: node does not support this clean step: {RESET}'


def test_driver_that_declares_no_steps(app, client, node_in, monkeypatch):
    monkeypatch.setattr(type(app.service.drivers['fake-hardware']), 'clean_steps', None)
    assert clean(app, client, node_in('manageable'), [UNKNOWN])['provision_state'] == 'manageable'


@pytest.mark.parametrize(('state', 'target'), [('available', 'active'), ('active', 'rebuild')])
@pytest.mark.parametrize('priority', [10, '10'])
def test_a_core_deploy_step_is_not_replaced(client, node_in, state, target, priority):
    uuid = node_in(state)
    core = {'interface': 'deploy', 'step': 'deploy', 'args': {}, 'priority': priority}
    response = provision(client, uuid, target, deploy_steps=[core])
    assert response.status_int == 400
    assert message(response) == (
        f'Failed to validate deploy or power info for node {uuid}: Validation of deploy steps from "deploy steps" '
        'argument failed.deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. '
        'It may be disabled by setting the priority to 0'
    )
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == state


def test_other_deploy_steps(app, client, node_in):
    """The ramdisk may know steps that the driver does not."""
    uuid = node_in('available')
    unknown = {'interface': 'raid', 'step': 'x', 'args': {}, 'priority': 10}
    assert provision(client, uuid, 'active', deploy_steps=[unknown]).status_int == 202
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'active'


def test_a_deploy_without_any_step(app, client, node_in):
    uuid = node_in('available')
    disabled = {'interface': 'deploy', 'step': 'deploy', 'args': {}, 'priority': 0}
    assert provision(client, uuid, 'active', deploy_steps=[disabled]).status_int == 202
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['last_error']) == ('deploy failed', 'No deploy steps returned by the driver')


@pytest.mark.parametrize(
    ('target', 'name', 'step'),
    [
        ('clean', 'clean_steps', {'interface': 'bios', 'step': 5}),
        ('clean', 'clean_steps', {'interface': 'bios', 'step': ''}),
        ('clean', 'clean_steps', {'interface': 'bios', 'step': 'x', 'args': None}),
        ('clean', 'clean_steps', {'interface': 'bios', 'step': 'x', 'args': []}),
        ('active', 'deploy_steps', {'interface': 'bios', 'step': 'x', 'args': {}, 'priority': -1}),
        ('active', 'deploy_steps', {'interface': 'bios', 'step': 'x', 'args': {}, 'priority': 'x'}),
        ('active', 'deploy_steps', {'interface': 'bios', 'step': 'x', 'args': {}, 'priority': None}),
        ('active', 'deploy_steps', {'interface': 'bios', 'step': 'x', 'args': {}, 'priority': True}),
    ],
)
def test_invalid_steps(client, node_in, target, name, step):
    response = provision(client, node_in('available' if target == 'active' else 'manageable'), target, **{name: [step]})
    assert response.status_int == 400
    assert f'Invalid {name}: ' in message(response)
