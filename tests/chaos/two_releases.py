"""Processes of two releases on one database."""

import contextlib
import http.client
import subprocess
import time
import urllib.request

from tests.chaos.system import CHECKED
from tests.support import releases
from tests.support.servers import free_port


class Processes:
    """Processes of both releases on one database.

    :param url: of the database.
    :param folder: pathlib.Path for files.
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
        self.stop()
        self._output.close()

    def stop(self):
        """End all processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes, self.bases = [], []

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
        return releases.start(code, program, *self._arguments, *arguments, output=self._output)

    @property
    def _arguments(self):
        return ['--config-file', str(self._folder / 'one.conf'), '--database', self._url]

    def has_ended(self):
        """Whether a process has ended."""
        return any(process.poll() is not None for process in self._processes)

    @property
    def output(self):
        """The output of all processes."""
        return (self._folder / 'output').read_text()
