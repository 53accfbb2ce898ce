"""When requests to a cloud that have failed are repeated: after pauses, each twice as long as the one before it."""

import heapq
import itertools
import time
from collections.abc import Collection

#: Number of failures after which a pause is not doubled again: it is longer than any limit.
_MOST = 20


class Pause:
    """The pauses after the failures of something.

    :ivar failures: number of failures since the last success.
    """

    def __init__(self) -> None:
        self.failures = 0

    def fail(self, longest: float, first: float = 1) -> float:
        """Count a failure, and return the seconds until the next attempt."""
        seconds = min(first * 2**self.failures, longest)
        self.failures = min(self.failures + 1, _MOST)
        return seconds

    def succeed(self) -> None:
        """Let the next pause be the first one again."""
        self.failures = 0


#: The requests that are pending for a node.
Operations = Collection[tuple[str, str]]


class NodeQueue:
    """Nodes that wait for requests, each once, with the times at which they are due."""

    def __init__(self) -> None:
        #: {uuid: when it is due}, by the monotonic clock.
        self._due: dict[str, float] = {}
        #: [(when it is due, number in the order of addition, uuid), …], with entries that are outdated.
        self._heap: list[tuple[float, int, str]] = []
        self._numbers = itertools.count()
        self._failed: dict[str, tuple[Pause, frozenset[tuple[str, str]]]] = {}
        self._passing: set[str] = set()

    def __len__(self) -> int:
        return len(self._due)

    @property
    def due(self) -> float:
        """When the next node is due, by the monotonic clock; infinity without nodes."""
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else float('inf')

    def add(self, uuid: str, operations: Operations) -> None:
        """Add a node. If its last requests have failed, and are the same, it continues to wait."""
        failed = self._failed.get(uuid)
        if uuid not in self._due or (failed and failed[1] != frozenset(operations)):
            self._put(uuid, 0.0)

    def delay(self, uuid: str, operations: Operations, seconds: tuple[float, float], is_passing: bool) -> None:
        """Add a node after a failure, to be due later each time.

        :param seconds: (seconds until the first retry, maximum number of seconds).
        :param is_passing: whether the failure may be over when the cloud can be read again (``hurry``).
        """
        pause, _ = self._failed.get(uuid, (Pause(), None))
        self._failed[uuid] = pause, frozenset(operations)
        first, longest = seconds
        self.wait(uuid, pause.fail(longest, first))
        if is_passing:
            self._passing.add(uuid)

    def wait(self, uuid: str, seconds: float) -> None:
        """Add a node that is due after some seconds."""
        self._put(uuid, time.monotonic() + seconds)

    def hurry(self) -> None:
        """Make nodes due now if they wait after failures that may be over."""
        for uuid in sorted(self._passing):
            self._put(uuid, 0.0)

    def pop(self) -> str:
        """Remove the node that is due next, and return its uuid."""
        assert self.due < float('inf')
        uuid = self._heap[0][2]
        self._remove(uuid)
        return uuid

    def drop(self, uuid: str) -> None:
        """Remove a node that has no pending operations any more."""
        self._remove(uuid)
        self.succeed(uuid)

    def succeed(self, uuid: str) -> None:
        """Forget the failures of a node."""
        self._failed.pop(uuid, None)

    def _put(self, uuid: str, due: float) -> None:
        self._remove(uuid)
        self._due[uuid] = due
        heapq.heappush(self._heap, (due, next(self._numbers), uuid))

    def _remove(self, uuid: str) -> None:
        self._due.pop(uuid, None)
        self._passing.discard(uuid)
