"""The driver PyMySQL, which parses the columns of a result once."""

import pymysql
import pytest
import sqlalchemy as sa

from ironic_traits.db.drivers import pymysql_driver
from ironic_traits.db.engine import Database
from ironic_traits.db.failover import outage
from tests.support.service import make_conf

DATABASES = ('mariadb',)

#: Queries. The second one has the same text each time, but other columns after the change of the table.
STATEMENTS = (
    "SELECT 1 AS a, 'x' AS b, NULL AS c, 1.5 AS d, CAST('1970-01-02' AS DATE) AS f, _binary'g' AS h",
    'SELECT * FROM columns_of_two_types',
    'SELECT number AS name FROM columns_of_two_types',
)
CHANGES = (
    'CREATE TABLE columns_of_two_types (number INTEGER NOT NULL)',
    'INSERT INTO columns_of_two_types VALUES (7)',
    'ALTER TABLE columns_of_two_types MODIFY number VARCHAR(9) CHARACTER SET ascii',
    'ALTER TABLE columns_of_two_types ADD COLUMN more DATETIME(6)',
)


def read(connection, statement):
    """Return the columns and the rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.description, cursor.fetchall()


@pytest.fixture
def plain(database_url):
    """A plain connection of PyMySQL."""
    url = sa.make_url(database_url)
    connection = pymysql.connect(
        host=url.host, port=url.port, user=url.username, database=url.database, autocommit=True
    )
    yield connection
    connection.close()


def test_results_are_those_of_pymysql(database_url, plain):
    """The results are equal, also after the columns of the table have changed."""
    database = Database(make_conf(database_url))
    with database.read() as opened:
        connection = opened.connection.driver_connection
        assert isinstance(connection, pymysql_driver.Connection)
        for change in CHANGES:
            opened.exec_driver_sql(change)
            for statement in STATEMENTS:
                hits = pymysql_driver._column.cache_info().hits
                result = read(connection, statement)
                assert result == read(connection, statement) == read(plain, statement)
                assert pymysql_driver._column.cache_info().hits >= hits + len(result[0])
        with pytest.raises(pymysql.err.ProgrammingError, match='no_such_table'):
            read(connection, 'SELECT * FROM no_such_table')
        assert read(connection, STATEMENTS[2]) == read(plain, STATEMENTS[2])
    database.close()


def test_statements_that_are_too_large(database_url):
    """They are not sent: the server would close the connection. The largest one is sent."""
    database = Database(make_conf(database_url))
    with database.read() as opened:
        ((limit,),) = read(opened.connection.driver_connection, 'SELECT @@max_allowed_packet')[1]
        statement = "SELECT LENGTH('{}')"
        largest = limit - len(statement)
        assert opened.exec_driver_sql(statement.format('x' * largest)).scalar() == largest
        for larger in (largest + 1, largest * 2):
            with pytest.raises(sa.exc.OperationalError) as raised:
                opened.exec_driver_sql(statement.format('x' * larger))
            # The traceback would print the statement.
            assert (outage.is_too_large(raised.value), outage.is_unavailable(raised.value)) == (True, False)
        assert opened.exec_driver_sql('SELECT 1').scalar() == 1
    database.close()
