"""Data migrations in batches. The example rewrites the descriptions of nodes."""

import collections
import concurrent.futures
import contextlib
import types

import pytest
import sqlalchemy as sa

from ironic_traits.cmd import managing
from ironic_traits.db import migrations, online_migrations, tables
from tests.support import commands
from tests.support.client import Client
from tests.support.service import database, make_app, upgraded

ROWS = 70
_nodes = tables.nodes
_is_old = _nodes.c.description.like('old %')


def _count(connection):
    return connection.scalar(sa.select(sa.func.count()).where(_is_old))


def _migrate(connection, number):
    rows = sa.select(_nodes.c.id).where(_is_old).order_by(_nodes.c.id).limit(number)
    # A second run waits for the rows of the first one, which are then migrated.
    ids = list(connection.scalars(rows.with_for_update()))
    form = sa.func.replace(_nodes.c.description, 'old', 'new')
    statement = sa.update(_nodes).where(_nodes.c.id.in_(ids), _is_old).values(description=form)
    return connection.execute(statement).rowcount


DESCRIPTIONS = online_migrations.OnlineMigration('descriptions of nodes', _count, _migrate)


@pytest.fixture
def url(new_database):
    """The URL of a database with nodes in the old form."""
    url = upgraded(new_database())
    with make_app(url) as app:
        client = Client(app)
        for number in range(ROWS):
            client.node(name=f'node-{number}', description=f'old {number}')
    return url


def descriptions(url):
    """Return the descriptions of all nodes, sorted by name."""
    with database(url) as opened, opened.read() as connection:
        return list(connection.scalars(sa.select(_nodes.c.description).order_by(_nodes.c.id)))


def test_batches(url):
    with database(url) as opened:
        assert online_migrations.unfinished(opened, [DESCRIPTIONS]) == {DESCRIPTIONS.name: ROWS}
        numbers = [number for _, number in online_migrations.run(opened, [DESCRIPTIONS])]
        assert numbers == [50, 20]
        assert online_migrations.unfinished(opened, [DESCRIPTIONS]) == {}
    assert descriptions(url) == [f'new {number}' for number in range(ROWS)]


def test_interruption(url):
    """The reported rows are committed. The next run continues with the rest."""
    with database(url) as opened:
        with contextlib.closing(online_migrations.run(opened, [DESCRIPTIONS])) as batches:
            assert next(batches) == (DESCRIPTIONS.name, 50)
        assert online_migrations.unfinished(opened, [DESCRIPTIONS]) == {DESCRIPTIONS.name: ROWS - 50}
        assert [number for _, number in online_migrations.run(opened, [DESCRIPTIONS])] == [20]


def test_failing_batch_leaves_nothing(url):
    def fail(connection, number):
        _migrate(connection, number)
        raise ZeroDivisionError

    with database(url) as opened:
        with pytest.raises(ZeroDivisionError):
            list(online_migrations.run(opened, [DESCRIPTIONS._replace(migrate=fail)]))
        assert online_migrations.unfinished(opened, [DESCRIPTIONS]) == {DESCRIPTIONS.name: ROWS}


def test_two_runs_beside_writers(url):
    """Each row is migrated once, and no write of a client is lost."""

    def run(_):
        with database(url) as opened:
            return sum(number for _, number in online_migrations.run(opened, [DESCRIPTIONS]))

    def write(app, number):
        client = Client(app)
        for each in range(0, ROWS, 10):
            assert client.ask('PUT', f'/v1/nodes/node-{each}/traits/CUSTOM_{number}').status_int == 204

    with make_app(url) as app, concurrent.futures.ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, app, number) for number in range(2)]
        assert sum(pool.map(run, range(2))) == ROWS
        for writer in writers:
            writer.result()
    assert descriptions(url) == [f'new {number}' for number in range(ROWS)]
    with make_app(url) as app:
        assert len(Client(app).get('/v1/nodes?traits=CUSTOM_0,CUSTOM_1')['nodes']) == ROWS // 10


def test_command(url, monkeypatch, capsys):
    """The command exits with 1 as long as rows are left."""
    monkeypatch.setattr(online_migrations, 'MIGRATIONS', (DESCRIPTIONS,))
    settings = types.SimpleNamespace(command=types.SimpleNamespace(max_count=60))
    codes, lines = collections.deque(), []
    with database(url) as opened:
        for _ in range(3):
            try:
                managing.online_data_migrations(settings, opened)
                codes.append(0)
            except SystemExit as end:
                codes.append(end.code)
            lines.append(capsys.readouterr().out)
    assert list(codes) == [1, 0, 0]
    assert lines[0] == 'descriptions of nodes: 60 rows migrated, 10 left\n'
    all_migrated = 'All rows have the form of this release\n'
    assert lines[1:] == [f'descriptions of nodes: 10 rows migrated, 0 left\n{all_migrated}', all_migrated]


def test_exit_codes(new_database):
    url = new_database()
    with database(url) as opened:
        migrations.upgrade(opened, '0023')
    command = ['ironic-traits-manage', '--database', url, 'db', 'online-data-migrations']
    done = commands.run(*command)
    assert done.returncode == 2
    assert 'ironic-traits-manage db upgrade' in done.stderr
    done = commands.run(*command, '--max-count', '0')
    assert (done.returncode, done.stderr) == (127, '--max-count must be at least 1\n')
    upgraded(url)
    done = commands.run(*command, '--max-count', '5')
    assert (done.returncode, done.stdout) == (0, 'All rows have the form of this release\n')
