"""The largest choice of nodes with limited numbers in groups. Pure: no database access.

A *cell* is a tuple with a group for each policy, and stands for all nodes that belong to these groups. If the groups of
each limit lie in groups of the next one (chassis, racks, rows), taking nodes in any order finds the largest choice. If
there are two such chains (racks, power feeds), the choice is a flow from the groups of one chain to those of the other.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ironic_traits import failures

Cell = tuple[str | None, ...]
#: A point of the flow: a group, or one of the two ends.
_Point = tuple[int, str | None]
_BEGIN, _END = (-1, 'begin'), (-1, 'end')


class Limit(NamedTuple):
    """A limit of the number of nodes in each group.

    :ivar place: the place of the group in a cell.
    :ivar room: function of a group: how many nodes may be taken of it.
    """

    place: int
    room: Callable[[str | None], int]


def fill(cells: Mapping[Cell, int], limits: Sequence[Limit], most: int) -> Counter[Cell]:
    """Return the largest choice of nodes.

    :param cells: {cell: number of nodes}. The first ones are preferred.
    :param most: maximum number of nodes of the choice.
    :returns: {cell: number of nodes to take}.
    :raises failures.InvalidInput: the groups of the limits overlap in more than two ways.
    """
    chains = _chains(cells, limits) if len(limits) > 1 else [limits]
    chosen = _take(cells, limits, most)
    missing = most - chosen.total()
    if missing and len(chains) > 1:
        return _Flow(cells, chains, chosen).raised(missing)
    return chosen


def _take(cells: Mapping[Cell, int], limits: Sequence[Limit], most: int) -> Counter[Cell]:
    """Return a choice that takes as many nodes as possible of one cell after another."""
    chosen: Counter[Cell] = Counter()
    left: dict[_Point, int] = {}
    for cell, number in cells.items():
        points = [(limit.place, cell[limit.place]) for limit in limits]
        for point, limit in zip(points, limits, strict=True):
            left.setdefault(point, limit.room(point[1]))
        taken = min(number, most, *(left[point] for point in points))
        if taken > 0:
            chosen[cell], most = taken, most - taken
            for point in points:
                left[point] -= taken
        if not most:
            break
    return chosen


def _chains(cells: Iterable[Cell], limits: Sequence[Limit]) -> list[list[Limit]]:
    """Return the limits as chains, in each of which the groups of a limit lie in groups of the one before.

    :raises failures.InvalidInput: there are more than two chains.
    """
    cells = list(cells)
    sizes = {limit: len({cell[limit.place] for cell in cells}) for limit in limits}
    chains: list[list[Limit]] = []
    for limit in sorted(limits, key=lambda each: sizes[each]):
        pairs = ({(cell[chain[-1].place], cell[limit.place]) for cell in cells} for chain in chains)
        fitting = next((chain for chain, pair in zip(chains, pairs, strict=True) if len(pair) == sizes[limit]), None)
        if fitting:
            fitting.append(limit)
        else:
            chains.append([limit])
    if len(chains) > 2:
        raise failures.InvalidInput(
            reason="'topology' limits the numbers of nodes for more than two keys whose groups overlap. Such a choice "
            'cannot be made exactly: leave out one of them.'
        )
    return chains


class _Flow:
    """A flow of nodes from the groups of one chain of limits through cells to the groups of another chain.

    :param chains: two chains.
    :param chosen: {cell: number of nodes}, with which the flow begins.
    """

    def __init__(self, cells: Mapping[Cell, int], chains: Sequence[Sequence[Limit]], chosen: Counter[Cell]) -> None:
        self._cells, self._chains = cells, chains
        #: {point: {next point: by how much the flow between them can grow}}.
        self._rest: dict[_Point, Counter[_Point]] = defaultdict(Counter)
        for cell, number in cells.items():
            path = self._path(cell)
            one, other = self._ends(cell)
            self._rest[one][other] += number
            for limit, before, after in path:
                point = after if limit in chains[0] else before
                self._rest[before][after] = limit.room(point[1])
        for cell, number in chosen.items():
            for _, before, after in self._path(cell):
                self._push(before, after, number)
            self._push(*self._ends(cell), number)

    def raised(self, missing: int) -> Counter[Cell]:
        """Return the choice with the largest flow, which is larger by ``missing`` nodes at most."""
        while missing and (path := self._find()):
            number = min(missing, *(self._rest[before][after] for before, after in path))
            for before, after in path:
                self._push(before, after, number)
            missing -= number
        flows = {ends: self._rest[ends[1]][ends[0]] for ends in map(self._ends, self._cells)}
        chosen: Counter[Cell] = Counter()
        for cell, number in self._cells.items():
            ends = self._ends(cell)
            if taken := min(number, flows[ends]):
                chosen[cell] = taken
                flows[ends] -= taken
        return chosen

    def _path(self, cell: Cell) -> Iterable[tuple[Limit, _Point, _Point]]:
        """Yield the steps of the flow through a cell, with the limit of each, but without the cell itself."""
        before: _Point = _BEGIN
        for limit in self._chains[0]:
            after = (limit.place, cell[limit.place])
            yield limit, before, after
            before = after
        after = _END
        for limit in self._chains[1]:
            yield limit, (limit.place, cell[limit.place]), after
            after = (limit.place, cell[limit.place])

    def _ends(self, cell: Cell) -> tuple[_Point, _Point]:
        one, other = (chain[-1].place for chain in self._chains)
        return (one, cell[one]), (other, cell[other])

    def _push(self, before: _Point, after: _Point, number: int) -> None:
        self._rest[before][after] -= number
        self._rest[after][before] += number

    def _find(self) -> list[tuple[_Point, _Point]]:
        """Return the steps of a shortest path on which the flow can grow; [] if there is none."""
        came_from: dict[_Point, _Point] = {}
        waiting: deque[_Point] = deque([_BEGIN])
        while waiting and _END not in came_from:
            point = waiting.popleft()
            for following, rest in self._rest[point].items():
                if rest > 0 and following not in came_from and following != _BEGIN:
                    came_from[following] = point
                    waiting.append(following)
        steps: list[tuple[_Point, _Point]] = []
        last: _Point = _END
        while last in came_from:
            steps.append((came_from[last], last))
            last = came_from[last]
        return steps
