"""Backups and their restoration, with the commands of the page."""

import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import sqlalchemy as sa

from tests.chaos import clients
from tests.chaos.history import MAYBE, NO, History
from tests.support.checkout import CHECKOUT
from tests.support.commands import OWN, write_scripts
from tests.support.servers import program
from tests.support.service import ForkedServer

PAGE = (CHECKOUT / 'doc' / 'source' / 'backup.rst').read_text()
#: The section of the page about each kind of database.
TITLES = {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mariadb': 'MariaDB and MySQL'}
#: Seconds for which a backup alternately runs and is stopped.
RUNNING, STOPPED = 0.01, 0.1
_CONF = f"""
[inventory]
max_traits_per_node = {clients.LIMIT}
[deploy]
poll_interval = 0.1
lease_seconds = 3
"""


class Site:
    """A database with its clients, and a home directory in which the commands of the page run.

    :param url: of a database with a schema.
    :param home: a new folder.
    :param programs: folder with the programs of a release; None for those of this checkout.
    """

    def __init__(self, kind, url, home, programs=None):
        self.url, self._kind, self.home = url, kind, home
        self._conf = str(home / 'service.conf')
        self._name = sa.make_url(url).database
        pathlib.Path(self._conf).write_text(f'{_CONF}[database]\nconnection = {url}\n')
        parsed = sa.make_url(url)
        (home / '.my.cnf').write_text(f'[client]\nhost=127.0.0.1\nport={parsed.port}\nuser=root\n')
        if programs is None:
            programs = home / 'bin'
            write_scripts(programs, OWN)
        path = f'{programs}:{pathlib.Path(sys.executable).parent}:{_programs()}:{os.environ["PATH"]}'
        self._environment = os.environ | {
            'PATH': path,
            'HOME': str(home),
            'PGHOST': '127.0.0.1',
            'PGPORT': str(parsed.port),
            'PGUSER': 'tests',
        }

    def service(self):
        """Return a service, not yet started."""
        return ForkedServer(self.url, '--config-file', self._conf, cwd=self.home)

    def run(self, number, is_slow=False):
        """Run the commands in a block of the page. The first block makes a backup, the second one restores it.

        :param is_slow: whether to slow the commands down, so that there are many writes while they run.
        """
        commands = _blocks(TITLES[self._kind])[number].replace('/etc/ironic-traits/ironic-traits.conf', self._conf)
        if self._kind != 'sqlite':
            commands = commands.replace('ironic_traits', self._name)
        process = subprocess.Popen(
            ['bash', '-euo', 'pipefail', '-c', commands],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            cwd=pathlib.Path(self._name).parent if self._kind == 'sqlite' else self.home,
            start_new_session=True,
        )
        if is_slow:
            _slow_down(process)
        output, _ = process.communicate()
        assert process.returncode == 0, output

    def add_table(self):
        """Add a table of a later schema."""
        with self._engine() as engine, engine.begin() as connection:
            connection.execute(
                sa.text('CREATE TABLE later (id integer PRIMARY KEY, node_id integer REFERENCES nodes (id))')
            )

    def tables(self):
        """Return the names of the tables."""
        with self._engine() as engine:
            return set(sa.inspect(engine).get_table_names())

    @contextlib.contextmanager
    def _engine(self):
        engine = sa.create_engine(self.url)
        yield engine
        engine.dispose()


def _slow_down(process):
    """Stop a process and its children again and again until it ends."""
    while process.poll() is None:
        for number, seconds in ((signal.SIGSTOP, STOPPED), (signal.SIGCONT, RUNNING)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            time.sleep(seconds)


def _programs():
    """Return the folder of PostgreSQL's programs."""
    return pathlib.Path(program('pg_dump') or sys.executable).parent


def _blocks(title):
    """Return the commands in the literal blocks of a section of the page: [text, …]."""
    section = re.search(rf'^{re.escape(title)}\n=+\n(.*?)(?=^[^\n]+\n=+\n|\Z)', PAGE, re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r'::\n\n((?:    .*\n|\n)+)', section)
    return [re.sub('^    ', '', block, flags=re.MULTILINE) for block in blocks]


def as_stored(record, began, ended):
    """Return the record that a backup must have: without the writes that began after its end.

    :param record: History of all requests.
    :param began: when the backup began, as time.monotonic().
    :param ended: when it ended.
    """
    history = History()
    history.problems = list(record.problems)
    for entry in record.entries:
        if entry.began > ended:
            outcome = NO
        elif entry.ended < began:
            outcome = entry.outcome
        else:
            outcome = NO if entry.outcome == NO else MAYBE
        history.entries.append(dataclasses.replace(entry, outcome=outcome))
    return history
