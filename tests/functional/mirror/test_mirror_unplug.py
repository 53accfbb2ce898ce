"""The end of the mirroring of a real Ironic: nothing of this service is left there, and a command proves it."""

import pytest

from tests.functional.mirror.test_mirror_writes import put, write_all
from tests.support import commands
from tests.support.claims import INSTANCES, Side
from tests.support.mirror import catch_up, clouds_file, follower
from tests.support.service import make_app

TAKEN, OURS, THEIRS = INSTANCES[0], 'CUSTOM_OURS', 'CUSTOM_THEIRS'


@pytest.fixture
def side(real_ironic, database_url, tmp_path, monkeypatch):
    """A Side whose mirror also writes traits."""
    clouds_file(tmp_path / 'clouds.yaml', far=real_ironic.url)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    with make_app(database_url, mirror__claims='instance_uuid', mirror__claim_seconds=6) as app:
        side = Side(real_ironic, app, database_url, 3)
        side.directory = tmp_path
        for uuid in side.nodes:
            real_ironic.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [THEIRS]})
        yield side


def command(side, *arguments):
    """Run ironic-traits-mirror, and return (exit status, lines of its output, or of its errors)."""
    options = ('--database', side.url, '--cloud', 'far')
    done = commands.run('ironic-traits-mirror', *options, *arguments, cwd=side.directory)
    return done.returncode, (done.stdout or done.stderr).splitlines()


def written(side, write='traits', *uuids):
    """Let a mirror write CUSTOM_OURS of some nodes, and stop it."""
    side.stop_mirror()
    mirror = follower(side.app, write=write, write_rate=1000)
    catch_up(mirror)
    for uuid in uuids:
        put(side.client, uuid, OURS)
    assert command(side, 'confirm', 'writes') == (0, [f'cloud far: traits will be written ({write})'])
    write_all(mirror)
    mirror.stop()
    mirror.run()


def left(*lines, number=3):
    """Return the result of ``leftovers`` with the lines of some nodes."""
    result = f'something of this service is left on {len(lines)}' if lines else 'nothing of this service is left'
    return int(bool(lines)), [*lines, f'cloud far: {number} nodes read, {result}']


def test_unplug(side):
    """The steps of the guide."""
    first, second, _ = side.nodes
    reservation = side.reserve(0, node_uuid=first)
    written(side, 'traits', first, second)
    assert command(side, 'leftovers') == left(
        f'node0 {first}: instance {TAKEN}, trait {OURS}', f'node1 {second}: trait {OURS}'
    )
    # No mirror runs.
    side.delete(f'/v1/reservations/{reservation["uuid"]}')
    assert side.there(first) is None
    written(side, 'withdraw')
    assert command(side, 'leftovers') == left()
    assert all(side.ironic.traits(uuid) == {THEIRS} for uuid in side.nodes)
    assert command(side, 'forget', '--all') == (0, [f'{uuid} is removed' for uuid in side.nodes])
    assert command(side, 'leftovers') == left()
    assert side.client.get('/v1/mirrors') == {'mirrors': []}


def test_hold_that_has_expired(side):
    """It is ended in the cloud before the node is removed here. If that fails, the node stays."""
    side.reserve(0, node_uuid=side.nodes[0], expires_in=60)
    side.reserve(1, node_uuid=side.nodes[1])
    side.stop_mirror()
    side.pass_time()
    assert side.there(side.nodes[0]) == TAKEN
    clouds_file(side.directory / 'clouds.yaml', far='http://127.0.0.1:1')
    code, lines = command(side, 'forget', 'node0')
    assert code == 1
    assert f'instance {TAKEN} was not removed from it in cloud far' in lines[-1]
    assert command(side, 'leftovers')[1][-1].startswith('Cloud far cannot be read: ')
    clouds_file(side.directory / 'clouds.yaml', far=side.ironic.url)
    assert command(side, 'forget', 'node0') == (0, [f'{side.nodes[0]} is removed'])
    assert side.there(side.nodes[0]) is None
    # A reservation still holds this node.
    assert command(side, 'forget', 'node1')[0] == 1
    assert command(side, 'leftovers') == left(f'node1 {side.nodes[1]}: instance {INSTANCES[1]}')


@pytest.mark.parametrize('way', ['forget', 'adopt'])
def test_leftovers_of_nodes_that_are_not_mirrored_any_more(side, way):
    """What was written stays known without the node, and a node that is mirrored again has it back."""
    first, second, third = side.nodes
    instance = []
    if way == 'adopt':
        side.reserve(0, node_uuid=third)
        instance = [f'node2 {third}: instance {TAKEN}']
    written(side, 'traits', first, second)
    # Another client has removed the trait of the second one: nothing is left of it.
    side.ironic.ask('DELETE', f'/v1/nodes/{second}/traits/{OURS}')
    assert command(side, way, '--all')[0] == 0
    assert command(side, 'leftovers') == left(f'node0 {first}: trait {OURS}', *instance)
    side.ironic.ask('DELETE', f'/v1/nodes/{second}')
    code, lines = command(side, 'leftovers')
    assert code == 1
    assert lines[-2] == f'- {second}: the cloud does not show this node, to which this service has written'
    if way == 'forget':
        # It is known again that the trait is this service's own there.
        written(side, 'withdraw')
        assert side.ironic.traits(first) == {THEIRS}
        assert side.client.get(f'/v1/nodes/{first}/traits')['traits'] == [OURS, THEIRS]


def test_no_cloud(tmp_path):
    done = commands.run('ironic-traits-mirror', '--state-path', str(tmp_path), 'leftovers', cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, 'No cloud is mirrored: use --cloud NAME.')
