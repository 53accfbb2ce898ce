"""Commands that the tests start."""

import socket
import subprocess

from tests.support import commands


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
