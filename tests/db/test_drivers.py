"""The drivers of PostgreSQL: psycopg, which prepares statements, and psycopg2."""

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.failover import outage
from ironic_traits.db.statements.prepared import prepared
from tests.support.client import Client
from tests.support.reservations import available, reserve
from tests.support.rows import insert_node
from tests.support.service import make_app, make_conf

DATABASES = ('postgresql',)

_BY_ID = sa.select(tables.nodes.c.description).where(tables.nodes.c.id == sa.bindparam('id'))


def of(driver, url):
    """Return a database URL with another driver."""
    return sa.make_url(url).set(drivername=f'postgresql+{driver}').render_as_string(hide_password=False)


@pytest.fixture(params=['psycopg', 'psycopg2'])
def driver_url(request, database_url):
    return of(request.param, database_url)


@pytest.fixture
def database(database_url):
    opened = Database(make_conf(of('psycopg', database_url)))
    yield opened
    opened.close()


def names_of_prepared(connection):
    """Return the texts of the statements that the server has prepared for a connection."""
    return connection.exec_driver_sql('SELECT statement FROM pg_prepared_statements').scalars().all()


def test_requests(driver_url):
    with make_app(driver_url) as app:
        client = Client(app)
        uuid = available(client)
        path = f'/v1/nodes/{uuid}/traits'
        assert client.ask('PUT', path, {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']}).status_int == 200
        assert client.get(path)['traits'] == ['CUSTOM_A', 'HW_CPU_X86_VMX']
        assert reserve(client, 1, uuid).status_int == 201
        assert reserve(client, 2, uuid).status_int == 409
        response = client.placement('GET', '/allocation_candidates?resources=DISK_GB:1,VCPU:99999999999999999999')
        assert response.status_int == 200


def test_the_wait_for_a_response_has_a_limit(driver_url):
    """A server that responds too late costs its connection, which is not used again."""
    conf = make_conf(driver_url)
    opened = Database(conf)
    with opened.read() as connection:
        driver_connection = connection.connection.driver_connection
        driver_connection.seconds = 0.2
        with pytest.raises(db_exception.DBConnectionError) as caught:
            connection.exec_driver_sql('SELECT pg_sleep(20)')
        assert 'no answer for 0.2 seconds' in str(caught.value)
        assert outage.is_one(caught.value)
        assert connection.invalidated
    with opened.read() as connection:
        assert connection.scalar(sa.select(1)) == 1
    opened.close()


def test_rows_are_fetched_in_any_way(driver_url):
    """Fetching one, some or all rows at a time returns each row once, and in order."""
    opened = Database(make_conf(driver_url))
    with opened.read() as connection:

        def fetch():
            return connection.exec_driver_sql('SELECT generate_series(1, 9)')

        assert [number for (number,) in fetch()] == [*range(1, 10)]
        result = fetch().scalars()
        assert [next(result), *result.fetchmany(3), next(result), *result.fetchmany(1), *result.all()] == [
            *range(1, 10)
        ]
        result = fetch().scalars()
        assert [*result.fetchmany(2), next(result), *result.fetchmany(20), *result.all()] == [*range(1, 10)]
        assert [len(rows) for rows in fetch().partitions(4)] == [4, 4, 1]
        assert connection.exec_driver_sql('SELECT 1 WHERE 1 = 2').first() is None
        cursor = connection.connection.cursor()
        for begin in (1, 4):
            cursor.execute(f'SELECT generate_series({begin}, 9)')
            assert [cursor.fetchone(), cursor.fetchone()] == [(begin,), (begin + 1,)]
        assert cursor.fetchall() == [(6,), (7,), (8,), (9,)]
        assert cursor.fetchone() is None
        cursor.execute('SET LOCAL search_path = public')
        with pytest.raises(Exception, match=r'no results to fetch|produce'):
            cursor.fetchone()
    opened.close()


def test_statements_by_key_are_prepared(database):
    """Writes and marked SELECTs are prepared after some executions. Other statements are not."""
    identity = insert_node(database)
    change = sa.update(tables.nodes).where(tables.nodes.c.id == identity).values(description='new')
    with database.write() as connection:
        for _ in range(6):
            connection.execute(_BY_ID, {'id': identity}).all()
        assert names_of_prepared(connection) == []
        for _ in range(6):
            connection.execute(prepared(_BY_ID), {'id': identity}).all()
            connection.execute(change)
        texts = names_of_prepared(connection)
    assert sorted(text.split()[0] for text in texts) == ['SELECT', 'UPDATE']


def test_a_request_prepares_its_statements(database_url):
    with make_app(of('psycopg', database_url)) as app:
        client = Client(app)
        uuid = available(client)
        for _ in range(7):
            client.get(f'/v1/nodes/{uuid}')
            client.get('/v1/nodes?resource_class=gold')
        with app.service.read() as connection:
            texts = names_of_prepared(connection)
    assert any('nodes.uuid = $' in text for text in texts)
    assert not any('nodes.resource_class = $' in text for text in texts)


def test_a_migration_changes_a_column_of_a_prepared_statement(database):
    """The connection with the old statement is dropped, and the next request prepares a new statement."""
    identity = insert_node(database)
    statement = prepared(_BY_ID)
    with database.read() as connection:
        for _ in range(7):
            connection.execute(statement, {'id': identity}).all()
        assert names_of_prepared(connection)
    try:
        with database.write() as other:
            other.exec_driver_sql('ALTER TABLE nodes ALTER COLUMN description TYPE varchar(3000)')
        with pytest.raises(db_exception.DBError) as caught, database.read() as connection:
            connection.execute(statement, {'id': identity}).all()
        assert outage.is_unavailable(caught.value)
        with database.read() as connection:
            assert len(connection.execute(statement, {'id': identity}).all()) == 1
    finally:
        with database.write() as other:
            other.exec_driver_sql('ALTER TABLE nodes ALTER COLUMN description TYPE text')
