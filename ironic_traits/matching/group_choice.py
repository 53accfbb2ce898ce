"""Chooses how many nodes to take of which groups, so that a topology is fulfilled. Pure: no database access.

Hard policies are always fulfilled. Soft policies are fulfilled as far as possible, the first one first. Among equal
choices, the one whose cells come first wins. ``matching.group_limits`` says what a cell is.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ironic_traits.matching.group_limits import Cell, Limit, fill
from ironic_traits.matching.topology import AFFINITY, SOFT, SOFT_AFFINITY, SOFT_ANTI_AFFINITY, Policy

#: Maximum number of sets of groups that are tried to find the smallest one with enough nodes.
_MAX_TRIES = 500


@dataclasses.dataclass(frozen=True)
class Situation:
    """The nodes that can be chosen, and the policies.

    :ivar policies: (Policy, …).
    :ivar cells: {cell: number of nodes}, the best one first. A cell has a group for each policy.
    :ivar related: for each policy, {group: number of nodes} of the instances that it refers to.
    """

    policies: Sequence[Policy]
    cells: Mapping[Cell, int]
    related: Sequence[Mapping[str, int]]

    def largest(self) -> int:
        """Return the largest number of nodes that can be chosen at once."""
        limits, sizes = self._limits(), ((block, sum(block.values())) for _, block in self.blocks())
        return max((fill(block, limits, size).total() if limits else size for block, size in sizes), default=0)

    def choose(self, count: int) -> Counter[Cell] | None:
        """Return the best choice of some nodes: {cell: number of nodes}. Return None if there is no choice."""
        soft = [place for place, policy in enumerate(self.policies) if policy.name in SOFT]
        choices = (
            choice
            for _, block in self.blocks()
            if sum(block.values()) >= count and fill(block, self._limits(), count).total() >= count
            for choice in self._choices(block, self._limits(), count, soft)
        )
        # The first one with the least degrees.
        return min(choices, key=self._degrees, default=None) if soft else next(choices, None)

    def count_blocks(self, count: int) -> int:
        """Return how many blocks of nodes can be chosen at once, if each block fulfils the policies on its own.

        All blocks of one group together need a choice with limits that are larger by their number. Such a choice can be
        divided, because the groups of the limits form two chains at most: its matrix is totally unimodular (Baum and
        Trotter, Integer rounding and polyhedral decomposition for totally unimodular systems, 1978).
        """
        return sum(self._count_blocks(block, count) for _, block in self.blocks())

    def blocks(self) -> Iterator[tuple[dict[str, str | None], dict[Cell, int]]]:
        """Yield the cells among which a choice is made: {key of affinity: group}, {cell: number of nodes}."""
        places = [place for place, policy in enumerate(self.policies) if policy.name == AFFINITY]
        divided: dict[Cell, dict[Cell, int]] = {}
        for cell, number in self.cells.items():
            groups = tuple(cell[place] for place in places)
            if all(set(self.related[place]) <= {cell[place]} for place in places):
                divided.setdefault(groups, {})[cell] = number
        for groups, block in divided.items():
            yield {self.policies[place].key: value for place, value in zip(places, groups, strict=True)}, block

    def _choices(
        self, block: Mapping[Cell, int], limits: Sequence[Limit], count: int, soft: Sequence[int]
    ) -> Iterator[Counter[Cell]]:
        """Yield the choices that fulfil soft policies as far as possible, the first of these policies first.

        :param soft: places of the policies.
        """
        if not soft:
            yield fill(block, limits, count)
        elif self.policies[soft[0]].name == SOFT_ANTI_AFFINITY:
            yield from self._choices(block, self._lowest(soft[0], block, limits, count), count, soft[1:])
        else:
            # Several sets of groups may be equally small. Which of them is best, the next policies say.
            sets = self._fewest(soft[0], block, limits, count)
            for cells in itertools.islice(sets, None if soft[1:] else 1):
                yield from self._choices(cells, limits, count, soft[1:])

    def _lowest(self, place: int, block: Mapping[Cell, int], limits: Sequence[Limit], count: int) -> list[Limit]:
        """Return limits with the lowest one for the groups of a policy that has a choice."""
        others = [limit for limit in limits if limit.place != place]
        most = self.policies[place].limit or count + max(self.related[place].values(), default=0)
        low, high = 1, most
        while low < high:
            middle = (low + high) // 2
            is_enough = fill(block, [*others, self._limit(place, middle)], count).total() >= count
            low, high = (low, middle) if is_enough else (middle + 1, high)
        return [*others, self._limit(place, low)]

    def _fewest(
        self, place: int, block: Mapping[Cell, int], limits: Sequence[Limit], count: int
    ) -> Iterator[Mapping[Cell, int]]:
        """Yield the cells of each smallest set of groups that has a choice. Groups of related nodes do not count."""
        groups: dict[str | None, dict[Cell, int]] = {}
        for cell, number in block.items():
            groups.setdefault(cell[place], {})[cell] = number
        used = {value for value in groups if value in self.related[place]}
        room = {value: fill(cells, limits, count).total() for value, cells in groups.items()}
        others = {value: number for value, number in room.items() if number and value not in used}
        smallest = len(others)
        for values in _sets(others, count - sum(room[value] for value in used)):
            if len(values) > smallest:
                return
            cells = {cell: number for cell, number in block.items() if cell[place] in used or cell[place] in values}
            if fill(cells, limits, count).total() >= count:
                smallest = len(values)
                yield cells

    def _degrees(self, choice: Mapping[Cell, int]) -> list[int]:
        """Return how far a choice misses each soft policy: the lower, the better."""
        degrees = []
        for place, policy in enumerate(self.policies):
            numbers = Counter(self.related[place])
            chosen = {cell[place] for cell in choice}
            for cell, number in choice.items():
                numbers[str(cell[place])] += number
            if policy.name == SOFT_AFFINITY:
                degrees.append(len(numbers))
            elif policy.name == SOFT_ANTI_AFFINITY:
                degrees.append(max(number for value, number in numbers.items() if value in chosen))
        return degrees

    def _count_blocks(self, block: Mapping[Cell, int], count: int) -> int:
        low, high = 0, sum(block.values()) // count
        while low < high:
            middle = (low + high + 1) // 2
            is_enough = fill(block, self._limits(middle), middle * count).total() >= middle * count
            low, high = (middle, high) if is_enough else (low, middle - 1)
        return low

    def _limits(self, times: int = 1) -> list[Limit]:
        """Return the limits of the policies, for a number of blocks."""
        return [
            self._limit(place, policy.limit, times)
            for place, policy in enumerate(self.policies)
            if policy.limit is not None
        ]

    def _limit(self, place: int, most: int, times: int = 1) -> Limit:
        related = self.related[place]
        return Limit(place, lambda value: max(0, most - related.get(str(value), 0)) * times)


def _sets(room: Mapping[str | None, int], missing: int) -> Iterator[tuple[str | None, ...]]:
    """Yield sets of groups that may have enough nodes, the smallest sets first.

    For each size, the first one is usually enough: the groups with the most nodes, and the best one that has the rest.

    :param room: {group: the most nodes that can be chosen of it alone}, the best one first.
    :param missing: the number of nodes.
    """
    largest = sorted(room, key=lambda value: -room[value])
    tries = _MAX_TRIES
    if missing <= 0:
        yield ()
    for size in range(1, len(room) + 1):
        most = largest[: size - 1]
        rest = missing - sum(room[value] for value in most)
        last = next((value for value in room if room[value] >= rest and value not in most), None)
        if last is None:
            continue
        yield (*most, last)
        for values in itertools.islice(itertools.combinations(largest, size), tries):
            tries -= 1
            if sum(room[value] for value in values) >= missing:
                yield values
    yield tuple(room)
