"""Backups during writes, and their restoration, with the commands of the page.

A backup has all writes that were acknowledged before its begin, and none that began after its end.
"""

import dataclasses
import os
import pathlib
import random
import time

import pytest

from tests.chaos import checker, clients
from tests.chaos.backups import Site, as_stored
from tests.chaos.history import OK, History
from tests.support.servers import program, require
from tests.support.service import upgraded

#: Minimum number of writes that are acknowledged before a backup, and that begin after it. Seconds between two requests
#: of a client.
BEFORE, AFTER, PAUSE = 40, 20, 0.1
#: The text has a character of four bytes.
TEXT = 'Łódź \N{FILE CABINET}'


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


def _problems(site, backup):
    """Return the problems of the restored database."""
    history = as_stored(backup.history, backup.began, backup.ended)
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
