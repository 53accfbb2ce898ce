"""The number of rows that a database reads for a request, and a database with many nodes."""

import collections
import contextlib
import json
import threading

import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import Client

_DIGITS = "lpad(CAST(n AS CHAR(12)), 12, '0')"
_UUID = f"concat('00000000-0000-4000-8000-', {_DIGITS})"
_OF_CLASS = '(SELECT resource_class_id FROM resource_providers WHERE id = CASE WHEN n % 5 = 0 THEN 1 ELSE 2 END)'
#: {table: {column: SQL of its value for the node n}}. The other values are those of the first node.
_DIFFERENT = {
    'nodes': {
        'id': 'n',
        'uuid': _UUID,
        'name': f"concat('node-', {_DIGITS})",
        'resource_class': "CASE WHEN n % 5 = 0 THEN 'rare' ELSE 'gold' END",
        'provision_state': "CASE WHEN n % 3 = 0 THEN 'active' ELSE 'available' END",
        'power_state': "'power off'",
        'updated_at': 'CASE WHEN n % 70 = 0 THEN NULL ELSE first.created_at END',
        'maintenance': 'n % 10000 = 0',
        'description': "CASE WHEN n % 1000 = 0 THEN 'in row 7' END",
    },
    'resource_providers': {
        'id': 'n',
        'node_id': 'n',
        'resource_class_id': _OF_CLASS,
        **dict.fromkeys(('uuid', 'name', 'root_provider_uuid'), _UUID),
    },
}
#: Traits that a tenth of the nodes have. Each node has one trait of each letter.
LETTERS = 'ABC'


def fill(application, count):
    """Insert nodes of the classes rare (a fifth of them) and gold, two thirds of them free, with providers and traits.

    A tenth of them have CUSTOM_A_0, another tenth CUSTOM_A_1, and so on to CUSTOM_A_9; the same with B and C. A seventh
    of them are reserved.

    :param application: Application with an empty database of a server.
    :param count: number of nodes.
    """
    client = Client(application)
    names = [f'CUSTOM_{letter}_{number}' for letter in LETTERS for number in range(10)]
    for resource_class in ('rare', 'gold'):
        node = client.node(resource_class=resource_class)
        client.ask('PUT', f'/v1/nodes/{node["uuid"]}/traits', {'traits': names})
    with application.service.write() as connection:
        postgresql = connection.dialect.name == 'postgresql'
        series = f'generate_series(3, {count}) AS n' if postgresql else f'(SELECT seq AS n FROM seq_3_to_{count}) AS s'
        # The rows refer to existing rows. Checking the foreign keys would take longer than the insert.
        checks = 'SET LOCAL session_replication_role = replica' if postgresql else 'SET foreign_key_checks = 0'
        connection.exec_driver_sql(checks)
        for table, different in _DIFFERENT.items():
            columns = tables.metadata.tables[table].c.keys()
            values = ', '.join(different.get(column, f'first.{column}') for column in columns)
            _insert(connection, table, columns, f'SELECT {values} FROM {table} AS first, {series} WHERE first.id = 1')
        for step, letter in enumerate(LETTERS):
            # Choose traits by the digits of n, so that all combinations of traits occur.
            trait = f"concat('CUSTOM_{letter}_', substr({_DIGITS}, {12 - step}, 1))"
            _insert(connection, 'node_traits', ('node_id', 'trait'), f'SELECT n, {trait} FROM {series}')
        columns = ('created_at', 'uuid', 'node_uuid', 'instance_uuid')
        values = ', '.join(('created_at', *[_UUID] * 3))
        nodes = f'nodes AS first, {series} WHERE first.id = 1'
        _insert(connection, 'reservations', columns, f'SELECT {values} FROM {nodes} AND mod(n, 7) = 1')
        if not postgresql:
            connection.exec_driver_sql('SET foreign_key_checks = 1')
    with application.service.read() as connection:
        for table in (*_DIFFERENT, 'node_traits', 'traits', 'reservations'):
            # Like autovacuum: before that, PostgreSQL cannot use index-only scans.
            connection.exec_driver_sql(f'VACUUM ANALYZE {table}' if postgresql else f'ANALYZE TABLE {table}')


def _insert(connection, table, columns, select):
    connection.execute(sa.text(f'INSERT INTO {table} ({", ".join(columns)}) {select}'))


@contextlib.contextmanager
def statements():
    """Provide the list of the statements that this thread executes during the block: [(SQL, parameters), …].

    Leave out other threads, because one may read all nodes to build the index of nodes.
    """
    executed = []
    thread = threading.get_ident()

    def add(connection, cursor, statement, parameters, context, executemany):
        if threading.get_ident() == thread:
            executed.append((statement, parameters))

    sa.event.listen(sa.Engine, 'before_cursor_execute', add)
    try:
        yield executed
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', add)


def keep_noted_traits(service):
    """Let a process keep the names of retired and exclusive traits, so that a slow test does not read them again."""
    service.noted_traits.seconds = 600
    return service.noted_traits.exclusive(service)


def rows_read(service, executed):
    """Execute statements again, and return the number of rows that they read, a Counter of {table: rows}.

    :param service: ironic_traits.service.Service with a database server.
    :param executed: [(SQL, parameters), …].
    """
    counts = collections.Counter()
    for plan in _plans(service, executed):
        for table, rows in _postgresql(plan) if isinstance(plan, list) else _mariadb(plan):
            counts[table] += rows
    return counts


def scans(service, executed):
    """Execute statements again, and return the set of tables that they scan completely, also by an index.

    A table with an alias has the alias as its name.

    :param service: as for ``rows_read``.
    :param executed: as for ``rows_read``.
    """
    found = set()
    for plan in _plans(service, executed):
        for step in _objects(plan):
            if step.get('Node Type') == 'Seq Scan':
                found.add(step['Relation Name'])
            elif step.get('access_type') in ('ALL', 'index') and step.get('r_loops'):
                found.add(step['table_name'])
    return found


def _plans(service, executed):
    """Yield the plan of each statement, as it was executed: a list on PostgreSQL, a dict on MariaDB."""
    with service.read() as connection:
        postgresql = connection.dialect.name == 'postgresql'
        explain = 'EXPLAIN (ANALYZE, FORMAT JSON)' if postgresql else 'ANALYZE FORMAT=JSON'
        for statement, parameters in executed:
            if statement.startswith('SET TRANSACTION'):
                # This statement of ``Database.snapshot`` has no plan.
                continue
            plan = connection.exec_driver_sql(f'{explain} {statement}', parameters).scalar_one()
            yield plan if postgresql else json.loads(plan)


def _postgresql(plan):
    """Yield (table, rows that are read) of the steps of a plan."""
    for step in _objects(plan):
        removed = step.get('Rows Removed by Filter', 0) + step.get('Rows Removed by Index Recheck', 0)
        if 'Relation Name' in step:
            yield step['Relation Name'], (step['Actual Rows'] + removed) * step['Actual Loops']
        elif step.get('Node Type') == 'Bitmap Index Scan':
            yield step['Index Name'], step['Actual Rows'] * step['Actual Loops']


def _mariadb(plan):
    for step in _objects(plan):
        if 'r_rows' in step and 'table_name' in step:
            yield step['table_name'], (step['r_rows'] or 0) * step['r_loops']


def _objects(document):
    """Yield all objects in a JSON document."""
    for child in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from _objects(child)
    if isinstance(document, dict):
        yield document
