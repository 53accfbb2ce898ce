"""The service on a database cluster, one node of which is killed, frozen or isolated while clients write.

No acknowledged write is lost, no node gets two holders, and requests soon succeed again.
"""

import os
import pathlib
import subprocess
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import migrations, revisions
from ironic_traits.db.failover import hosts
from tests.chaos import rounds
from tests.support import clusters, commands
from tests.support.client import Client
from tests.support.clusters import urls_by_node
from tests.support.concurrency import wait_until
from tests.support.following import Following
from tests.support.schemas import differences
from tests.support.servers import free_port, program, require
from tests.support.service import database, make_app, upgraded
from tests.support.writers import FREE, WRITERS, Writers

#: Seconds within which the service must respond again. It takes 0 to 4 seconds (``benchmarks.failover``), but the tests
#: may run on a busy machine. For the same reason, the time begins when the rest of the cluster itself commits again.
SOON = 10
EXAMPLES = pathlib.Path(__file__).parents[3] / 'doc/source/examples'


@pytest.fixture(scope='module', params=clusters.CLUSTERS)
def cluster(request):
    """A cluster of database servers."""
    kind = clusters.CLUSTERS[request.param]
    require(kind.installed(), f'{request.param} is not installed')
    started = kind()
    try:
        started.start()
        yield started
    finally:
        started.stop()


def test_upgrades_through_two_nodes(cluster, tmp_path):
    """Galera nodes do not share locks, so concurrent upgrades may fail. A second run succeeds."""
    if cluster.name != 'galera':
        pytest.skip('only its primary can be written to')
    url = cluster.create('upgrades')
    by_node = urls_by_node(cluster, url)
    begin = ['ironic-traits-manage', '--database']
    with (tmp_path / 'output').open('w+') as output:
        upgrades = [
            commands.start(*begin, each, 'db', 'upgrade', env=os.environ, cwd=None, output=output)
            for each in by_node[:2]
        ]
        assert {upgrade.wait(120) for upgrade in upgrades} <= {0, 1}
    assert 'Traceback' not in (tmp_path / 'output').read_text()
    done = commands.run(*begin, url, 'db', 'upgrade')
    assert done.returncode == 0, done.stderr
    for each in by_node:
        with database(each) as opened:
            assert differences(opened) == []
            assert revisions.current(opened) == revisions.newest()


def test_upgrade_that_is_overtaken_through_another_node(cluster):
    """An upgrade of an empty database fails if another one ends before it stores its first revision."""
    if cluster.name != 'galera':
        pytest.skip('only its primary can be written to')
    url = cluster.create('overtaken')
    first, second = urls_by_node(cluster, url)[:2]

    def overtake(connection, cursor, statement, *rest):
        if connection.engine.url.port == slow.url.port and statement.startswith('INSERT INTO alembic_version'):
            # Alembic works on one database at a time in a process.
            assert commands.run('ironic-traits-manage', '--database', second, 'db', 'upgrade').returncode == 0

    with database(first) as slow:
        sa.event.listen(sa.Engine, 'before_cursor_execute', overtake)
        try:
            with pytest.raises(revisions.UpgradeInProgress, match='through another node of a cluster'):
                migrations.upgrade(slow)
        finally:
            sa.event.remove(sa.Engine, 'before_cursor_execute', overtake)
        migrations.upgrade(slow)
        assert differences(slow) == []
        assert revisions.current(slow) == revisions.newest()


def test_two_nodes_in_use(cluster):
    """Two applications with a node each answer as one, if their reads wait for the other node."""
    if cluster.name != 'galera':
        pytest.skip('only its primary can be written to')
    urls = urls_by_node(cluster, upgraded(cluster.create('two_nodes')))[:2]
    with rounds.of_two_applications(urls, 'two nodes') as orders:
        orders.run(lambda: orders.rounds == 20)
    assert not orders.problems, orders.problems[0]
    assert orders.counts.total() > 500


def test_refusals_on_another_node(cluster):
    """A transaction that begins with a write waits for the other node, too: it changes and refuses by the same data."""
    if cluster.name != 'galera':
        pytest.skip('only its primary can be written to')
    urls = urls_by_node(cluster, upgraded(cluster.create('refusals')))[:2]
    with make_app(urls[0], **rounds.SYNCHRONOUS) as first, make_app(urls[1], **rounds.SYNCHRONOUS) as second:
        path = f'/v1/nodes/{Client(first).node()["uuid"]}/traits'
        for _ in range(100):
            body = {'traits': ['CUSTOM_A', 'CUSTOM_B']}
            assert Client(first).ask('PUT', f'{path}?source=rack', body).status_int == 200
            assert Client(second).ask('DELETE', f'{path}/CUSTOM_B?source=rack').status_int == 204


def test_desynced_nodes(cluster):
    """A desynced node is left for a synced one, and no request fails. If all are desynced, one of them is used."""
    if cluster.name != 'galera':
        pytest.skip('its servers have no such state')
    first, second, third = cluster.nodes
    with make_app(upgraded(cluster.create('desynced'))) as app, Writers([app]) as writers:
        wait_for_writes(first)
        first.desync(True)
        wait_for_writes(second)
        for node in (second, third):
            node.desync(True)
        time.sleep(hosts.LOOK)
        writers.wait()
        first.desync(False)
        wait_for_writes(first)
        # New connections are possible, too, while no node is synced.
        first.desync(True)
        app.service.close()
        writers.wait()
        for node in cluster.nodes:
            node.desync(False)
    writers.check()
    assert not writers.unavailable


def wait_for_writes(node):
    """Wait until the service writes to a node."""
    before = int(node.status('wsrep_local_commits'))
    wait_until(lambda: int(node.status('wsrep_local_commits')) > before + WRITERS, 60)


@pytest.fixture
def database_proxy(cluster, tmp_path):
    """The port of haproxy with the files of the documentation, in front of a Galera cluster."""
    if cluster.name != 'galera':
        pytest.skip('the example is for Galera')
    require(program('haproxy'), 'haproxy is not installed')
    port, text = free_port(), (EXAMPLES / 'haproxy-galera.cfg').read_text()
    replacements = {'127.0.0.1:3306': f'127.0.0.1:{port}', '/usr/local/bin/galera-check': tmp_path / 'galera-check'}
    replacements |= {f'10.0.0.1{node.number + 1}:3306': f'127.0.0.1:{node.port}' for node in cluster.nodes}
    for old, new in replacements.items():
        assert text.count(old) == 1, old
        text = text.replace(old, str(new))
    (tmp_path / 'haproxy.cfg').write_text(text)
    (tmp_path / 'galera-check').write_bytes((EXAMPLES / 'galera-check').read_bytes())
    (tmp_path / 'galera-check').chmod(0o755)
    cluster.nodes[0].query("CREATE USER IF NOT EXISTS haproxy@'%'")
    with subprocess.Popen([program('haproxy'), '-db', '-f', tmp_path / 'haproxy.cfg']) as process:
        yield port
        process.kill()


def test_database_behind_a_proxy(cluster, database_proxy):
    """The service responds soon after its node is desynced, or dies, if haproxy is in front of the cluster."""
    first, second, _ = cluster.nodes
    url = upgraded(urls_by_node(cluster, cluster.create('proxied'))[0])
    url = sa.make_url(url).set(port=database_proxy).render_as_string(hide_password=False)
    with make_app(url) as app, Writers([app]) as writers:
        first.desync(True)
        wait_for_writes(second)
        assert writers.wait() < SOON
        first.desync(False)
        wait_for_writes(first)
        first.kill()
        cluster.wait_without_first()
        assert writers.wait() < SOON
    writers.check()
    first.start()
    cluster.settle()


def test_faults(cluster, real_ironic, tmp_path):
    """Both processes of the service recover soon after the cluster, after each fault, without a restart.

    The mirror of a real Ironic recovers, too: no change on one side is lost on the other side.
    """
    url = upgraded(cluster.create('faults'))
    options = {'database__connect_timeout': 1.5}
    with make_app(url, **options) as first, make_app(url, **options) as second:
        with Writers([first, second]) as writers, Following(real_ironic, writers.client, url, tmp_path) as following:
            writers.wait()
            following.change()
            following.wait()
            for fault in FAULTS[cluster.name](cluster):
                fault()
                following.change()
                # Without a quorum, no service could respond.
                cluster.wait_without_first()
                assert writers.wait() < SOON, fault
                following.wait()
            following.check()
        writers.check()
        assert len(writers.client.get('/v1/nodes')['nodes']) == WRITERS + FREE + 1


def _of_galera(cluster):
    """Yield functions that cause faults. All of them hit the first node, which is in use whenever possible."""
    first = cluster.nodes[0]
    yield first.freeze
    yield first.thaw
    cluster.settle()
    yield first.kill
    yield first.start
    cluster.settle()
    # The node is cut off from the others, and responds: "WSREP has not yet prepared node for application use".
    yield lambda: first.isolate(True)


def _of_postgresql(cluster):
    primary = cluster.nodes[0]

    def fail_over():
        primary.freeze()
        # Wait until each process has noticed the fault.
        time.sleep(3)
        # Like a failover manager, keep the old primary from coming back.
        primary.kill()
        cluster.promote()

    yield fail_over


FAULTS = {'galera': _of_galera, 'postgresql': _of_postgresql}
