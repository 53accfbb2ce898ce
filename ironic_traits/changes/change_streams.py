"""The streams of changes of one process: clients that stay connected and are sent each change.

One thread of the process, the *reader*, asks the change feed for what is new. It keeps the last changes, from which all
streams are served: a stream waits until there is something after its own place. A stream whose place is before what is
kept reads the feed itself, page by page, until it has caught up. So a client that reads slowly costs no memory, and
nothing is missed: both ways go by the numbers of ``changes.change_feed``.

A stream is an iterator of bytes, which sleeps most of the time. It must not be iterated in a thread that serves other
requests: ``cmd.server.streaming`` gives each a small thread of its own.
"""

import collections
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.changes.change_feed import KINDS, Database, ObjectChange, Token
from ironic_traits.db.failover import outage

LOG = logging.getLogger(__name__)

#: Changes that are kept for the streams.
MAX_KEPT = 5000
#: Changes that are read at a time.
PAGE = 500
#: How many streams read the feed themselves at a time. Each needs a connection to the database.
_MAX_READERS = 4
#: Milliseconds after which the browser connects again when a stream ends.
_RETRY = 2000
#: A comment, which clients ignore.
_HEARTBEAT = b': heartbeat\n\n'


class Item(NamedTuple):
    """A change as it is sent.

    :ivar number: of the change.
    :ivar kind: of the object.
    :ivar uuid: of the object.
    :ivar event: the event, with its empty line at the end.
    """

    number: int
    kind: str
    uuid: str
    event: bytes


class Batch(NamedTuple):
    """Changes after a place in the feed, the oldest first, and the place after them."""

    items: list[Item]
    token: Token


class Streams:
    """The streams of this process, and the reader. ``service.Service`` has one.

    :param database: what the feed is read from: a Service.
    :param options: the group [changes] of the configuration.
    """

    def __init__(self, database: Database, options: cfg.ConfigOpts.GroupAttr) -> None:
        self._database, self._options = database, options
        self._condition = threading.Condition()
        #: {(kind, uuid): last change of the object}, in the order of their numbers.
        self._items: collections.OrderedDict[tuple[str, str], Item] = collections.OrderedDict()
        #: The place before the items, and that after them; None as long as there is no reader.
        self._start: Token | None = None
        self._end: Token | None = None
        self._open = 0
        self._has_reader = self._is_closed = False
        self._own_reads = threading.Semaphore(_MAX_READERS)

    def admit(self, limit: int) -> None:
        """Count a new stream; ``leave`` is called when it ends.

        :param limit: maximum number of streams of this process.
        :raises failures.TooManyStreams: there are as many, or the process stops.
        """
        with self._condition:
            if self._open >= limit or self._is_closed:
                raise failures.TooManyStreams(limit=limit)
            self._open += 1
            if not self._has_reader:
                self._has_reader = True
                threading.Thread(target=self._read, name='changes', daemon=True).start()

    def leave(self) -> None:
        """Count a stream that has ended."""
        with self._condition:
            self._open -= 1
            self._condition.notify_all()

    def close(self) -> None:
        """End all streams, and refuse new ones."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    @property
    def is_closed(self) -> bool:
        """Whether all streams are to end."""
        return self._is_closed

    def after(self, token: Token, seconds: float) -> Batch | None:
        """Return the changes after a place in the feed, as soon as there are some.

        :param seconds: how long to wait for them.
        :returns: None if there is nothing new, or all streams are to end.
        :raises failures.TokenOutdated: the token is too old.
        """
        with self._condition:
            self._condition.wait_for(lambda: self._is_closed or self._place(token) is not None, seconds)
            if self._is_closed or self._place(token) is None:
                return None
            if self._place(token):
                assert self._end is not None
                later = itertools.takewhile(lambda item: item.number > token.number, reversed(self._items.values()))
                return Batch(list(later)[::-1], self._end)
        with self._own_reads:
            batch = self.page(token)
        if batch.token != token:
            return batch
        # The reader has not found out yet that the feed began again.
        time.sleep(min(seconds, self._options.stream_interval))
        return None

    def page(self, token: Token) -> Batch:
        """Return the next page of the feed after a place.

        :raises failures.TokenOutdated: the token is too old.
        """
        page = change_feed.since(self._database, token, KINDS, PAGE)
        return Batch([_item(page.token.feed, change) for change in page.changes], page.token)

    def _place(self, token: Token) -> bool | None:
        """Whether all that is new after a token is kept; None if nothing is new, as far as the reader knows."""
        if self._start is None or self._end is None:
            return None
        if token.feed != self._end.feed:
            return False
        return None if token.number >= self._end.number else token.number >= self._start.number

    def _read(self) -> None:
        """Read the feed as long as there are streams."""
        while True:
            more = False
            try:
                more = self._read_page()
            except failures.TokenOutdated:
                # The feed began again. The streams find out by themselves.
                self._forget()
            except Exception as error:
                _log(error)
            with self._condition:
                if not more:
                    self._condition.wait_for(lambda: not self._open or self._is_closed, self._options.stream_interval)
                if not self._open or self._is_closed:
                    self._start = self._end = None
                    self._items.clear()
                    self._has_reader = False
                    return

    def _read_page(self) -> bool:
        """Read what is new, and return whether there is more."""
        if self._end is None:
            place = change_feed.now(self._database)
            with self._condition:
                self._start = self._end = place
                self._condition.notify_all()
            return False
        batch = self.page(self._end)
        if batch.token == self._end:
            return False
        with self._condition:
            for item in batch.items:
                self._items.pop((item.kind, item.uuid), None)
                self._items[item.kind, item.uuid] = item
            while len(self._items) > MAX_KEPT:
                self._start = Token(batch.token.feed, self._items.popitem(last=False)[1].number)
            self._end = batch.token
            self._condition.notify_all()
        return len(batch.items) == PAGE

    def _forget(self) -> None:
        with self._condition:
            self._start = self._end = None
            self._items.clear()


class Events:
    """A stream: an iterator of server-sent events as bytes.

    :param streams: the Streams that have admitted it.
    :param token: the place after which it begins.
    :param kinds: kinds of objects.
    :param check: function without arguments that raises a Failure if the client may not see changes any more.
    :param seconds: its longest life.
    :param heartbeat: seconds after which something is sent, even if nothing has changed.
    :ivar ends: functions without arguments to call when it ends.
    """

    def __init__(
        self,
        streams: Streams,
        token: Token,
        kinds: Collection[str],
        check: Callable[[], None],
        seconds: float,
        heartbeat: float,
    ) -> None:
        self._streams, self._kinds, self._check, self._heartbeat = streams, frozenset(kinds), check, heartbeat
        self._ends_at = time.monotonic() + seconds
        self._pieces = self._generate(token)
        self.ends: list[Callable[[], None]] = [streams.leave]

    def __iter__(self) -> 'Events':
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """End the stream. The server calls this when the client has gone, too, and possibly more than once."""
        ends, self.ends = self.ends, []
        for end in ends:
            end()

    def _generate(self, token: Token) -> Iterator[bytes]:
        yield f'retry: {_RETRY}\n\n'.encode() + _event(str(token), 'token', {'token': str(token)})
        sent, sent_at = token, time.monotonic()
        while not self._streams.is_closed and (left := self._ends_at - time.monotonic()) > 0:
            try:
                batch = self._streams.after(token, max(0, min(sent_at + self._heartbeat - time.monotonic(), left)))
                self._check()
            except failures.Failure as failure:
                yield _event(None, 'end', {'code': failure.code, 'status': failure.status, 'message': str(failure)})
                return
            except Exception as error:
                # The client connects again.
                _log(error)
                return
            token = batch.token if batch else token
            piece = b''.join(item.event for item in batch.items if item.kind in self._kinds) if batch else b''
            if not piece and time.monotonic() - sent_at >= self._heartbeat:
                # An id without data is no event. The client continues there after a reconnect.
                piece = _HEARTBEAT if token == sent else f'{_HEARTBEAT[:-1].decode()}id: {token}\n\n'.encode()
            if piece:
                sent, sent_at = token, time.monotonic()
                yield piece


def _log(error: Exception) -> None:
    """Log why the feed could not be read. Outages of the database are logged elsewhere (``db.failover.outage``)."""
    if not outage.is_unavailable(error):
        LOG.error('The changes for streams could not be read', exc_info=error)


def _item(feed: str, change: ObjectChange) -> Item:
    data = {'kind': change.kind, 'uuid': change.uuid, 'deleted': change.is_deleted}
    data['changed_at'] = f'{change.changed_at.isoformat()}+00:00'
    return Item(change.number, change.kind, change.uuid, _event(f'{feed}-{change.number}', 'change', data))


def _event(token: str | None, name: str, data: dict) -> bytes:
    ident = f'id: {token}\n' if token else ''
    return f'{ident}event: {name}\ndata: {json.dumps(data, separators=(",", ":"))}\n\n'.encode()
