"""Carries out requests of this process that are alike together: in one transaction, each with an outcome of its own.

A request that arrives while none like it is at work begins at once. One that arrives later waits until that one has
ended, and then takes along all that wait like it. So a request never waits for others to arrive. (Hendler, Incze,
Shavit, Tzafrir: Flat combining and the synchronization-parallelism tradeoff, SPAA 2010.)
"""

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.drivers import timeouts
from ironic_traits.db.failover import outage
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
    :ivar deadline: as ``timeouts.deadline``, of the request.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.deadline = timeouts.deadline()
        self.leads = False
        self._results: list[_Result] = []
        self._error: Exception | None = None
        self._turn = threading.Event()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until another request has carried out this one, or this one leads the next transaction.

        :returns: whether that is so; false after these seconds.
        """
        return self._turn.wait(seconds)

    def wake(self) -> None:
        """End the wait."""
        self._turn.set()

    def ends(self) -> bool:
        """Whether it has an outcome, or leads. If not, it is carried out alone, and may wait for a lock."""
        return self.leads or bool(self._results) or self._error is not None

    def succeed(self, result: _Result) -> None:
        """Keep the result that a transaction of several requests has for this one."""
        self._results.append(result)

    def fail(self, error: Exception) -> None:
        """Keep the failure of the request, or the error after which nobody knows whether it was committed."""
        self._error = error

    def outcome(self, alone: Callable[[], _Result]) -> _Result:
        """Return the result, or raise the error, of the transaction of several; if it has none, that of ``alone``."""
        if self._error is not None:
            raise self._error
        return self._results[0] if self._results else alone()


class Turns(Protocol):
    """What requests of a process share, such as the interpreter: ``api.layers.request_queue.RequestQueue``."""

    def end_turn(self) -> None:
        """Let the next request begin beside this one."""

    def wait(self, wait: Callable[[], bool]) -> bool:
        """Wait for another request. Others run in the place of this one meanwhile.

        :param wait: waits, and returns whether this one can end or lead. If not, it waits until it may run again.
        :returns: the result of ``wait``.
        :raises Failure: it may not run again.
        """


class _NoTurns:
    """Requests that share nothing: those of a test, or of a program."""

    def end_turn(self) -> None:
        """Do as ``Turns``."""

    def wait(self, wait: Callable[[], bool]) -> bool:
        """Do as ``Turns``."""
        return wait()


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
        together: Callable[[list[Ticket[_Result]]], Mapping[str, _Result | Failure]],
    ) -> _Result:
        """Return the result of a request.

        :param kind: what is equal in requests that are alike.
        :param alone: carries out this request. Raises its failure.
        :param together: carries out several: returns {name: result, or failure} of those that it has carried out.
            Raises Failure or NotTogether if it has done none of them. The others are carried out alone, so that their
            failures are their own.
        """
        self.turns.end_turn()
        if not self._begins(kind, ticket):
            self.turns.wait(lambda: self._wait(kind, ticket))
            if not ticket.leads:
                return ticket.outcome(alone)
        tickets = self._take(kind, ticket)
        try:
            if len(tickets) == 1:
                return alone()
            _carry_out(tickets, together)
        finally:
            self._end(kind, tickets)
        return ticket.outcome(alone)

    def _wait(self, kind: Hashable, ticket: Ticket[_Result]) -> bool:
        """Wait for a request that is at work, and return ``Ticket.ends``."""
        if not ticket.wait(PATIENCE) and not self._gives_up(kind, ticket):
            ticket.wait()
        return ticket.ends()

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


def _carry_out(
    tickets: list[Ticket[_Result]], together: Callable[[list[Ticket[_Result]]], Mapping[str, _Result | Failure]]
) -> None:
    """Carry out requests together. Those that get no outcome are to be carried out alone: nothing was written of them.

    :param together: as for ``Combined.run``.
    """
    deadlines = [ticket.deadline for ticket in tickets if ticket.deadline is not None]
    try:
        # No request ends that of another.
        with timeouts.until(max(deadlines) if len(deadlines) == len(tickets) else None):
            results = together(tickets)
    except (Failure, NotTogether):
        return
    except Exception as error:
        # The database has rolled back what it has refused. (oslo.db does not translate each error.) Otherwise, the
        # answer to the COMMIT may be lost. To write again then could write twice, so each client must look, as it must
        # without others.
        if not isinstance(error, db_exception.DBError | sa.exc.DBAPIError) or outage.is_one(error):
            for ticket in tickets:
                ticket.fail(error)
        return
    for ticket in tickets:
        if ticket.name not in results:
            continue
        if isinstance(result := results[ticket.name], Failure):
            ticket.fail(result)
        else:
            ticket.succeed(result)
