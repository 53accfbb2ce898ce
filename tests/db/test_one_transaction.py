"""Many writers in one transaction."""

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.engine import Database
from ironic_traits.db.models import nodes
from ironic_traits.db.one_transaction import Lost, OneTransaction
from tests.service import make_conf


def test_a_transaction_that_is_lost_takes_no_more(database_url):
    """A writer in it that tries again would write the rest of it, and not the beginning."""
    database = Database(make_conf(database_url))
    with pytest.raises(db_exception.RetryRequest), database.write() as connection:
        together = OneTransaction(connection)
        with pytest.raises(db_exception.DBDeadlock), together.write():
            raise db_exception.DBDeadlock
        with pytest.raises(Lost), together.write() as inside:
            inside.execute(sa.delete(nodes))
        together.check()
    database.close()
