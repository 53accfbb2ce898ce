"""Fixtures of databases, applications and servers.

Tests that use ``database_url`` run once for each database: always with SQLite, and with PostgreSQL and MariaDB if their
servers are installed.  With IRONIC_TRAITS_TEST_ALL_DATABASES=1, a missing server is an error.  ``--quick`` leaves out
the servers, and the modules in SLOW.
"""

import os
import shutil
import tempfile
import uuid

import pytest

from tests.support import correlation, logs, servers
from tests.support.cleaning import empty
from tests.support.client import Client
from tests.support.service import SHARED, make_app, upgraded

ALL = ('sqlite', *servers.SERVERS)
#: Modules that take more than some seconds: they start programs, run the real clients, or search at length.
SLOW = {
    'test_alive',
    'test_allocation_clients',
    'test_allocations',
    'test_clients',
    'test_commands',
    'test_edit_commands',
    'test_example_driver',
    'test_glance',
    'test_guides',
    'test_holder_races',
    'test_hostile_input',
    'test_import_batches',
    'test_inventory_files',
    'test_keystone',
    'test_locked_nodes',
    'test_metalsmith',
    'test_mirror',
    'test_missing_databases',
    'test_node_provider_model',
    'test_overload',
    'test_packaging',
    'test_placement_suite',
    'test_placement_transfer',
    'test_provider_races',
    'test_races',
    'test_readme',
    'test_request_log',
    'test_reservation_model',
    'test_reservation_races',
    'test_rule_clients',
    'test_rule_commands',
    'test_rule_races',
    'test_rule_run_commands',
    'test_rule_run_model',
    'test_runbook_clients',
    'test_server',
    'test_signals',
    'test_source_commands',
    'test_starting',
    'test_template_clients',
    'test_trait_edits',
    'test_trait_model',
    'test_trait_options',
    'test_validation',
    'test_worker',
    'test_worker_processes',
}


def pytest_addoption(parser):
    parser.addoption('--quick', action='store_true', help='SQLite only, and without slow modules')


def pytest_configure(config):
    if config.option.quick:
        missing = list(servers.SERVERS)
    else:
        servers.install()
        missing = [name for name, server in servers.SERVERS.items() if not server.installed()]
    if missing and os.environ.get('IRONIC_TRAITS_TEST_ALL_DATABASES'):
        raise pytest.UsageError(f'Install the server programs of {", ".join(missing)} (packages: bindep.txt)')
    config.stash[_MISSING] = missing
    logs.watch()
    correlation.install()


def pytest_collection_modifyitems(config, items):
    if config.option.quick:
        left_out = [item for item in items if item.path.stem in SLOW]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.path.stem not in SLOW]
    # Slow modules first, so that no process still has a long one to do when the others are finished.
    items.sort(key=lambda item: item.path.stem not in SLOW)


def pytest_runtest_setup():
    logs.attach()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Fail a test if a secret was logged during it, or by a server whose fixture ended with it."""
    yield
    logs.LOOKER.check()


_MISSING = pytest.StashKey[list]()


def pytest_report_header(config):
    return _databases(config)


def pytest_terminal_summary(terminalreporter, config):
    # pyproject.toml has -q, which suppresses the header.
    terminalreporter.write_line(_databases(config))


def _databases(config):
    """Return a line with the databases that the tests run with, and those that are missing."""
    missing = config.stash[_MISSING]
    line = f'databases: {", ".join(name for name in ALL if name not in missing)}'
    reason = '--quick' if config.option.quick else 'not installed: bindep.txt'
    return f'{line}; NOT TESTED: {", ".join(missing)} ({reason})' if missing else line


def pytest_generate_tests(metafunc):
    if 'database_kind' in metafunc.fixturenames:
        missing = metafunc.config.stash[_MISSING]
        metafunc.parametrize('database_kind', [name for name in ALL if name not in missing], scope='session')


@pytest.fixture(scope='session')
def database_server(database_kind):
    """A running database server; None for SQLite, which has no server."""
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
def memory_folder():
    """A temporary folder in memory, where SQLite need not wait for a disk at each commit; None without /dev/shm."""
    try:
        if shutil.disk_usage('/dev/shm').free < 2**30:
            raise OSError
        folder = tempfile.TemporaryDirectory(prefix='ironic-traits-tests-', dir='/dev/shm')
    except OSError:
        yield None
        return
    with folder as path:
        yield path


@pytest.fixture(scope='session')
def new_database(database_server, tmp_path_factory, memory_folder):
    """A function that creates an empty database and returns its URL."""

    def create():
        name = f'test_{uuid.uuid4().hex}'
        if database_server is None:
            return f'sqlite:///{memory_folder or tmp_path_factory.mktemp("db")}/{name}.sqlite'
        return database_server.create(name)

    return create


@pytest.fixture(scope='session')
def shared_database_url(new_database):
    """The URL of a database with the newest schema, which all tests with the same kind of database share."""
    url = upgraded(new_database())
    SHARED.add(url)
    return url


@pytest.fixture
def database_url(shared_database_url):
    """The URL of a database with the newest schema, which has only the standard names in it."""
    empty(shared_database_url)
    return shared_database_url


@pytest.fixture
def app(database_url):
    """The application on an empty database."""
    with make_app(database_url) as application:
        yield application


@pytest.fixture
def client(app):
    """A client of the application, in process."""
    return Client(app)
