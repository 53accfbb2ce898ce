"""The programs that run during the measurement of a size."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

_BIN = pathlib.Path(sys.executable).parent
_HEADERS = {'X-Auth-Token': 'admin', 'OpenStack-API-Version': 'placement 1.39'}


class Programs(contextlib.ExitStack):
    """Programs of this Python environment. They end at the end of the block."""

    def directory(self):
        """Return a new directory, which is removed at the end."""
        return pathlib.Path(self.enter_context(tempfile.TemporaryDirectory()))

    def start(self, name, *arguments, environment=None):
        """Start a program, whose output goes to a file.

        :param environment: {name: value} of more environment variables, or None.
        :returns: Program.
        """
        log = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        program = Program([_BIN / name, *arguments], log, environment or {})
        self.callback(program.end)
        return program

    def granian(self, target, port, workers, environment):
        """Start a WSGI application behind the web server of this service, with one thread, the default of uWSGI."""
        options = ('--interface', 'wsgi', '--blocking-threads', 1, '--log-level', 'warning', '--http', 1, '--no-ws')
        place = ('--port', port, '--workers', workers)
        return self.start('granian', *options, *place, target, environment=environment)


class Program:
    """A started program.

    :param command: the program and its arguments.
    :param log: file for its output.
    :param environment: {name: value} of more environment variables.
    """

    def __init__(self, command, log, environment):
        self._log = log
        variables = os.environ | {'PYTHONWARNINGS': 'ignore'} | environment
        # Its own process group, because it may start processes.
        self._process = subprocess.Popen(  # noqa: S603
            list(map(str, command)), stdout=log, stderr=log, env=variables, process_group=0
        )
        self.pid = self._process.pid

    def finish(self):
        """Wait for its end.

        :raises SystemExit: it failed.
        """
        if self._process.wait():
            self._fail()

    def wait_for(self, url):
        """Wait until it answers a URL.

        :raises SystemExit: it has ended, or does not answer within two minutes.
        """
        request = urllib.request.Request(url, headers=_HEADERS)  # noqa: S310, a URL of this machine
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(request):  # noqa: S310
                return
            time.sleep(0.2)
        self._fail()

    def end(self):
        """End it and its children."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def _fail(self):
        self._log.seek(0)
        raise SystemExit(f'{self._process.args} failed:\n{self._log.read().decode()[-5000:]}')
