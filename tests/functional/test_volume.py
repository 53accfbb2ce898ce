"""Volume resources and the power of their node, as real Ironic 39 has them."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import message

CONNECTOR = {'type': 'iqn', 'connector_id': 'iqn.one'}
TARGET = {'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'one'}
KINDS = {'connectors': ('volume connector', CONNECTOR), 'targets': ('volume target', TARGET)}


@pytest.fixture
def volume(app, client):
    """Function that makes a node in a state, with a volume resource, and gives the node's uuid and the other's path."""

    def make(kind, **state):
        uuid = client.node()['uuid']
        path = f'/v1/volume/{kind}'
        made = client.ask('POST', path, {'node_uuid': uuid, **KINDS[kind][1]}).json['uuid']
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(state))
        return uuid, f'{path}/{made}'

    return make


def refusal(kind, action, node, power_state):
    """Give the sentence of real Ironic."""
    what = f'The requested action "{KINDS[kind][0]} {action}" can not be performed'
    return f'{what} on node "{node}" while it is in state "{power_state}".'


@pytest.mark.parametrize('power_state', [None, 'power on', 'power off', 'error'])
@pytest.mark.parametrize('state', ['enroll', 'available', 'active'])
@pytest.mark.parametrize('kind', KINDS)
def test_update(client, volume, kind, state, power_state):
    """A volume resource is changed while its node is off, whatever the provision state."""
    node, path = volume(kind, provision_state=state, power_state=power_state)
    before = client.get(path)
    answer = client.ask('PATCH', path, [{'op': 'add', 'path': '/extra/a', 'value': 1}])
    if power_state == 'power off':
        assert answer.status_int == 200
        return
    assert (answer.status_int, message(answer)) == (400, refusal(kind, 'update', node, power_state))
    assert client.get(path) == before


@pytest.mark.parametrize('power_state', [None, 'power on', 'power off'])
@pytest.mark.parametrize('state', ['enroll', 'manageable', 'adopt failed', 'available', 'active'])
@pytest.mark.parametrize('kind', KINDS)
def test_delete(client, volume, kind, state, power_state):
    """A volume resource is deleted while its node is off, or where the node itself could be deleted."""
    node, path = volume(kind, provision_state=state, power_state=power_state)
    answer = client.ask('DELETE', path)
    if power_state == 'power off' or state not in ('available', 'active'):
        assert answer.status_int == 204
        assert client.ask('GET', path).status_int == 404
        return
    assert (answer.status_int, message(answer)) == (400, refusal(kind, 'deletion', node, power_state))
    assert client.get(path)


@pytest.mark.parametrize('state', ['enroll', 'manageable', 'available', 'adopt failed'])
def test_a_node_is_deleted_while_it_is_on(client, volume, state):
    node, path = volume('targets', provision_state=state, power_state='power on')
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    assert client.ask('GET', path).status_int == 404
