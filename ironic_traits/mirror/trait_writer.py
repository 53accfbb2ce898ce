"""Writes the traits that sources in this service hold to the nodes of a cloud, and removes those that it has written.

A node whose traits have changed in this service waits in a queue. When it is the node's turn, the writer reads it from
the cloud, and stores it like any node that has changed in the cloud. Then it sends a request for each trait that
differs. There are two kinds of failures. If the node is locked in the cloud, or a trait is refused, only this node is
delayed. If nothing can be written at all, the writer pauses, and tries one node after each pause.
"""

import dataclasses
import logging
import time
import urllib.parse
from collections.abc import Callable, Collection, Mapping

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_trait_writes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirror_trait_writes import Operation, Outcome
from ironic_traits.inventory.mirrored.mirror_written_traits import Pending
from ironic_traits.matching.written_traits import REMOVING, WRITING
from ironic_traits.mirror.cloud import Answer, Cloud, Document, NotInCloud, Unreadable, Unsent
from ironic_traits.mirror.retries import NodeQueue, Pause

LOG = logging.getLogger(__name__)

#: Seconds after which all nodes are compared, in case a change was not noticed.
_COMPARE_SECONDS = 3600
#: Seconds until a trait that the cloud refuses is tried again: at first, and at most. A change does not wait.
_REFUSED_SECONDS = (600, 86400)
#: The same, for a node that the cloud no longer has, and that will be deleted in this service.
_GONE_SECONDS = (60, 3600)


@dataclasses.dataclass
class _Round:
    """The requests for one node.

    :ivar lock: the holder of the node's lock in the cloud; None if the node is not locked.
    :ivar tried: {(state, trait), …} of the requests so far.
    :ivar done: {state: traits} of those that have succeeded.
    :ivar delay: (first, maximum) number of seconds until a retry, after a failed request; None without a failure.
    """

    uuid: str
    lock: object = None
    tried: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    done: dict[str, list[str]] = dataclasses.field(default_factory=lambda: {WRITING: [], REMOVING: []})
    delay: tuple[float, float] | None = None


class CloudTraitWriter:
    """The writer of traits to one cloud. Each call of ``step`` sends at most one request that writes.

    :param store: function that stores a node as it was read in the cloud.
    """

    def __init__(self, context: Context, turn: Turn, cloud: Cloud, store: Callable[[str, Document], object]) -> None:
        self._context, self._turn, self._cloud, self._store = context, turn, cloud, store
        self._options = options = context.conf.mirror
        # Less than the lease, so that the turn is not lost while the cloud does not respond.
        self._timeout = min(options.timeout, max(options.lease_seconds / 3, 1))
        self._queue = NodeQueue()
        self._round: _Round | None = None
        self._token: change_feed.Token | None = None
        self._saved: int | None = None
        self._pause = Pause()
        #: Seconds until a node is tried again after other failures: at first, and at most.
        self._retry = (1, options.max_pause)
        self._compare_at = self._changes_at = self._request_at = 0.0

    def begin(self) -> None:
        """Compare all nodes at the next step, because another mirror may have had the turn.

        After an outage, the cloud can be read again: failed requests are repeated at once. If they fail again, the
        pauses are as long as before.
        """
        self._round = self._token = self._saved = None
        self._compare_at = self._request_at = 0.0
        self._queue.hurry()

    @property
    def is_failing(self) -> bool:
        """Whether nothing could be written to the cloud at the last attempt."""
        return bool(self._pause.failures)

    def hurry(self) -> None:
        """Look for changes in this service at the next step."""
        self._changes_at = 0.0

    @property
    def due(self) -> float:
        """When the next step is due, by the monotonic clock."""
        request = 0.0 if self._round else self._queue.due
        return min(self._compare_at, self._changes_at, max(request, self._request_at))

    def step(self) -> None:
        """Do the work that is due next."""
        now = time.monotonic()
        if self._token is None or now >= self._compare_at:
            self._compare_all()
        elif now >= self._changes_at:
            self._compare_changed(self._token)
        elif now < self._request_at:
            return
        elif self._round:
            self._write(self._round)
        elif self._queue.due <= now:
            self._read(self._queue.pop())
        self._save()

    def _compare_all(self) -> None:
        now = time.monotonic()
        self._compare_at, self._changes_at = now + _COMPARE_SECONDS, now + self._options.interval
        # Read before the nodes: nodes that change in the meantime are compared again.
        self._token = change_feed.now(self._context)
        self._add(self._pending(None))

    def _compare_changed(self, token: change_feed.Token) -> None:
        self._changes_at = time.monotonic() + self._options.interval
        try:
            uuids, self._token = mirror_trait_writes.changed_since(self._context, token)
        except failures.TokenOutdated:
            self._token = None
            return
        if uuids:
            pending = self._pending(uuids)
            self._add(pending)
            for uuid in uuids - pending.keys():
                self._queue.drop(uuid)

    def _add(self, pending: Mapping[str, Pending]) -> None:
        for uuid, node in pending.items():
            if not self._round or self._round.uuid != uuid:
                self._queue.add(uuid, node.operations)

    def _pending(self, uuids: Collection[str] | None) -> dict[str, Pending]:
        return mirror_trait_writes.pending(self._context, self._turn.cloud, self._options.timeout, uuids)

    def _read(self, uuid: str) -> None:
        """Begin the requests for a node, if it has pending operations."""
        pending = self._pending([uuid]).get(uuid)
        if pending is None:
            self._queue.succeed(uuid)
            return
        if pending.wait:
            self._queue.wait(uuid, self._options.timeout)
        node = self._round = _Round(uuid)
        if not pending.operations:
            return
        self._pace()
        try:
            document = self._cloud.get(f'/nodes/{uuid}')
            self._store(uuid, document)
            node.lock = document.get('reservation')
        except NotInCloud:
            # The comparison of all uuids will delete it in this service.
            self._end_round(node, _GONE_SECONDS)
        except Unreadable as error:
            self._end_round(node, self._retry)
            self._fail(str(error))

    def _write(self, node: _Round) -> None:
        """Send the next request for the node whose turn it is."""
        operation = mirror_trait_writes.begin(self._context, self._turn, node.uuid, self._options.timeout, node.tried)
        if operation is None:
            self._end_round(node)
            return
        node.tried.add((operation.state, operation.trait))
        answer = self._send(node, operation)
        outcome, error = self._outcome(node, operation, answer)
        mirror_trait_writes.end(self._context, self._turn, operation, outcome, error)
        if outcome.is_done:
            node.done[operation.state].append(operation.trait)
        if error:
            self._fail(error)
        else:
            self._pause.succeed()
        if node.delay and answer.status != 400:
            self._end_round(node)

    def _send(self, node: _Round, operation: Operation) -> Answer:
        if node.lock:
            return Answer(409, f'Node {operation.uuid} is locked in the cloud by {node.lock}.')
        self._pace()
        method = 'PUT' if operation.state == WRITING else 'DELETE'
        path = f'/nodes/{operation.uuid}/traits/{urllib.parse.quote(operation.trait, safe="")}'
        try:
            return self._cloud.send(method, path, self._timeout)
        except Unsent as error:
            return Answer(None, str(error))

    def _outcome(self, node: _Round, operation: Operation, answer: Answer) -> tuple[Outcome, str | None]:
        """Return the outcome of a request.

        :returns: (Outcome, why nothing can be written to the cloud at present; None if traits can be written).
        """
        if answer.is_done:
            return Outcome(True), None
        if answer.status == 404 and (outcome := self._not_found(node, operation)):
            return outcome, None
        node.delay = _REFUSED_SECONDS if answer.status == 400 else self._retry
        outcome = Outcome(False, answer.is_refused, answer.reason)
        if answer.status in (400, 409):
            return outcome, None
        return outcome, f'Trait {operation.trait} of node {operation.uuid}: {answer.reason}'

    def _not_found(self, node: _Round, operation: Operation) -> Outcome | None:
        """Return the outcome of a request whose response is 404: the node or the trait does not exist.

        :returns: None if the node has to be tried again: Ironic also responds 404 if no conductor serves the node.
        """
        try:
            traits = self._cloud.get(f'/nodes/{operation.uuid}').get('traits')
        except NotInCloud:
            # The comparison of all uuids will delete it in this service.
            node.delay = _GONE_SECONDS
            return Outcome(operation.state == REMOVING, True)
        except Unreadable:
            return None
        is_present = isinstance(traits, list) and operation.trait in traits
        return Outcome(True) if operation.state == REMOVING and not is_present else None

    def _end_round(self, node: _Round, delay: tuple[float, float] | None = None) -> None:
        node.delay = delay or node.delay
        self._round = None
        is_written = any(node.done.values())
        if is_written:
            mirror_trait_writes.note(self._context, self._turn, node.uuid, node.done)
        if is_written or not node.delay:
            self._queue.succeed(node.uuid)
        pending = self._pending([node.uuid]).get(node.uuid)
        if pending and node.delay:
            self._queue.delay(node.uuid, pending.operations, node.delay, node.delay == self._retry)
        elif pending:
            self._queue.add(node.uuid, pending.operations)

    def _pace(self) -> None:
        self._request_at = time.monotonic() + 1 / self._options.write_rate

    def _fail(self, error: str) -> None:
        """Pause all writes, longer each time."""
        if not self.is_failing:
            LOG.warning('Traits cannot be written to cloud %s: %s', self._turn.cloud, error)
        self._request_at = max(self._request_at, time.monotonic() + self._pause.fail(self._options.max_pause))

    def _save(self) -> None:
        """Store how many nodes wait, if that has changed."""
        length = len(self._queue) + bool(self._round)
        if length != self._saved:
            self._saved = length
            mirror_trait_writes.save_queue(self._context, self._turn, length)
