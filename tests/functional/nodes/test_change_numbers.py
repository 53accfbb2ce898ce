"""The numbers of the change feed, and the news between two snapshots."""

import contextlib
import datetime

import pytest
import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.changes.change_feed import NODE, RESERVATION, Seen, Token
from ironic_traits.db import tables
from tests.support import plans

UUIDS = [f'aaaaaaaa-0000-4000-8000-{number:012}' for number in range(20)]


@pytest.fixture
def service(app):
    return app.service


def record(service, *uuids, kind=NODE):
    with service.write() as connection:
        change_feed.record(connection, kind, uuids)


def stored(service, column):
    with service.read() as connection:
        return connection.scalars(sa.select(column).order_by(column)).all()


def news(service, before=None, kind=NODE):
    """Return the result of ``news`` of a snapshot."""
    with service.database.snapshot() as connection:
        return change_feed.news(connection, kind, before)


def begin(service):
    """Return the Seen of a reader before any change."""
    change_feed.number_several(service)
    return news(service).seen


def changed(service, before):
    """Return the uuids of the nodes that have changed since a Seen, which all readers get."""
    found = change_feed.since(service, before.token, [NODE], 100)
    assert not found.has_more
    uuids = {change.uuid for change in found.changes}
    assert news(service, before).uuids == uuids
    return uuids


def test_nothing_to_number(service):
    """A request that finds all changes numbered does not write."""
    before = begin(service)
    record(service)
    assert change_feed.number(service) == 0
    record(service, UUIDS[0])
    assert change_feed.now(service).number == 1
    with plans.statements() as executed:
        assert change_feed.now(service).number == 1
    assert len(executed) == 1, executed
    assert changed(service, before) == {UUIDS[0]}


def test_batches(service, monkeypatch):
    """A transaction numbers one batch, and a request several. The next one numbers the others."""
    before = begin(service)
    monkeypatch.setattr(change_feed, 'BATCH', 1)
    record(service, *UUIDS[:12])
    assert change_feed.number(service) == 1
    assert len(stored(service, tables.change_log.c.id)) == 11
    assert [change_feed.now(service).number for _ in range(2)] == [11, 12]
    assert changed(service, before) == set(UUIDS[:12])


def test_objects_of_different_kinds_with_one_uuid(service):
    before = begin(service)
    for kind in (NODE, RESERVATION, NODE):
        record(service, UUIDS[0], kind=kind)
        change_feed.number(service)
    assert stored(service, tables.changes.c.kind) == [NODE, RESERVATION]
    assert stored(service, tables.changes.c.number) == [2, 3]
    assert changed(service, before) == {UUIDS[0]}


def test_a_few_changes_without_numbers(service):
    """A reader of snapshots numbers changes only if there are more than a few, or it is the first reader."""
    change_feed.number_several(service)
    record(service, *UUIDS[:8])
    change_feed.number_several(service)
    assert len(stored(service, tables.change_log.c.id)) == 8
    before = news(service).seen
    record(service, UUIDS[8])
    change_feed.number_several(service)
    assert stored(service, tables.change_log.c.id) == []
    assert changed(service, before._replace(unnumbered=frozenset())) == set(UUIDS[:9])
    page = change_feed.since(service, before.token, [NODE], 5)
    assert (len(page.changes), page.has_more, page.token.number) == (5, True, 5)


def test_news(service):
    """They are the changes of one kind since the snapshot before, and those that it saw without a number."""
    record(service, UUIDS[0])
    change_feed.number_several(service)
    record(service, UUIDS[1])
    first = news(service)
    assert (first.uuids, first.seen.token.number, first.seen.unnumbered) == (None, 1, {UUIDS[1]})
    assert news(service, first.seen).uuids == {UUIDS[1]}
    record(service, UUIDS[2])
    record(service, UUIDS[3], kind=RESERVATION)
    change_feed.now(service)
    record(service, UUIDS[4])
    record(service, UUIDS[5], kind=RESERVATION)
    second = news(service, first.seen)
    assert second.uuids == {UUIDS[1], UUIDS[2], UUIDS[4]}
    assert news(service, second.seen).uuids == {UUIDS[4]}
    # What was seen without a number may have changed until the snapshot: only its number is older.
    token = second.seen.token
    assert news(service, Seen(token, frozenset(UUIDS[6:7]))).uuids == {UUIDS[4], UUIDS[6]}
    # A client that follows the feed gets the same.
    pages = [change_feed.since(service, first.seen.token, [NODE], limit) for limit in (2, 3)]
    assert [[change.uuid for change in page.changes] for page in pages] == [UUIDS[1:3], [*UUIDS[1:3], UUIDS[4]]]


def test_news_of_places_that_are_not_valid(service):
    record(service, *UUIDS[:4])
    token = change_feed.now(service)
    with service.write() as connection:
        connection.execute(sa.update(tables.change_numbers).values(forgotten=2))
    numbers = [
        number for number in range(7) if news(service, Seen(Token(token.feed, number), frozenset())).uuids is None
    ]
    assert numbers == [0, 1, 5, 6]
    with pytest.raises(failures.TokenOutdated):
        change_feed.since(service, token._replace(number=1), [NODE], 10)
    assert [
        change.uuid for change in change_feed.since(service, token._replace(number=2), [NODE], 10).changes
    ] == UUIDS[2:4]
    change_feed.begin_again(service)
    assert news(service, Seen(token, frozenset())).uuids is None


def test_a_page_that_is_just_full(service):
    """It is the last page if there are no more changes."""
    token = change_feed.now(service)
    record(service, *UUIDS[:3])
    sizes = {3: (3, False), 2: (2, True), 4: (3, False)}
    for limit, expected in sizes.items():
        page = change_feed.since(service, token, [NODE], limit)
        assert (len(page.changes), page.has_more) == expected
    assert page.token.number == 3


class _Late:
    """A database in which another process writes and numbers a change before the second statement of a reader."""

    def __init__(self, service):
        self._service, self._count = service, 0
        self.write = service.write

    @contextlib.contextmanager
    def read(self):
        self._count += 1
        if self._count == 2:
            record(self._service, UUIDS[1])
            change_feed.number(self._service)
        with self._service.read() as connection:
            yield connection


def test_a_change_that_is_numbered_while_a_page_is_read(service):
    """The token is after all changes of the page, so that the client does not get them again."""
    record(service, UUIDS[0])
    token = change_feed.now(service)._replace(number=0)
    page = change_feed.since(_Late(service), token, [NODE], 10)
    assert [change.uuid for change in page.changes] == UUIDS[:2]
    assert page.token.number == 2


def test_forgotten_deletions(service, client, monkeypatch):
    """Only deletions that are old enough are forgotten, the oldest first."""
    assert change_feed.forget(service, days=7) == 0
    kept = client.node()['uuid']
    for uuid in (UUIDS[2], UUIDS[1], UUIDS[0]):
        record(service, uuid)
        change_feed.number(service)
    record(service, UUIDS[3], kind=RESERVATION)
    change_feed.number(service)
    ages = {UUIDS[0]: 6, UUIDS[1]: 8, UUIDS[2]: 8, UUIDS[3]: 8, kept: 8}
    with service.write() as connection:
        moment = change_feed.read_clock(connection)
        for uuid, days in ages.items():
            same = tables.changes.c.uuid == uuid
            times = {'changed_at': moment - datetime.timedelta(days=days)}
            connection.execute(sa.update(tables.changes).where(same).values(times))
    monkeypatch.setattr(change_feed, 'BATCH', 1)
    for uuid in (UUIDS[2], UUIDS[1], UUIDS[3]):
        assert change_feed.forget(service, days=7) == 1
        assert uuid not in stored(service, tables.changes.c.uuid)
    assert change_feed.forget(service, days=7) == 0
    assert set(stored(service, tables.changes.c.uuid)) == {UUIDS[0], kept}
