"""The places where a process begins its searches for free nodes, so that searches do not pass all held nodes.

A search begins after the last node that a search for the same request has taken. At the end of the inventory it
continues with the first node. Thus nodes are used in turn, and the cost of a search does not grow with the number of
held nodes.

A search finds more nodes than it needs. For a short time, the next requests take these nodes without a search. The
nodes were free when the search found them, and are checked again under their locks.
"""

import threading
import time
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.inventory.search.matches import NodeRequest

#: Maximum number of requests whose places a process remembers.
_MAX_PLACES = 1000


class _Found(NamedTuple):
    """Nodes that a search has found, and that no request has taken yet.

    :ivar rows: [row with ``id`` and ``uuid``, …].
    :ivar until: the time after which they are not used any more, by the monotonic clock.
    """

    rows: Sequence[sa.Row]
    until: float


class Places:
    """The places of a process. ``service.Service`` has one.

    :param longest: seconds after which found nodes are not used any more.
    """

    def __init__(self, longest: float = 1.0) -> None:
        self._longest = longest
        self._after: dict[Hashable, int] = {}
        self._found: dict[Hashable, _Found] = {}
        self._lock = threading.Lock()

    def after(self, node_request: NodeRequest) -> int:
        """Return the id of the node after which a search begins; 0 for the first node."""
        return self._after.get(_key(node_request), 0)

    def set(self, node_request: NodeRequest, node_id: int) -> None:
        """Let the next search for the same request begin after a node, if such requests take nodes in turn."""
        if not are_taken_in_turn(node_request):
            return
        if len(self._after) >= _MAX_PLACES:
            self._after.clear()
        self._after[_key(node_request)] = node_id

    def keep(self, context: Context, node_request: NodeRequest, rows: Sequence[sa.Row]) -> None:
        """Keep the nodes that a search has found but does not need, for the next requests of the same kind.

        :param rows: [row with ``id`` and ``uuid``, …].
        """
        with self._lock:
            if len(self._found) >= _MAX_PLACES:
                self._found.clear()
            self._found[_key_of_caller(context, node_request)] = _Found(rows, time.monotonic() + self._longest)

    def take(self, context: Context, node_request: NodeRequest, count: int) -> Sequence[sa.Row]:
        """Remove and return ``count`` kept nodes; [] if there are fewer."""
        key = _key_of_caller(context, node_request)
        with self._lock:
            found = self._found.pop(key, None)
            if found is None or found.until <= time.monotonic() or len(found.rows) < count:
                return []
            self._found[key] = found._replace(rows=found.rows[count:])
            return found.rows[:count]

    def skip(self, context: Context, node_request: NodeRequest) -> None:
        """Forget the kept nodes, and let the next search begin after them. Another process may take the same nodes."""
        with self._lock:
            found = self._found.pop(_key_of_caller(context, node_request), None)
        if found and found.rows:
            self.set(node_request, found.rows[-1].id)


def are_taken_in_turn(node_request: NodeRequest) -> bool:
    """Whether all matching nodes are equally good, so that requests take them in turn."""
    return node_request.idents is None and not (node_request.request.preferred or node_request.topology)


def _key(node_request: NodeRequest) -> Hashable:
    request = node_request.request
    traits = request.required, request.required_any, request.forbidden
    return request.resource_class, traits, repr(node_request.filters), node_request.capacity_reservation


def _key_of_caller(context: Context, node_request: NodeRequest) -> Hashable:
    # Callers see different nodes.
    return _key(node_request), context.project_id, node_request.grant.rules, node_request.excluded is None
