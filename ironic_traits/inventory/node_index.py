"""The index of nodes: which nodes have a trait, a class, an owner, or a reason not to be free, as sets of bits.

Each process keeps one in memory, for questions about many nodes, such as capacity and facets. It is never stale. Each
use of it begins with one snapshot of the database, in which these are read:

1. the last number of the change feed, and the nodes whose changes have a number since the one that the index has;
2. the nodes in the log of changes that have no number yet;
3. the present rows of all these nodes, and of those of point 2 at the use before, with which the index is corrected.

A row of the log is committed with the write that it stands for. So a write that the snapshot shows has its row in the
log, or has a number; and that number is larger than the last one of each snapshot that did not show the write.
Reservations that have expired change no row. They are read each time.
"""

import contextlib
import dataclasses
import itertools
import logging
import threading
import time
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import outage, tables
from ironic_traits.db.annotations import Condition
from ironic_traits.db.types import names_in
from ironic_traits.deploy import states
from ironic_traits.inventory import change_feed, eligibility, mismatches, node_providers, trait_filters
from ironic_traits.matching import bitsets

LOG = logging.getLogger(__name__)
#: With more nodes than these, statements that count take so long that a process keeps the index ready (``keep``).
MANY_NODES = 20_000
#: With more nodes, the index is made for capacity and drift only: it needs more memory than a worker should use for
#: requests that a statement can answer.
MAX_NODES = 300_000
#: Seconds between two updates of an index that is kept ready.
PAUSE = 60
#: Seconds after the start of a process before it makes the index: the first requests come first.
FIRST_PAUSE = 1
#: Nodes that one statement reads.
_BATCH = 2000
#: How long the end of the process waits for a thread that reads nodes.
_SECONDS = 5
#: Deleted nodes whose positions are looked up one by one. For more, it is quicker to list all positions first.
_FEW = 20
#: An index with more deleted nodes than these, and than others, is built anew.
_MAX_DELETED = 1000
#: Columns that many nodes share a value of.
COLUMNS = (
    'resource_class',
    'owner',
    'lessee',
    'shard',
    'provision_state',
    'conductor_group',
    'origin',
    'driver',
)
#: Reasons for which a node is not free, in the order in which ``eligibility.refusal`` names them. For "reserved", the
#: index has the nodes with a reservation, live or not.
REASONS = (
    'provision state',
    'maintenance',
    'instance',
    'power state',
    'reserved',
    'allocated',
    'expectation',
)
#: Names of sets: of all nodes, and of the children among them.
ALL, CHILDREN = 'all', 'children'
_FOREIGN = tables.resource_provider_traits.c.resource_provider_id
_MEMBER = tables.resource_provider_aggregates.c.resource_provider_id
_STATEMENT = sa.select(
    tables.nodes.c.id,
    tables.nodes.c.uuid,
    *(tables.nodes.c[name] for name in COLUMNS),
    *(tables.nodes.c[name] for name in ('parent_node', 'maintenance', 'instance_uuid')),
    tables.nodes.c.power_state,
    sa.exists().where(tables.reservations.c.node_uuid == tables.nodes.c.uuid).correlate(tables.nodes).label('reserved'),
    node_providers.ALLOCATED.label('allocated'),
    mismatches.MISMATCHED.label('mismatched'),
    trait_filters.JOINED,
    # Of the node's provider: traits that clients have set, and aggregates.
    sa.select(names_in(tables.traits.c.name))
    .join(tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
    .join(tables.resource_providers, tables.resource_providers.c.id == _FOREIGN)
    .where(tables.resource_providers.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('foreign_traits'),
    sa.select(names_in(tables.resource_provider_aggregates.c.aggregate_uuid))
    .join(tables.resource_providers, tables.resource_providers.c.id == _MEMBER)
    .where(tables.resource_providers.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('aggregates'),
)
_EXPIRED = (
    sa.select(tables.nodes.c.id)
    .join(tables.reservations, tables.reservations.c.node_uuid == tables.nodes.c.uuid)
    .where(eligibility.EXPIRED)
)


class View:
    """The nodes at one moment.

    :ivar connection: on the snapshot of that moment.
    :ivar expired: set of the nodes whose reservation has expired.
    """

    def __init__(self, connection: sa.Connection, content: '_Content') -> None:
        self.connection = connection
        self.expired = 0
        self._sets = content.sets
        self._position = content.position
        self._ids = content.ids
        self._known: dict[Hashable, int] = {}

    def get(self, *name: str | None) -> int:
        """Return a set: ALL, CHILDREN, ('trait', name), ('reason', one of REASONS), (one of COLUMNS, value or None), or
        of the nodes whose provider has a trait of a client's, ('foreign', name), or is in an ('aggregate', uuid).
        """
        key: Hashable = name if len(name) > 1 else name[0]
        if key not in self._known:
            self._known[key] = self._sets.get(key)
        return self._known[key]

    def values(self, kind: str) -> list[str]:
        """Return the names of the sets of a kind, sorted: traits for 'trait', owners for 'owner', …"""
        # A node with '' has no class.
        none = (None, '') if kind == 'resource_class' else (None,)
        return sorted(value for value in self._names(kind) if value not in none)

    def counts(self, kind: str, nodes: int) -> list[tuple[str | None, int]]:
        """Return how many of some nodes are in each set of a kind: [(value, number), …], the most frequent first.

        :param kind: one of COLUMNS, or 'trait'.
        """
        # Not by ``get``, which would keep as many large integers as there are values.
        numbers = ((value, (self._sets.get((kind, value)) & nodes).bit_count()) for value in self._names(kind))
        return by_frequency(each for each in numbers if each[1])

    def unavailable(self, reason: str) -> int:
        """Return the set of the nodes that are not free for a reason (of REASONS)."""
        return self.get('reason', reason) & ~self.expired if reason == 'reserved' else self.get('reason', reason)

    def select(self, conditions: Iterable[Condition]) -> int:
        """Return the set of the nodes that fulfil conditions on nodes, which the database evaluates."""
        return self.of_ids(self.connection.scalars(sa.select(tables.nodes.c.id).where(*conditions)))

    def of_ids(self, node_ids: Iterable[int]) -> int:
        """Return the set of nodes with these ids."""
        return bitsets.of((position for position in map(self._position, node_ids) if position is not None), self.size)

    def ids(self, nodes: int, limit: int) -> list[int]:
        """Return the ids of the first nodes of a set.

        :param limit: most ids.
        """
        return [self._ids[position] for position in itertools.islice(bitsets.positions(nodes), limit)]

    @property
    def size(self) -> int:
        """A number that is larger than each position."""
        return self._sets.size

    def _names(self, kind: str) -> Iterator[Any]:
        return (name[1] for name in self._sets if isinstance(name, tuple) and name[0] == kind)


@dataclasses.dataclass
class _Content:
    """What the index has of the nodes at the moment of a snapshot.

    :ivar seen: the place in the change feed.
    :ivar sets: the sets.
    :ivar ids: of the node at each position, in the order in which they came in.
    :ivar uuids: the same, 16 bytes each.
    :ivar late: {id: position} of nodes whose id is lower than that of a node that came in before.
    :ivar deleted: number of deleted nodes, whose positions are not used again.
    """

    seen: change_feed.Seen
    sets: bitsets.Bitsets = dataclasses.field(default_factory=bitsets.Bitsets)
    ids: array = dataclasses.field(default_factory=lambda: array('q'))
    uuids: bytearray = dataclasses.field(default_factory=bytearray)
    late: dict[int, int] = dataclasses.field(default_factory=dict)
    deleted: int = 0

    def position(self, node_id: int) -> int | None:
        """Return the position of a node; None if the index does not have it."""
        if node_id in self.late:
            return self.late[node_id]
        # Nodes mostly come in by their ids, so few are late. The first ones are in order without them.
        place = bisect_left(self.ids, node_id, hi=self._ordered)
        return place if place < self._ordered and self.ids[place] == node_id else None

    @property
    def _ordered(self) -> int:
        """How many of the first ids are in order. From the first late one on, all are in ``late``."""
        return len(self.ids) - len(self.late)

    def add(self, rows: Sequence[sa.Row]) -> None:
        """Put nodes into the sets of what they are now."""
        changed: dict[int, list[Hashable]] = {}
        for row in rows:
            position = self.position(row.id)
            changed[self._append(row) if position is None else position] = list(_names(row))
        self.sets.replace(changed, len(self.ids))

    def _append(self, row: sa.Row) -> int:
        position = len(self.ids)
        if self.late or (self.ids and self.ids[-1] > row.id):
            self.late[row.id] = position
        self.ids.append(row.id)
        self.uuids += uuid.UUID(row.uuid).bytes
        return position

    def delete(self, uuids: Collection[str]) -> None:
        """Remove nodes from all sets. Those that the index does not have are ignored."""
        positions = [each for each in self._positions([uuid.UUID(each).bytes for each in uuids]) if each is not None]
        self.sets.replace({position: () for position in positions}, len(self.ids))
        self.deleted += len(positions)

    def _positions(self, keys: Sequence[bytes]) -> Iterable[int | None]:
        if len(keys) <= _FEW:
            return map(self._find, keys)
        places = {bytes(self.uuids[16 * n : 16 * n + 16]): n for n in range(len(self.ids))}
        return map(places.get, keys)

    def _find(self, key: bytes) -> int | None:
        place = self.uuids.find(key)
        while place % 16 and place >= 0:
            place = self.uuids.find(key, place + 1)
        return None if place < 0 else place // 16


class _Closed(Exception):
    """The process ends."""


class NodeIndex:
    """The index of nodes of one process. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._content: _Content | None = None
        self._preparations = threading.Lock()
        self._thread: threading.Thread | None = None
        self._keeper: threading.Thread | None = None
        self._closed = threading.Event()

    @contextlib.contextmanager
    def now(self, context: Any) -> Iterator[View]:
        """Yield a View of the nodes as they are now. Other requests for one wait meanwhile.

        :param context: a Context or a Service.
        """
        # So that few changes have no number: those are read again at the next use.
        change_feed.now(context)
        with self._lock, context.snapshot() as connection:
            with self._guarded():
                content = self._refreshed(connection, change_feed.news(connection, change_feed.NODE, self._seen))
            yield _view(connection, content)

    @contextlib.contextmanager
    def if_ready(self, context: Any) -> Iterator[View | None]:
        """As ``now``; but yield None if the index has to read more than a few nodes for that."""
        if self._content is None or self._is_preparing:
            yield None
            return
        change_feed.now(context)
        with self._lock, context.snapshot() as connection:
            news = change_feed.news(connection, change_feed.NODE, self._seen)
            if self._content is None or news.uuids is None or len(news.uuids) > _BATCH:
                yield None
                return
            with self._guarded():
                content = self._refreshed(connection, news)
            yield _view(connection, content)

    def prepare(self, context: Any) -> None:
        """Begin to read the nodes in another thread, unless one does that already."""
        with self._preparations:
            if not self._closed.is_set() and not self._is_preparing:
                self._thread = threading.Thread(target=self._prepare, args=(context,), name='index', daemon=True)
                self._thread.start()

    def keep(self, context: Any) -> None:
        """Begin to keep the index ready in another thread, while there are many nodes (MANY_NODES to MAX_NODES).

        It updates the index after each PAUSE. Otherwise, after a night without a request that uses the index, the first
        one would find that it has to read too many changes.
        """
        self._keeper = threading.Thread(target=self._keep, args=(context,), name='index-keeper', daemon=True)
        self._keeper.start()

    def wait(self) -> None:
        """Wait until the other thread has read all nodes, if there is one."""
        if self._thread:
            self._thread.join()

    def close(self) -> None:
        """End the other threads."""
        with self._preparations:
            self._closed.set()
        for thread in (self._keeper, self._thread):
            if thread:
                # It ends after the nodes that it reads now, unless the database does not answer.
                thread.join(_SECONDS)

    @property
    def _is_preparing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _prepare(self, context: Any) -> None:
        try:
            with self.now(context):
                pass
        except _Closed:
            pass
        except Exception:
            # The next request that needs the index tries again.
            LOG.warning('The index of nodes could not be read.', exc_info=True)

    def _keep(self, context: Any) -> None:
        pause = FIRST_PAUSE
        while not self._closed.wait(pause):
            pause = PAUSE
            try:
                with self.if_ready(context) as view:
                    is_ready = view is not None
                if not is_ready and _has_many_nodes(context):
                    self.prepare(context)
            except Exception as error:
                # No error here may end the thread.
                outage.log(LOG, error, 'The index of nodes could not be updated; it is tried again later')

    @property
    def _seen(self) -> change_feed.Seen | None:
        return self._content.seen if self._content else None

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Forget the index after an exception: the sets may be changed in part."""
        try:
            yield
        except BaseException:
            self._content = None
            raise

    def _refreshed(self, connection: sa.Connection, news: change_feed.News) -> _Content:
        content = self._content
        if content is None or news.uuids is None or _is_worn(content, news.uuids):
            content = self._content = None
            content = _Content(news.seen)
            started_at = time.monotonic()
            for rows in _all(connection):
                if self._closed.is_set():
                    raise _Closed
                content.add(rows)
            LOG.info('Made the index of %s nodes in %.1f s', len(content.ids), time.monotonic() - started_at)
        else:
            uuids = sorted(news.uuids)
            for begin in range(0, len(uuids), _BATCH):
                batch = uuids[begin : begin + _BATCH]
                rows = connection.execute(_STATEMENT.where(tables.nodes.c.uuid.in_(batch))).all()
                content.delete(set(batch).difference(row.uuid for row in rows))
                content.add(rows)
            content.seen = news.seen
        self._content = content
        return content


def _has_many_nodes(context: Any) -> bool:
    """Whether there are so many nodes that a process keeps the index ready. No more than MAX_NODES are counted."""
    some = sa.select(tables.nodes.c.id).limit(MAX_NODES + 1).subquery()
    with context.read() as connection:
        number = connection.scalar(sa.select(sa.func.count()).select_from(some)) or 0
    return MANY_NODES < number <= MAX_NODES


def by_frequency(counts: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return values with their numbers of nodes, the most frequent first."""
    return sorted(counts, key=lambda each: (-each[1], str(each[0])))


def _view(connection: sa.Connection, content: _Content) -> View:
    view = View(connection, content)
    view.expired = view.of_ids(connection.scalars(_EXPIRED))
    return view


def _is_worn(content: _Content, uuids: Collection[str]) -> bool:
    """Whether it is better to build the index anew: most nodes have changed, or are deleted."""
    living = len(content.ids) - content.deleted
    return len(uuids) > max(living, _BATCH) or content.deleted > max(living, _MAX_DELETED)


def _all(connection: sa.Connection) -> Iterator[Sequence[sa.Row]]:
    """Yield the rows of all nodes, by id, some at a time."""
    last = 0
    statement = _STATEMENT.where(tables.nodes.c.id > sa.bindparam('last')).order_by(tables.nodes.c.id).limit(_BATCH)
    while rows := connection.execute(statement, {'last': last}).all():
        yield rows
        last = rows[-1].id


def _names(row: sa.Row) -> Iterator[Hashable]:
    """Yield the names of the sets that a node belongs to."""
    yield ALL
    if row.parent_node is not None:
        yield CHILDREN
    for column in COLUMNS:
        yield column, getattr(row, column)
    for name in row.traits:
        yield 'trait', name
    for name in row.foreign_traits:
        yield 'foreign', name
    for name in row.aggregates:
        yield 'aggregate', name
    is_of = (
        row.provision_state != states.AVAILABLE,
        row.maintenance,
        row.instance_uuid is not None,
        row.power_state in (None, states.POWER_ERROR),
        row.reserved,
        row.allocated,
        row.mismatched,
    )
    for reason, is_so in zip(REASONS, is_of, strict=True):
        if is_so:
            yield 'reason', reason
