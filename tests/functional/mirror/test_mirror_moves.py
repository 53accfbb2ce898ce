"""Nodes that move out of a mirror: adopt and forget."""

import pytest

from ironic_traits import failures
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_moves
from tests.support import commands
from tests.support.mirrored_nodes import INSTANCE, UUIDS, Store
from tests.support.service import make_app, upgraded


def test_adopt(far, app, client):
    """An adopted node belongs to this service, with its traits, and the mirror no longer changes it."""
    far.nodes({'name': 'a', 'traits': ['CUSTOM_A', 'CUSTOM_B'], 'driver': 'fake-hardware', 'allocation_uuid': INSTANCE})
    client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_B')
    client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_C')
    assert mirror_moves.mirrored(far.context, []) == mirror_moves.mirrored(far.context, ['far']) == [UUIDS[0]]
    assert mirror_moves.mirrored(far.context, ['near']) == []
    mirror_moves.adopt(far.context, 'a')
    shown = client.get(f'/v1/nodes/{UUIDS[0]}?fields=origin,allocation_uuid,trait_sources')
    assert (shown['origin'], shown['allocation_uuid']) == (None, None)
    held = {each['trait']: [one['source'] for one in each['sources']] for each in shown['trait_sources']['traits']}
    assert held == dict.fromkeys(('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'), ['operator'])
    assert client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/maintenance', {}).status_int == 202
    far.nodes({'name': 'b'})
    assert client.get(f'/v1/nodes/{UUIDS[0]}')['name'] == 'a'
    assert far.conflicts().keys() == {UUIDS[0]}
    with pytest.raises(failures.InvalidState):
        mirror_moves.adopt(far.context, 'a')


def test_adopt_of_a_node_at_work(far):
    far.nodes({'provision_state': 'deploying'}, {'number': 1, 'reservation': 'far-1'})
    for uuid in UUIDS[:2]:
        with pytest.raises(failures.InvalidState):
            mirror_moves.adopt(far.context, uuid)


def test_forget(far, app, client):
    own = client.node()['uuid']
    far.nodes({'traits': ['CUSTOM_A']}, {'number': 1})
    body = {'instance_uuid': INSTANCE, 'node_uuid': UUIDS[1]}
    assert client.ask('POST', '/v1/reservations', body).status_int == 201
    for uuid in (own, UUIDS[1]):
        with pytest.raises(failures.InvalidState):
            mirror_moves.forget(far.context, uuid)
    assert mirror_moves.forget(far.context, UUIDS[0]) == UUIDS[0]
    assert client.ask('GET', f'/v1/nodes/{UUIDS[0]}').status_int == 404
    assert client.placement('GET', f'/resource_providers/{UUIDS[0]}').status_int == 404
    mirror_clouds.give_back(app.service, far.turn)
    assert not mirror_moves.forget_cloud(far.context, 'far')
    (reservation,) = client.get('/v1/reservations')['reservations']
    client.ask('DELETE', f'/v1/reservations/{reservation["uuid"]}')
    mirror_moves.forget(far.context, UUIDS[1])
    assert mirror_moves.forget_cloud(far.context, 'far')
    assert client.get('/v1/mirrors') == {'mirrors': []}


def test_commands(tmp_path):
    """Each node has its own transaction. The exit code says whether all of them have succeeded."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with make_app(url) as app:
        far = Store(app.service, 'far')
        far.nodes({'name': 'a'}, {'number': 1, 'name': 'b', 'provision_state': 'deploying'})
        mirror_clouds.give_back(app.service, far.turn)

    def run(*arguments):
        done = commands.run('ironic-traits-mirror', '--database', url, *arguments, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    # The other clouds are shown, too.
    code, output, errors = run('--cloud', 'nowhere', '--cloud', 'far', 'missing')
    assert (code, output) == (1, 'cloud far: 0 nodes of 2 missing\n')
    assert 'Mirror nowhere could not be found.' in errors
    code, output, errors = run('adopt', '--all')
    assert (code, output) == (1, f'{UUIDS[0]} is adopted\n')
    assert f"{UUIDS[0]} cannot be deployed: its driver 'ipmi' is not enabled" in errors
    assert run('forget', 'b')[:2] == (0, f'{UUIDS[1]} is removed\n')
    assert run('--cloud', 'far', 'forget', '--all')[:2] == (0, '')
    assert run('forget')[0] == 1
    assert run()[0] == 1
