"""Guarantees of the engines on every database."""

import contextlib
import os
import socket
import threading
import time

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.api import exceptions
from ironic_traits.db import tables
from ironic_traits.db.engine import Database, retried
from ironic_traits.db.failover import outage, pool
from ironic_traits.db.statements.types import now
from tests.support.rows import insert_node
from tests.support.service import make_conf


@pytest.fixture
def database(database_url):
    opened = Database(make_conf(database_url))
    yield opened
    opened.close()


def test_values_round_trip(database):
    """Microseconds, all kinds of characters, and texts of more than 64 KiB are stored unchanged."""
    extra = {'text': 'é 😀 \\ " \n' * 10_000, 'number': 2**53, 'nothing': None}
    identity = insert_node(database, extra=extra, maintenance_reason='é 😀')
    with database.read() as connection:
        row = connection.execute(sa.select(tables.nodes).where(tables.nodes.c.id == identity)).one()
    assert row.extra == extra
    assert row.maintenance_reason == 'é 😀'
    assert abs((row.created_at - now()).total_seconds()) < 60
    with database.write() as connection:
        moment = row.created_at.replace(microsecond=123456)
        connection.execute(sa.update(tables.nodes).values(created_at=moment))
    with database.read() as connection:
        assert connection.scalar(sa.select(tables.nodes.c.created_at)) == moment


def test_names_are_compared_exactly(database):
    """Names that differ in case or trailing blanks are different."""
    insert_node(database, 'name')
    insert_node(database, 'NAME')
    insert_node(database, 'näme')
    with database.read() as connection:
        matches = connection.scalars(sa.select(tables.nodes.c.name).where(tables.nodes.c.name == 'Name')).all()
        assert matches == []
        assert connection.scalar(sa.select(sa.func.count()).where(tables.nodes.c.name == 'NAME')) == 1


def test_traits_are_deleted_with_their_node(database):
    identity = insert_node(database)
    with database.write() as connection:
        connection.execute(sa.insert(tables.node_traits).values(node_id=identity, trait='HW_CPU_X86_VMX'))
    with database.write() as connection:
        connection.execute(sa.delete(tables.nodes))
    with database.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.node_traits)) == 0


def test_a_trait_without_a_node_is_refused(database):
    with pytest.raises(db_exception.DBReferenceError), database.write() as connection:
        connection.execute(sa.insert(tables.node_traits).values(node_id=12345, trait='HW_CPU_X86_VMX'))


def test_ids_are_not_reused(database):
    first = insert_node(database, 'first')
    with database.write() as connection:
        connection.execute(sa.delete(tables.nodes))
    assert insert_node(database, 'second') > first


def test_an_exception_rolls_back(database):
    with pytest.raises(RuntimeError), database.write() as connection:
        connection.execute(sa.insert(tables.node_traits).values(node_id=insert_id(connection), trait='HW_CPU_X86_VMX'))
        raise RuntimeError
    with database.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes)) == 0


def insert_id(connection):
    json = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra')
    json += ('clean_step', 'raid_config', 'target_raid_config')
    values = {'uuid': 'u', 'driver': 'd', 'provision_state': 's', 'created_at': now(), **dict.fromkeys(json, {})}
    return connection.execute(sa.insert(tables.nodes).values(values)).inserted_primary_key.id


def test_a_writer_waits_for_the_lock_and_sees_what_the_other_wrote(database):
    """It does not read a snapshot from before the wait."""
    insert_node(database)
    locked, seen = threading.Event(), []

    def first():
        with database.write() as connection:
            connection.execute(sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1))
            locked.set()
            time.sleep(0.3)
            connection.execute(sa.update(tables.nodes).values(resource_class='gold'))

    def second():
        locked.wait()
        with database.write() as connection:
            connection.execute(sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1))
            seen.append(connection.execute(sa.select(tables.nodes.c.generation, tables.nodes.c.resource_class)).one())

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(2, 'gold')]


def test_a_deadlock_is_tried_again(database):
    """Two writers that take two locks in opposite orders both succeed."""
    insert_node(database, 'a')
    insert_node(database, 'b')
    barrier = threading.Barrier(2, timeout=60)
    tries = []

    @retried
    def write(names):
        tries.append(names)
        with database.write() as connection:
            for name in names:
                connection.execute(
                    sa.update(tables.nodes)
                    .where(tables.nodes.c.name == name)
                    .values(generation=tables.nodes.c.generation + 1)
                )
                if database.url.get_backend_name() != 'sqlite' and len(tries) <= 2 and name == names[0]:
                    barrier.wait()

    threads = [threading.Thread(target=write, args=(names,)) for names in (('a', 'b'), ('b', 'a'))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert connection.scalars(sa.select(tables.nodes.c.generation)).all() == [2, 2]
    if database.url.get_backend_name() != 'sqlite':
        assert len(tries) > 2


def test_errors_do_not_show_values(database):
    """Otherwise the logs would contain the passwords of machines."""
    for_both = {'uuid': 'x', 'driver_info': {'password': 'hush-hush'}}
    insert_node(database, **for_both)
    with pytest.raises(db_exception.DBDuplicateEntry) as failed:
        insert_node(database, **for_both)
    assert 'hush-hush' not in f'{failed.value} {failed.value.__cause__}'


def test_a_snapshot_does_not_change_later_transactions(database):
    """The connection of a snapshot is used again, with its old isolation level."""
    with database.write() as connection:
        level, used = connection.get_isolation_level(), connection.connection.dbapi_connection
    database.kept()['writer'].release()
    with database.snapshot() as connection:
        assert connection.connection.dbapi_connection is used or connection.dialect.name == 'sqlite'
        connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes))
        insert_node(database)
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes)) == 0
        database.kept()['writer'].release()
    with database.write() as connection:
        assert connection.connection.dbapi_connection is used
        assert connection.get_isolation_level() == level


def test_a_fork_has_connections_of_its_own(database):
    """The connections of its parent stay usable."""

    def used():
        with database.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes)) == 0
            return connection.connection.dbapi_connection

    before = used()
    assert used() is before
    pid = os.fork()
    if not pid:
        try:
            code = int(used() is before or used() is before)
        except BaseException:
            code = 2
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    assert used() is before


def test_connections_after_close(database):
    """Connections in use are closed after their use. Later connections are pooled again."""
    with database.read() as old:
        database.close()
    assert old.closed
    with database.read() as first:
        pass
    with database.read() as second:
        pass
    assert second is first


def test_the_first_connection_is_lost(database_kind, database_url):
    """That is an outage, also while SQLAlchemy asks the server for its settings. The next connection works."""
    if database_kind != 'mariadb':
        pytest.skip('SQLAlchemy does not ask it by this way')
    statements = []

    def lose_once(cursor, statement, parameters, context):
        statements.append(statement)
        if len(statements) == 1:
            owner = pool.socket_of(cursor.connection)
            with socket.socket(fileno=os.dup(owner.fileno())) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)

    with contextlib.closing(Database(make_conf(database_url))) as database:
        sa.event.listen(database._writer, 'do_execute', lose_once, insert=True)
        with pytest.raises(Exception) as raised, database.write():  # noqa: PT011 (the type differs by library)
            pass
        assert statements
        assert outage.is_one(raised.value), repr(raised.value)
        assert exceptions.from_exception(raised.value).status == 503
        insert_node(database)
