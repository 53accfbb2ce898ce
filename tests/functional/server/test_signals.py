"""After Ctrl-C, SIGTERM and SIGKILL, each program ends soon, prints a line about it, and leaves no process.

granian kills a worker that does not end after 60 seconds. The limits here are below that, and far above the usual time.
"""

import contextlib
import http.client
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from tests.support import commands, programs, servers
from tests.support.http_client import ask, make
from tests.support.service import Server, upgraded
from tests.support.terminal import CTRL_C, Terminal, descendants, has_imported, is_running

WORKERS = [1, 2, 4]
READY = 'Ctrl-C stops the service.'


@contextlib.contextmanager
def service(cwd, *arguments, **environment):
    """A service on a terminal."""
    port = str(servers.free_port())
    with Terminal('ironic-traits-api', '--port', port, *arguments, cwd=cwd, **environment) as terminal:
        yield terminal


def wait_for_end(pids, seconds=25):
    """Wait until processes have ended, and fail if some have not."""
    deadline = time.monotonic() + seconds
    while left := list(filter(is_running, pids)):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


@pytest.mark.parametrize('times', [1, 2])
@pytest.mark.parametrize('workers', WORKERS)
def test_ctrl_c(workers, times, tmp_path):
    with service(tmp_path, '--workers', str(workers)) as terminal:
        terminal.wait_for(READY)
        # The first web server responds while others may still start.
        terminal.wait_until(lambda: len(descendants(terminal.process.pid)) == workers + 1)
        children = descendants(terminal.process.pid)
        for _ in range(times):
            terminal.press(CTRL_C)
            time.sleep(0.05)
        assert terminal.end() == 0
        wait_for_end(children)
        assert 'ironic-traits has stopped.' in terminal.printed()
        assert 'Traceback' not in terminal.printed()


@pytest.mark.parametrize('workers', WORKERS)
def test_sigterm_for_every_process(workers, tmp_path):
    """By default, systemd sends SIGTERM to every process."""
    with service(tmp_path, '--workers', str(workers)) as terminal:
        terminal.wait_for(READY)
        children = descendants(terminal.process.pid)
        for pid in (terminal.process.pid, *children):
            # The main process may already have ended its children.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        assert terminal.end() == 0
        wait_for_end(children)
        assert 'Traceback' not in terminal.printed()


def test_ctrl_c_while_modules_are_imported(tmp_path):
    """Ctrl-C works while modules are imported."""
    (tmp_path / 'granian.py').write_text('import time; print("importing"); time.sleep(300)')
    with service(tmp_path, PYTHONPATH=str(tmp_path)) as terminal:
        terminal.wait_for('importing')
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert terminal.printed().splitlines() == ['importing', '^Cironic-traits-api: interrupted']


@pytest.mark.parametrize('seconds', [0, 0.3, 0.6, 1, 1.5, 2])
def test_ctrl_c_during_the_start(seconds, tmp_path):
    """Ctrl-C during the start leaves no process, and prints no traceback."""
    with service(tmp_path, '--workers', '2') as terminal:
        terminal.wait_until(lambda: has_imported(terminal.process.pid, '_granian'))
        time.sleep(seconds)
        children = descendants(terminal.process.pid)
        terminal.press(CTRL_C)
        assert terminal.end() in (0, 130)
        wait_for_end(children)
        assert 'Traceback' not in terminal.printed()
        assert any(end in terminal.printed() for end in ('ironic-traits-api: interrupted', 'has stopped.'))


#: A module that replaces granian. It interrupts the close of the first connection, and imports granian.
INTERRUPTED_CLOSE = """
import sys
from sqlalchemy.engine.default import DefaultDialect

def do_close(*arguments):
    DefaultDialect.do_close = close
    raise KeyboardInterrupt

close, DefaultDialect.do_close = DefaultDialect.do_close, do_close
sys.path.remove(__file__.rpartition('/')[0])
del sys.modules['granian']
import granian
"""


def test_ctrl_c_while_a_connection_is_closed(tmp_path):
    """SQLAlchemy logs exceptions during a close with a traceback, before it raises them again."""
    (tmp_path / 'granian.py').write_text(INTERRUPTED_CLOSE)
    with service(tmp_path, PYTHONPATH=str(tmp_path)) as terminal:
        assert terminal.end() == 130
        assert 'Traceback' not in terminal.printed()
        assert 'ironic-traits-api: interrupted' in terminal.printed()


def test_ctrl_c_with_idle_connections(tmp_path):
    """Keep-alive connections do not delay the end."""
    with service(tmp_path, '--workers', '2') as terminal:
        terminal.wait_for(READY)
        port = int(terminal.printed().split('http://127.0.0.1:')[1].split()[0])
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                connection = stack.enter_context(contextlib.closing(http.client.HTTPConnection('127.0.0.1', port)))
                connection.request('GET', '/v1')
                assert connection.getresponse().read()
            terminal.press(CTRL_C)
            assert terminal.end() == 0


def test_ctrl_c_finishes_what_is_in_flight(tmp_path):
    """A write that waits for a lock succeeds."""
    database = tmp_path / 'slow.sqlite'
    with service(tmp_path, '--database', f'sqlite:///{database}') as terminal:
        terminal.wait_for(READY)
        base = 'http://' + terminal.printed().split('http://')[1].split()[0]
        uuid = make(base)
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as lock:
            lock.execute('BEGIN IMMEDIATE')
            responses = []
            path = f'/v1/nodes/{uuid}/traits/CUSTOM_A'
            writer = threading.Thread(target=lambda: responses.append(ask(base, 'PUT', path)[0]))
            writer.start()
            time.sleep(0.5)
            terminal.press(CTRL_C)
            terminal.wait_for('stops after the requests in flight')
            lock.execute('ROLLBACK')
        writer.join(30)
        assert responses == [204]
        assert terminal.end() == 0


def test_ctrl_c_for_a_worker(tmp_path):
    database = f'sqlite:///{tmp_path}/own.sqlite'
    commands.run('ironic-traits-manage', '--database', database, 'db', 'upgrade')
    with Terminal('ironic-traits-worker', '--database', database, cwd=tmp_path) as terminal:
        terminal.wait_for(', pid ')
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert 'Traceback' not in terminal.printed()


def test_ctrl_c_for_a_command(tmp_path):
    """The command waits for its input."""
    database = upgraded(f'sqlite:///{tmp_path}/own.sqlite')
    with Terminal('ironic-traits-manage', '--database', database, 'inventory', 'import', '-', cwd=tmp_path) as terminal:
        terminal.wait_until(terminal.is_reading)
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert terminal.printed().splitlines()[-1].endswith('ironic-traits-manage: interrupted')
        assert 'Traceback' not in terminal.printed()


def test_sigkill_ends_the_children(tmp_path):
    with Server(None, '--workers', '2', cwd=tmp_path) as server:
        # The second web server may start after the first one serves requests.
        deadline = time.monotonic() + 30
        while len(children := descendants(server.process.pid)) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert len(children) == 3
        server.process.kill()
        server.process.wait()
        wait_for_end(children)


FORK = """
import os, signal, sys, time
from ironic_traits.cmd import supervisor

busy_until = time.monotonic() + float(sys.argv[1])
supervisor.separate_forks(lambda: time.monotonic() < busy_until)
pid = os.fork()
if not pid:
    # As a web server that gets the signal and does not act on it.
    signal.signal(signal.SIGTERM, lambda number, frame: print('signalled', flush=True))
    print('forked', flush=True)
    time.sleep(300)
os.waitpid(pid, 0)
"""


@pytest.mark.parametrize('seconds', [0, 5])
def test_a_web_server_that_misses_the_signal(seconds):
    """A web server that misses the signal is ended once it has no requests."""
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, '-c', FORK, str(seconds)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == 'forked\n'
        [child] = descendants(process.pid)
        os.kill(child, signal.SIGTERM)
        assert process.stdout.readline() == 'signalled\n'
        assert process.wait(30) == 0
        assert time.monotonic() - begun >= seconds


class PipedServer(Server):
    """A service whose standard output is a pipe. ``output`` is its standard error."""

    def _start(self, arguments, output, env, cwd):
        command = [programs.BIN / 'ironic-traits-api', *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=output, cwd=cwd, env=env)


@pytest.mark.parametrize('lines', [0, 2])
def test_sigterm_when_its_output_is_no_longer_read(lines, tmp_path):
    """As with "ironic-traits-api | head -2", the service continues, and ends normally."""
    server = PipedServer(None, '--nostart-worker', cwd=tmp_path)
    for _ in range(lines):
        server.process.stdout.readline()
    server.process.stdout.close()
    with server:
        # The banner is printed a moment after the first response.
        time.sleep(0.5)
        make(server.base)
    assert (server.process.returncode, server.output) == (0, '')
