"""A worker collects the statistics of tables that have grown, before autovacuum of PostgreSQL does."""

import contextlib
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import planner_statistics, tables
from ironic_traits.worker import upkeep
from tests.support.rows import insert_node
from tests.support.service import make_app, upgraded

DATABASES = ('postgresql',)
NAMES = {'nodes', 'node_traits'}


@pytest.fixture
def service(new_database):
    """The service on a new database, which autovacuum leaves alone."""
    with make_app(upgraded(new_database())) as application:
        with application.service.write() as connection:
            for name in NAMES:
                connection.exec_driver_sql(f'ALTER TABLE {name} SET (autovacuum_enabled = false)')
        yield application.service


def fill(service, number):
    """Insert nodes, each with a trait."""
    nodes = [insert_node(service, f'node-{each}', uuid=f'{each:032}') for each in range(number)]
    with service.write() as connection:
        connection.execute(
            sa.insert(tables.node_traits), [{'node_id': node, 'trait': 'HW_CPU_X86_VMX'} for node in nodes]
        )


def rows(service):
    """Return how many rows PostgreSQL expects: {table: number}; -1 before the first ANALYZE."""
    expected = sa.text('SELECT relname, reltuples FROM pg_class WHERE relname = ANY(:names)')
    with service.read() as connection:
        return {name: int(number) for name, number in connection.execute(expected, {'names': sorted(NAMES)})}


def test_tables_that_have_grown(service):
    """A table is analyzed when it has rows, and again when it has more than twice the pages."""
    assert NAMES.isdisjoint(planner_statistics.collect(service))
    fill(service, 100)
    assert NAMES.issubset(planner_statistics.collect(service))
    assert rows(service) == {'nodes': 100, 'node_traits': 100}
    assert NAMES.isdisjoint(planner_statistics.collect(service))
    with service.write() as connection:
        pairs = 'SELECT nodes.id, traits.name FROM nodes, traits WHERE nodes.name < %(end)s ON CONFLICT DO NOTHING'
        connection.exec_driver_sql(f'INSERT INTO node_traits (node_id, trait) {pairs}', {'end': 'node-2'})
    assert NAMES & set(planner_statistics.collect(service)) == {'node_traits'}
    assert rows(service)['node_traits'] > 1000


def test_rows_that_are_committed_later(service):
    """ANALYZE sees the pages of a transaction, but not its rows."""
    fill(service, 3)
    planner_statistics.collect(service)
    with service.write() as connection:
        pairs = 'SELECT nodes.id, traits.name FROM nodes, traits ON CONFLICT DO NOTHING'
        connection.exec_driver_sql(f'INSERT INTO node_traits (node_id, trait) {pairs}')
        assert 'node_traits' in planner_statistics.collect(service)
    deadline = time.monotonic() + 30
    while rows(service)['node_traits'] < 1000 and time.monotonic() < deadline:
        planner_statistics.collect(service)
        time.sleep(0.1)
    assert rows(service)['node_traits'] > 1000


def test_a_worker_collects_statistics(service):
    fill(service, 100)
    assert rows(service) == {'nodes': -1, 'node_traits': -1}
    deadline = time.monotonic() + 30
    with upkeep.keep_up(service):
        while -1 in rows(service).values() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert rows(service) == {'nodes': 100, 'node_traits': 100}


def test_tables_of_another_user(service):
    """A user who does not own the tables may not analyze them. PostgreSQL would log a warning each time."""

    class Guest:
        @contextlib.contextmanager
        def read(self):
            with service.read() as connection:
                connection.exec_driver_sql('SET ROLE pg_monitor')
                yield connection
                connection.exec_driver_sql('RESET ROLE')

    fill(service, 100)
    assert planner_statistics.collect(Guest()) == []
