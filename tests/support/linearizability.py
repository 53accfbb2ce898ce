"""Checks whether a history of concurrent calls is linearizable.

It is if each call can be given one moment between its begin and its end, so that a sequential model gives the same
answers to the calls in the order of these moments. The search is that of Wing and Gong, with Lowe's cache ("Testing for
linearizability", 2017): the calls that have their moments, and the state after them, are not tried twice.
"""

import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

#: Maximum number of steps of a search. A history with many unknown outcomes may need more; it is not decided then.
MAX_STEPS = 300_000


@dataclasses.dataclass
class Call:
    """A call, and what its client saw.

    :ivar kind: name of the operation. ``values`` are its arguments.
    :ivar answer: what the client got; None if the outcome is unknown. Then the call may have happened at any time since
        its begin, or may happen later, or never.
    :ivar began: moment before the call; ``ended``: moment after its answer.
    :ivar is_read: whether calls of this kind change nothing.
    """

    client: Any
    kind: str
    values: dict[str, Any]
    began: float
    ended: float = math.inf
    answer: Any = None
    is_read: bool = False

    def __str__(self) -> str:
        end = '…' if self.answer is None else f'{self.ended:.4f}'
        return f'{self.began:.4f}-{end} client {self.client}: {self.kind} {self.values} -> {self.answer}'


#: Function of a state and a call, to the possible states after the call. They are none if its answer is impossible.
Model = Callable[[Any, Call], Iterable[Hashable]]


class Undecided(Exception):
    """The search took more than MAX_STEPS."""


def violation(model: Model, state: Hashable, calls: Sequence[Call]) -> list[Call]:
    """Return [] if a history is linearizable; otherwise the calls of the shortest history that is not.

    These are the calls before the first impossible answer, without the reads that do not matter. All writes stay:
    without one of them, a correct history may become an impossible one. The call with the impossible answer comes last.

    :param state: the state before all calls.
    :raises Undecided: it would take too long.
    """
    if is_linearizable(model, state, calls):
        return []
    ends = sorted(call.ended for call in calls if call.answer is not None)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        is_good = is_linearizable(model, state, _until(calls, ends[middle]))
        low, high = (middle + 1, high) if is_good else (low, middle)
    shortest = _until(calls, ends[low])
    for call in [call for call in shortest if call.answer is not None]:
        rest = [each for each in shortest if each is not call]
        if call.is_read and not is_linearizable(model, state, rest):
            shortest = rest
    impossible = max((call for call in shortest if call.answer is not None), key=lambda call: call.ended)
    return sorted(shortest, key=lambda call: (call is impossible, call.began))


def _until(calls: Iterable[Call], moment: float) -> list[Call]:
    """Return the history until a moment. Calls that have not ended by then have an unknown outcome."""
    return [
        call if call.ended <= moment else dataclasses.replace(call, ended=math.inf, answer=None)
        for call in calls
        if call.began <= moment
    ]


def is_linearizable(model: Model, state: Hashable, calls: Iterable[Call]) -> bool:
    """Whether a history is linearizable.

    :raises Undecided: it would take too long.
    """
    # Calls with an unknown outcome come last, so that they are tried only if the others do not suffice.
    ordered = sorted(calls, key=lambda call: (call.answer is None, call.began))
    known = (1 << sum(call.answer is not None for call in ordered)) - 1
    stack, seen, steps = [(0, state)], {(0, state)}, 0
    while stack:
        done, state = stack.pop()
        if done & known == known:
            return True
        rest = [number for number in range(len(ordered)) if not done >> number & 1]
        # A call may come next if no other one has ended before it began.
        first_end = min(ordered[number].ended for number in rest)
        for number in reversed(rest):
            if ordered[number].began > first_end:
                continue
            steps += 1
            for after in model(state, ordered[number]):
                if (reached := (done | 1 << number, after)) not in seen:
                    seen.add(reached)
                    stack.append(reached)
        if steps > MAX_STEPS:
            raise Undecided(f'{len(ordered)} calls')
    return False
