"""Databases, applications and servers for the tests.

Tests that take ``database_url`` run once for each database: SQLite always, PostgreSQL and MariaDB where their servers
are installed.  With IRONIC_TRAITS_TEST_ALL_DATABASES=1 it is an error when one is missing.
"""

import os
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.db.engine import Database
from ironic_traits.db.models import metadata, resource_classes, resource_providers, traits
from tests import correlation, logs, servers
from tests.client import Client
from tests.service import make_app, make_conf, upgraded

ALL = ('sqlite', *servers.SERVERS)


def pytest_configure(config):
    servers.install()
    left_out = [name for name, server in servers.SERVERS.items() if not server.installed()]
    if left_out and os.environ.get('IRONIC_TRAITS_TEST_ALL_DATABASES'):
        raise pytest.UsageError(f'No server programs for: {", ".join(left_out)} (bindep.txt names the packages)')
    config.stash[_LEFT_OUT] = left_out
    logs.watch()
    correlation.install()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Fail a test when a secret was logged in it, or by a server whose fixture ended with it."""
    yield
    logs.LOOKER.check()


_LEFT_OUT = pytest.StashKey[list]()


def pytest_report_header(config):
    return _databases(config)


def pytest_terminal_summary(terminalreporter, config):
    # -q, which is among our own options, leaves the header out.
    terminalreporter.write_line(_databases(config))


def _databases(config):
    """Return which databases the tests run with, and which are left out."""
    left_out = config.stash[_LEFT_OUT]
    present = [name for name in ALL if name not in left_out]
    told = f'databases: {", ".join(present)}'
    return f'{told}; LEFT OUT, no server programs: {", ".join(left_out)} (bindep.txt)' if left_out else told


def pytest_generate_tests(metafunc):
    if 'database_kind' in metafunc.fixturenames:
        left_out = metafunc.config.stash[_LEFT_OUT]
        metafunc.parametrize('database_kind', [name for name in ALL if name not in left_out], scope='session')


@pytest.fixture(scope='session')
def database_server(database_kind):
    """A running server of one kind; None for SQLite, which has none."""
    if database_kind == 'sqlite':
        yield None
        return
    server = servers.SERVERS[database_kind]()
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope='session')
def new_database(database_server, tmp_path_factory):
    """Function that makes an empty database and gives its URL."""

    def make():
        name = f'test_{uuid.uuid4().hex}'
        if database_server is None:
            return f'sqlite:///{tmp_path_factory.mktemp("db")}/{name}.sqlite'
        return database_server.create(name)

    return make


@pytest.fixture(scope='session')
def shared_database_url(new_database):
    """A database with the newest schema, which the tests of one kind share."""
    return upgraded(new_database())


@pytest.fixture
def database_url(shared_database_url):
    """A database with the newest schema and nothing in it."""
    empty(shared_database_url)
    return shared_database_url


def empty(url):
    """Delete every row but the standard names."""
    database = Database(make_conf(url))
    with database.write() as connection:
        # MariaDB looks at each row of a tree by itself.
        connection.execute(sa.update(resource_providers).values(parent_provider_uuid=None))
        for table in reversed(metadata.sorted_tables):
            custom = [table.c.name.startswith('CUSTOM_')] if table in (traits, resource_classes) else []
            connection.execute(sa.delete(table).where(*custom))
    database.close()


@pytest.fixture
def app(database_url):
    """The application on an empty database."""
    with make_app(database_url) as application:
        yield application


@pytest.fixture
def client(app):
    """A client of the application, in process."""
    return Client(app)
