"""Errors of databases that are no bugs of the service."""

import types

import pymysql
import pytest
import sqlalchemy as sa
import webob
from oslo_db import exception as db_exception

from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.db.failover import outage

FULL = sa.exc.OperationalError('INSERT', {}, pymysql.err.OperationalError(1114, "The table 'traits' is full"))
#: What MariaDB reports if INSERT IGNORE could not store the row that another one refers to.
NO_PARENT = sa.exc.IntegrityError('INSERT', {}, pymysql.err.IntegrityError(1452, 'a foreign key constraint fails'))


@pytest.mark.parametrize(
    ('error', 'expected'),
    [
        (FULL, True),
        (db_exception.DBError(NO_PARENT), True),
        (db_exception.DBReferenceError('traits', 'constraint', 'key', 'key_table', NO_PARENT), False),
    ],
)
def test_errors_of_a_full_disk(error, expected):
    assert outage.is_unavailable(error) == expected


def test_a_full_disk_is_logged_in_one_line(caplog):
    """A traceback for each request would fill the disk of the service, too."""
    request = webob.Request.blank('/v1/nodes', method='PUT')
    request.environ[CONTEXT] = types.SimpleNamespace(protocol=BARE_METAL)
    response = exceptions.answer_to(request.environ, FULL)
    assert response.status_int == 503
    [record] = caplog.records
    assert not record.exc_info
    assert 'PUT /v1/nodes failed' in record.getMessage()
    assert "The table 'traits' is full" in record.getMessage()


def test_an_error_that_another_one_hides():
    """oslo.db fails with the first of these when the first connection of a process is lost."""
    hidden = NotImplementedError()
    assert not outage.is_one(hidden)
    hidden.__cause__ = pymysql.err.OperationalError(2013, 'Lost connection to MySQL server during query (timed out)')
    assert outage.is_one(hidden)
    assert exceptions.from_exception(hidden).status == 503
