"""The check for secrets in logs, which conftest.py runs after each test, finds them."""

import logging

import pytest

from tests.support import logs


def test_a_secret_would_be_found():
    looker = logs.Looker()
    looker.handle(logging.makeLogRecord({'msg': 'driver_info %s', 'args': ({'password': 'hush-hush'},)}))
    looker.look('all is well\nX-Auth-Token: gAAAAABn')
    assert (looker.number, len(looker.leaks)) == (3, 2)
    with pytest.raises(AssertionError, match='hush-hush'):
        looker.check()
    looker.check()


def test_logs_of_the_service_are_checked(client):
    before = logs.LOOKER.number
    client.get('/v1/nodes')
    assert logs.LOOKER.number > before
