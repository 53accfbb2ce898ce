"""Deploy templates: the steps that they contribute to a deploy, and their effect on matches."""

import pytest

from ironic_traits.deploy import base
from tests.support.client import message
from tests.support.service import finish_work
from tests.support.transitions import put_in

TEMPLATES = '/v1/deploy_templates'
BURN = {'interface': 'management', 'step': 'burn', 'args': {'minutes': 5}, 'priority': 50}


def step(interface, name, priority, **arguments):
    return {'interface': interface, 'step': name, 'args': arguments, 'priority': priority}


@pytest.fixture
def template(client):
    """Function that creates a deploy template."""

    def make(name, *steps):
        response = client.ask('POST', TEMPLATES, {'name': name, 'steps': steps})
        assert response.status_int == 201, response.text

    return make


@pytest.fixture
def node(client, available):
    """The uuid of an available node with three traits."""
    uuid = available()
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']})
    return uuid


@pytest.fixture
def tasks(app, monkeypatch):
    """A list of the tasks that the driver gets."""
    driver = app.service.drivers['fake-hardware']
    work, result = driver.work, []
    monkeypatch.setattr(driver, 'work', lambda task: result.append(task) or work(task))
    return result


def require(client, uuid, *traits):
    """Set the traits that the instance of a node requires."""
    patch = [{'op': 'add', 'path': '/instance_info/traits', 'value': traits}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200


def deploy(app, client, uuid, verb='active', **arguments):
    """Deploy a node, and return the result of the request."""
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': verb, **arguments})
    finish_work(app)
    return response


def labels(tasks):
    return [f'{task.step["interface"]}.{task.step["step"]}' for task in tasks]


@pytest.mark.parametrize(('state', 'verb'), [('available', 'active'), ('active', 'rebuild')])
def test_templates_contribute_their_steps(app, client, node, template, tasks, state, verb):
    template('CUSTOM_A', step('bios', 'set', 150, a=1), step('raid', 'create', 5), step('raid', 'disabled', 0))
    template('CUSTOM_B', step('vendor', 'blink', '200', password='hush-hush'))
    template('CUSTOM_C', step('vendor', 'never', 1))
    require(client, node, 'CUSTOM_B', 'CUSTOM_A', 'CUSTOM_A')
    put_in(app, node, state)
    assert deploy(app, client, node, verb).status_int == 202
    assert client.get(f'/v1/nodes/{node}')['provision_state'] == 'active'
    assert labels(tasks) == ['vendor.blink', 'bios.set', 'deploy.deploy', 'raid.create']
    assert [task.step['args'] for task in tasks[:2]] == [{'password': 'hush-hush'}, {'a': 1}]


def test_other_traits_contribute_nothing(app, client, node, template, tasks):
    """Templates apply to the traits of the instance, not to those of the node."""
    template('CUSTOM_A', BURN)
    deploy(app, client, node)
    require(client, node, 'CUSTOM_B')
    deploy(app, client, node, 'rebuild')
    assert labels(tasks) == ['deploy.deploy', 'deploy.deploy']


def test_steps_of_the_request_win(app, client, node, template, tasks):
    template('CUSTOM_A', BURN, step('bios', 'set', 10, of='template'), step('raid', 'create', 5))
    require(client, node, 'CUSTOM_A')
    steps = [step('bios', 'set', 60, of='request'), step('raid', 'create', 0)]
    deploy(app, client, node, deploy_steps=steps)
    assert labels(tasks) == ['deploy.deploy', 'bios.set', 'management.burn']
    assert tasks[1].step['args'] == {'of': 'request'}


def test_templates_can_disable_a_step_of_the_driver(app, client, node, template, tasks):
    template('CUSTOM_A', BURN, step('deploy', 'deploy', 0))
    require(client, node, 'CUSTOM_A')
    deploy(app, client, node)
    assert labels(tasks) == ['management.burn']


@pytest.mark.parametrize(
    ('steps', 'names', 'error'),
    [
        (
            [BURN | {'priority': 7}],
            'CUSTOM_A,CUSTOM_B',
            "deploy steps from all deploy templates matching this node's instance traits cannot have the same "
            'interface and step. Duplicate deploy steps for management.burn',
        ),
        (
            [step('deploy', 'deploy', 5)],
            'CUSTOM_A,CUSTOM_B',
            'deploy step deploy on interface deploy is a core step and cannot be overridden by user steps. It may be '
            'disabled by setting the priority to 0',
        ),
        (
            [step('deploy', 'deploy', 0, password='hush-hush')],
            'CUSTOM_A,CUSTOM_B',
            "deploy step {'interface': 'deploy', 'step': 'deploy', 'args': {'password': '******'}, 'priority': 0} has "
            'these unexpected arguments: password',
        ),
    ],
)
def test_invalid_templates_refuse_the_deploy(app, client, node, template, steps, names, error):
    template('CUSTOM_A', BURN)
    template('CUSTOM_B', *steps)
    require(client, node, 'CUSTOM_A', 'CUSTOM_B')
    reason = (
        "Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching deploy "
        f'templates: {names}. Errors: {error}'
    )
    validation = client.get(f'/v1/nodes/{node}/validate')
    assert validation['deploy'] == {'result': False, 'reason': reason}
    response = deploy(app, client, node)
    assert response.status_int == 400
    assert message(response) == f'Failed to validate deploy or power info for node {node}: {reason}'
    assert client.get(f'/v1/nodes/{node}')['provision_state'] == 'available'
    require(client, node, 'CUSTOM_A')
    assert client.get(f'/v1/nodes/{node}/validate')['deploy'] == {'result': True}
    assert deploy(app, client, node).status_int == 202


@pytest.mark.parametrize('traits', ['CUSTOM_A', {'CUSTOM_A': 1}, [5], ['ä'], [None, 'CUSTOM_A'], ['A' * 300]])
def test_malformed_traits_are_refused_as_before(client, node, template, traits):
    template('CUSTOM_A', BURN)
    patch = [{'op': 'add', 'path': '/instance_info/traits', 'value': traits}]
    assert client.ask('PATCH', f'/v1/nodes/{node}', patch).status_int == 200
    assert client.get(f'/v1/nodes/{node}/validate')['deploy']['reason']


def test_a_conflict_that_comes_after_the_request(app, client, node, template):
    """The worker checks the templates again, because they may have changed since the request."""
    template('CUSTOM_A', BURN)
    require(client, node, 'CUSTOM_A', 'CUSTOM_B')
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}).status_int == 202
    template('CUSTOM_B', BURN)
    finish_work(app)
    shown = client.get(f'/v1/nodes/{node}')
    assert (shown['provision_state'], shown['deploy_step']) == ('deploy failed', {})
    assert shown['last_error'].startswith('Cannot get deploy steps; failed to deploy: Validation of deploy steps')


def test_a_driver_without_steps_gets_them_as_arguments(app, client, node, template, monkeypatch):
    driver, tasks = app.service.drivers['fake-hardware'], []
    monkeypatch.setattr(type(driver), 'steps', {})
    monkeypatch.setattr(driver, 'work', lambda task: tasks.append(task) or base.Done(power_state='power on'))
    template('CUSTOM_A', BURN, step('raid', 'create', 5))
    require(client, node, 'CUSTOM_A')
    mine = step('raid', 'create', 9)
    deploy(app, client, node, deploy_steps=[mine])
    assert [(task.step, task.arguments) for task in tasks] == [(None, {'deploy_steps': [mine, BURN]})]


@pytest.mark.parametrize(
    ('request_', 'names'),
    [
        ({'required': ['CUSTOM_A', 'CUSTOM_C', 'CUSTOM_Z']}, ['CUSTOM_A', 'CUSTOM_Z']),
        ({'flavor': {'extra_specs': {'trait:CUSTOM_A': 'required'}}}, ['CUSTOM_A']),
        (
            {
                'flavor': {'extra_specs': {'trait:CUSTOM_A': 'required'}},
                'image': {'properties': {'trait:CUSTOM_Z': 'required'}},
            },
            ['CUSTOM_A', 'CUSTOM_Z'],
        ),
        ({'flavor': {'extra_specs': {'trait:CUSTOM_A': 'forbidden'}}, 'preferred': [{'trait': 'CUSTOM_Z'}]}, []),
        ({}, []),
    ],
)
def test_matches_name_the_templates_of_a_request(client, node, template, request_, names):
    template('CUSTOM_A', BURN)
    template('CUSTOM_Z', BURN)
    response = client.ask('POST', '/v1/matches', request_)
    assert response.status_int == 200, response.text
    assert response.json['deploy_templates'] == names
