"""The example driver of the guide about provisioning works as the guide says."""

import pathlib
import re
import textwrap

import pytest
from webob import Request

from tests.support.service import finish_work

GUIDE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'provisioning.rst'


@pytest.fixture
def power(app):
    """The state of the outlet that the example drivers switch, in a list."""
    code = ''.join(map(textwrap.dedent, re.findall(r'code-block:: python\n\n((?:   .*\n|\n)+)', GUIDE.read_text())[:3]))
    state = ['power off']
    names = {
        'read_power': lambda outlet: state[0],
        'switch': lambda outlet, target: state.__setitem__(0, target),
        'write_image': lambda outlet, instance: None,
    }
    exec(code.replace('seconds=30', 'seconds=0').replace('seconds=60 *', 'seconds=0 *'), names)
    app.service.drivers['bench'] = names['Bench'](app.service.conf)
    app.service.drivers['inspected'] = names['InspectedBench'](app.service.conf)
    app.service.drivers['careful'] = names['CarefulBench'](app.service.conf)
    return state


@pytest.fixture
def send(app):
    """A function that sends a request and returns the document of the response."""

    def send(method, path, document=None):
        request = Request.blank(path, method=method, headers={'X-OpenStack-Ironic-API-Version': '1.115'})
        if document is not None:
            request.json = document
            request.content_type = 'application/json'
        response = request.get_response(app)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

    return send


def test_the_example(app, power, send):
    send('POST', '/v1/nodes', {'driver': 'bench', 'name': 'one', 'driver_info': {'bench_port': 3}})
    for verb, state in (('manage', 'manageable'), ('provide', 'available'), ('active', 'active')):
        send('PUT', '/v1/nodes/one/states/provision', {'target': verb})
        finish_work(app)
        node = send('GET', '/v1/nodes/one')
        assert (node['provision_state'], node['last_error']) == (state, None)
    send('PUT', '/v1/nodes/one/states/power', {'target': 'power on'})
    finish_work(app)
    assert power == ['power on']
    assert send('GET', '/v1/nodes/one')['power_state'] == 'power on'


def test_the_example_with_steps(app, power, send):
    def provision(target, **arguments):
        send('PUT', '/v1/nodes/two/states/provision', {'target': target, **arguments})
        finish_work(app)
        node = send('GET', '/v1/nodes/two')
        return node['provision_state'], node['last_error']

    send('POST', '/v1/nodes', {'driver': 'careful', 'name': 'two', 'driver_info': {'bench_port': 3}})
    assert provision('manage') == ('manageable', None)
    assert provision('provide') == ('available', None)
    burn_in = {'interface': 'management', 'step': 'burn_in', 'args': {'minutes': 1}, 'priority': 200}
    assert provision('active', deploy_steps=[burn_in]) == ('active', None)
    unknown = {'interface': 'bios', 'step': 'polish', 'args': {}, 'priority': 200}
    failed = ('deploy failed', 'Deploy step bios.polish failed: There is no step polish.')
    assert provision('rebuild', deploy_steps=[unknown]) == failed


def test_the_example_with_an_inspection(app, power, send):
    node = send('POST', '/v1/nodes', {'driver': 'inspected', 'name': 'one', 'driver_info': {'bench_port': 3}})
    send('POST', '/v1/ports', {'node_uuid': node['uuid'], 'address': '52:54:00:00:00:01'})
    send('PUT', '/v1/nodes/one/states/provision', {'target': 'manage'})
    finish_work(app)
    send('PUT', '/v1/nodes/one/states/provision', {'target': 'inspect'})
    finish_work(app)
    assert (send('GET', '/v1/nodes/one')['provision_state'], power) == ('inspect wait', ['power on'])
    interface = {'name': 'eth0', 'mac_address': '52:54:00:00:00:01', 'ipv4_address': '192.0.2.1', 'has_carrier': True}
    inventory = {
        'interfaces': [interface],
        'cpu': {'architecture': 'x86_64', 'count': 4},
        'memory': {'physical_mb': 4096},
        'disks': [{'name': '/dev/sda', 'size': 2**34, 'rotational': False}],
        'boot': {'current_boot_mode': 'uefi'},
    }
    send('POST', '/v1/continue_inspection', {'inventory': inventory})
    finish_work(app)
    node = send('GET', '/v1/nodes/one')
    assert (node['provision_state'], node['properties']['cpus'], power) == ('manageable', 4, ['power off'])
    assert 'STORAGE_DISK_SSD' in node['traits']
