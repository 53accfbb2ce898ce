"""The service of active nodes, steps that hold a node, and runbooks instead of lists of steps."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import message
from tests.support.service import finish_work
from tests.support.transitions import pass_time, put_in

LOG = {'interface': 'vendor', 'step': 'log_passthrough'}
RESET = {'interface': 'bios', 'step': 'factory_reset'}
HOLD = {'interface': 'power', 'step': 'hold'}
ON, OFF = {'interface': 'power', 'step': 'power_on'}, {'interface': 'power', 'step': 'power_off'}
ENDLESS = {'interface': 'vendor', 'step': 'trigger_servicewait'}
APPLY = {'interface': 'bios', 'step': 'apply_configuration', 'args': {'settings': [{'password': 'hush-hush'}]}}
FIELDS = 'provision_state,target_provision_state,last_error,service_step,clean_step,deploy_step,maintenance,fault'
MORE = 'maintenance_reason,power_state,reservation'


@pytest.fixture
def node_in(app, client):
    """Function that creates a node in a state, and returns its uuid."""

    def make(state, **fields):
        uuid = client.node(**fields)['uuid']
        put_in(app, uuid, state)
        return uuid

    return make


def provision(client, uuid, target, *, version='1.115', **arguments):
    """Request a provision state."""
    path = f'/v1/nodes/{uuid}/states/provision'
    return client.ask('PUT', path, {'target': target, **arguments}, version=version)


def work(app, client, uuid, target, **arguments):
    """Request a provision state, let a worker do the work, and return the node's fields."""
    response = provision(client, uuid, target, **arguments)
    assert response.status_int == 202, response.text
    finish_work(app)
    return show(client, uuid)


def show(client, uuid):
    return client.get(f'/v1/nodes/{uuid}?fields={FIELDS},{MORE}')


def runbook(client, name='flash-bios', traits=('CUSTOM_A',), **fields):
    """Create a runbook with traits, and return it."""
    body = {'name': name, 'steps': [RESET | {'order': 2}, LOG | {'order': 1}], **fields}
    response = client.ask('POST', '/v1/runbooks', body)
    assert response.status_int == 201, response.text
    assert client.ask('PUT', f'/v1/runbooks/{name}/traits', {'traits': list(traits)}).status_int == 204
    return response.json


@pytest.fixture
def executed(app, monkeypatch):
    """The names of the executed steps."""
    driver = app.service.drivers['fake-hardware']
    perform, names = driver.work, []

    def record(task):
        names.append(task.step['step'] if task.step else task.action)
        return perform(task)

    monkeypatch.setattr(driver, 'work', record)
    return names


def test_service_steps_run_in_the_order_of_the_request(app, client, node_in, executed):
    uuid = node_in('active', driver_info={'fake_delays': {'service': 100}})
    assert provision(client, uuid, 'service', service_steps=[RESET, OFF, LOG]).status_int == 202
    assert show(client, uuid)['provision_state'] == 'servicing'
    for name in ('factory_reset', 'power_off', 'log_passthrough'):
        finish_work(app)
        node = show(client, uuid)
        if name == 'power_off':
            # This is a power action, without the delay of a service.
            continue
        assert (node['provision_state'], node['target_provision_state']) == ('service wait', 'active')
        assert node['service_step']['step'] == name
        assert client.get(f'/v1/nodes/{uuid}/states')['provision_state'] == 'service wait'
        pass_time(app, 100)
    finish_work(app)
    node = show(client, uuid)
    assert (node['provision_state'], node['target_provision_state']) == ('active', None)
    assert (node['service_step'], node['last_error'], node['power_state']) == ({}, None, 'power off')
    assert executed == ['factory_reset'] * 2 + ['power'] + ['log_passthrough'] * 2


def test_the_field_service_step_came_with_1_87(client, node_in):
    path = f'/v1/nodes/{node_in("active")}'
    assert 'service_step' not in client.get(path, version='1.86')
    assert client.get(path, version='1.87')['service_step'] == {}
    assert client.ask('GET', f'{path}?fields=service_step', version='1.86').status_int == 406


def test_passwords_in_steps_are_masked(app, client, node_in):
    uuid = node_in('active', driver_info={'fake_delays': {'service': 100}})
    node = work(app, client, uuid, 'service', service_steps=[APPLY])
    assert node['service_step']['args'] == {'settings': [{'password': '******'}]}
    history = client.get(f'/v1/nodes/{uuid}/history?detail=true')
    assert 'hush-hush' not in str(history)


def test_a_failed_step(app, client, node_in):
    uuid = node_in('active', driver_info={'fake_failures': ['bios.factory_reset']})
    node = work(app, client, uuid, 'service', service_steps=[LOG, RESET, LOG])
    assert (node['provision_state'], node['target_provision_state']) == ('service failed', 'active')
    assert (node['maintenance'], node['fault'], node['service_step']) == (True, 'service failure', {})
    assert node['last_error'] == node['maintenance_reason']
    assert node['last_error'].startswith(f"Node {uuid} failed step {{'interface': 'bios', 'step': 'factory_reset'")
    response = provision(client, uuid, 'abort')
    assert response.status_int == 409
    assert message(response).startswith(f'Can not abort service on node "{uuid}" while it is in maintenance mode.')
    response = provision(client, uuid, 'service', service_steps=[LOG])
    assert response.status_int == 400
    assert message(response) == (
        f"The service operation can't be performed on node {uuid} because it's in maintenance mode."
    )
    client.ask('DELETE', f'/v1/nodes/{uuid}/maintenance')
    node = work(app, client, uuid, 'service', service_steps=[LOG])
    assert (node['provision_state'], node['last_error'], node['fault']) == ('active', None, None)


@pytest.mark.parametrize(
    ('steps', 'more', 'reason'),
    [
        ([LOG, {'interface': 'raid', 'step': 'x'}], {}, "service step: {'interface': 'raid', 'step': 'x'}"),
        ([{'interface': 'bios', 'step': 'apply_configuration'}], {}, 'missing these required arguments: settings ('),
        ([RESET], {'disable_ramdisk': True}, f'service step {RESET} requires booting a ramdisk'),
    ],
)
def test_steps_that_the_node_does_not_support(app, client, node_in, steps, more, reason):
    """The service fails before its first step, without maintenance or a fault."""
    uuid = node_in('active')
    node = work(app, client, uuid, 'service', service_steps=steps, **more)
    assert node['provision_state'] == 'service failed'
    assert node['last_error'].startswith(f'Cannot service node {uuid}: ')
    assert reason in node['last_error']
    assert (node['maintenance'], node['fault']) == (False, None)
    node = work(app, client, uuid, 'abort')
    assert (node['provision_state'], node['target_provision_state']) == ('active', None)
    assert node['last_error'] == 'By request, the service operation was aborted'


def test_without_a_ramdisk(app, client, node_in):
    uuid = node_in('active')
    assert work(app, client, uuid, 'service', service_steps=[LOG], disable_ramdisk=True)['last_error'] is None
    response = provision(client, uuid, 'service', service_steps=[LOG], disable_ramdisk=True, version='1.107')
    assert response.status_int == 406
    response = provision(client, node_in('available'), 'active', disable_ramdisk=True)
    assert response.status_int == 400
    assert message(response) == 'disable_ramdisk is supported only with manual cleaning or servicing'
    uuid = node_in('manageable')
    node = work(app, client, uuid, 'clean', clean_steps=[RESET], disable_ramdisk=True)
    assert node['last_error'] == f'Cannot clean node {uuid}: clean step {RESET} requires booting a ramdisk'


def test_abort_of_a_service(app, client, node_in):
    uuid = node_in('active')
    assert work(app, client, uuid, 'service', service_steps=[LOG, ENDLESS])['provision_state'] == 'service wait'
    node = work(app, client, uuid, 'abort')
    assert (node['provision_state'], node['target_provision_state'], node['service_step']) == ('active', None, {})
    assert node['last_error'] == (
        'By request, the service operation was aborted during or after the completion of step '
        '"vendor.trigger_servicewait"'
    )
    pass_time(app, 10**6)
    finish_work(app)
    assert show(client, uuid)['provision_state'] == 'active'


def test_time_limit(app, client, node_in):
    app.service.conf.set_override('service_callback_timeout', 50, group='deploy')
    uuid = node_in('active')
    work(app, client, uuid, 'service', service_steps=[ENDLESS])
    with app.service.write() as connection:
        past = sa.func.coalesce(tables.transitions.c.begun_at, None)
        begun = connection.scalar(sa.select(past))
        earlier = begun.replace(year=begun.year - 1)
        connection.execute(sa.update(tables.transitions).values(begun_at=earlier, due_at=earlier))
    finish_work(app)
    node = show(client, uuid)
    assert (node['provision_state'], node['fault']) == ('service failed', 'service failure')
    assert node['last_error'].startswith('Timeout reached while servicing the node.')


@pytest.mark.parametrize('verb', ['deleted', 'rescue'])
def test_verbs_after_a_failed_service(app, client, node_in, verb):
    uuid = node_in('active')
    work(app, client, uuid, 'service', service_steps=[{'interface': 'raid', 'step': 'x'}])
    node = work(app, client, uuid, verb, **({'rescue_password': 'hush-hush'} if verb == 'rescue' else {}))
    assert node['provision_state'] == ('rescue' if verb == 'rescue' else 'available')


#: (state, verb, argument, target during the hold, state after unhold, state after abort).
HELD = [
    ('manageable', 'clean', 'clean_steps', 'manageable', 'manageable', 'clean failed'),
    ('available', 'active', 'deploy_steps', 'active', 'active', 'deploy failed'),
    ('active', 'service', 'service_steps', 'active', 'active', 'active'),
]
KIND = {'clean': 'clean', 'active': 'deploy', 'service': 'service'}


def _steps(verb, *steps):
    """Return steps in the form of a verb; those of a deploy run after that of the driver."""
    if verb != 'active':
        return list(steps)
    return [{'args': {}, **step, 'priority': 50 - number} for number, step in enumerate(steps)]


@pytest.mark.parametrize(('before', 'verb', 'argument', 'target', 'after', 'aborted'), HELD)
def test_a_hold(app, client, node_in, before, verb, argument, target, after, aborted):
    uuid = node_in(before)
    arguments = {argument: _steps(verb, HOLD, OFF)}
    node = work(app, client, uuid, verb, **arguments)
    state = f'{KIND[verb]} hold'
    assert (node['provision_state'], node['target_provision_state']) == (state, target)
    assert node[f'{KIND[verb]}_step']['step'] == 'hold'
    assert (node['reservation'], node['last_error']) == (None, None)
    # Neither time nor a worker ends the hold.
    app.service.conf.set_override('deploy_callback_timeout', 50, group='deploy')
    pass_time(app, 10**6)
    finish_work(app)
    assert show(client, uuid) == node
    # Other changes of the node do not change the work.
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'}).status_int == 202
    assert provision(client, uuid, 'unhold').status_int == 409
    finish_work(app)
    assert show(client, uuid) == node | {'power_state': 'power on'}
    assert provision(client, uuid, 'unhold').status_int == 202
    assert show(client, uuid)['provision_state'] == ('wait call-back' if verb == 'active' else f'{KIND[verb]} wait')
    assert show(client, uuid)[f'{KIND[verb]}_step']['step'] == 'hold'
    finish_work(app)
    node = show(client, uuid)
    assert (node['provision_state'], node['target_provision_state']) == (after, None)
    assert (node['power_state'], node[f'{KIND[verb]}_step'], node['last_error']) == ('power off', {}, None)


@pytest.mark.parametrize(('before', 'verb', 'argument', 'target', 'after', 'aborted'), HELD)
def test_abort_of_a_hold(app, client, node_in, before, verb, argument, target, after, aborted):
    uuid = node_in(before)
    work(app, client, uuid, verb, **{argument: _steps(verb, HOLD, OFF)})
    node = work(app, client, uuid, 'abort')
    assert node['provision_state'] == aborted
    assert node['target_provision_state'] == {'manageable': 'manageable', 'available': 'active', 'active': None}[before]
    assert (node[f'{KIND[verb]}_step'], node['power_state']) == ({}, 'power on' if verb == 'active' else 'power off')
    assert 'abort' in node['last_error']
    assert work(app, client, uuid, verb if verb != 'clean' else 'manage', **_again(verb))['last_error'] is None


def _again(verb):
    return {'service': {'service_steps': [LOG]}}.get(verb, {})


def test_a_power_action_that_fails_on_a_held_node(app, client, node_in):
    uuid = node_in('manageable', driver_info={'fake_failures': ['power']})
    work(app, client, uuid, 'clean', clean_steps=[HOLD, RESET])
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'}).status_int == 202
    finish_work(app)
    node = show(client, uuid)
    assert (node['provision_state'], node['clean_step']['step']) == ('clean hold', 'hold')
    assert node['last_error'].startswith('Failed to change power state')
    assert work(app, client, uuid, 'unhold')['provision_state'] == 'manageable'


def test_a_service_of_a_held_node_begins_anew(app, client, node_in, executed):
    uuid = node_in('active')
    work(app, client, uuid, 'service', service_steps=[HOLD, RESET])
    assert work(app, client, uuid, 'service', service_steps=[LOG])['provision_state'] == 'active'
    assert executed == ['log_passthrough']


def test_runbook_for_a_clean(app, client, node_in, executed):
    runbook(client)
    uuid = node_in('manageable')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_C']})
    node = work(app, client, uuid, 'clean', runbook='flash-bios')
    assert (node['provision_state'], node['last_error']) == ('manageable', None)
    # The steps run by their ``order``, not in the order of the list.
    assert executed == ['log_passthrough', 'factory_reset']


def test_runbook_for_a_service(app, client, node_in):
    """Only the driver gets the passwords of the steps."""
    tasks = []
    steps = [APPLY | {'order': 1}]
    uuid = runbook(client, steps=steps, disable_ramdisk=False)['uuid']
    node = node_in('active', driver_info={'fake_delays': {'service': 10}})
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    driver = app.service.drivers['fake-hardware']
    perform = driver.work
    driver.work = lambda task: tasks.append(task) or perform(task)
    try:
        # Runbooks work since 1.92, even with disable_ramdisk, which is an argument only since 1.108.
        client.ask('PATCH', f'/v1/runbooks/{uuid}', [{'op': 'replace', 'path': '/name', 'value': 'CUSTOM_A'}])
        assert work(app, client, node, 'service', runbook=uuid, version='1.92')['provision_state'] == 'service wait'
    finally:
        del driver.work
    assert tasks[0].step['args'] == APPLY['args']
    assert tasks[0].arguments['disable_ramdisk'] is False
    assert show(client, node)['service_step']['args'] == {'settings': [{'password': '******'}]}


def test_runbook_without_a_ramdisk(app, client, node_in):
    runbook(client, disable_ramdisk=True)
    uuid = node_in('active')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    node = work(app, client, uuid, 'service', runbook='flash-bios')
    assert node['last_error'].endswith("'args': {}} requires booting a ramdisk")


def test_runbook_that_is_not_for_the_node(client, node_in):
    runbook(client, traits=['CUSTOM_B', 'CUSTOM_A'])
    uuid = node_in('active')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_C']})
    response = provision(client, uuid, 'service', runbook='flash-bios')
    assert response.status_int == 400
    assert message(response) == (
        f"This runbook has not been approved for use on this node {uuid}. The node does not have any of the runbook's "
        "traits ['CUSTOM_A', 'CUSTOM_B']. Please ask an administrator to add a matching trait to your node."
    )
    response = provision(client, uuid, 'service', runbook='flash-bios', version='1.111')
    assert response.status_int == 400
    assert message(response) == (
        f'This runbook has not been approved for use on this node {uuid}. Please ask an administrator to add it to '
        'your node traits.'
    )
    client.ask('DELETE', '/v1/runbooks/flash-bios/traits')
    response = provision(client, uuid, 'service', runbook='flash-bios')
    assert response.status_int == 400
    assert 'has no traits configured. Please ask an administrator to add traits to the runbook.' in message(response)
    assert show(client, uuid)['provision_state'] == 'active'


@pytest.mark.parametrize(
    ('state', 'verb', 'arguments', 'status', 'text'),
    [
        ('active', 'service', {'runbook': 'nope'}, 404, 'Runbook nope could not be found.'),
        ('active', 'service', {'runbook': 'a b'}, 400, ''),
        ('active', 'service', {'runbook': 5}, 400, ''),
        ('active', 'rebuild', {'runbook': 'x'}, 400, 'is only valid when setting target provision state to any of'),
        ('active', 'service', {'runbook': 'x', 'service_steps': [LOG]}, 400, 'but not both.'),
        (
            'manageable',
            'clean',
            {'runbook': 'x', 'clean_steps': [LOG]},
            400,
            'Please provide either "clean_steps" or a',
        ),
        ('manageable', 'clean', {'runbook': 'x', 'service_steps': [LOG]}, 400, '"service_steps" is only valid when'),
        ('active', 'service', {}, 400, '"service_steps" is required when setting target provision state to service'),
        ('active', 'service', {'service_steps': []}, 400, '"service_steps" is required'),
        ('active', 'service', {'service_steps': [{'interface': 'network', 'step': 'x'}]}, 400, 'Invalid service_steps'),
        ('active', 'service', {'service_steps': [LOG | {'foo': 1}]}, 400, "'foo' was unexpected"),
        ('active', 'service', {'service_steps': [LOG | {'order': 1}]}, 202, ''),
        ('manageable', 'service', {'service_steps': [LOG]}, 400, 'The requested action "service" can not be performed'),
    ],
)
def test_requests(client, node_in, state, verb, arguments, status, text):
    uuid = node_in(state)
    runbook(client, 'x')
    response = provision(client, uuid, verb, **arguments)
    assert response.status_int == status, response.text
    assert text in (message(response) if status != 202 else '')
    if status != 202:
        assert show(client, uuid)['provision_state'] == state


def test_runbooks_came_with_1_92(client, node_in):
    assert provision(client, node_in('active'), 'service', runbook='x', version='1.91').status_int == 406
