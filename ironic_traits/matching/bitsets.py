"""Sets of nodes as bits of integers. Pure: no database access.

Each node has a position, and bit n of an integer stands for the node at position n. So the nodes with two traits are
one ``&`` of two integers, and their number is ``int.bit_count``: some microseconds for 100,000 nodes.
"""

import functools
import itertools
import operator
from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

#: A set with fewer members than one in _SPARSE positions is stored as a list of positions, of 4 bytes each.
_SPARSE = 32
_POSITION = 'I'
#: Number of adjacent positions whose sets are known together.
_NEAR = 1 << 12
#: Number of nodes whose masks are computed at once. It limits the number of masks, and so the memory.
_CHUNK = 1 << 14
_TRUTH = bytes.maketrans(b'01', b'\x00\x01')


def from_positions(positions: Iterable[int], size: int) -> int:
    """Return the integer with a bit for each of some positions.

    :param size: a number that is larger than each position.
    """
    bits = bytearray(size // 8 + 1)
    for position in positions:
        bits[position >> 3] |= 1 << (position & 7)
    return int.from_bytes(bits, 'little')


def positions(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set, the lowest first."""
    data = bits.to_bytes(bits.bit_length() // 8 + 1, 'little')
    # ``compress`` passes the empty bytes quickly.
    for number in itertools.compress(range(len(data)), data):
        byte = data[number]
        while byte:
            low = byte & -byte
            yield number * 8 + low.bit_length() - 1
            byte ^= low


def members(bits: int, values: Sequence[int]) -> Iterator[int]:
    """Return the values at the positions of the bits that are set. It is quick if most bits are set.

    :param values: values, such as an array. There is one for each position.
    """
    flags = format(bits, f'0{len(values)}b')[::-1].encode().translate(_TRUTH)
    return itertools.compress(values, flags)


def failing(considered: int, fulfilled: Sequence[int], size: int) -> Counter[int]:
    """Return how many nodes fail which clauses.

    :param considered: set of nodes.
    :param fulfilled: for each clause, the set of the nodes that fulfil it.
    :param size: a number that is larger than each position.
    :returns: {mask of the clauses, as of ``matching.explanations``: number of nodes}.
    """
    counts: Counter[int] = Counter()
    for begin in range(0, size, _CHUNK):
        groups = {0: considered >> begin & (1 << _CHUNK) - 1}
        for bit, members in enumerate(fulfilled):
            chunk = members >> begin & (1 << _CHUNK) - 1
            split = [(mask, group & chunk, group & ~chunk) for mask, group in groups.items()]
            groups = {mask: some for mask, some, _ in split if some}
            groups |= {mask | 1 << bit: others for mask, _, others in split if others}
        for mask, group in groups.items():
            counts[mask] += group.bit_count()
    return counts


class Sums:
    """The number of sets that contain each node.

    The bits n of all numbers are one set of nodes, so that one operation adds to the numbers of all nodes.

    :param sets: sets of nodes.
    """

    def __init__(self, sets: Iterable[int]) -> None:
        self._bits: list[int] = []
        for carry in sets:
            for place, bit in enumerate(self._bits):
                if not carry:
                    break
                self._bits[place], carry = bit ^ carry, bit & carry
            if carry:
                self._bits.append(carry)

    def above(self, limit: int) -> int:
        """Return the set of the nodes that are in more sets than a limit, 0 or more."""
        above = 0
        equal = functools.reduce(operator.or_, self._bits, 0)
        for place in reversed(range(max(len(self._bits), limit.bit_length()))):
            bit = self._bits[place] if place < len(self._bits) else 0
            if limit >> place & 1:
                equal &= bit
            else:
                above |= equal & bit
                equal &= ~bit
        return above

    def at(self, position: int) -> int:
        """Return the number of sets that contain the node at a position."""
        return sum((bit >> position & 1) << place for place, bit in enumerate(self._bits))


class Bitsets:
    """Named sets of nodes. Names are any hashable values; the set of an unknown name is empty.

    A node in a set costs at most 4 bytes, however many sets there are and however few nodes they have.

    :ivar size: a number that is larger than the position of each node.
    """

    def __init__(self) -> None:
        self.size = 0
        self._sets: dict[Hashable, int | array] = {}
        #: {position // _NEAR: names of the sets that have, or had, one of these positions}. There may be as many sets
        #: as racks, so a change must not pass them all.
        self._near: dict[int, set[Hashable]] = defaultdict(set)
        #: {kind: names of its sets that are not empty}.
        self._kinds: dict[Hashable, set[Hashable]] = defaultdict(set)

    def of_kind(self, kind: Hashable) -> Iterator[Any]:
        """Return the names that are tuples, and begin with a kind."""
        return iter(self._kinds[kind])

    def get(self, name: Hashable) -> int:
        """Return the set of a name."""
        members = self._sets.get(name, 0)
        return members if isinstance(members, int) else from_positions(members, self.size)

    def replace(self, changed: Mapping[int, Iterable[Hashable]], size: int) -> None:
        """Put nodes into the sets that they belong to now, and into no others.

        :param changed: {position: names of the sets}.
        :param size: as the attribute.
        """
        self._remove({position for position in changed if position < self.size})
        self.size = max(self.size, size)
        added: dict[Hashable, list[int]] = defaultdict(list)
        for position, names in changed.items():
            near = self._near[position // _NEAR]
            for name in names:
                added[name].append(position)
                near.add(name)
        for name, members in added.items():
            self._add(name, members)

    def _remove(self, changed: set[int]) -> None:
        if not changed:
            return
        mask = from_positions(changed, self.size)
        for name in set[Hashable]().union(
            *(self._near[place] for place in {position // _NEAR for position in changed})
        ):
            members = self._sets.get(name, 0)
            if isinstance(members, int):
                if members & mask:
                    self._set(name, members & ~mask)
            elif not changed.isdisjoint(members):
                self._set(name, array(_POSITION, (each for each in members if each not in changed)))

    def _add(self, name: Hashable, new: list[int]) -> None:
        members = self._sets.get(name, array(_POSITION))
        self._set(
            name,
            members | from_positions(new, self.size) if isinstance(members, int) else members + array(_POSITION, new),
        )

    def _set(self, name: Hashable, members: int | array) -> None:
        """Store a set in the form that needs less memory; forget an empty one."""
        kind = name[0] if isinstance(name, tuple) else None
        if not members:
            self._sets.pop(name, None)
            self._kinds[kind].discard(name)
            return
        self._kinds[kind].add(name)
        if isinstance(members, int):
            if members.bit_count() * _SPARSE * 2 < self.size:
                members = array(_POSITION, positions(members))
        elif len(members) * _SPARSE > self.size:
            members = from_positions(members, self.size)
        self._sets[name] = members
