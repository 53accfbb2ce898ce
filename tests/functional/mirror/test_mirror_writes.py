"""Traits that are written to a real Ironic."""

import multiprocessing
import os
import signal
import time

import pytest

from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_moves
from ironic_traits.inventory.traits import node_traits
from tests.support import commands
from tests.support.client import Client
from tests.support.concurrency import wait_until
from tests.support.hostile_cloud import hostile
from tests.support.mirror import catch_up, clouds_file, follower, set_conductor_group, write_all, write_forever, writer
from tests.support.service import make_app, upgraded


@pytest.fixture
def ironic(real_ironic):
    return real_ironic


@pytest.fixture
def proxy(ironic, tmp_path, monkeypatch):
    """A proxy in front of the Ironic, which is the cloud "far" of clouds.yaml."""
    with hostile(ironic.url) as server:
        clouds_file(tmp_path / 'clouds.yaml', far=server.url)
        monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
        yield server


@pytest.fixture
def database(tmp_path):
    """The URL of a SQLite database, because these tests do not test SQL."""
    return upgraded(f'sqlite:///{tmp_path}/mirror.sqlite')


@pytest.fixture
def app(database):
    """The application."""
    with make_app(database) as application:
        yield application


@pytest.fixture
def client(app):
    """A client of the application."""
    return Client(app)


def put(client, uuid, name, query=''):
    """Add a trait in this service."""
    assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/{name}{query}').status_int == 204


def delete(client, uuid, name, query=''):
    """Remove a trait in this service."""
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/traits/{name}{query}').status_int == 204


def end(mirror):
    """End a mirror, so that another one does not wait for its turn to end."""
    mirror.stop()
    mirror.run()


def work(mirror, seconds):
    """Run a mirror for some seconds, and for the rest of its last pause."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(mirror.work())


def work_until(mirror, condition):
    """Run a mirror until a condition is true.

    :param condition: function without arguments.
    """
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(mirror.work())


def conflicts(client):
    """Return {(uuid of the node, trait): reason}."""
    return {(each['uuid'], each['trait']): each['reason'] for each in client.get('/v1/mirrors/far')['conflict_list']}


def test_only_what_sources_here_hold_is_written(ironic, proxy, app, client):
    """Only traits of sources here are written, and only written ones are removed. Vetoed traits stay in the cloud."""
    uuid = ironic.node(name='a')
    ironic.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_THEIRS', 'CUSTOM_BOTH', 'CUSTOM_VETOED']})
    assert follower(app).catch_up()
    put(client, uuid, 'CUSTOM_OURS')
    put(client, uuid, 'CUSTOM_RULE', '?source=rule')
    put(client, uuid, 'CUSTOM_BOTH')
    delete(client, uuid, 'CUSTOM_VETOED')
    mirror = writer(app)
    write_all(mirror)
    written = {'CUSTOM_OURS', 'CUSTOM_RULE'}
    theirs = {'CUSTOM_THEIRS', 'CUSTOM_BOTH', 'CUSTOM_VETOED'}
    assert ironic.traits(uuid) == written | theirs
    assert [path.rpartition('/')[2] for _, path in proxy.writes] == sorted(written)
    shown = client.get('/v1/mirrors/far')
    assert (shown['written_traits'], shown['trait_writes'], shown['write_queue'], shown['conflicts']) == (2, 2, 0, 0)
    sources = {
        each['trait']: [holder['source'] for holder in each['sources']]
        for each in client.get(f'/v1/nodes/{uuid}/traits?detail=true')['traits']
    }
    assert sources['CUSTOM_OURS'] == ['operator']
    assert sources['CUSTOM_BOTH'] == ['mirror:far', 'operator']
    ironic.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_NEW')
    write_all(mirror)
    delete(client, uuid, 'CUSTOM_RULE', '?source=rule')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': []})
    write_all(mirror)
    assert ironic.traits(uuid) == theirs | {'CUSTOM_NEW'}
    # The vetoed trait is in the cloud. The operator adds and removes it: this service has never written it.
    put(client, uuid, 'CUSTOM_VETOED')
    write_all(mirror)
    delete(client, uuid, 'CUSTOM_VETOED')
    write_all(mirror)
    assert ironic.traits(uuid) == theirs | {'CUSTOM_NEW'}
    assert len(proxy.writes) == 4
    events = [each['event'] for each in client.get(f'/v1/nodes/{uuid}/history?detail=true')['history']]
    assert [each for each in events if each.startswith('Traits were written')] == [
        'Traits were written to cloud far: added CUSTOM_OURS, CUSTOM_RULE.',
        'Traits were written to cloud far: removed CUSTOM_OURS, CUSTOM_RULE.',
    ]


def test_preview(ironic, proxy, database, app, client, tmp_path):
    """Nothing is written unless the option is set."""
    uuids = ironic.nodes(3)
    mirror = follower(app)
    assert mirror.catch_up()
    for uuid in uuids[:2]:
        put(client, uuid, 'CUSTOM_OURS')
    assert mirror.catch_up()
    assert proxy.writes == []
    done = commands.run('ironic-traits-mirror', '--database', database, 'preview', cwd=tmp_path)
    assert done.stdout.splitlines() == [
        *(f'node{number} {uuid}: add CUSTOM_OURS' for number, uuid in enumerate(uuids[:2])),
        'cloud far: 2 traits to add and 0 to remove, on 2 nodes',
    ]


@pytest.mark.parametrize(('write', 'written'), [
    ('operator', {'CUSTOM_OURS', 'CUSTOM_BOTH'}),
    ('rules', {'CUSTOM_RULE', 'CUSTOM_BOTH'}),
    ('rules+operator', {'CUSTOM_OURS', 'CUSTOM_RULE', 'CUSTOM_BOTH'}),
    ('traits', {'CUSTOM_OURS', 'CUSTOM_RULE', 'CUSTOM_BOTH', 'CUSTOM_OTHER'}),
])  # fmt: skip
def test_nothing_is_written_before_it_is_confirmed(ironic, proxy, database, app, client, tmp_path, write, written):
    """An operator confirms it after the first complete read. Only traits of the sources in the option are written."""
    uuid = ironic.node(name='a')
    mirror = follower(app, write=write, write_rate=1000)
    database_option = ('ironic-traits-mirror', '--database', database)
    refused = commands.run(*database_option, '--cloud', 'far', 'confirm', 'writes', cwd=tmp_path)
    assert (refused.returncode, refused.stderr.splitlines()[-1]) == (1, 'Cloud far has not been read completely yet.')
    catch_up(mirror)
    put(client, uuid, 'CUSTOM_OURS')
    put(client, uuid, 'CUSTOM_OTHER', '?source=other')
    put_rules(app, uuid, 'CUSTOM_RULE', 'CUSTOM_BOTH')
    put(client, uuid, 'CUSTOM_BOTH')
    catch_up(mirror)
    shown = client.get('/v1/mirrors/far')
    assert (shown['state'], shown['waits_for'], shown['write_queue'], shown['write']) == (
        *('waiting', ['writes'], None, write),
    )
    assert proxy.writes == []
    assert commands.run(*database_option, 'confirm', 'writes', cwd=tmp_path).stdout == (
        f'cloud far: traits will be written ({write})\n'
    )
    write_all(mirror)
    assert ironic.traits(uuid) == written
    assert client.get('/v1/mirrors/far')['state'] == 'following'
    # Another value needs another confirmation.
    end(mirror)
    other = follower(app, write='traits' if write != 'traits' else 'rules')
    catch_up(other)
    assert client.get('/v1/mirrors/far')['waits_for'] == ['writes']
    assert ironic.traits(uuid) == written


def put_rules(app, uuid, *names):
    """Let an inspection rule hold traits of a node."""
    context = Context(app.service, None, 0, '')
    for name in names:
        node_traits.add(context, uuid, name, 'rule:of-hardware')


@pytest.mark.parametrize('point', range(8))
def test_kill(ironic, proxy, database, app, client, point):
    """If the writer is killed before or after any of four requests, another one completes the work."""
    uuid = ironic.node(name='a')
    assert follower(app).catch_up()
    for name in ('CUSTOM_A', 'CUSTOM_B'):
        put(client, uuid, name)
    mirror = writer(app)
    write_all(mirror)
    end(mirror)
    for name in ('CUSTOM_C', 'CUSTOM_D'):
        put(client, uuid, name)
    for name in ('CUSTOM_A', 'CUSTOM_B'):
        delete(client, uuid, name)
    proxy.requests.clear()
    # Use a process without the threads of this one, which may hold locks.
    forks = multiprocessing.get_context('forkserver')
    forks.set_forkserver_preload(['tests.support.mirror', 'openstack'])
    child = forks.Process(target=write_forever, args=(database, os.environ['OS_CLIENT_CONFIG_FILE']), daemon=True)

    def kill(number, request):
        if number < point // 2:
            return request()
        result = request() if point % 2 else (500, b'')
        proxy.hook = None
        os.kill(child.pid, signal.SIGKILL)
        return result

    proxy.hook = kill
    child.start()
    child.join(30)
    assert child.exitcode == -signal.SIGKILL
    mirror = writer(app)
    write_all(mirror)
    assert ironic.traits(uuid) == {'CUSTOM_C', 'CUSTOM_D'}
    assert 4 <= len(proxy.writes) <= 5
    write_all(mirror)
    assert len(proxy.writes) <= 5
    shown = client.get('/v1/mirrors/far')
    assert (shown['written_traits'], shown['conflicts'], shown['write_queue']) == (2, 0, 0)


def test_hostile_writer(ironic, proxy, app, client):
    """Each trait is written at most once while another client of the cloud removes and adds the same traits."""
    names = [f'CUSTOM_{letter}' for letter in 'ABCD']
    uuids = ironic.nodes(3)
    assert follower(app).catch_up()
    for uuid in uuids:
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': names})
    mirror = writer(app)
    for number in range(5):
        for uuid in uuids:
            # The cloud's client alternates between no traits and two of them.
            ironic.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': names[:2] if number % 2 else []})
        write_all(mirror)
    assert {uuid: ironic.traits(uuid) for uuid in uuids} == dict.fromkeys(uuids, set())
    assert len(proxy.writes) == len(set(proxy.writes)) == len(uuids) * len(names)
    reason = 'Another client has removed it in the cloud. In this service it is held by operator.'
    assert conflicts(client) == {(uuid, name): reason for uuid in uuids for name in names}
    requests = len(proxy.requests)
    write_all(mirror)
    write_all(mirror)
    assert len(proxy.requests) - requests < 40
    assert not {'PUT', 'DELETE'} & {method for method, _ in proxy.requests[requests:]}
    for uuid in uuids:
        entries = client.get(f'/v1/nodes/{uuid}/history?detail=true')['history']
        assert [each['event'] for each in entries if each['severity'] == 'WARNING'] == [
            f'Another client has removed traits in cloud far that sources in this service hold: {removed}.'
            for removed in ('CUSTOM_C, CUSTOM_D', 'CUSTOM_A, CUSTOM_B')
        ]
    # If the other client adds the trait again, the conflict ends. If it removes the trait again, it is a conflict.
    ironic.ask('PUT', f'/v1/nodes/{uuids[0]}/traits/CUSTOM_A')
    write_all(mirror)
    assert (uuids[0], 'CUSTOM_A') not in conflicts(client)
    ironic.ask('DELETE', f'/v1/nodes/{uuids[0]}/traits/CUSTOM_A')
    write_all(mirror)
    assert (uuids[0], 'CUSTOM_A') in conflicts(client)
    assert len(proxy.writes) == len(uuids) * len(names)


def test_conflicts_end(ironic, proxy, database, app, client, tmp_path):
    """A conflict ends when the trait is removed here, when it is added again, or by a command."""
    uuid = ironic.node(name='a')
    assert follower(app).catch_up()
    names = ['CUSTOM_AGAIN', 'CUSTOM_COMMAND', 'CUSTOM_REMOVED']
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': names})
    mirror = writer(app)
    write_all(mirror)
    ironic.ask('DELETE', f'/v1/nodes/{uuid}/traits')
    write_all(mirror)
    assert conflicts(client).keys() == {(uuid, name) for name in names}
    delete(client, uuid, 'CUSTOM_REMOVED')
    delete(client, uuid, 'CUSTOM_AGAIN')
    put(client, uuid, 'CUSTOM_AGAIN')
    write_all(mirror)
    assert conflicts(client).keys() == {(uuid, 'CUSTOM_COMMAND')}
    done = commands.run('ironic-traits-mirror', '--database', database, 'rewrite', 'a', cwd=tmp_path)
    assert done.stdout == 'a: CUSTOM_COMMAND will be written again\n'
    write_all(mirror)
    assert (conflicts(client), ironic.traits(uuid)) == ({}, {'CUSTOM_AGAIN', 'CUSTOM_COMMAND'})


@pytest.mark.parametrize(('failure', 'methods'), [
    *((failure, ('PUT', 'DELETE')) for failure in ('401', '409', '500', 'silence')),
    *((failure, ()) for failure in ('500', 'half')),
])  # fmt: skip
def test_failures(ironic, proxy, app, client, failure, methods):
    """After failures of writes, or of all requests, everything is written in the end, with few requests."""
    uuids = ironic.nodes(4)
    assert follower(app).catch_up()
    for uuid in uuids:
        put(client, uuid, 'CUSTOM_OLD')
    # Only requests without a response take this long.
    mirror = writer(app, timeout=1 if failure == 'silence' else 30)
    write_all(mirror)
    for uuid in uuids:
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_NEW']})
    proxy.requests.clear()
    proxy.fail(failure, *methods)
    if methods:
        # The first requests may fail for another reason: the database of the real Ironic is locked now and then.
        catch_up(mirror)
        work_until(mirror, lambda: len(conflicts(client)) >= (4 if failure == '409' else 1))
    else:
        mirror.catch_up()
    work(mirror, 1.5)
    shown = client.get('/v1/mirrors/far')
    if not methods:
        assert (shown['state'], len(proxy.writes)) == ('failing', 0)
        assert len(proxy.requests) < 6
    elif failure == '409':
        assert (shown['state'], len(conflicts(client)), shown['write_error']) == ('following', 4, None)
        assert len(proxy.writes) < 13
    else:
        assert (shown['state'], bool(shown['write_error'])) == ('following', True)
        assert conflicts(client)
        assert len(proxy.writes) < 5
    proxy.fail(None)
    proxy.released.set()
    work_until(mirror, lambda: all(ironic.traits(uuid) == {'CUSTOM_NEW'} for uuid in uuids))
    write_all(mirror)
    assert {uuid: ironic.traits(uuid) for uuid in uuids} == dict.fromkeys(uuids, {'CUSTOM_NEW'})
    shown = client.get('/v1/mirrors/far')
    assert (shown['write_error'], shown['conflict_list'], shown['written_traits'], shown['write_queue']) == (
        *(None, [], 4, 0),
    )


def test_writes_go_on_when_the_cloud_can_be_read_again(ironic, proxy, app, client):
    """Writes do not wait for the end of their own pause after failures."""
    uuid = ironic.node(name='a')
    assert follower(app).catch_up()
    put(client, uuid, 'CUSTOM_A')
    mirror = writer(app, max_pause=3600)
    proxy.fail('500', 'PUT')
    # The pauses are 1, 2 and 4 seconds. The next one is 8 seconds, longer than the rest of this test.
    work_until(mirror, lambda: len(proxy.writes) == 4)
    assert client.get('/v1/mirrors/far')['write_error']
    proxy.fail('500')
    work_until(mirror, lambda: client.get('/v1/mirrors/far')['state'] == 'failing')
    proxy.fail(None)
    writes = len(proxy.writes)
    catch_up(mirror)
    wait_until(lambda: mirror.work() >= 0.1, 60)
    assert len(proxy.writes) > writes
    write_all(mirror)
    assert ironic.traits(uuid) == {'CUSTOM_A'}


def test_refused_traits(ironic, proxy, app, client):
    """Traits that the cloud refuses delay nothing else. A change here is tried at once."""
    full, other = ironic.node(name='full'), ironic.node(name='other')
    theirs = [f'CUSTOM_T{number:02}' for number in range(50)]
    ironic.ask('PUT', f'/v1/nodes/{full}/traits', {'traits': theirs})
    assert follower(app).catch_up()
    for name in theirs[:2]:
        delete(client, full, name)
    for name in ('CUSTOM_A', 'CUSTOM_B'):
        put(client, full, name)
    put(client, other, 'CUSTOM_A')
    mirror = writer(app)
    write_all(mirror)
    assert ironic.traits(other) == {'CUSTOM_A'}
    assert conflicts(client).keys() == {(full, 'CUSTOM_A'), (full, 'CUSTOM_B')}
    (reason,) = set(conflicts(client).values())
    assert reason.startswith('The response is 400: Could not modify traits')
    writes = len(proxy.writes)
    write_all(mirror)
    assert len(proxy.writes) == writes
    ironic.ask('DELETE', f'/v1/nodes/{full}/traits/{theirs[0]}')
    delete(client, full, 'CUSTOM_B')
    write_all(mirror)
    assert (conflicts(client), ironic.traits(full)) == ({}, {*theirs[1:], 'CUSTOM_A'})


@pytest.mark.parametrize('is_there', [False, True])
def test_absent_conductor(ironic, proxy, app, client, is_there):
    """Ironic responds 404 if no conductor serves a node. Nothing is taken for done, and it is tried again."""
    uuid = ironic.node(name='a')
    assert follower(app).catch_up()
    put(client, uuid, 'CUSTOM_A')
    mirror = writer(app)
    if is_there:
        write_all(mirror)
        delete(client, uuid, 'CUSTOM_A')
    set_conductor_group(ironic.directory, 'nowhere')
    work_until(mirror, lambda: client.get('/v1/mirrors/far')['write_error'])
    shown = client.get('/v1/mirrors/far')
    assert 'The response is 404: ' in shown['write_error']
    assert (uuid, 'CUSTOM_A') in conflicts(client)
    assert ironic.traits(uuid) == ({'CUSTOM_A'} if is_there else set())
    set_conductor_group(ironic.directory, '')
    write_all(mirror)
    assert ironic.traits(uuid) == (set() if is_there else {'CUSTOM_A'})
    assert conflicts(client) == {}


def test_node_that_is_gone(ironic, proxy, app, client):
    """Writes end for a node that is deleted in the cloud, or adopted here."""
    gone, adopted = ironic.node(name='gone'), ironic.node(name='adopted')
    assert follower(app).catch_up()
    mirror = writer(app)
    put(client, adopted, 'CUSTOM_A')
    write_all(mirror)
    mirror_moves.adopt(Context(app.service, None, 0, ''), 'adopted')
    delete(client, adopted, 'CUSTOM_A')
    ironic.ask('DELETE', f'/v1/nodes/{gone}')
    put(client, gone, 'CUSTOM_A')
    proxy.requests.clear()
    # The comparison of all uuids deletes the node here.
    write_all(mirror)
    write_all(mirror)
    assert len([path for _, path in proxy.requests if path == f'/v1/nodes/{gone}']) < 4
    assert ironic.traits(adopted) == {'CUSTOM_A'}
    assert proxy.writes == []
    assert client.get('/v1/mirrors/far')['write_queue'] == 0
