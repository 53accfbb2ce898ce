"""Secrets in logs.  The last test of all, as it looks at what the others have logged (conftest sees to that)."""

import logging

from tests import logs


def test_a_secret_would_be_found():
    looker = logs.Looker()
    looker.handle(logging.makeLogRecord({'msg': 'driver_info %s', 'args': ({'password': 'hush-hush'},)}))
    looker.look('all is well\nX-Auth-Token: gAAAAABn')
    assert (looker.number, len(looker.found)) == (3, 2)


def test_no_secret_was_logged():
    """By the service in process at the level DEBUG, and by those that ran as servers."""
    assert logs.LOOKER.number
    assert logs.LOOKER.found == []
