"""Connections to database servers are checked without a round trip, and replaced when they are lost."""

import contextlib
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.failover import pool, reused_connections

#: Statements that end all other connections to the database. A separate connection executes them.
_END_OTHERS = {
    'postgresql': 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() '
    'AND pid <> pg_backend_pid()',
    'mysql': "SELECT concat('KILL ', id) FROM information_schema.processlist WHERE db = database() "
    'AND id <> connection_id()',
}


@pytest.fixture
def server_app(app):
    """The application on a database server. SQLite has no connections that a server could close."""
    if app.service.database.url.get_backend_name() == 'sqlite':
        pytest.skip('SQLite has no server')
    return app


def _end_connections(app):
    url = app.service.database.url
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(_END_OTHERS[engine.dialect.name]).scalars().all()
        for statement in rows if engine.dialect.name == 'mysql' else ():
            with contextlib.suppress(sa.exc.OperationalError):
                connection.exec_driver_sql(statement)
    engine.dispose()


def _write(client, name):
    return client.ask('PUT', f'/v1/nodes/{name}/traits/CUSTOM_A')


def test_closed_connections_are_replaced(server_app, client):
    client.node(name='a')
    assert _write(client, 'a').status_int == 204
    _end_connections(server_app)
    time.sleep(0.2)
    # The connections were used a moment ago, so they are not pinged. Their sockets show that they are closed.
    assert client.ask('GET', '/v1/nodes/a/traits').json == {'traits': ['CUSTOM_A']}
    assert _write(client, 'a').status_int == 204


def test_idle_connections_are_pinged(server_app, client, monkeypatch):
    # Connections do not return to the pool because of their age.
    monkeypatch.setattr(reused_connections, 'MAX_AGE', 600)
    for each in server_app.service.database.kept().values():
        each.release()
    client.node(name='a')
    pinged = []
    for engine in (server_app.service.database._reader, server_app.service.database._writer):
        sa.event.listen(engine, 'checkin', lambda connection, record: record.info.update({pool._USED: 0}))
        ping = engine.dialect.do_ping

        def count(connection, ping=ping):
            pinged.append(connection)
            return ping(connection)

        engine.dialect.do_ping = count
    kept = server_app.service.database.kept()['reader']
    client.ask('GET', '/v1/nodes/a/traits')
    client.ask('GET', '/v1/nodes/a/traits')
    assert pinged == []
    kept.release()
    client.ask('GET', '/v1/nodes/a/traits')
    assert len(pinged) == 1


def test_what_is_not_committed_is_rolled_back(server_app, client):
    client.node(name='a')
    engine = server_app.service.database._writer
    update = sa.update(tables.nodes).values(description='lost')
    with engine.connect() as connection:
        # SQLAlchemy does not know of this transaction.
        cursor = connection.connection.cursor()
        cursor.execute(str(update.compile(compile_kwargs={'literal_binds': True})))
        cursor.close()
    assert client.ask('GET', '/v1/nodes/a').json['description'] is None
    assert _write(client, 'a').status_int == 204


def test_round_trips_of_a_read_and_of_a_write(server_app, client):
    """A read has one statement. A write of traits has its statements and COMMIT (and BEGIN), without a ping."""
    client.node(name='a')
    names = [f'CUSTOM_{number}' for number in range(20)]
    for traits in (names[:10], names[10:]):
        client.ask('PUT', '/v1/nodes/a/traits', {'traits': traits})
    statements = []
    for engine in (server_app.service.database._reader, server_app.service.database._writer):
        sa.event.listen(engine, 'before_cursor_execute', lambda *arguments: statements.append(arguments[2]))
    client.ask('GET', '/v1/nodes/a/traits')
    assert len(statements) == 1
    statements.clear()
    client.ask('PUT', '/v1/nodes/a/traits', {'traits': names[:10]})
    # A process reads the retired traits once a second.
    statements = [statement for statement in statements if 'trait_notes' not in statement]
    # The lock with the change feed, the traits (on MariaDB with the node), and all other writes in one.
    assert len(statements) == 3
