"""A complete run fails if a function leads to statements on SQLite only (``tests/support/statement_callers.py``)."""

import concurrent.futures
import os
import subprocess
import sys

import pytest

from tests.support.checkout import CHECKOUT
from tests.support.statement_callers import StatementCallers

CONFTEST = """
from tests.support.statement_callers import StatementCallers


def pytest_configure(config):
    callers = StatementCallers()
    if hasattr(config, 'workerinput') or not config.option.numprocesses:
        callers.functions.update(sqlite={'one', 'two'}, mariadb={'one', 'two'}, postgresql={'one'})
    config.pluginmanager.register(callers)
"""
TESTS = """
def test_one():
    pass


def test_two():
    pass
"""


@pytest.mark.parametrize(('arguments', 'code'), [((), 1), (('-n', '2'), 1), (('-k', 'one'), 0), (('test_it.py',), 0)])
def test_complete_runs(tmp_path, arguments, code):
    (tmp_path / 'conftest.py').write_text(CONFTEST)
    (tmp_path / 'test_it.py').write_text(TESTS)
    command = [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', *arguments]
    env = os.environ | {'PYTHONPATH': str(CHECKOUT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stdout
    missing = 'functions with statements in tests on SQLite, but not on postgresql'
    assert (missing in done.stdout, '\ntwo\n' in done.stdout) == (bool(code), bool(code))
    assert 'not on mariadb' not in done.stdout


def test_functions_of_a_request(client):
    """The functions around the statement count, without those of the API, of ``db`` and of libraries."""
    (functions,) = _noted(client.node).values()
    assert {'inventory/nodes/nodes.py: create', 'inventory/nodes/nodes.py: insert'} <= functions
    assert not [each for each in functions if not each.startswith(('changes/', 'inventory/', 'placement/'))]


def test_functions_of_another_thread(client):
    """They do not count: it may depend on chance what such threads do."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert _noted(lambda: pool.submit(client.node).result()) == {}


def _noted(work):
    """Return what a StatementCallers has noted during some work."""
    callers = StatementCallers()
    try:
        work()
    finally:
        callers.close()
    callers.collect()
    return callers.functions
