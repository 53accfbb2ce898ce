"""Volume resources and the power of their node, compared with Ironic 39."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import message

CONNECTOR = {'type': 'iqn', 'connector_id': 'iqn.one'}
TARGET = {'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'one'}
KINDS = {'connectors': ('volume connector', CONNECTOR), 'targets': ('volume target', TARGET)}


@pytest.fixture
def volume(app, client):
    """Function that creates a node in a state with a volume resource, and returns (node uuid, path of the resource)."""

    def make(kind, **state):
        uuid = client.node()['uuid']
        path = f'/v1/volume/{kind}'
        resource = client.ask('POST', path, {'node_uuid': uuid, **KINDS[kind][1]}).json['uuid']
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(state))
        return uuid, f'{path}/{resource}'

    return make


def refusal(kind, action, node, power_state):
    """Return Ironic's message."""
    what = f'The requested action "{KINDS[kind][0]} {action}" can not be performed'
    return f'{what} on node "{node}" while it is in state "{power_state}".'


@pytest.mark.parametrize('power_state', [None, 'power on', 'power off', 'error'])
@pytest.mark.parametrize('state', ['enroll', 'available', 'active'])
@pytest.mark.parametrize('kind', KINDS)
def test_update(client, volume, kind, state, power_state):
    """A volume resource can be changed while its node is off, in any provision state."""
    node, path = volume(kind, provision_state=state, power_state=power_state)
    before = client.get(path)
    response = client.ask('PATCH', path, [{'op': 'add', 'path': '/extra/a', 'value': 1}])
    if power_state == 'power off':
        assert response.status_int == 200
        return
    assert (response.status_int, message(response)) == (400, refusal(kind, 'update', node, power_state))
    assert client.get(path) == before


@pytest.mark.parametrize('power_state', [None, 'power on', 'power off'])
@pytest.mark.parametrize('state', ['enroll', 'manageable', 'adopt failed', 'available', 'active'])
@pytest.mark.parametrize('kind', KINDS)
def test_delete(client, volume, kind, state, power_state):
    """A volume resource can be deleted while its node is off, or in a state in which the node can be deleted."""
    node, path = volume(kind, provision_state=state, power_state=power_state)
    response = client.ask('DELETE', path)
    if power_state == 'power off' or state not in ('available', 'active'):
        assert response.status_int == 204
        assert client.ask('GET', path).status_int == 404
        return
    assert (response.status_int, message(response)) == (400, refusal(kind, 'deletion', node, power_state))
    assert client.get(path)


@pytest.mark.parametrize('state', ['enroll', 'manageable', 'available', 'adopt failed'])
def test_a_node_is_deleted_while_it_is_on(client, volume, state):
    node, path = volume('targets', provision_state=state, power_state='power on')
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    assert client.ask('GET', path).status_int == 404
