"""Commands that the tests start."""

import pathlib
import socket
import subprocess
import sys

from tests.support import commands
from tests.support.checkout import CHECKOUT
from tests.support.concurrency import wait_until

_START = """
import time
from tests.support import commands
print(commands.Forks('ironic-traits-status').socket, flush=True)
time.sleep(300)
"""


def test_signal_after_end():
    """A process may have ended, and its exit code may still be on the way."""
    ended = subprocess.Popen(['true'])
    ended.wait()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(f'{ended.pid:20}'.encode())
        process = commands.Process(ours)
        process.kill()
        theirs.sendall(f'{0:20}'.encode())
        assert process.wait() == 0


def test_the_starter_is_killed():
    """The process that forks for its commands ends, too."""
    with subprocess.Popen([sys.executable, '-c', _START], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT) as starter:
        path = pathlib.Path(starter.stdout.readline().strip())
        assert path.exists()
        starter.kill()
    wait_until(lambda: not path.parent.exists())
