"""Errors of databases that are no bugs of the service."""

import contextlib
import re
import socket
import threading
import types

import pymysql
import pytest
import sqlalchemy as sa
import webob
from oslo_db import exception as db_exception

from ironic_traits.api import exceptions
from ironic_traits.api.resource import CONTEXT
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.cmd import setup
from ironic_traits.db.failover import outage
from tests.support.service import make_conf

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


@contextlib.contextmanager
def relay(host, port, answers):
    """Forward connections to a server during the block, and provide the port. After some answers, close each one.

    :param answers: how many of the server's answers are forwarded, of all connections together.
    """
    remaining = iter(range(answers))

    def pump(source, target, may_go_on):
        with contextlib.suppress(OSError):
            while (data := source.recv(65536)) and may_go_on():
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                server = socket.create_connection((host, port))
                threading.Thread(target=pump, args=(client, server, lambda: True), daemon=True).start()
                answer = (server, client, lambda: next(remaining, None) is not None)
                threading.Thread(target=pump, args=answer, daemon=True).start()

    with socket.create_server(('127.0.0.1', 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            # Otherwise accept would wait for ever.
            listener.shutdown(socket.SHUT_RDWR)


def test_a_start_that_loses_the_database(shared_database_url):
    """Each answer of the server may be the last one: a command ends with one sentence, which says why."""
    url = sa.make_url(shared_database_url)
    if not url.host:
        pytest.skip('it has no server')
    answers, refusals = 0, []
    while len(refusals) == answers:
        with relay(url.host, url.port, answers) as port:
            conf = make_conf(url.set(host='127.0.0.1', port=port).render_as_string(hide_password=False))
            try:
                setup.schema(conf)
            except SystemExit as end:
                refusals.append(end.code)
        answers += 1
    assert len(refusals) > 5
    for refusal in refusals:
        assert re.fullmatch('The database cannot be used: .*127.0.0.1.* [Cc](losed|onnection).*', refusal)
