"""Carries out requests of this process that are alike together: in one transaction, each with an outcome of its own.

A request that arrives while none like it is at work begins at once. One that arrives later waits until that one has
ended, and then takes along all that wait like it. So a request never waits for others to arrive. (Hendler, Incze,
Shavit, Tzafrir: Flat combining and the synchronization-parallelism tradeoff, SPAA 2010.)
"""

import contextlib
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from ironic_traits.failures import Failure

_Result = TypeVar('_Result')
#: The most requests in one transaction.
MOST = 32
#: Seconds after which a request no longer waits for one that is at work: that may be blocked.
PATIENCE = 0.5


class NotTogether(Exception):
    """Requests that cannot be carried out in one transaction."""


class Ticket(Generic[_Result]):
    """A request that is carried out alone or with others.

    :ivar name: what no other request of the same transaction may have.
    :ivar value: what the transaction needs of the request.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.leads = False
        self.results: list[_Result] = []
        self._turn = threading.Event()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until another request has carried out this one, or this one leads the next transaction.

        :returns: whether that is so; false after these seconds.
        """
        return self._turn.wait(seconds)

    def wake(self) -> None:
        """End the wait."""
        self._turn.set()


class Turns(Protocol):
    """What requests of a process share, such as the interpreter: ``api.layers.request_queue.RequestQueue``."""

    def end_turn(self) -> None:
        """Let the next request begin beside this one."""

    def pause(self) -> contextlib.AbstractContextManager[None]:
        """Let another request run in the place of this one during the block."""


class _NoTurns:
    """Requests that share nothing: those of a test, or of a program."""

    def end_turn(self) -> None:
        """Do as ``Turns``."""

    def pause(self) -> contextlib.AbstractContextManager[None]:
        """Do as ``Turns``."""
        return contextlib.nullcontext()


class Combined(Generic[_Result]):
    """The requests of a process that are at work, and those that wait for them.

    :ivar turns: the other requests of the process begin while one waits, or leads.
    """

    def __init__(self) -> None:
        self.turns: Turns = _NoTurns()
        self._lock = threading.Lock()
        #: {kind of which a request is at work: those that wait for it}.
        self._waiting: dict[Hashable, list[Ticket[_Result]]] = {}

    def run(
        self,
        kind: Hashable,
        ticket: Ticket[_Result],
        alone: Callable[[], _Result],
        together: Callable[[list[Ticket[_Result]]], Mapping[str, _Result]],
    ) -> _Result:
        """Return the result of a request.

        :param kind: what is equal in requests that are alike.
        :param alone: carries out this request. Raises its failure.
        :param together: carries out several: returns {name: result}. Raises Failure or NotTogether if it has done none
            of them. Each is carried out alone then, so that its failure is its own.
        """
        self.turns.end_turn()
        if not self._begins(kind, ticket):
            with self.turns.pause():
                if not (ticket.wait(PATIENCE) or self._gives_up(kind, ticket)):
                    ticket.wait()
            if not ticket.leads:
                return ticket.results[0] if ticket.results else alone()
        tickets = self._take(kind, ticket)
        try:
            if len(tickets) == 1:
                return alone()
            with contextlib.suppress(Failure, NotTogether):
                results = together(tickets)
                for each in tickets:
                    each.results.append(results[each.name])
        finally:
            self._end(kind, tickets)
        return ticket.results[0] if ticket.results else alone()

    def _begins(self, kind: Hashable, ticket: Ticket[_Result]) -> bool:
        """Whether a request begins at once. If not, it is among those that wait."""
        with self._lock:
            if kind not in self._waiting:
                self._waiting[kind] = []
                return True
            self._waiting[kind].append(ticket)
            return False

    def _gives_up(self, kind: Hashable, ticket: Ticket[_Result]) -> bool:
        """Whether a request waits no longer. If another one has taken it along, it must wait for the result."""
        with self._lock:
            if ticket in self._waiting.get(kind, ()):
                self._waiting[kind].remove(ticket)
                return True
            return False

    def _take(self, kind: Hashable, ticket: Ticket[_Result]) -> list[Ticket[_Result]]:
        """Return a request that leads, and those that wait like it. These wait no longer."""
        taken = {ticket.name: ticket}
        with self._lock:
            later = []
            for each in self._waiting[kind]:
                if len(taken) < MOST and each.name not in taken:
                    taken[each.name] = each
                else:
                    later.append(each)
            self._waiting[kind] = later
        return list(taken.values())

    def _end(self, kind: Hashable, tickets: list[Ticket[_Result]]) -> None:
        """Have the next request lead, if one waits, and wake those that are carried out."""
        with self._lock:
            waiting = self._waiting[kind]
            if waiting:
                waiting[0].leads = True
                tickets = [*tickets, waiting.pop(0)]
            else:
                del self._waiting[kind]
        for each in tickets:
            each.wake()
