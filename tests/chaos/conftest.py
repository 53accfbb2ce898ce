"""Fixtures of the tests of this folder."""

import pytest

from tests.support import servers


@pytest.fixture(scope='module')
def postgresql():
    """A PostgreSQL server."""
    servers.require(servers.PostgreSQL.installed(), 'postgresql is not installed')
    server = servers.PostgreSQL()
    try:
        server.start()
        yield server
    finally:
        server.stop()
