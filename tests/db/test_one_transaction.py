"""Several writers in one transaction."""

import threading

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.engine import Database
from ironic_traits.db.one_transaction import OneTransaction, TransactionLost
from tests.support.rows import insert_node
from tests.support.service import make_conf


def test_lost_transaction_accepts_no_writes(database_url):
    """A retry in the writer would write the end of the transaction without its beginning."""
    database = Database(make_conf(database_url))
    with pytest.raises(db_exception.RetryRequest), database.write() as connection:
        together = OneTransaction(connection)
        with pytest.raises(db_exception.DBDeadlock), together.write():
            raise db_exception.DBDeadlock
        with pytest.raises(TransactionLost), together.write() as inside:
            inside.execute(sa.delete(tables.nodes))
        together.check()
    database.close()


def test_deadlock_repeats_the_whole_transaction(database_url, database_kind):
    """If two transactions wait for each other, one is repeated from its beginning."""
    if database_kind == 'sqlite':
        pytest.skip('its writers take turns')
    database, both, events = Database(make_conf(database_url)), threading.Barrier(2), []
    for name in ('one', 'two'):
        insert_node(database, name)

    def write(*names):
        try:
            with database.write() as connection:
                together = OneTransaction(connection)
                try:
                    with connection.begin_nested():
                        for name in names:
                            with together.write() as inside:
                                inside.execute(
                                    sa.update(tables.nodes).where(tables.nodes.c.name == name).values(owner=names[0])
                                )
                            if name == names[0]:
                                both.wait()
                except db_exception.DBError:
                    together.check()
                    raise
            events.append('done')
        except db_exception.RetryRequest:
            events.append('again')

    threads = [threading.Thread(target=write, args=names) for names in (('one', 'two'), ('two', 'one'))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    assert sorted(events) == ['again', 'done']
