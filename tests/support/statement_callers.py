"""A check that each function of the service that leads to a statement does so on each database, in some test.

A module whose subject does not depend on the database runs on SQLite only: ``DATABASES``. A complete run fails if SQL
is left out in this way: if a function of ``_PACKAGES`` has led to a statement on SQLite, but not on a server. Only the
thread of the tests counts: which functions others reach may depend on which of them is first, so the check would fail
at times.
"""

import collections
import pathlib
import sys
import threading

import pytest
import sqlalchemy as sa

import ironic_traits

_SERVICE = pathlib.Path(ironic_traits.__file__).parent
#: The packages with SQL, without ``db``: it has functions for one kind of database, which ``tests/db`` tests.
_PACKAGES = ('changes', 'inventory', 'placement')
#: First words of the statements. Others, such as BEGIN, are for one kind of database.
_KINDS = ('DELETE', 'INSERT', 'SELECT', 'UPDATE', 'WITH')


class StatementCallers:
    """A plugin of pytest that notes these functions, also those of the processes of pytest-xdist.

    :ivar functions: {name of a database: functions such as "inventory/nodes/nodes.py: find"}.
    """

    def __init__(self):
        self.functions = collections.defaultdict(set)
        #: {name of a database: code objects of all functions}.
        self._codes = collections.defaultdict(set)
        sa.event.listen(sa.Engine, 'before_cursor_execute', self._note)

    def close(self):
        """Note nothing any more."""
        sa.event.remove(sa.Engine, 'before_cursor_execute', self._note)

    def _note(self, connection, cursor, statement, parameters, context, executemany):
        is_of_tests = threading.current_thread() is threading.main_thread()
        if not is_of_tests or not statement.lstrip('(').startswith(_KINDS):
            return
        codes, frame = self._codes[connection.dialect.name], sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code not in codes:
                if frame.f_globals.get('__name__', '').startswith('tests.'):
                    # The service may have called the test in place of a peer.
                    break
                codes.add(code)
            frame = frame.f_back

    def collect(self):
        """Add the functions of this process to ``functions``."""
        for database, codes in self._codes.items():
            self.functions[database] |= {_name(code) for code in codes} - {None}

    def missing(self):
        """Return the functions that lead to a statement on SQLite, but not on a server: {name of the server: list}."""
        servers = self.functions.keys() - {'sqlite'}
        missing = {server: self.functions['sqlite'] - self.functions[server] for server in servers}
        return {server: sorted(functions) for server, functions in missing.items() if functions}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Add the functions of a process of pytest-xdist."""
        for database, functions in getattr(node, 'workeroutput', {}).get('statement_callers', {}).items():
            self.functions[database].update(functions)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Let a complete run fail if functions are missing. A process of pytest-xdist sends its functions."""
        self.collect()
        if hasattr(session.config, 'workeroutput'):
            functions = {database: list(functions) for database, functions in self.functions.items()}
            session.config.workeroutput['statement_callers'] = functions
        elif session.exitstatus == pytest.ExitCode.OK and _is_complete(session.config) and self.missing():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter, config):
        """List the functions that are missing after a complete run."""
        for server, functions in self.missing().items() if _is_complete(config) else ():
            terminalreporter.section(f'functions with statements in tests on SQLite, but not on {server}', red=True)
            for function in functions:
                terminalreporter.write_line(function)


def _name(code):
    """Return the name of a function; None if it does not count."""
    path = pathlib.Path(code.co_filename)
    if not path.is_relative_to(_SERVICE) or path.relative_to(_SERVICE).parts[0] not in _PACKAGES:
        return None
    # Functions and comprehensions in a function count as the function.
    return f'{path.relative_to(_SERVICE)}: {code.co_qualname.partition(".<locals>")[0]}'


def _is_complete(config):
    """Whether no tests are left out by an argument."""
    options = [config.getoption(name, None) for name in ('keyword', 'markexpr', 'deselect', 'lf')]
    return config.args_source is not config.ArgsSource.ARGS and not any(options)
