"""Writes the traits that sources here hold to the nodes of a cloud, and removes those that it has written.

A node whose traits have changed here waits in a queue. When it is the node's turn, the writer reads it from the cloud,
and stores it like any node that has changed there. Then it sends a request for each trait that differs. There are two
kinds of failures. If the node is locked there, or a trait is refused, only this node is delayed. If nothing can be
written at all, the writer pauses, and tries one node after each pause.
"""

import heapq
import itertools
import logging
import time
import typing
import urllib.parse

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.inventory.mirrored import mirror_trait_writes
from ironic_traits.inventory.mirrored.mirror_trait_writes import Outcome
from ironic_traits.matching.written_traits import REMOVING, WRITING
from ironic_traits.mirror.cloud import NotThere, Unreadable

LOG = logging.getLogger(__name__)

#: Seconds after which all nodes are compared, in case a change was not noticed.
_COMPARE_SECONDS = 3600
#: Seconds until a trait that the cloud refuses is tried again: at first, and at most. A change here does not wait.
_REFUSED_SECONDS = (600, 86400)
#: The same, for a node that the cloud no longer has, and that will be deleted here.
_GONE_SECONDS = (60, 3600)


class Queue:
    """Nodes that wait for the writer, each once, with the times at which they are due."""

    def __init__(self):
        self._heap = []
        self._due = {}
        self._failures = {}
        self._passing = set()
        self._numbers = itertools.count()

    def __len__(self):
        return len(self._due)

    @property
    def due(self):
        """When the next node is due, by the monotonic clock; infinity without nodes."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float('inf')

    def add(self, uuid, operations):
        """Add a node. If its last requests have failed, and are the same, it continues to wait.

        :param operations: the operations that are pending for the node.
        """
        _, failed = self._failures.get(uuid, (0, None))
        if uuid not in self._due or (failed is not None and failed != frozenset(operations)):
            self._put(uuid, 0.0)

    def delay(self, uuid, operations, seconds, is_passing):
        """Add a node after a failure, to be due later each time.

        :param operations: the operations that are pending for the node.
        :param seconds: (seconds until the first retry, maximum number of seconds).
        :param is_passing: whether the failure may be over when the cloud can be read again (``hurry``).
        """
        first, limit = seconds
        number, _ = self._failures.get(uuid, (0, None))
        self._failures[uuid] = (min(number + 1, 20), frozenset(operations))
        self._put(uuid, time.monotonic() + min(first * 2**number, limit))
        if is_passing:
            self._passing.add(uuid)

    def hurry(self):
        """Make nodes due now if they wait after failures that may be over."""
        for uuid in sorted(self._passing):
            self._put(uuid, 0.0)

    def wait(self, uuid, seconds):
        """Add a node that is due after some seconds."""
        self._put(uuid, time.monotonic() + seconds)

    def pop(self):
        """Remove the node that is due next, and return its uuid."""
        assert self.due < float('inf')
        uuid = heapq.heappop(self._heap)[2]
        del self._due[uuid]
        self._passing.discard(uuid)
        return uuid

    def drop(self, uuid):
        """Remove a node that has no pending operations any more."""
        self._due.pop(uuid, None)
        self._passing.discard(uuid)
        self._failures.pop(uuid, None)

    def succeed(self, uuid):
        """Forget the failures of a node."""
        self._failures.pop(uuid, None)

    def _put(self, uuid, due):
        self._passing.discard(uuid)
        self._due[uuid] = due
        heapq.heappush(self._heap, (due, next(self._numbers), uuid))


class _Round:
    """The requests for one node.

    :ivar lock: the holder of the node's lock there; None if the node is not locked.
    :ivar tried: {(state, trait), …} of the requests so far.
    :ivar done: {state: traits} of those that have succeeded.
    :ivar delay: (first, maximum) number of seconds until a retry, after a failed request; None without a failure.
    """

    def __init__(self, uuid):
        self.uuid = uuid
        self.lock = None
        self.tried = set()
        self.done: dict[str, list[str]] = {WRITING: [], REMOVING: []}
        self.delay = None


class TraitWriter:
    """The writer of traits to one cloud. Each call of ``step`` sends at most one request that writes.

    :param context: ironic_traits.context.Context.
    :param turn: ironic_traits.inventory.mirrored.mirror_clouds.Turn.
    :param cloud: ironic_traits.mirror.cloud.Cloud.
    :param store: function that stores a node as it was read in the cloud.
    """

    def __init__(self, context, turn, cloud, store):
        self._context, self._turn, self._cloud, self._store = context, turn, cloud, store
        self._options = options = context.conf.mirror
        # Less than the lease, so that the turn is not lost while the cloud does not respond.
        self._timeout = min(options.timeout, max(options.lease_seconds / 3, 1))
        self._queue = Queue()
        self._round: typing.Any = None
        self._token: typing.Any = None
        self._saved: int | None = None
        self._failures = 0
        self._compare_at = self._changes_at = self._request_at = 0.0

    def begin(self):
        """Compare all nodes at the next step, because another mirror may have had the turn.

        After an outage, the cloud can be read again: failed requests are repeated at once. If they fail again, the
        pauses are as long as before.
        """
        self._round = self._token = self._saved = None
        self._compare_at = self._request_at = 0.0
        self._queue.hurry()

    @property
    def is_failing(self):
        """Whether nothing could be written to the cloud at the last attempt."""
        return bool(self._failures)

    def hurry(self):
        """Look for changes here at the next step."""
        self._changes_at = 0.0

    @property
    def due(self):
        """When the next step is due, by the monotonic clock."""
        request = 0.0 if self._round else self._queue.due
        return min(self._compare_at, self._changes_at, max(request, self._request_at))

    def step(self):
        """Do the work that is due next.

        :raises mirror_clouds.TurnLost: another mirror follows the cloud now.
        """
        now = time.monotonic()
        if self._token is None or now >= self._compare_at:
            self._compare_all()
        elif now >= self._changes_at:
            self._compare_changed()
        elif now < self._request_at:
            return
        elif self._round:
            self._write()
        elif self._queue.due <= now:
            self._read(self._queue.pop())
        self._save()

    def _compare_all(self):
        now = time.monotonic()
        self._compare_at, self._changes_at = now + _COMPARE_SECONDS, now + self._options.interval
        # Read before the nodes: nodes that change in the meantime are compared again.
        self._token = change_feed.now(self._context)
        self._add(self._pending(None))

    def _compare_changed(self):
        self._changes_at = time.monotonic() + self._options.interval
        try:
            uuids, self._token = mirror_trait_writes.changed_since(self._context, self._token)
        except failures.TokenOutdated:
            self._token = None
            return
        if uuids:
            pending = self._pending(uuids)
            self._add(pending)
            for uuid in uuids - pending.keys():
                self._queue.drop(uuid)

    def _add(self, pending):
        for uuid, node in pending.items():
            if not self._round or self._round.uuid != uuid:
                self._queue.add(uuid, node.operations)

    def _pending(self, uuids):
        return mirror_trait_writes.pending(self._context, self._turn.cloud, self._options.timeout, uuids)

    def _read(self, uuid):
        """Begin the requests for a node, if it has pending operations."""
        pending = self._pending([uuid]).get(uuid)
        if pending is None:
            self._queue.succeed(uuid)
            return
        if pending.wait:
            self._queue.wait(uuid, self._options.timeout)
        self._round = _Round(uuid)
        if not pending.operations:
            return
        self._pace()
        try:
            node = self._cloud.get(f'/nodes/{uuid}')
            self._store(node)
            self._round.lock = node.get('reservation')
        except NotThere:
            # The comparison of all uuids will delete it here.
            self._round.delay = _GONE_SECONDS
            self._end_round()
        except Unreadable as error:
            self._round.delay = (1, self._options.max_pause)
            self._end_round()
            self._fail(str(error))

    def _write(self):
        """Send the next request for the node whose turn it is."""
        node, turn = self._round, self._turn
        operation = mirror_trait_writes.begin(self._context, turn, node.uuid, self._options.timeout, node.tried)
        if operation is None:
            self._end_round()
            return
        node.tried.add((operation.state, operation.trait))
        status, message = self._send(operation)
        outcome, error = self._outcome(operation, status, message)
        mirror_trait_writes.end(self._context, turn, operation, outcome, error)
        if outcome.is_done:
            node.done[operation.state].append(operation.trait)
        if error:
            self._fail(error)
        else:
            self._failures = 0
        if node.delay and status != 400:
            self._end_round()

    def _send(self, operation):
        """Send a request.

        :returns: (status, message); None as the status if there was no response.
        """
        if self._round.lock:
            return 409, f'Node {operation.uuid} is locked there by {self._round.lock}.'
        self._pace()
        method = 'PUT' if operation.state == WRITING else 'DELETE'
        path = f'/nodes/{operation.uuid}/traits/{urllib.parse.quote(operation.trait, safe="")}'
        try:
            return self._cloud.send(method, path, self._timeout)
        except Unreadable as error:
            return None, str(error)

    def _outcome(self, operation, status, message):
        """Return the outcome of a request.

        :returns: (Outcome, why nothing can be written to the cloud at present; None if traits can be written).
        """
        if status is not None and 200 <= status < 300:
            return Outcome(True), None
        if status == 404 and (outcome := self._not_found(operation)):
            return outcome, None
        self._round.delay = _REFUSED_SECONDS if status == 400 else (1, self._options.max_pause)
        reason = message if status is None else f'The response is {status}: {message}'
        is_refused = status is not None and 400 <= status < 500
        outcome = Outcome(False, is_refused, reason)
        return outcome, None if status in (400, 409) else f'Trait {operation.trait} of node {operation.uuid}: {reason}'

    def _not_found(self, operation):
        """Return the outcome of a request whose response is 404: the node or the trait does not exist.

        :returns: None if the node has to be tried again: Ironic also responds 404 if no conductor serves the node.
        """
        try:
            node = self._cloud.get(f'/nodes/{operation.uuid}')
        except NotThere:
            # The comparison of all uuids will delete it here.
            self._round.delay = _GONE_SECONDS
            return Outcome(operation.state == REMOVING, True)
        except Unreadable:
            return None
        if operation.state == REMOVING and operation.trait not in node.get('traits', ()):
            return Outcome(True)
        return None

    def _end_round(self):
        node, self._round = self._round, None
        if any(node.done.values()):
            mirror_trait_writes.note(self._context, self._turn, node.uuid, node.done)
        if any(node.done.values()) or not node.delay:
            self._queue.succeed(node.uuid)
        pending = self._pending([node.uuid]).get(node.uuid)
        if pending and node.delay:
            is_passing = node.delay not in (_REFUSED_SECONDS, _GONE_SECONDS)
            self._queue.delay(node.uuid, pending.operations, node.delay, is_passing)
        elif pending:
            self._queue.add(node.uuid, pending.operations)

    def _pace(self):
        self._request_at = time.monotonic() + 1 / self._options.write_rate

    def _fail(self, error):
        """Pause all writes, longer each time."""
        pause = min(2**self._failures, self._options.max_pause)
        if not self._failures:
            LOG.warning('Traits cannot be written to cloud %s: %s', self._turn.cloud, error)
        self._failures = min(self._failures + 1, 20)
        self._request_at = max(self._request_at, time.monotonic() + pause)

    def _save(self):
        """Store how many nodes wait, if that has changed."""
        length = len(self._queue) + bool(self._round)
        if length != self._saved:
            self._saved = length
            mirror_trait_writes.save_queue(self._context, self._turn, length)
