"""Traits that are written to a real Ironic."""

import multiprocessing
import os
import signal

import pytest

from tests.support import programs
from tests.support.client import Client
from tests.support.hostile_cloud import hostile
from tests.support.mirror import Ironic, clouds_file, follower, write_all, write_forever, writer
from tests.support.servers import free_port
from tests.support.service import make_app, peer, upgraded


@pytest.fixture(scope='module')
def real_ironic(tmp_path_factory):
    """A real Ironic, for all tests of this module."""
    with peer('tests.support.ironic_server', tmp_path_factory.mktemp('ironic'), free_port()) as url:
        yield Ironic(url)


@pytest.fixture
def ironic(real_ironic):
    """A real Ironic without nodes."""
    real_ironic.clear()
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
    """The URL of a SQLite database: these tests are not about SQL."""
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
    """Add a trait here."""
    assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/{name}{query}').status_int == 204


def delete(client, uuid, name, query=''):
    """Remove a trait here."""
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/traits/{name}{query}').status_int == 204


def end(mirror):
    """End a mirror, so that another one need not wait for the end of its turn."""
    mirror.stop()
    mirror.run()


def conflicts(client):
    """Return {(uuid of the node, trait): reason}."""
    return {(each['uuid'], each['trait']): each['reason'] for each in client.get('/v1/mirrors/far')['conflict_list']}


def test_only_what_sources_here_hold_is_written(ironic, proxy, app, client):
    """And only what was written is removed: not what was there before, what they add, or what is vetoed here."""
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
    # What was vetoed is there. The operator adds it, and removes it again: it was never this service's own.
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
    """Nothing is written unless it is switched on."""
    uuids = [ironic.node(name=f'node{number}') for number in range(3)]
    mirror = follower(app)
    assert mirror.catch_up()
    for uuid in uuids[:2]:
        put(client, uuid, 'CUSTOM_OURS')
    assert mirror.catch_up()
    assert proxy.writes == []
    done = programs.run('ironic-traits-mirror', '--database', database, 'preview', cwd=tmp_path)
    assert done.stdout.splitlines() == [
        *(f'node{number} {uuid}: add CUSTOM_OURS' for number, uuid in enumerate(uuids[:2])),
        'cloud far: 2 traits to add and 0 to remove, on 2 nodes',
    ]


@pytest.mark.parametrize('point', range(8))
def test_kill(ironic, proxy, database, app, client, point):
    """Of the process that writes, before and after each of four requests. Another one goes on."""
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
    # A process without the threads of this one, which may hold locks.
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
