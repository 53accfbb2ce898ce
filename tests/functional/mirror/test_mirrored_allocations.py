"""Allocations of clouds: visibility, refused requests, and conflicts."""

import pytest
import sqlalchemy as sa

from ironic_traits.inventory.holds.allocations import KIND
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_moves, mirrored_allocations, mirrored_records
from tests.support.client import Client, message
from tests.support.mirrored_nodes import ENDPOINT, INSTANCE, OTHER, UUIDS, Store

_ERROR = {'uuid': OTHER, 'name': 'failed', 'state': 'error', 'last_error': 'No node.', 'node_uuid': None}


def _allocation(**fields):
    """Return an allocation that holds the first node."""
    fields = {'resource_class': 'gold', 'traits': ['CUSTOM_A'], 'owner': 'p', **fields}
    return {'uuid': INSTANCE, 'name': 'first', 'state': 'active', 'node_uuid': UUIDS[0], **fields}


@pytest.fixture
def held(far):
    """A node of a cloud that an allocation of the cloud holds, and an allocation of the cloud without a node."""
    far.nodes({'instance_uuid': INSTANCE, 'allocation_uuid': INSTANCE})
    assert far.allocations(_allocation(), _ERROR) == (2, {})
    return far


def test_mirrored_allocation_is_an_allocation(held, client):
    shown = client.get('/v1/allocations/first')
    assert (shown['uuid'], shown['state'], shown['traits'], shown['extra']) == (INSTANCE, 'active', ['CUSTOM_A'], {})
    assert client.get(f'/v1/nodes/{UUIDS[0]}/allocation?fields=uuid,owner')['owner'] == 'p'
    for query, names in (
        ('state=error', ['failed']),
        ('owner=p', ['first']),
        ('resource_class=gold', ['first']),
        (f'node={UUIDS[0]}', ['first']),
        ('sort_key=name&limit=1', ['failed']),
    ):
        assert [each['name'] for each in client.get(f'/v1/allocations?{query}')['allocations']] == names
    assert 'origin' not in shown
    assert client.ask('GET', '/v1/allocations?sort_key=origin').status_int == 400


def test_projects_see_their_own(ask):
    """Projects see their own allocations of clouds, like those of this service."""
    far = Store(ask.app.service, 'far')
    of_alpha = _allocation(owner='alpha', node_uuid=None)
    far.allocations(of_alpha, _allocation(uuid=OTHER, name='other', owner='gamma', node_uuid=None))
    client = Client(ask.app)
    visible = {'system_reader': {INSTANCE, OTHER}, 'owner_reader': {INSTANCE}, 'lessee_reader': set()}
    for persona, uuids in visible.items():
        headers = ask.headers(persona)
        listed = client.ask('GET', '/v1/allocations', headers=headers).json['allocations']
        assert {each['uuid'] for each in listed} == uuids
        shown = client.ask('GET', f'/v1/allocations/{OTHER}', headers=headers)
        assert shown.status_int == (200 if OTHER in uuids else 404)
    assert client.ask('DELETE', '/v1/allocations/first', headers=ask.headers('owner_admin')).status_int == 409


def test_changes_are_refused(held, client):
    for method, path, document in (
        ('DELETE', '/allocations/first', None),
        ('DELETE', f'/nodes/{UUIDS[0]}/allocation', None),
        ('DELETE', '/allocations/failed', None),
        ('PATCH', '/allocations/first', [{'op': 'add', 'path': '/name', 'value': 'other'}]),
    ):
        response = client.ask(method, f'/v1{path}', document)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.record.mirrored')
        assert message(response).endswith(
            f' is managed by the Ironic of cloud far. Send the request to its endpoint: {ENDPOINT}.'
        )
    body = {'resource_class': 'gold', 'name': 'first'}
    assert client.ask('POST', '/v1/allocations', body).status_int == 409
    backfill = client.ask('POST', '/v1/allocations', {'node': UUIDS[0]})
    assert (backfill.status_int, backfill.json['code']) == (409, 'baremetal.node.mirrored')


def test_unchanged_allocations_are_not_written(held):
    assert held.allocations(_allocation(), _ERROR) == (0, {})
    assert held.allocations(_allocation(name='renamed'), _ERROR).written == 1


def test_allocation_ends_with_its_node(held, client):
    """The allocation ends when its node becomes free, gets another allocation, or is deleted in the cloud."""
    held.nodes({})
    assert client.ask('GET', '/v1/allocations/first').status_int == 404
    # The allocation was read before the node.
    assert held.allocations(_allocation()) == (0, {INSTANCE: ('nodes', UUIDS[0])})
    assert client.ask('GET', f'/v1/nodes/{UUIDS[0]}/allocation').status_int == 404
    held.nodes({'instance_uuid': UUIDS[1], 'allocation_uuid': UUIDS[1]})
    assert held.allocations(_allocation(uuid=UUIDS[1])).written == 1
    held.nodes({'instance_uuid': UUIDS[2], 'allocation_uuid': UUIDS[2]})
    assert [each['uuid'] for each in client.get('/v1/allocations')['allocations']] == [OTHER]


def test_conflicts(far, app, client):
    """An allocation conflicts if its uuid or name is in use here, or its node is not one of its cloud."""
    own = client.ask('POST', '/v1/allocations', {'resource_class': 'gold', 'name': 'first'}).json
    near = Store(app.service, 'near')
    near.nodes({'number': 1, 'instance_uuid': OTHER, 'allocation_uuid': OTHER})
    far.allocations(
        _allocation(uuid=own['uuid'], name='x', node_uuid=None),
        _allocation(uuid=UUIDS[3], node_uuid=None),
        _allocation(uuid=OTHER, name='y', node_uuid=UUIDS[1]),
        _allocation(uuid=UUIDS[4], name='z', node_uuid=UUIDS[8]),
    )
    assert far.conflicts() == {
        own['uuid']: 'This service has an allocation with this uuid, which is left as it is.',
        UUIDS[3]: 'This service has an allocation named first: the mirrored allocation has no name.',
        OTHER: f'Its node {UUIDS[1]} is not one of cloud far in this service.',
    }
    names = {each['uuid']: each['name'] for each in client.get('/v1/allocations')['allocations']}
    assert names == {own['uuid']: 'first', UUIDS[3]: None}
    client.ask('DELETE', '/v1/allocations/first')
    far.allocations(_allocation(uuid=UUIDS[3], node_uuid=None))
    assert UUIDS[3] not in far.conflicts()
    assert client.get('/v1/allocations/first')['uuid'] == UUIDS[3]


def test_node_with_a_conflict(far, client):
    """The mirror does not wait for a node with a conflict. If the node is mirrored later, both are read again."""
    client.node(name='taken')
    far.nodes({'name': 'taken'})
    assert far.allocations(_allocation()) == (0, {})
    assert far.conflicts()[INSTANCE] == f'Its node {UUIDS[0]} does not have it in this service.'
    assert mirrored_allocations.absent(far.context, {INSTANCE}) == {INSTANCE}
    far.nodes({'name': 'taken', 'instance_uuid': INSTANCE, 'allocation_uuid': INSTANCE})
    assert far.allocations(_allocation()) == (1, {})
    assert far.conflicts().keys() == {UUIDS[0]}


def test_names_that_are_exchanged(held, client):
    third = _allocation(uuid=UUIDS[5], name='third', node_uuid=None)
    held.allocations(third)
    assert held.allocations(third | {'name': 'first'}) == (0, {UUIDS[5]: ('allocations', INSTANCE)})
    assert held.allocations(third | {'name': 'first'}, _allocation(name='third')) == (2, {})
    assert client.get('/v1/allocations/first')['uuid'] == UUIDS[5]


def test_adopt(held, client):
    """The allocation is adopted with its node."""
    mirror_moves.adopt(held.context, UUIDS[0])
    assert client.get(f'/v1/nodes/{UUIDS[0]}')['allocation_uuid'] == INSTANCE
    held.allocations(_allocation(name='stale'))
    assert held.conflicts().keys() == {INSTANCE}
    assert client.ask('DELETE', '/v1/allocations/first').status_int == 204
    assert client.get(f'/v1/nodes/{UUIDS[0]}')['instance_uuid'] is None
    held.allocations(_allocation(uuid=UUIDS[5], name='waiting', state='allocating', node_uuid=None))
    mirrored_allocations.adopt_others(held.context, ['near'])
    assert client.ask('DELETE', '/v1/allocations/failed').status_int == 409
    mirrored_allocations.adopt_others(held.context, [])
    assert client.get('/v1/allocations/waiting')['state'] == 'error'
    for name in ('failed', 'waiting'):
        assert client.ask('DELETE', f'/v1/allocations/{name}').status_int == 204


def test_an_allocation_of_this_service(far, app, client):
    """It ends at once, and only it. Its node has the instance until the cloud removes it."""
    far.nodes(
        {'instance_uuid': INSTANCE, 'allocation_uuid': INSTANCE},
        {'number': 1, 'instance_uuid': OTHER, 'allocation_uuid': OTHER},
    )
    far.allocations(_allocation(), _allocation(uuid=OTHER, name='other', node_uuid=UUIDS[1]))
    with app.service.write() as connection:
        # As if this service had made them, and the cloud had confirmed them.
        connection.execute(sa.update(KIND.table).values(origin=None))
    assert client.ask('DELETE', '/v1/allocations/first').status_int == 204
    assert [each['name'] for each in client.get('/v1/allocations')['allocations']] == ['other']
    nodes = client.get('/v1/nodes?fields=instance_uuid,allocation_uuid&sort_key=uuid')['nodes']
    held = [(each['instance_uuid'], each['allocation_uuid']) for each in nodes]
    assert held == [(INSTANCE, None), (OTHER, OTHER)]


def test_forget(held, app, client):
    mirror_moves.forget(held.context, UUIDS[0])
    assert [each['name'] for each in client.get('/v1/allocations')['allocations']] == ['failed']
    mirror_clouds.give_back(app.service, held.turn)
    assert mirror_moves.forget_cloud(held.context, 'far')
    assert client.get('/v1/allocations') == {'allocations': []}


def test_deletion(held, client):
    assert mirrored_records.delete(held.context, held.turn, KIND, [INSTANCE, OTHER, UUIDS[7]]) == 2
    assert client.get('/v1/allocations') == {'allocations': []}
    with pytest.raises(mirror_clouds.TurnLost):
        mirrored_records.delete(held.context, held.turn._replace(lease='other'), KIND, [INSTANCE])
