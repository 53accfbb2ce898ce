"""Deploy templates and conductors through python-ironicclient's command line and openstacksdk."""

import json
import socket
import time

import openstack
import pytest

from tests.support.service import ForkedServer


@pytest.fixture
def server(tmp_path_factory):
    """A service without nodes."""
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('templates')) as running:
        yield running


BURN_IN = {'interface': 'management', 'step': 'burn_in', 'args': {'password': 'hush-hush'}, 'priority': 50}


def test_baremetal_deploy_templates(baremetal):
    created = baremetal('deploy', 'template', 'create', 'CUSTOM_A', '--steps', json.dumps([BURN_IN]), '-f', 'json')
    assert created['steps'] == [BURN_IN | {'args': {'password': '******'}}]
    baremetal('deploy', 'template', 'set', 'CUSTOM_A', '--name', 'CUSTOM_B', '--extra', 'team=blue')
    assert baremetal('deploy', 'template', 'list', '-f', 'json') == [{'uuid': created['uuid'], 'name': 'CUSTOM_B'}]
    (listed,) = baremetal('deploy', 'template', 'list', '--long', '-f', 'json')
    assert (listed['name'], listed['extra']) == ('CUSTOM_B', {'team': 'blue'})
    baremetal('deploy', 'template', 'unset', 'CUSTOM_B', '--extra', 'team')
    shown = baremetal('deploy', 'template', 'show', created['uuid'], '--fields', 'name', 'extra', '-f', 'json')
    assert shown == {'name': 'CUSTOM_B', 'extra': {}}
    assert 'could not be found' in baremetal('deploy', 'template', 'show', 'CUSTOM_A', ok=False)
    baremetal('deploy', 'template', 'delete', 'CUSTOM_B')
    assert baremetal('deploy', 'template', 'list', '-f', 'json') == []


def test_openstacksdk_deploy_templates(sdk):
    template = sdk.create_deploy_template(name='CUSTOM_A', steps=[BURN_IN])
    assert template.steps[0]['args'] == {'password': '******'}
    assert [each.name for each in sdk.deploy_templates(details=True)] == ['CUSTOM_A']
    template = sdk.update_deploy_template(template, name='CUSTOM_B')
    template = sdk.patch_deploy_template(template, [{'op': 'add', 'path': '/extra/team', 'value': 'blue'}])
    assert (template.name, template.extra) == ('CUSTOM_B', {'team': 'blue'})
    assert sdk.get_deploy_template('CUSTOM_B').id == template.id
    sdk.delete_deploy_template('CUSTOM_B')
    with pytest.raises(openstack.exceptions.NotFoundException):
        sdk.get_deploy_template(template.id)


def test_baremetal_conductors(baremetal, server):
    baremetal('node', 'create', '--driver', 'fake-hardware', '--name', 'one')
    here = socket.gethostname()
    server.wait_until(lambda: baremetal('conductor', 'list', '-f', 'json'))
    assert baremetal('conductor', 'list', '-f', 'json') == [{'hostname': here, 'conductor_group': '', 'alive': True}]
    (listed,) = baremetal('conductor', 'list', '--long', '-f', 'json')
    assert listed['drivers'] == ['fake-hardware']
    shown = baremetal('conductor', 'show', here, '-f', 'json')
    assert (shown['hostname'], shown['alive'], shown['drivers']) == (here, True, ['fake-hardware'])
    time.sleep(2)
    assert baremetal('node', 'show', 'one', '--fields', 'conductor', '-f', 'json') == {'conductor': here}
    assert [each['name'] for each in baremetal('node', 'list', '--conductor', here, '-f', 'json')] == ['one']
    assert baremetal('node', 'list', '--conductor', 'elsewhere', '-f', 'json') == []


def test_openstacksdk_conductors(sdk, server):
    server.wait_until(lambda: list(sdk.conductors()))
    (listed,) = sdk.conductors()
    assert (listed.hostname, listed.alive) == (socket.gethostname(), True)
    assert sdk.get_conductor(listed.hostname).drivers == ['fake-hardware']
