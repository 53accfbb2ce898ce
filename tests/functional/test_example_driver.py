"""The driver in the guide about provisioning, used as the guide says."""

import pathlib
import re
import textwrap

import pytest
from webob import Request

from tests.support.service import finish_work

GUIDE = pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'provisioning.rst'


@pytest.fixture
def power(app):
    """A list with the state of the outlet that the example driver switches."""
    code = re.search(r'code-block:: python\n\n((?:   .*\n|\n)+)', GUIDE.read_text())[1]
    state = ['power off']
    names = {
        'read_power': lambda outlet: state[0],
        'switch': lambda outlet, target: state.__setitem__(0, target),
        'write_image': lambda outlet, instance: None,
    }
    exec(textwrap.dedent(code).replace('seconds=30', 'seconds=0'), names)
    app.service.drivers['bench'] = names['Bench'](app.service.conf)
    return state


def test_the_example(app, power):
    def send(method, path, document=None):
        request = Request.blank(path, method=method, headers={'X-OpenStack-Ironic-API-Version': '1.115'})
        if document is not None:
            request.json = document
            request.content_type = 'application/json'
        response = request.get_response(app)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

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
