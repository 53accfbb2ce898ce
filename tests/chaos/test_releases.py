"""Two releases at once: the schema is upgraded while services of the previous release answer requests."""

import contextlib
import http.client
import random
import subprocess
import time
import urllib.request

import pytest

from ironic_traits.db import revisions
from tests.chaos import checker, clients, history
from tests.chaos.system import CHECKED
from tests.support import releases
from tests.support.servers import free_port, require
from tests.support.service import database

#: Seconds with the old release before the upgrade, and with both releases after it.
_BEFORE, _TOGETHER = 1, 4
#: Seconds between two requests of a client. Shorter pauses would slow down the start of the processes.
_PAUSE = 0.5


class Processes:
    """Processes of both releases on one database.

    :param url: of the database.
    :param folder: pathlib.Path for files. Its directory ``previous`` has the previous release.
    :ivar bases: URLs of the services.
    """

    def __init__(self, url, folder):
        self._folder = folder
        (folder / 'one.conf').write_text(f'{CHECKED}[deploy]\npoll_interval = 0.2\n')
        self._url = url
        self._output = (folder / 'output').open('ab')
        self._processes = []
        self.bases = []

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._output.close()

    def upgrade(self, code):
        """Upgrade the schema with the release in a directory; None for this checkout."""
        process = self._start(code, 'manage', 'db', 'upgrade')
        assert process.wait(120) == 0, self.output

    def serve(self, code):
        """Start a service and a worker of the release in a directory; None for this checkout."""
        port = free_port()
        for program, arguments in (('api', ['--port', str(port), '--nostart-worker']), ('worker', [])):
            self._processes.append(self._start(code, program, *arguments))
        base = f'http://127.0.0.1:{port}'
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException), urllib.request.urlopen(f'{base}/v1'):
                break
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)
        self.bases.append(base)

    def _start(self, code, program, *arguments):
        return releases.start(code, program, *self._arguments(code), *arguments, output=self._output)

    def _arguments(self, code):
        # The previous release does not support psycopg.
        url = self._url.replace('+psycopg:', '+psycopg2:') if code else self._url
        return ['--config-file', str(self._folder / 'one.conf'), '--database', url]

    def has_ended(self):
        """Whether a process has ended."""
        return any(process.poll() is not None for process in self._processes)

    @property
    def output(self):
        """The output of all processes."""
        return (self._folder / 'output').read_text()


def test_rolling_upgrade(new_database, database_kind, tmp_path):
    """No write is lost and no request fails before and during the upgrade, and afterwards with both releases."""
    if database_kind == 'sqlite':
        pytest.skip('one service uses the file, and upgrades it when it starts')
    (tmp_path / 'previous').mkdir()
    require(releases.previous(tmp_path / 'previous'), 'this is not a full clone')
    url, record = new_database(), history.History()
    with Processes(url, tmp_path) as processes, database(url) as opened:
        processes.upgrade(tmp_path / 'previous')
        before = revisions.current(opened)
        assert before < revisions.newest()
        processes.serve(tmp_path / 'previous')

        def make_ask(choices):
            return clients.over_http(processes.bases, choices)

        def upgrade():
            time.sleep(_BEFORE)
            processes.upgrade(None)
            processes.serve(None)
            assert not processes.has_ended(), processes.output
            time.sleep(_TOGETHER)

        ask = make_ask(random.Random(0))
        world = clients.World(ask)
        follower = clients.run(make_ask, 'releases', record, 0, world=world, pause=_PAUSE, disturb=upgrade)
        problems = checker.settle(ask, world)
        follower.end()
        problems += checker.problems(record, world, checker.Stored(ask), follower.copy)
        assert not problems, processes.output[-5000:]
        assert not processes.has_ended(), processes.output
        assert 'Traceback' not in processes.output
        assert revisions.current(opened) == revisions.newest()
    statuses = [entry.status for entry in record.entries]
    assert not [status for status in statuses if status == 0 or status >= 500]
    assert len(statuses) > 100
