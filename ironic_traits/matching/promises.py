"""Whether all promises of a number of nodes can be kept at once. Pure: no database access.

A promise is kept by free nodes that match it. Free nodes that match the same promises are equal: they are a class. How
many nodes each class gives to each promise is a flow, and promises that overlap can all be kept if the largest flow is
as large as what they ask for.
"""

import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Self

#: The promises that the nodes of a class match.
Class = frozenset[int]


class Flow:
    """The largest flow from classes of free nodes to promises.

    :param asked: {promise: number of nodes that it asks for}. If not all can be kept, the first ones are.
    :param free: {class: number of free nodes}.
    """

    def __init__(self, asked: Mapping[int, int], free: Mapping[Class, int]) -> None:
        self.asked, self.free = dict(asked), dict(free)
        #: {(promise, class): number of nodes that the class gives to the promise}, and {class: their sum}.
        self._given: Counter[tuple[int, Class]] = Counter()
        self.used: Counter[Class] = Counter()
        self._classes: dict[int, list[Class]] = {
            promise: [each for each in self.free if promise in each] for promise in self.asked
        }
        for promise, number in self.asked.items():
            while number and (moved := self._serve(promise, number)):
                number -= moved

    @property
    def value(self) -> int:
        """How many nodes all promises get together."""
        return self.used.total()

    @property
    def is_full(self) -> bool:
        """Whether all promises get what they ask for."""
        return self.value == sum(self.asked.values())

    def kept(self, promise: int) -> int:
        """Return how many nodes a promise gets."""
        return sum(self._given[promise, each] for each in self._classes[promise])

    def after(self, of: Class, used_up: int | None = None) -> Self | None:
        """Return a flow after a node is taken; None if a promise would get less.

        It need not be the largest one: other promises do not get the node that a promise gives back.

        :param of: class of the node, which has a free one.
        :param used_up: the promise that the node is taken for, which gets one less; None if it is taken for none.
        """
        flow = copy.copy(self)
        flow.asked, flow.free = dict(self.asked), self.free | {of: self.free[of] - 1}
        flow._given, flow.used = self._given.copy(), self.used.copy()
        if used_up is not None:
            flow.asked[used_up] -= 1
            if flow.kept(used_up):
                flow._give_back(used_up, of)
        if flow.used[of] > flow.free[of]:
            loser = next(flow._holders(of))
            flow._give_back(loser, of)
            if not flow._serve(loser, 1):
                return None
        return flow

    def needing(self, of: Class) -> list[int]:
        """Return the promises that need all nodes that match one of them, if a node of a class cannot be taken."""
        found: dict[int, None] = {}
        classes, seen = [of], {of}
        for each in classes:
            for promise in self.asked:
                if self._given[promise, each] and promise not in found:
                    found[promise] = None
                    more = [other for other in self._classes[promise] if other not in seen]
                    classes += more
                    seen.update(more)
        return sorted(found)

    def _serve(self, promise: int, most: int) -> int:
        """Let a promise have more nodes, if need be by giving others of other classes; return how many (0 if none).

        :param most: maximum number.
        """
        # The shortest path: from the promise to a class of which it can get a node, from there to a promise that has a
        # node of the class, and so on, to a class with a node that no promise has.
        paths: list[list[tuple[int, Class]]] = [[(promise, each)] for each in self._classes[promise]]
        seen = set(self._classes[promise])
        for path in paths:
            last = path[-1][1]
            if spare := self.free[last] - self.used[last]:
                return self._move(path, min(most, spare))
            for other in self._holders(last):
                for each in self._classes[other]:
                    if each not in seen:
                        seen.add(each)
                        paths.append([*path, (other, each)])
        return 0

    def _give_back(self, promise: int, of: Class) -> None:
        """Take a node from a promise: one of a class if it has one, else any."""
        each = next(each for each in (of, *self._classes[promise]) if self._given[promise, each])
        self._given[promise, each] -= 1
        self.used[each] -= 1

    def _holders(self, of: Class) -> Iterator[int]:
        return (promise for promise in of if self._given[promise, of])

    def _move(self, path: list[tuple[int, Class]], most: int) -> int:
        """Move nodes along a path, as many as it has, and return how many."""
        taken = [(promise, before) for (_, before), (promise, _) in itertools.pairwise(path)]
        number = min([most, *(self._given[each] for each in taken)])
        for each in taken:
            self._given[each] -= number
        for each in path:
            self._given[each] += number
        self.used[path[-1][1]] += number
        return number
