"""Clean and deploy steps of clients, compared with Ironic 39 and its fake-hardware."""

import pytest
import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.deploy import base
from ironic_traits.inventory.inspection import outcomes
from ironic_traits.inventory.provisioning import transitions
from tests.support.client import message
from tests.support.service import finish_work
from tests.support.transitions import pass_time

RESET = {'interface': 'bios', 'step': 'factory_reset'}
UNKNOWN = {'interface': 'deploy', 'step': 'erase_devices'}
APPLY = {'interface': 'bios', 'step': 'apply_configuration'}
BURN = {'interface': 'management', 'step': 'burn', 'args': {'minutes': 5}, 'priority': 50}
DEPLOY = {'interface': 'deploy', 'step': 'deploy', 'args': {}, 'priority': 100}


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
    """A driver without declared steps gets the whole action once, and checks the steps itself."""
    driver = app.service.drivers['fake-hardware']
    tasks = []
    monkeypatch.setattr(type(driver), 'steps', {})
    monkeypatch.setattr(driver, 'work', lambda task: tasks.append(task) or base.Done(power_state='power off'))
    uuid = node_in('manageable')
    assert clean(app, client, uuid, [UNKNOWN, RESET])['provision_state'] == 'manageable'
    provision(client, uuid, 'provide')
    finish_work(app)
    provision(client, uuid, 'active', deploy_steps=[BURN])
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'active'
    assert [(task.action, task.step, task.arguments) for task in tasks] == [
        ('clean', None, {'clean_steps': [UNKNOWN, RESET]}),
        ('clean', None, {}),
        ('deploy', None, {'deploy_steps': [BURN]}),
    ]


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
    """Unknown deploy steps are accepted, because the ramdisk may have steps that the driver does not declare."""
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


@pytest.fixture
def executed(app, monkeypatch):
    """The executed steps: a list of their names, or of actions without steps."""
    driver = app.service.drivers['fake-hardware']
    work, names = driver.work, []

    def record(task):
        names.append(f'{task.step["interface"]}.{task.step["step"]}' if task.step else task.action)
        return work(task)

    monkeypatch.setattr(driver, 'work', record)
    return names


def step(interface, name, priority, **arguments):
    return {'interface': interface, 'step': name, 'args': arguments, 'priority': priority}


def shown(client, uuid):
    """Return the state of a node, and its current clean and deploy step."""
    node = client.get(f'/v1/nodes/{uuid}')
    return node['provision_state'], node['clean_step'], node['deploy_step']


@pytest.mark.parametrize(('state', 'target'), [('available', 'active'), ('active', 'rebuild')])
def test_the_running_step_is_shown(app, client, node_in, executed, state, target):
    uuid = node_in(state, driver_info={'fake_delays': {'deploy': 100, 'rebuild': 100, 'management.burn': 200}})
    provision(client, uuid, target, deploy_steps=[BURN])
    assert shown(client, uuid) == ('deploying', {}, {})
    finish_work(app)
    assert shown(client, uuid) == ('wait call-back', {}, DEPLOY)
    pass_time(app, 100)
    finish_work(app)
    assert shown(client, uuid) == ('wait call-back', {}, BURN)
    pass_time(app, 100)
    finish_work(app)
    assert shown(client, uuid) == ('wait call-back', {}, BURN)
    pass_time(app, 100)
    finish_work(app)
    assert shown(client, uuid) == ('active', {}, {})
    assert executed == ['deploy.deploy'] * 2 + ['management.burn'] * 2


def test_the_running_clean_step_is_shown(app, client, node_in):
    uuid = node_in('manageable', driver_info={'fake_delays': {'clean': 100}})
    provision(client, uuid, 'clean', clean_steps=[APPLY | {'args': {'settings': [1]}}, RESET])
    for name, arguments in (('apply_configuration', {'settings': [1]}), ('factory_reset', {})):
        finish_work(app)
        assert shown(client, uuid) == ('clean wait', step('bios', name, 0, **arguments), {})
        pass_time(app, 100)
    finish_work(app)
    assert shown(client, uuid) == ('manageable', {}, {})
    provision(client, uuid, 'provide')
    finish_work(app)
    assert shown(client, uuid) == ('clean wait', step('vendor', 'log_passthrough', 1), {})


def test_automated_clean_without_any_step(app, client, node_in, executed):
    uuid = node_in('manageable', vendor_interface='no-vendor')
    provision(client, uuid, 'provide')
    finish_work(app)
    assert shown(client, uuid) == ('available', {}, {})
    assert executed == []


def test_order_of_deploy_steps(app, client, node_in, executed):
    """As in Ironic, steps run by priority, then by interface. Steps with priority 0 are not executed."""
    uuid = node_in('available')
    steps = [
        step('raid', 'late', 10),
        step('vendor', 'late', '10'),
        step('bios', 'first', 300),
        step('bios', 'disabled', 0),
        step('firmware', 'same', 100),
        step('raid', 'same', 100),
    ]
    assert provision(client, uuid, 'active', deploy_steps=steps).status_int == 202
    finish_work(app)
    assert executed == ['bios.first', 'firmware.same', 'deploy.deploy', 'raid.same', 'vendor.late', 'raid.late']


def test_order_of_clean_steps_is_that_of_the_request(app, client, node_in, executed):
    log = {'interface': 'vendor', 'step': 'log_passthrough'}
    cache = {'interface': 'bios', 'step': 'cache_bios_settings'}
    clean(app, client, node_in('manageable'), [RESET, log, cache, RESET])
    assert executed == ['bios.factory_reset', 'vendor.log_passthrough', 'bios.cache_bios_settings', executed[0]]


def test_a_deploy_step_twice(client, node_in):
    uuid = node_in('available')
    response = provision(client, uuid, 'active', deploy_steps=[BURN, BURN | {'priority': 1}])
    assert response.status_int == 400
    assert message(response).endswith(
        'cannot have the same interface and step. Duplicate deploy steps for management.burn'
    )


def test_one_step_fails(app, client, node_in, executed):
    uuid = node_in('available', driver_info={'fake_failures': ['management.burn']})
    provision(client, uuid, 'active', deploy_steps=[BURN, step('raid', 'never', 1)])
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['deploy_step'], node['maintenance']) == ('deploy failed', {}, False)
    assert node['last_error'] == (
        'Deploy step management.burn failed: fake-hardware is configured to fail "management.burn".'
    )
    assert executed == ['deploy.deploy', 'management.burn']


def test_one_clean_step_fails(app, client, node_in, executed):
    uuid = node_in('manageable', driver_info={'fake_failures': ['bios.factory_reset']})
    node = clean(app, client, uuid, [{'interface': 'vendor', 'step': 'log_passthrough'}, RESET, RESET])
    assert (node['provision_state'], node['clean_step'], node['maintenance']) == ('clean failed', {}, True)
    assert node['last_error'] == (
        f"Node {uuid} failed step {{'interface': 'bios', 'step': 'factory_reset', 'args': {{}}, 'priority': 0}}: "
        'fake-hardware is configured to fail "bios.factory_reset".'
    )
    assert executed == ['vendor.log_passthrough', 'bios.factory_reset']


def test_a_worker_dies_in_a_step(app, client, node_in, executed):
    """If a worker dies in a step, that step is executed again, but not the earlier ones."""
    uuid = node_in('available')
    provision(client, uuid, 'active', deploy_steps=[BURN])
    claim = transitions.claim(app.service, uuid)
    assert claim.step is None
    assert transitions.begin(app.service, claim, [DEPLOY, BURN])
    assert outcomes.settle(Context(app.service, None, 0, ''), claim, base.Done(power_state='power on'))
    claim = transitions.claim(app.service, uuid)
    assert (claim.step, claim.attempts, claim.phase) == (BURN, 1, 0)
    finish_work(app)
    assert shown(client, uuid) == ('deploying', {}, BURN)
    pass_time(app)
    assert not executed
    finish_work(app)
    assert shown(client, uuid) == ('active', {}, {})
    assert executed == ['management.burn']
    assert not outcomes.settle(Context(app.service, None, 0, ''), claim, base.Done())


def test_a_worker_that_comes_too_late_does_not_begin(app, client, node_in):
    uuid = node_in('available')
    provision(client, uuid, 'active')
    claim = transitions.claim(app.service, uuid)
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock').status_int == 204
    assert not transitions.begin(app.service, claim, [DEPLOY])
    assert shown(client, uuid) == ('deploy failed', {}, {})


@pytest.mark.parametrize('end', ['abort', 'lock'])
def test_no_step_is_shown_after_an_early_end(app, client, node_in, end):
    uuid = node_in('manageable', driver_info={'fake_delays': {'clean': 100}})
    provision(client, uuid, 'provide')
    finish_work(app)
    assert shown(client, uuid)[1]
    if end == 'abort':
        assert provision(client, uuid, 'abort').status_int == 202
    else:
        assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock').status_int == 204
    assert shown(client, uuid) == ('clean failed', {}, {})


def test_secrets_of_steps_are_masked(app, client, node_in):
    """Secrets are masked in the node and in errors. Only the driver gets them."""
    uuid = node_in('available', driver_info={'fake_delays': {'deploy': 100}, 'fake_failures': ['deploy']})
    steps = [step('management', 'unlock', 200, admin_password='hush-hush', user='root')]
    provision(client, uuid, 'active', deploy_steps=steps)
    finish_work(app)
    assert shown(client, uuid)[2]['args'] == {'admin_password': '******', 'user': 'root'}
    assert transitions.due(app.service, 1) == []
    pass_time(app, 100)
    assert transitions.claim(app.service, uuid).step == steps[0]
    uuid = node_in('manageable')
    last_error = clean(app, client, uuid, [RESET | {'args': {'password': 'hush-hush'}}])['last_error']
    assert "'password': '******'" in last_error


def test_power_and_wait_steps(app, client, node_in, executed):
    """This service executes power and wait steps itself, with the driver's power action."""
    uuid = node_in('manageable')
    steps = [
        {'interface': 'power', 'step': 'power_on'},
        {'interface': 'deploy', 'step': 'wait', 'args': {'seconds': 100}},
        {'interface': 'power', 'step': 'reboot'},
    ]
    provision(client, uuid, 'clean', clean_steps=steps)
    finish_work(app)
    assert (client.get(f'/v1/nodes/{uuid}')['power_state'], executed) == ('power on', ['power'])
    assert shown(client, uuid)[:2] == ('clean wait', step('deploy', 'wait', 0, seconds=100))
    pass_time(app, 100)
    finish_work(app)
    assert shown(client, uuid)[0] == 'manageable'
    assert executed == ['power', 'power']
    node = clean(app, client, uuid, [{'interface': 'deploy', 'step': 'wait', 'args': {'seconds': 'long'}}])
    assert node['provision_state'] == 'clean failed'
    assert node['last_error'].endswith('The argument "seconds" is not a number: \'long\'')


def test_limits_hold_for_the_whole_action(app, client, node_in):
    uuid = node_in('available', driver_info={'fake_delays': {'deploy': 1000}})
    provision(client, uuid, 'active', deploy_steps=[BURN])
    finish_work(app)
    for _ in range(2):
        with app.service.write() as connection:
            begun = tables.transitions.c.begun_at
            earlier = connection.scalar(sa.select(begun)) - transitions.datetime.timedelta(seconds=1000)
            connection.execute(sa.update(tables.transitions).values(begun_at=earlier, due_at=earlier))
        finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['deploy_step']) == ('deploy failed', {})
    assert node['last_error'].startswith('Timeout reached')
