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
    """What a request asks of a node's traits, clause by clause.

    :param request: ironic_traits.matching.requests.Request.
    :ivar names: of the clauses, in the order of their bits.
    :ivar traits: all that are named, sorted: bit n of what a node carries stands for trait n.
    """

    def __init__(self, request):
        clauses = [
            *((f'required:{name}', [name], True) for name in sorted(request.required)),
            *((f'required_any:{",".join(sorted(names))}', names, True) for names in request.required_any),
            *((f'forbidden:{name}', [name], False) for name in sorted(request.forbidden)),
        ]
        self.names = [name for name, _, _ in clauses]
        self.traits = sorted({name for _, names, _ in clauses for name in names})
        bits = {name: 1 << bit for bit, name in enumerate(self.traits)}
        self._tests = [(sum(bits[name] for name in names), wanted) for _, names, wanted in clauses]

    def failed(self, carried):
        """Give the mask of the clauses that a node fails.

        :param carried: the mask of the traits that it carries.
        """
        return sum(1 << bit for bit, (named, wanted) in enumerate(self._tests) if bool(carried & named) != wanted)


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
        rejected = Counter({bit: 0 for bit in range(len(self.clauses))})
        for mask, count in self.failing.items():
            for bit in _bits(mask):
                rejected[bit] += count
        return [
            {'clause': name, 'rejected': rejected[bit], 'rejected_only': self.failing[1 << bit]}
            for bit, name in enumerate(self.clauses)
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
