"""Backups during writes, and their restoration, with the commands of the page.

A backup has all writes that were acknowledged before its begin, and none that began after its end.
"""

import contextlib
import dataclasses
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from tests.chaos import checker, clients
from tests.chaos.history import MAYBE, NO, OK, History
from tests.support.commands import OWN, write_scripts
from tests.support.servers import program, require
from tests.support.service import ForkedServer, upgraded

PAGE = (pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'backup.rst').read_text()
#: The section of the page about each kind of database.
TITLES = {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mariadb': 'MariaDB and MySQL'}
#: Minimum number of writes that are acknowledged before a backup, and that begin after it. Seconds between two requests
#: of a client.
BEFORE, AFTER, PAUSE = 40, 20, 0.1
#: Seconds for which a backup alternately runs and is stopped.
RUNNING, STOPPED = 0.01, 0.1
#: The text has a character of four bytes.
TEXT = 'Łódź \N{FILE CABINET}'
_CONF = f"""
[inventory]
max_traits_per_node = {clients.LIMIT}
[deploy]
poll_interval = 0.1
lease_seconds = 3
"""


class Site:
    """A database with its clients, and a home directory in which the commands of the page run.

    :param url: of a database with the newest schema.
    :param home: a new folder.
    """

    def __init__(self, kind, url, home):
        self.url, self._kind, self.home = url, kind, home
        self._conf = str(home / 'service.conf')
        self._name = sa.make_url(url).database
        pathlib.Path(self._conf).write_text(f'{_CONF}[database]\nconnection = {url}\n')
        parsed = sa.make_url(url)
        (home / '.my.cnf').write_text(f'[client]\nhost=127.0.0.1\nport={parsed.port}\nuser=root\n')
        write_scripts(home / 'bin', OWN)
        path = f'{home / "bin"}:{pathlib.Path(sys.executable).parent}:{_programs()}:{os.environ["PATH"]}'
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


@pytest.fixture
def site(database_kind, new_database, tmp_path, memory_folder):
    """A Site."""
    if database_kind == 'mariadb':
        require(program('mariadb-dump'), 'mariadb-dump is not installed')
    url = new_database()
    if database_kind == 'sqlite':
        folder = pathlib.Path(memory_folder or tmp_path) / f'backup-{os.getpid()}'
        folder.mkdir()
        url = f'sqlite:///{folder}/ironic-traits.sqlite'
    return Site(database_kind, upgraded(url), tmp_path)


@dataclasses.dataclass
class Backup:
    """A backup during writes: its begin and end as time.monotonic(), and the last token before it.

    :ivar history: record of all requests.
    """

    history: History
    world: clients.World
    began: float
    ended: float
    token: str


def _backed_up(site):
    """Make a backup while clients write. They continue afterwards. Return a Backup."""
    history, times = History(), []

    def wait(number, since):
        deadline = time.monotonic() + 60
        while sum(entry.outcome == OK and entry.began > since for entry in list(history.entries)) < number:
            assert time.monotonic() < deadline, history.problems
            time.sleep(0.02)

    def back_up():
        wait(BEFORE, 0)
        times.append(time.monotonic())
        site.run(0, is_slow=True)
        times.append(time.monotonic())
        wait(AFTER, times[-1])

    with site.service() as service:

        def make_ask(choices):
            return clients.over_http([service.base], choices)

        ask = make_ask(random.Random(0))
        world = clients.World(ask)
        patch = [{'op': 'add', 'path': '/description', 'value': TEXT}]
        assert ask('PATCH', f'/v1/nodes/{world.hot}', patch)[0] == 200
        follower = clients.run(make_ask, 1, history, 0, world=world, pause=PAUSE, disturb=back_up)
        follower.end()
        token = ask('GET', '/v1/changes')[1]['token']
    return Backup(history, world, *times, token)


def _as_stored(backup):
    """Return the record that the backup must have: without the writes that began after its end."""
    history = History()
    history.problems = list(backup.history.problems)
    for entry in backup.history.entries:
        if entry.began > backup.ended:
            outcome = NO
        elif entry.ended < backup.began:
            outcome = entry.outcome
        else:
            outcome = NO if entry.outcome == NO else MAYBE
        history.entries.append(dataclasses.replace(entry, outcome=outcome))
    return history


def _problems(site, backup):
    """Return the problems of the restored database."""
    history = _as_stored(backup)
    with site.service() as service:
        ask = clients.over_http([service.base], random.Random(0))
        status, document = ask('GET', f'/v1/changes?since={backup.token}')
        assert status == 410, document
        follower = clients.Follower(ask, history)
        follower.start()
        problems = checker.settle(ask, backup.world)
        # Not to the hot node, which may have as many traits as it can.
        node, _ = backup.world.own[0]
        assert ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_AFTERWARDS')[0] == 204
        follower.end()
        problems += checker.problems(history, backup.world, checker.Stored(ask), follower.copy)
        assert ask('GET', f'/v1/nodes/{backup.world.hot}')[1]['description'] == TEXT
        assert 'Traceback' not in service.output
    return problems


def test_a_backup_while_clients_write(site):
    tables = site.tables()
    backup = _backed_up(site)
    entries = backup.history.entries
    # The backup does not hold up the writers.
    assert [each for each in entries if each.outcome == OK and backup.began < each.began < each.ended < backup.ended]
    # This is the state after a failed upgrade.
    site.add_table()
    site.run(1)
    assert site.tables() == tables
    assert _problems(site, backup) == []
