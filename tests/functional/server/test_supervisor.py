"""The supervisor retries a program that cannot be started for a while."""

import os
import signal
import sys
import time

import pytest

from ironic_traits.cmd import supervisor
from tests.support.terminal import is_running

#: A replacement of the Python interpreter: it notes its pid, and waits.
PROGRAM = '#!/bin/sh\necho $$ >> {log}\nexec sleep 600\n'


class Child(supervisor.Child):
    """A child with a short pause before its restart."""

    pause = 0.05
    max_pause = 0.2


class Program:
    """An executable that can be removed and restored."""

    def __init__(self, folder):
        self.path, self._log, self._new = folder / 'program', folder / 'pids', folder / 'new'

    def put(self):
        self._new.write_text(PROGRAM.format(log=self._log))
        self._new.chmod(0o755)
        # Rename it into place: a file that is open for writing cannot be executed.
        self._new.rename(self.path)

    @property
    def pids(self):
        """The pids of its processes so far."""
        return [int(line) for line in self._log.read_text().split()] if self._log.exists() else []

    def wait_for(self, number):
        """Wait for a number of starts, and return the pid of the last process."""
        until(lambda: len(self.pids) == number)
        return self.pids[-1]


def until(is_so):
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def program(tmp_path, monkeypatch):
    created = Program(tmp_path)
    created.put()
    monkeypatch.setattr(sys, 'executable', str(created.path))
    return created


def test_a_child_that_cannot_be_started_is_tried_again(program, caplog):
    with Child('ironic_traits.cmd.worker', []):
        first = program.wait_for(1)
        program.path.unlink()
        os.kill(first, signal.SIGKILL)
        until(lambda: caplog.text.count('ironic_traits.cmd.worker cannot be started') >= 3)
        assert 'No such file or directory' in caplog.text
        program.put()
        second = program.wait_for(2)
        os.kill(second, signal.SIGKILL)
        third = program.wait_for(3)
    assert not any(map(is_running, (first, second, third)))


def test_the_service_ends_while_a_child_cannot_be_started(program, caplog):
    with Child('ironic_traits.cmd.worker', []) as child:
        first = program.wait_for(1)
        program.path.unlink()
        os.kill(first, signal.SIGKILL)
        until(lambda: 'cannot be started' in caplog.text)
    assert not child._keeper.is_alive()
    assert len(program.pids) == 1
