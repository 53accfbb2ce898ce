"""The purge of history entries."""

import datetime
import time
from urllib.parse import urlencode

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.core import history_purge
from ironic_traits.worker import upkeep
from tests.support import commands
from tests.support.client import Client
from tests.support.history import entries
from tests.support.service import make_app


def _age(app, node, days):
    """Make the entries of a node older."""
    with app.service.write() as connection:
        for row in connection.execute(sa.select(tables.node_history).where(tables.node_history.c.node_uuid == node)):
            connection.execute(
                sa.update(tables.node_history)
                .where(tables.node_history.c.id == row.id)
                .values(created_at=row.created_at - datetime.timedelta(days=days))
            )


def test_purge(app, client, monkeypatch):
    monkeypatch.setattr(history_purge, '_BATCH', 3)
    monkeypatch.setattr(history_purge, '_NODES', 2)
    nodes = [client.node()['uuid'] for _ in range(5)]
    for node in nodes:
        for number in range(7):
            client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}')
    gone = nodes.pop()
    assert client.ask('DELETE', f'/v1/nodes/{gone}').status_int == 204
    before = {node: entries(client, node) for node in nodes}

    def purge(**limits):
        return history_purge.purge(app.service, **{'max_entries': 0, 'max_days': 0} | limits)

    assert (purge(), purge(max_entries=8), purge(max_days=1)) == (0, 0, 0)
    assert purge(max_entries=3) == 4 * 5
    for node in nodes:
        assert entries(client, node) == before[node][-3:]
        last, earlier = (before[node][position]['created_at'] for position in (-3, -4))
        # One entry is the creation. SQLite's clock has milliseconds, so several writes may have the same time.
        until = [entry for entry in before[node] if entry['created_at'] <= last]
        assert len(client.get(f'/v1/nodes/{node}/traits?{urlencode({"at": last})}')['traits']) == len(until) - 1
        assert client.ask('GET', f'/v1/nodes/{node}/traits?{urlencode({"at": earlier})}').status_int in (200, 410)
    # The entries of a deleted node are limited by age, not by number.
    assert len(entries(client, gone)) == 9
    for node in (gone, nodes[0]):
        _age(app, node, 10)
    assert purge(max_days=11) == 0
    assert purge(max_days=9) == 9 + 3
    assert [len(entries(client, node)) for node in [gone, *nodes]] == [0, 0, 3, 3, 3]
    assert purge(max_entries=1, is_stopped=lambda: True) == 0


def test_purge_command(database_url):
    with make_app(database_url) as app:
        client = Client(app)
        for node in [client.node()['uuid'] for _ in range(2)]:
            client.ask('PUT', f'/v1/nodes/{node}/maintenance', {})
    for options, code, text in (
        ((), 0, '0 entries were deleted'),
        (('--max-entries', '1', '--max-days', '1'), 0, '2 entries were deleted'),
        (('--max-days', '-1'), 2, '-1 is negative'),
        (('--max-entries', 'some'), 2, "'some' is not an integer"),
    ):
        ended = commands.run('ironic-traits-manage', '--database', database_url, 'history', 'purge', *options)
        assert (ended.returncode, text in ended.stdout + ended.stderr) == (code, True), ended.stderr


def test_worker_purges(app, client, monkeypatch):
    monkeypatch.setattr(upkeep, 'FIRST', 0.01)
    node = client.node()['uuid']
    for number in range(3):
        client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}')
    for interval, count in ((0, 4), (3600, 1)):
        app.service.conf.set_override('purge_interval', interval, group='history')
        app.service.conf.set_override('max_entries', 1, group='history')
        with upkeep.keep_up(app.service):
            deadline = time.monotonic() + 10
            while interval and len(entries(client, node)) > 1 and time.monotonic() < deadline:
                time.sleep(0.02)
        assert len(entries(client, node)) == count
