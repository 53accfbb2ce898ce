"""Figures about why nodes do not match, computed from the number of nodes that fail each set of clauses. Pure: no
database access.

A set of clauses is a bit mask: bit n stands for clause n. A node that fails no clause matches.
"""

import dataclasses
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ironic_traits.matching.requests import Request
from ironic_traits.matching.traits import EXCLUSIVE

#: Maximum number of relaxations, and of near misses, in one explanation.
MAX_LISTED = 20
#: Maximum number of sets of clauses that are tried as relaxations.
MAX_TRIES = 200


class TraitClauses:
    """The clauses of a request about the traits of a node.

    :ivar names: [name of a clause, …], in the order of their bits.
    :ivar traits: [trait that the request names, …], in the order of their bits in the mask of the traits that a node
        carries. The required ones come first, then the forbidden ones, so that a shift turns the bits of traits into
        the bits of most clauses.
    """

    def __init__(self, request: Request) -> None:
        required, forbidden = sorted(request.required), [*sorted(request.forbidden), *sorted(request.exclusive)]
        self.names = [term.name for term in request.filter.terms()]
        alternatives = {name for names in request.required_any for name in names}
        self.traits = [*required, *forbidden, *sorted(alternatives.difference(required, forbidden))]
        bits = {name: 1 << bit for bit, name in enumerate(self.traits)}
        self._required = (1 << len(required)) - 1
        self._forbidden = (1 << len(forbidden)) - 1
        self._shift = len(required)
        self._any = [sum(bits[name] for name in names) for names in request.required_any]

    def failed(self, carried: int) -> int:
        """Return the mask of the clauses that a node fails.

        :param carried: mask of the traits that the node carries.
        """
        failed = ~carried & self._required
        for bit, alternatives in enumerate(self._any, self._shift):
            if not carried & alternatives:
                failed |= 1 << bit
        return failed | (carried >> self._shift & self._forbidden) << self._shift + len(self._any)


def is_shown(clause: str, rejected: int) -> bool:
    """Whether an explanation has a clause: exclusive traits that reject nothing are left out."""
    return bool(rejected) or not clause.startswith(EXCLUSIVE.name)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How many nodes fail which clauses.

    :ivar clauses: [name of a clause, …], in the order of their bits.
    :ivar failing: Counter of {mask of the clauses that a node fails: number of nodes}.
    """

    clauses: list[str]
    failing: Counter[int]

    @property
    def considered(self) -> int:
        """The number of nodes."""
        return self.failing.total()

    @property
    def matched(self) -> int:
        """The number of nodes that match."""
        return self.failing[0]

    def rejected(self) -> list[dict[str, Any]]:
        """Return how many nodes each clause rejects, and how many it rejects alone.

        Exclusive traits that reject no node are left out.

        :returns: [{'clause': name, 'rejected': number of nodes, 'rejected_only': number of nodes}, …].
        """
        rejected = self._rejected()
        return [
            {'clause': name, 'rejected': rejected[bit], 'rejected_only': self.failing[1 << bit]}
            for bit, name in enumerate(self.clauses)
            if is_shown(name, rejected[bit])
        ]

    def _rejected(self) -> list[int]:
        """Return how many nodes each clause rejects, as a list in the order of the clauses.

        Masks are counted byte by byte, which is faster: there may be as many masks as nodes, with 200 bits each.
        """
        size = len(self.clauses) // 8 + 1
        counts = [[0] * 256 for _ in range(size)]
        for mask, count in self.failing.items():
            for byte_counts, byte in zip(counts, mask.to_bytes(size, 'little'), strict=True):
                byte_counts[byte] += count
        return [
            sum(count for byte, count in enumerate(counts[bit // 8]) if byte >> bit % 8 & 1)
            for bit in range(len(self.clauses))
        ]

    def relaxations(
        self, needed: int = 1, number_of: Callable[[int], int] | None = None, more: Iterable[int] = ()
    ) -> list[dict[str, Any]]:
        """Return the minimal sets of clauses to drop so that enough nodes match.

        Each set is the union of the clauses that some nodes fail. For one match, it is what a single node fails. For
        several matches there may be more unions than MAX_TRIES; those with the most clauses are not tried.

        :param needed: how many nodes are to match. If enough do, the result is [].
        :param number_of: function of the mask of the dropped clauses: how many nodes match then. None to count them.
        :param more: masks of further clauses to drop, which no node fails.
        :returns: [{'drop': [name of a clause, …], 'nodes': how many nodes would match}, …], MAX_LISTED at most, the
            fewest clauses first. No set contains another.
        """
        number_of = number_of or self._without
        if number_of(0) >= needed:
            return []
        masks = sorted({mask for mask in (*self.failing, *more) if mask}, key=self._nearest)
        # A heap: sorted lists are heaps.
        waiting = [self._nearest(mask) for mask in masks]
        seen = set(masks)
        minimal: dict[int, int] = {}
        tries = MAX_TRIES
        while waiting and tries and len(minimal) < MAX_LISTED:
            *_, mask = heapq.heappop(waiting)
            if any(smaller & ~mask == 0 for smaller in minimal):
                continue
            tries -= 1
            matched = number_of(mask)
            if matched >= needed:
                minimal[mask] = matched
                continue
            for wider in {mask | other for other in masks[:MAX_TRIES]} - seen:
                seen.add(wider)
                heapq.heappush(waiting, self._nearest(wider))
        return [{'drop': self.names(mask), 'nodes': matched} for mask, matched in minimal.items()]

    def _without(self, dropped: int) -> int:
        """Return how many nodes match without some clauses."""
        return sum(count for failed, count in self.failing.items() if failed & ~dropped == 0)

    def near_misses(self) -> list[int]:
        """Return the masks of the nodes that fail the fewest clauses.

        :returns: [mask, …], the fewest clauses first; as many as are needed for MAX_LISTED nodes.
        """
        nearest: list[int] = []
        nodes = 0
        for mask in sorted(self.failing, key=self._nearest):
            if mask and nodes < MAX_LISTED:
                nearest.append(mask)
                nodes += self.failing[mask]
        return nearest

    def names(self, mask: int) -> list[str]:
        """Return the names of the clauses in a mask, as a list."""
        return [self.clauses[bit] for bit in _bits(mask)]

    def _nearest(self, mask: int) -> tuple[int, int, int]:
        """Return a sort key: the fewest clauses first, then the most nodes. It ends with the mask."""
        return mask.bit_count(), -self.failing[mask], mask


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
