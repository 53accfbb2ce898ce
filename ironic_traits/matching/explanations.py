"""Why nodes are not among the matches: figures about clauses, from how many nodes fail which of them; pure.

A node fails a set of clauses, given as a bit mask: bit n stands for clause n.  Whoever fails none is a match.
"""

import dataclasses
import heapq
from collections import Counter

#: Most relaxations, and most near misses, in one explanation.
MOST = 20
#: Most sets of clauses that are looked at for relaxations.
MOST_TRIES = 200


class TraitClauses:
    """What a request requires of the traits of a node, clause by clause.

    :param request: ironic_traits.matching.requests.Request.
    :ivar names: of the clauses, in the order of their bits.
    :ivar traits: all that the request names: bit n of the traits that a node carries stands for trait n.  The required
        ones come first, then the forbidden ones, so that the bits of most clauses come from those of the traits by a
        shift.
    """

    def __init__(self, request):
        required, forbidden = sorted(request.required), sorted(request.forbidden)
        self.names = [
            *(f'required:{name}' for name in required),
            *(f'required_any:{",".join(sorted(names))}' for names in request.required_any),
            *(f'forbidden:{name}' for name in forbidden),
        ]
        alternatives = {name for names in request.required_any for name in names}
        self.traits = [*required, *forbidden, *sorted(alternatives.difference(required, forbidden))]
        bits = {name: 1 << bit for bit, name in enumerate(self.traits)}
        self._required = (1 << len(required)) - 1
        self._forbidden = (1 << len(forbidden)) - 1
        self._shift = len(required)
        self._any = [sum(bits[name] for name in names) for names in request.required_any]

    def failed(self, carried):
        """Return the mask of the clauses that a node fails.

        :param carried: the mask of the traits that it carries.
        """
        failed = ~carried & self._required
        for bit, names in enumerate(self._any, self._shift):
            if not carried & names:
                failed |= 1 << bit
        return failed | (carried >> self._shift & self._forbidden) << self._shift + len(self._any)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How many nodes fail what.

    :ivar clauses: names of the clauses, in the order of their bits.
    :ivar failing: Counter of the masks of what nodes fail.
    """

    clauses: list
    failing: Counter

    @property
    def considered(self):
        """How many nodes there are."""
        return self.failing.total()

    @property
    def matched(self):
        """How many of them fail nothing."""
        return self.failing[0]

    def rejected(self):
        """Give how many nodes each clause rejects, and how many no other one does.

        :returns: [{'clause': name, 'rejected': n, 'rejected_only': n}, …].
        """
        rejected = self._rejected()
        return [
            {'clause': name, 'rejected': rejected[bit], 'rejected_only': self.failing[1 << bit]}
            for bit, name in enumerate(self.clauses)
        ]

    def _rejected(self):
        """Return how many nodes each clause rejects, a list.

        Masks are counted byte by byte: there may be as many of them as nodes, and 200 bits in each.
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

    def relaxations(self, needed=1):
        """Give the smallest sets of clauses without which enough nodes would match, the fewest clauses first.

        Such a set is all that some nodes fail together.  For one match it is what one node fails; for several there may
        be more sets than can be tried, and those of most clauses are not.

        :param needed: how many matches there should be; when there are, nothing is to be relaxed.
        :returns: [{'drop': [name, …], 'nodes': how many would match}, …], MOST at most.  None of the sets has another
            one in it.
        """
        if self.matched >= needed:
            return []
        masks = sorted((mask for mask in self.failing if mask), key=self._nearest)
        waiting = [self._nearest(mask) for mask in masks]
        known = set(masks)
        minimal: dict[int, int] = {}
        tries = MOST_TRIES
        while waiting and tries and len(minimal) < MOST:
            *_, mask = heapq.heappop(waiting)
            if any(smaller & ~mask == 0 for smaller in minimal):
                continue
            tries -= 1
            matched = sum(count for failed, count in self.failing.items() if failed & ~mask == 0)
            if matched >= needed:
                minimal[mask] = matched
                continue
            for wider in {mask | other for other in masks[:MOST_TRIES]} - known:
                known.add(wider)
                heapq.heappush(waiting, self._nearest(wider))
        return [{'drop': self.names(mask), 'nodes': matched} for mask, matched in minimal.items()]

    def near_misses(self):
        """Give the masks of the nodes that fail fewest clauses: as many of them as it takes for MOST nodes."""
        nearest: list[int] = []
        nodes = 0
        for mask in sorted(self.failing, key=self._nearest):
            if mask and nodes < MOST:
                nearest.append(mask)
                nodes += self.failing[mask]
        return nearest

    def names(self, mask):
        """Give the names of the clauses that a mask stands for."""
        return [self.clauses[bit] for bit in _bits(mask)]

    def _nearest(self, mask):
        return mask.bit_count(), -self.failing[mask], mask


def _bits(mask):
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
