"""Two releases at once: the schema is upgraded while services of the previous release answer requests."""

import random
import time

import pytest

from ironic_traits.db import revisions
from tests.chaos import checker, clients, history
from tests.chaos.two_releases import Processes
from tests.support import releases
from tests.support.servers import require
from tests.support.service import database

#: Seconds with the old release before the upgrade, and with both releases after it.
_BEFORE, _TOGETHER = 1, 4
#: Seconds between two requests of a client. Shorter pauses would slow down the start of the processes.
_PAUSE = 0.5


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
