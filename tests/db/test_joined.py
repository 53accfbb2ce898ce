"""Several statements in one round trip."""

import contextlib
import threading
import time
import uuid

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.engine import Database, retried
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core.single_node import MOMENT, lock
from tests.support.rows import insert_node
from tests.support.service import make_conf

_TRAIT = sa.bindparam('trait')
_NOTE = (
    sa.insert(tables.trait_notes)
    .values(trait=_TRAIT, description=sa.bindparam('text'), retired=False, exclusive=False, updated_at=now())
    .inline()
)


def _writer(source):
    """Return the INSERT of a writer of traits, with a source that is a parameter."""
    return (
        sa.insert(tables.trait_writers).values(source=source, user_id=sa.literal('50%: a:b %s'), project_id='').inline()
    )


@pytest.fixture
def database(database_url):
    """A database with the newest schema."""
    with contextlib.closing(Database(make_conf(database_url))) as opened:
        yield opened


def rows(database, table, *names):
    """Return columns of all rows of a table."""
    with database.read() as connection:
        return connection.execute(sa.select(*(table.c[name] for name in names))).all()


@pytest.fixture
def is_maria(database_kind):
    """Skip a test of blocks on the other databases."""
    if database_kind != 'mariadb':
        pytest.skip('it has no blocks')


def test_a_block_executes_all(database, is_maria):
    """A block can contain colons, percent signs, and parameters that both statements use."""
    with database.write() as connection:
        connection.execute(sa.insert(tables.traits), {'name': 'CUSTOM_A', 'created_at': now()})
        assert joined.has_blocks(connection)
        connection.execute(joined.block(_writer(_TRAIT), _NOTE), {'trait': 'CUSTOM_A', 'text': '100 % :new %(name)s'})
    assert ('CUSTOM_A', '50%: a:b %s') in rows(database, tables.trait_writers, 'source', 'user_id')
    assert rows(database, tables.trait_notes, 'description') == [('100 % :new %(name)s',)]


@pytest.mark.parametrize(
    ('statements', 'reason'),
    [
        ([sa.update(tables.nodes).values(generation=tables.nodes.c.generation + n) for n in (1, 2)], 'generation_1'),
        ([sa.insert(tables.trait_notes).values(trait=_TRAIT, updated_at=now())], 'retired'),
    ],
)
def test_no_block(statements, reason):
    """Statements are refused if two parameters have the same name, or Python computes the default of a column."""
    with pytest.raises(ValueError, match=reason):
        joined.block(*statements)


@pytest.mark.parametrize('order', [1, -1])
def test_a_write_that_fails_leaves_nothing(database, order):
    """A failed write leaves no rows, whether it is the first or the last. The error is that of the write."""
    # The database keeps the sources of other tests.
    source = str(uuid.uuid4())
    writes = [
        Write(_writer(sa.bindparam('source')), {'source': source}),
        Write(_NOTE, {'trait': 'CUSTOM_MISSING', 'text': ''}),
    ]
    with pytest.raises(db_exception.DBReferenceError), database.write() as connection:
        joined.execute(connection, writes[::order])
    assert (source,) not in rows(database, tables.trait_writers, 'source')


def test_lock_reads_after_the_wait(database):
    """The lock reads the commit of the other transaction, and a time after it."""
    insert_node(database, 'node')
    has_begun, seen = threading.Event(), []

    def wait():
        has_begun.set()
        with database.write() as connection:
            seen.append(lock(connection, 'node', tables.nodes.c.generation, tables.nodes.c.description, MOMENT))

    with database.write() as connection:
        first = lock(connection, 'node', MOMENT)
        waiting = threading.Thread(target=wait)
        waiting.start()
        has_begun.wait()
        time.sleep(0.2)
        connection.execute(sa.update(tables.nodes).values(description='changed'))
    waiting.join()
    [row] = seen
    assert (row.generation, row.description) == (2, 'changed')
    assert (row.moment - first.moment).total_seconds() >= 0.2
    assert len(rows(database, tables.change_log, 'uuid')) == 2


def test_locks_in_a_circle(database, database_kind):
    """If two transactions wait for each other, one is repeated, and both are committed once."""
    if database_kind == 'sqlite':
        pytest.skip('its writers take turns')
    for name in ('one', 'two'):
        insert_node(database, name)
    both, attempts = threading.Barrier(2), []

    @retried
    def write(*names):
        attempts.append(names)
        with database.write() as connection:
            lock(connection, names[0])
            if len(attempts) <= 2:
                both.wait()
            lock(connection, names[1])

    threads = [threading.Thread(target=write, args=names) for names in (('one', 'two'), ('two', 'one'))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(attempts) == 3
    assert rows(database, tables.nodes, 'generation') == [(2,), (2,)]
    assert len(rows(database, tables.change_log, 'uuid')) == 4
