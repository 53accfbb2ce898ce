"""Nodes that vanish from a real Ironic, and return. Nothing that operators did to them here is lost."""

import pytest

from tests.functional.mirror.test_mirror import ironic, new_app  # noqa: F401, fixtures
from tests.support import commands
from tests.support.client import Client, message
from tests.support.mirror import catch_up, differences, follower, hide_nodes, nodes_here, show_nodes


@pytest.fixture
def client(new_app):  # noqa: F811
    return Client(new_app)


def set_up(ironic, app, client, number):  # noqa: F811
    """Mirror nodes with a port each, let an operator add and veto a trait of each, and return (mirror, uuids)."""
    uuids = ironic.nodes(number, resource_class='gold')
    for index, uuid in enumerate(uuids):
        ironic.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_THEIRS', 'CUSTOM_VETOED']})
        ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': f'52:54:00:00:00:{index:02x}'})
    mirror = follower(app, page_size=100)
    catch_up(mirror)
    for uuid in uuids:
        assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_OURS').status_int == 204
        assert client.ask('DELETE', f'/v1/nodes/{uuid}/traits/CUSTOM_VETOED').status_int == 204
    return mirror, uuids


def traits_here(client):
    """Return {uuid: traits}."""
    return {each['uuid']: sorted(each['traits']) for each in client.get('/v1/nodes?fields=uuid,traits')['nodes']}


def state(client):
    shown = client.get('/v1/mirrors/far')
    return shown['state'], shown['waits_for'], shown['missing_nodes'], shown['conflicts']


def test_nodes_that_are_hidden(ironic, new_app, client):  # noqa: F811
    """The user of the mirror has lost a role: nothing is deleted, and nothing is left of it when the nodes are back."""
    mirror, uuids = set_up(ironic, new_app, client, 20)
    before, ports = traits_here(client), client.get('/v1/ports?limit=100')['ports']
    hide_nodes(ironic.directory, uuids[:12])
    catch_up(mirror)
    assert state(client) == ('waiting', ['deletions'], 12, 12)
    # As long as an operator has not decided, nothing else is deleted: it may have the same cause.
    hide_nodes(ironic.directory, uuids[12:13])
    catch_up(mirror)
    assert state(client) == ('waiting', ['deletions'], 13, 13)
    assert traits_here(client) == before
    assert client.get('/v1/ports?limit=100')['ports'] == ports
    # Other changes are followed.
    ironic.patch(f'/v1/nodes/{uuids[19]}', description='new')
    catch_up(mirror)
    assert client.get(f'/v1/nodes/{uuids[19]}')['description'] == 'new'
    show_nodes(ironic.directory)
    catch_up(mirror)
    assert state(client) == ('following', [], 0, 0)
    assert traits_here(client) == before


def test_few_nodes(ironic, new_app, client):  # noqa: F811
    """A few deleted nodes need no decision. If they return, they have what operators did to them."""
    mirror, uuids = set_up(ironic, new_app, client, 4)
    before = traits_here(client)
    hide_nodes(ironic.directory, uuids[:2])
    catch_up(mirror)
    assert nodes_here(client, 'far').keys() == set(uuids[2:])
    show_nodes(ironic.directory)
    catch_up(mirror)
    assert traits_here(client) == before
    vetoes = client.get(f'/v1/nodes/{uuids[0]}/traits?detail=true')['vetoes']
    assert [each['trait'] for each in vetoes] == ['CUSTOM_VETOED']
    assert state(client) == ('following', [], 0, 0)


@pytest.mark.parametrize('way', ['command', 'request'])
def test_deletion_that_is_confirmed(ironic, new_app, client, tmp_path, way):  # noqa: F811
    mirror, uuids = set_up(ironic, new_app, client, 4)
    new_app.service.conf.set_override('max_deleted_nodes', 1, group='mirror')
    before = traits_here(client)
    hide_nodes(ironic.directory, uuids[:2])
    catch_up(mirror)
    if way == 'request':
        refused = client.ask('DELETE', '/v1/mirrors/far/missing_nodes?count=3')
        assert (refused.status_int, message(refused)) == (
            409,
            'By now, 2 nodes of cloud far wait for a confirmation, not 3.',
        )
        assert client.ask('DELETE', '/v1/mirrors/far/missing_nodes?count=2').status_int == 202
        assert client.ask('DELETE', '/v1/mirrors/far/missing_nodes').status_int == 409
        assert client.ask('DELETE', '/v1/mirrors/near/missing_nodes').status_int == 404
    else:
        database = new_app.service.conf.database.connection

        def run(*arguments):
            done = commands.run('ironic-traits-mirror', '--database', database, *arguments, cwd=tmp_path)
            return done.returncode, done.stdout.splitlines()

        code, lines = run('missing')
        assert code == 0
        assert [line.partition(':')[0] for line in lines[:2]] == [f'node{index} {uuids[index]}' for index in (0, 1)]
        assert lines[2:] == [
            'cloud far: 2 nodes of 4 missing',
            'To delete them in this service: ironic-traits-mirror --cloud far confirm deletions',
        ]
        assert run('confirm', 'deletions') == (0, ['cloud far: 2 nodes will be deleted in this service'])
        assert run('confirm', 'deletions')[0] == 1
    # A node that is back in the meantime stays.
    show_nodes(ironic.directory, uuids[0])
    catch_up(mirror)
    assert nodes_here(client, 'far').keys() == {uuids[0], *uuids[2:]}
    assert state(client) == ('following', [], 0, 0)
    show_nodes(ironic.directory)
    catch_up(mirror)
    assert traits_here(client) == before


def test_node_that_is_created_again(ironic, new_app, client, tmp_path):  # noqa: F811
    """Another machine has the uuid, as with Bifrost: it has no traits of the old one unless an operator says so."""
    mirror, uuids = set_up(ironic, new_app, client, 3)
    ironic.ask('DELETE', f'/v1/nodes/{uuids[0]}')
    ironic.node(uuid=uuids[0], name='node0', resource_class='silver')
    catch_up(mirror)
    assert [each for each in differences(client, ironic, 'far') if each[1] == uuids[0]] == []
    assert traits_here(client)[uuids[0]] == []
    assert state(client) == ('following', [], 0, 1)
    (conflict,) = client.get('/v1/mirrors/far')['conflict_list']
    assert 'created again with this uuid' in conflict['reason']
    events = [each['event'] for each in client.get(f'/v1/nodes/{uuids[0]}/history?detail=true')['history']]
    assert any('traits CUSTOM_OURS; vetoed traits CUSTOM_VETOED' in event for event in events)
    database = new_app.service.conf.database.connection
    done = commands.run('ironic-traits-mirror', '--database', database, 'restore', 'node0', cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f'{uuids[0]} has got back what was kept\n')
    assert traits_here(client)[uuids[0]] == ['CUSTOM_OURS']
    assert state(client) == ('following', [], 0, 0)
    done = commands.run('ironic-traits-mirror', '--database', database, 'restore', 'node0', cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (
        1,
        [f'Nothing is kept of an earlier node {uuids[0]}.'],
    )
    done = commands.run('ironic-traits-mirror', '--database', database, 'restore', '--all', cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, '')
