"""The way from the last release to this one and back, with the packages of both, as in upgrade.rst.

The clients write all the time, also during the backup and the upgrade. Going back loses what was written after the
backup, and nothing else.
"""

import random
import time

import pytest

from ironic_traits.db import revisions
from tests.chaos import checker, clients
from tests.chaos.backups import Site, as_stored
from tests.chaos.history import History
from tests.chaos.two_releases import Processes
from tests.support import releases
from tests.support.servers import require
from tests.support.service import database

#: Seconds of load between two steps, and between two requests of a client.
_LOAD, _PAUSE = 3, 0.2


@pytest.fixture(scope='module')
def installed(tmp_path_factory):
    """The environments of the last release and of this one."""
    last = releases.last()
    require(last, 'this is not a full clone')
    folder = tmp_path_factory.mktemp('releases')
    return [releases.install(commit, folder / name) for name, commit in (('last', last), ('this', 'HEAD'))]


def test_the_way_there_and_back(installed, new_database, database_kind, tmp_path):
    if database_kind == 'sqlite':
        pytest.skip('one service uses the file: test_backups goes back')
    last, this = installed
    url, record, times = new_database(), History(), []
    home = tmp_path / 'home'
    home.mkdir()
    site = Site(database_kind, url, home, last / 'bin')
    with Processes(url, tmp_path) as processes:
        processes.upgrade(last)
        before = _schema(url)
        processes.serve(last)

        def make_ask(choices):
            return clients.over_http(processes.bases, choices)

        def go_there():
            time.sleep(_LOAD)
            times.append(time.monotonic())
            site.run(0)
            times.append(time.monotonic())
            time.sleep(_LOAD)
            processes.upgrade(this)
            processes.serve(this)
            time.sleep(_LOAD)

        ask = make_ask(random.Random(0))
        world = clients.World(ask)
        clients.run(make_ask, 'there', record, 0, world=world, pause=_PAUSE, disturb=go_there).end()
        assert not [entry for entry in record.entries if entry.status == 0 or entry.status >= 500], processes.output
        assert _schema(url) == revisions.newest()
        assert _problems(make_ask, world, record) == []

        processes.stop()
        site.run(1)
        assert _schema(url) == before
        processes.serve(last)
        assert _problems(make_ask, world, as_stored(record, *times)) == []

        # The next try begins where the first one did.
        processes.upgrade(this)
        processes.serve(this)
        assert _schema(url) == revisions.newest()
        assert _problems(make_ask, world, as_stored(record, *times)) == []
        assert not processes.has_ended(), processes.output[-5000:]
        assert 'Traceback' not in processes.output


def _schema(url):
    with database(url) as opened:
        return revisions.current(opened)


def _problems(make_ask, world, record):
    """Return what the inventory lacks, or has too much, compared with the record of its writes."""
    ask = make_ask(random.Random(1))
    follower = clients.Follower(ask, record)
    follower.start()
    problems = checker.settle(ask, world)
    follower.end()
    return problems + checker.problems(record, world, checker.Stored(ask), follower.copy)
