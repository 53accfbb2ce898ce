"""Fixtures of databases, applications and servers.

Tests that use ``database_url`` run once for each database: always with SQLite, and with PostgreSQL and MariaDB if their
servers are installed. With IRONIC_TRAITS_TEST_ALL_DATABASES=1, a missing server is an error. ``--sqlite`` leaves out
the servers; ``--quick`` also the modules in SLOW. ``--changed`` is for the change that you are writing:
``tests/support/changed.py``.
"""

import collections
import contextlib
import faulthandler
import gc
import os
import pathlib
import shutil
import sys
import tempfile
import time
import uuid

import hypothesis
import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support import changed, correlation, logs, servers
from tests.support.cleaning import empty
from tests.support.client import Client
from tests.support.service import SHARED, make_app, upgraded
from tests.support.statement_callers import StatementCallers

ALL = ('sqlite', *servers.SERVERS)
#: Modules that one process runs, because they share a real Ironic or a browser. To start another one takes longer than
#: most modules.
IRONIC = (
    *('test_mirror_writes', 'test_mirror_claims', 'test_mirror', 'test_clusters', 'test_migration'),
    *('test_mirror_unplug', 'test_mirror_deletions', 'test_mirror_uniqueness', 'test_mirror_adoption'),
    *('test_mirror_inspections', 'test_mirror_lag', 'test_mirror_versions'),
)
BROWSER = (
    'test_ui_nodes',
    'test_ui_views',
    'test_ui_logins',
    'test_ui_actions',
    'test_ui_reloads',
    'test_ui_why',
    'test_ui_pictures',
    'test_ui_layouts',
    'test_ui_bulk',
    'test_ui_overview',
    'test_ui_promises',
    'test_ui_racks',
    'test_ui_hardware',
    'test_ui_keyboard',
    'test_ui_mirrors',
    'test_ui_saved',
)
#: Modules that take more than some seconds: they start programs, run the real clients, or search for long. The longest
#: come first, so that the processes finish at about the same time.
SLOW = (
    *IRONIC,
    'test_readme',
    'test_bmc_commands',
    'test_redfish_odd_documents',
    'test_bmc_guide',
    'test_boot_guide',
    'test_nova_guide',
    'test_zipapp',
    'test_release',
    *BROWSER,
    'test_ui_sizes',
    'test_reservation_model',
    'test_promise_model',
    'test_follower_model',
    'test_edit_model',
    'test_mirror_machine',
    'test_template_model',
    'test_two_worlds',
    'test_hostile_input',
    'test_chaos',
    'test_broken_builds',
    'test_order',
    'test_schedules',
    'test_allocations',
    'test_fuzz',
    'test_races',
    'test_reservation_races',
    'test_clients',
    'test_import_batches',
    'test_mirror_auth',
    'test_server',
    'test_proxy',
    'test_spans',
    'test_rule_races',
    'test_starting',
    'test_discover',
    'test_commands',
    'test_trait_edits',
    'test_placement_suite',
    'test_worker_processes',
    'test_metalsmith',
    'test_runbook_clients',
    'test_source_commands',
    'test_template_clients',
    'test_holder_races',
    'test_rule_run_model',
    'test_inventory_files',
    'test_trait_model',
    'test_guides',
    'test_provider_races',
    'test_signals',
    'test_node_provider_model',
    'test_edit_commands',
    'test_locked_nodes',
    'test_rule_commands',
    'test_rule_machines',
    'test_discover_guide',
    'test_rule_run_commands',
    'test_allocation_clients',
    'test_rule_clients',
    'test_request_log',
    'test_overload',
    'test_placement_transfer',
    'test_alive',
    'test_trait_options',
    'test_worker',
    'test_keystone',
    'test_validation',
    'test_missing_databases',
    'test_glance',
    'test_packaging',
    'test_virtual_machine',
    'test_example_driver',
)
#: Modules that are slow on servers only. They come first, too.
SLOW_ON_SERVERS = ('test_capacity', 'test_node_index')
#: A normal run leaves out what takes minutes, root and the network. ``tox -e packages`` names this folder.
collect_ignore = ['packages']


def pytest_addoption(parser):
    parser.addoption('--sqlite', action='store_true', help='SQLite only')
    parser.addoption('--quick', action='store_true', help='SQLite only, and without slow modules')
    parser.addoption(
        '--changed',
        nargs='?',
        const='HEAD',
        metavar='COMMIT',
        help='--quick, and only the modules that test what differs from a commit (HEAD)',
    )


# A machine that is busy with other work is slow: that is no fault of the service.
hypothesis.settings.register_profile('tests', deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile('tests')


def pytest_configure(config):
    config.option.quick |= bool(config.option.changed)
    config.option.sqlite |= config.option.quick
    if config.option.sqlite:
        missing = list(servers.SERVERS)
    else:
        servers.install()
        missing = [name for name, server in servers.SERVERS.items() if not server.installed()]
    if missing and os.environ.get('IRONIC_TRAITS_TEST_ALL_DATABASES'):
        raise pytest.UsageError(f'Install the server programs of {", ".join(missing)} (packages: bindep.txt)')
    config.stash[_MISSING] = missing
    if not missing:
        config.pluginmanager.register(StatementCallers())
    # pytest creates its temporary folders there. Then the services of the tests do not wait for a disk.
    os.environ.setdefault('PYTEST_DEBUG_TEMPROOT', servers.parent_folder())
    logs.watch()
    correlation.install()
    # The tests have another file in its place.
    config.stash[_STDERR] = os.dup(sys.stderr.fileno())


def pytest_unconfigure(config):
    faulthandler.cancel_dump_traceback_later()
    # pytest collects garbage ten times at the end, to warn of resources that were not closed. That takes three seconds
    # in each process, and the processes end anyway.
    gc.freeze()


def pytest_ignore_collect(collection_path, config):
    base = config.option.changed
    is_left_out = base and collection_path.match('test_*.py') and not changed.concerns(collection_path, base)
    # None: pytest decides.
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect the tests without garbage collection, which would take a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    if config.option.quick:
        left_out = [item for item in items if item.path.stem in SLOW]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.path.stem not in SLOW]
    numbers = collections.Counter(item.path for item in items)
    places = {name: place for place, name in enumerate((*SLOW_ON_SERVERS, *SLOW))}
    # After the slow modules, those with the most tests.
    items.sort(key=lambda item: (places.get(item.path.stem, len(places)), -numbers[item.path]))


#: Seconds after which the stacks of a test are printed, and seconds between two times at which that is put off.
_STUCK, _PUT_OFF = 660, 60
_STDERR = pytest.StashKey[int]()
_WATCHED_SINCE = pytest.StashKey[float]()


def pytest_runtest_setup(item):
    logs.attach()
    _watch(item.config)


def _watch(config):
    """Print the stacks of all threads if a test hangs for longer than its timeout, which does not reach C code.

    pytest has the option faulthandler_timeout for this. But it starts a thread for each test, which takes half a minute
    in a run.
    """
    now = time.monotonic()
    if now - config.stash.get(_WATCHED_SINCE, -_PUT_OFF) >= _PUT_OFF:
        faulthandler.dump_traceback_later(_STUCK + _PUT_OFF, file=config.stash[_STDERR])
        config.stash[_WATCHED_SINCE] = now


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Drop what a passed test has logged: to send it to the process that reports takes 17 seconds of a run."""
    report = yield
    if report.passed:
        report.sections.clear()
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Fail a test if a secret was logged during it, or by a server whose fixture ended with it."""
    yield
    logs.LOOKER.check()


_MISSING = pytest.StashKey[list]()


class Scheduling(LoadScopeScheduling):
    """The distribution of modules to processes. Those in IRONIC count as one, and those in BROWSER."""

    def _split_scope(self, nodeid):
        module = super()._split_scope(nodeid)
        name = pathlib.PurePath(module).stem
        return next((together[0] for together in (IRONIC, BROWSER) if name in together), module)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.option.dist == 'loadscope':
        return Scheduling(config, log)
    return None


def pytest_report_header(config):
    return _databases(config)


def pytest_terminal_summary(terminalreporter, config):
    # pyproject.toml has -q, which suppresses the header.
    terminalreporter.write_line(_databases(config))


def _databases(config):
    """Return a line with the databases of the tests, and with the missing ones."""
    missing = config.stash[_MISSING]
    line = f'databases: {", ".join(name for name in ALL if name not in missing)}'
    reason = '--quick' if config.option.quick else '--sqlite' if config.option.sqlite else 'not installed: bindep.txt'
    return f'{line}; NOT TESTED: {", ".join(missing)} ({reason})' if missing else line


def pytest_generate_tests(metafunc):
    if 'database_kind' in metafunc.fixturenames:
        missing = metafunc.config.stash[_MISSING]
        # The module lists its databases.
        kinds = getattr(metafunc.module, 'DATABASES', ALL)
        metafunc.parametrize('database_kind', [name for name in kinds if name not in missing], scope='session')


@pytest.fixture(scope='session')
def kept():
    """Objects that live until the end of the run, for each kind of database: {(name, kind): value}, and an ExitStack.

    A fixture that depends on ``database_kind`` ends whenever a test with another kind follows, several times in each
    module. Starting a server takes longer than most modules.
    """
    with contextlib.ExitStack() as stack:
        yield {}, stack


@pytest.fixture(scope='session')
def database_server(database_kind, kept):
    """A running database server; None for SQLite, which has no server."""
    if database_kind == 'sqlite':
        return None
    values, stack = kept
    if ('server', database_kind) not in values:
        server = servers.SERVERS[database_kind]()
        stack.callback(server.stop)
        server.start()
        values['server', database_kind] = server
    return values['server', database_kind]


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
def shared_database_url(new_database, database_kind, kept):
    """The URL of a database with the newest schema, which all tests with the same kind of database share."""
    values, _ = kept
    if ('url', database_kind) not in values:
        url = upgraded(new_database())
        SHARED.add(url)
        values['url', database_kind] = url
    return values['url', database_kind]


@pytest.fixture
def database_url(shared_database_url):
    """The URL of a database with the newest schema, which has only the standard names."""
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
