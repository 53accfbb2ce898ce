"""The index of nodes: sets of bits of the nodes with a trait, a class, an owner, or a reason not to be free.

Each process keeps an index in memory (``inventory.search.node_sets``). Each use updates it from one snapshot of the
database, so it is never stale: doc/source/contributor/decisions/node_index.rst says why.
"""

import contextlib
import ctypes
import itertools
import logging
import threading
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.db.failover import outage
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core import eligibility
from ironic_traits.inventory.search.node_groups import Groups
from ironic_traits.inventory.search.node_sets import STATEMENT, NodeSets
from ironic_traits.matching import bitsets

LOG = logging.getLogger(__name__)
#: With so many nodes, counting statements take longer than the index, and a process keeps it ready (``keep``).
MIN_NODES = 1000
#: If there are more nodes, the index is made only for requests that read all nodes: capacity, drift and topologies. It
#: needs more memory than a worker should use for requests that a statement can answer.
MAX_NODES = 300_000
#: Seconds between two updates of an index that is kept ready.
PAUSE = 60
#: Seconds after the start of a process before it makes the index, so that it first handles waiting requests.
FIRST_PAUSE = 1
#: Maximum number of nodes that one statement reads.
_BATCH = 2000
#: Seconds for which the end of the process waits for a thread that reads nodes.
_SECONDS = 5
#: An index is rebuilt if it has more deleted nodes than this, and than other nodes.
_MAX_DELETED = 1000
_EXPIRED = (
    sa.select(tables.nodes.c.id)
    .join(tables.reservations, tables.reservations.c.node_uuid == tables.nodes.c.uuid)
    .where(eligibility.EXPIRED)
)


class View:
    """The nodes at one moment.

    :ivar connection: connection on the snapshot of that moment.
    :ivar token: the place in the change feed at that moment.
    :ivar expired: set of the nodes whose reservation has expired.
    """

    def __init__(self, connection: sa.Connection, nodes: NodeSets, token: change_feed.Token) -> None:
        self.connection = connection
        self.token = token
        self.expired = 0
        self._nodes = nodes
        self._sets = nodes.sets
        #: Function from the id of a node to its position; None for a node that is not in the index.
        self.position = nodes.position
        self._ids = nodes.ids
        self._known: dict[Hashable, int] = {}

    def get(self, *name: str | None) -> int:
        """Return a set of nodes by its name in ``node_sets``.

        The names are ALL, CHILDREN, ('trait', name), ('reason', one of REASONS), (one of COLUMNS, value or None),
        ('foreign', name of a trait that a client has set on the node's provider), and ('aggregate', uuid).
        """
        key: Hashable = name if len(name) > 1 else name[0]
        if key not in self._known:
            self._known[key] = self._sets.get(key)
        return self._known[key]

    def values(self, kind: str) -> list[str]:
        """Return the names of the sets of a kind, sorted: traits for 'trait', owners for 'owner', …"""
        # The class '' means no class.
        none = (None, '') if kind == 'resource_class' else (None,)
        return sorted(value for value in self._names(kind) if value not in none)

    def counts(self, kind: str, nodes: int) -> list[tuple[str | None, int]]:
        """Return how many of the nodes are in each set of a kind: [(value, number), …], the most frequent first.

        :param kind: one of COLUMNS, or 'trait'.
        """
        # Not with ``get``, which would cache a large integer for each value.
        numbers = ((value, (self._sets.get((kind, value)) & nodes).bit_count()) for value in self._names(kind))
        return by_frequency(each for each in numbers if each[1])

    def unavailable(self, reason: str) -> int:
        """Return the set of the nodes that are not free for a reason, one of REASONS."""
        return self.get('reason', reason) & ~self.expired if reason == 'reserved' else self.get('reason', reason)

    def select(self, conditions: Iterable[Condition]) -> int:
        """Return the set of the nodes that fulfil conditions on nodes, which the database evaluates."""
        return self.of_ids(self.connection.scalars(sa.select(tables.nodes.c.id).where(*conditions)))

    def of_ids(self, node_ids: Iterable[int]) -> int:
        """Return the set of nodes with these ids."""
        return bitsets.from_positions(
            (position for position in map(self.position, node_ids) if position is not None), self.size
        )

    def ids(self, nodes: int, limit: int) -> list[int]:
        """Return the ids of the first nodes of a set.

        :param limit: maximum number of ids.
        """
        return [self._ids[position] for position in itertools.islice(bitsets.positions(nodes), limit)]

    def groups(self, keys: Sequence[str]) -> Groups:
        """Return the groups of all nodes for some keys of a topology."""
        return self._nodes.groups(self.connection, tuple(keys))

    def named(self, positions: Iterable[int]) -> list[tuple[int, str]]:
        """Return the id and the uuid of the nodes at some positions."""
        return [(self._ids[position], self._nodes.uuid(position)) for position in positions]

    @property
    def size(self) -> int:
        """A number that is larger than all positions."""
        return self._sets.size

    def _names(self, kind: str) -> Iterator[Any]:
        return (value for _, value in self._sets.of_kind(kind))


class _Closed(Exception):
    """The process is ending."""


class NodeIndex:
    """The index of nodes of one process. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: NodeSets | None = None
        # The part of the change feed that is in the index.
        self._seen: change_feed.Seen | None = None
        self._preparations = threading.Lock()
        self._thread: threading.Thread | None = None
        self._keeper: threading.Thread | None = None
        self._closed = threading.Event()

    @contextlib.contextmanager
    def now(self, context: Any) -> Iterator[View]:
        """Yield a View of the nodes as they are now. Other threads that need a view wait until this one ends.

        :param context: a Context or a Service.
        """
        # Numbers the changes first: those without a number are read again at the next use.
        change_feed.number_several(context)
        with self._lock, context.snapshot() as connection:
            with self._guarded():
                news = change_feed.news(connection, change_feed.NODE, self._seen)
                nodes = self._refreshed(connection, news)
            yield _view(connection, nodes, news.seen.token)

    @contextlib.contextmanager
    def if_ready(self, context: Any) -> Iterator[View | None]:
        """Yield a View as ``now`` does, or None if the index would have to read more than a few nodes."""
        if self._nodes is None or self._is_preparing:
            yield None
            return
        change_feed.number_several(context)
        with self._lock, context.snapshot() as connection:
            news = change_feed.news(connection, change_feed.NODE, self._seen)
            if self._nodes is None or news.uuids is None or len(news.uuids) > _BATCH:
                yield None
                return
            with self._guarded():
                nodes = self._refreshed(connection, news)
            yield _view(connection, nodes, news.seen.token)

    @contextlib.contextmanager
    def if_worth_waiting(self, context: Any) -> Iterator[View | None]:
        """Yield a View as ``if_ready`` does. With more than MAX_NODES, wait for it as ``now`` does.

        A statement that reads so many rows takes as long as the index, and more memory, for each request.
        """
        with self.if_ready(context) as view:
            if view is not None:
                yield view
                return
        if _number_of_nodes(context) > MAX_NODES:
            with self.now(context) as view:
                yield view
        else:
            yield None

    def prepare(self, context: Any) -> None:
        """Begin to read the nodes in another thread, unless such a thread runs already."""
        with self._preparations:
            if not self._closed.is_set() and not self._is_preparing:
                self._thread = threading.Thread(target=self._prepare, args=(context,), name='index', daemon=True)
                self._thread.start()

    def keep(self, context: Any) -> None:
        """Begin to keep the index ready in another thread, while there are many nodes (MIN_NODES to MAX_NODES).

        The thread updates the index after each PAUSE. Without it, after a night without requests that use the index,
        there would be too many changes for the first request to read.
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
                # The thread ends after its current statement, unless the database does not respond.
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
                if not is_ready and MIN_NODES <= _number_of_nodes(context) <= MAX_NODES:
                    self.prepare(context)
            except Exception as error:
                # The thread must survive all errors.
                outage.log(LOG, error, 'The index of nodes could not be updated; it is tried again later')

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Forget the index after an exception: some of its sets may have been changed."""
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._nodes = self._seen = None

    def _refreshed(self, connection: sa.Connection, news: change_feed.News) -> NodeSets:
        nodes = self._nodes
        if nodes is None or news.uuids is None or _is_worn(nodes, news.uuids):
            # Free the old sets first, so that memory does not hold both.
            nodes = None
            self._forget()
            nodes = self._made(connection)
        else:
            uuids = sorted(news.uuids)
            for begin in range(0, len(uuids), _BATCH):
                batch = uuids[begin : begin + _BATCH]
                nodes.update(batch, connection.execute(nodes.statement.where(tables.nodes.c.uuid.in_(batch))).all())
        self._nodes, self._seen = nodes, news.seen
        return nodes

    def _made(self, connection: sa.Connection) -> NodeSets:
        """Return the sets of all nodes.

        :raises _Closed: the process is ending.
        """
        nodes, started_at = NodeSets(), time.monotonic()
        for rows in _all(connection):
            if self._closed.is_set():
                raise _Closed
            nodes.add(rows)
        _return_memory()
        LOG.info('Made the index of %s nodes in %.1f s', len(nodes.ids), time.monotonic() - started_at)
        return nodes


def _return_memory() -> None:
    """Return free memory to the system, if the C library is glibc, which keeps it by default.

    The rows of 100,000 nodes leave 9 MiB.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _number_of_nodes(context: Any) -> int:
    """Return the number of nodes, MAX_NODES + 1 at most."""
    some = sa.select(tables.nodes.c.id).limit(MAX_NODES + 1).subquery()
    with context.read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(some)) or 0


def by_frequency(counts: Iterable[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return values with their numbers of nodes, the most frequent first."""
    return sorted(counts, key=lambda each: (-each[1], str(each[0])))


def _view(connection: sa.Connection, nodes: NodeSets, token: change_feed.Token) -> View:
    view = View(connection, nodes, token)
    view.expired = view.of_ids(connection.scalars(_EXPIRED))
    return view


def _is_worn(nodes: NodeSets, uuids: Collection[str]) -> bool:
    """Whether it is better to rebuild the index, because most nodes have changed or are deleted."""
    living = len(nodes.ids) - nodes.deleted
    return len(uuids) > max(living, _BATCH) or nodes.deleted > max(living, _MAX_DELETED)


def _all(connection: sa.Connection) -> Iterator[Sequence[sa.Row]]:
    """Yield the rows of all nodes in the order of their ids, in batches."""
    last = 0
    statement = STATEMENT.where(tables.nodes.c.id > sa.bindparam('last')).order_by(tables.nodes.c.id).limit(_BATCH)
    while rows := connection.execute(statement, {'last': last}).all():
        yield rows
        last = rows[-1].id
