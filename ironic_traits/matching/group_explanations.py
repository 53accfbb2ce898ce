"""Figures about why too few nodes fulfil a topology, and what to drop so that enough do. Pure: no database access."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_traits.matching.explanations import MAX_LISTED, Explanation
from ironic_traits.matching.group_choice import Situation
from ironic_traits.matching.group_limits import Cell
from ironic_traits.matching.topology import Policy

#: {mask of the clauses that nodes fail: {cell: number of nodes}}.
MaskedCells = Mapping[int, Mapping[Cell, int]]


@dataclasses.dataclass(frozen=True)
class GroupExplanation:
    """How many nodes of which groups fail which clauses.

    :ivar clauses: [name of a clause, …] in the order of their bits. Each policy has one: that a node has a group.
    :ivar related: as in Situation.
    """

    clauses: list[str]
    policies: Sequence[Policy]
    cells: MaskedCells
    related: Sequence[Mapping[str, int]]

    def document(self, count: int) -> dict[str, Any]:
        """Return the part of an explanation about the topology.

        :param count: number of nodes that are needed.
        :returns: {'count', 'largest': the most nodes that can be chosen, 'groups': [{'groups': {key: group}, 'nodes':
            the most nodes that can be chosen of these groups, 'relaxations': as of ``relaxations``}, …]}. Of the
            groups that policies of affinity allow, there are MAX_LISTED at most, the largest ones first.
        """
        every: Counter[Cell] = Counter()
        for cells in self.cells.values():
            every.update(cells)
        matching = self._blocks(self.cells.get(0, {}))
        numbers = {groups: self._situation(block).largest() for groups, block in matching.items()}
        blocks = self._blocks(every)
        best = sorted(blocks, key=lambda groups: (-numbers.get(groups, 0), groups))[:MAX_LISTED]
        return {
            'count': count,
            'largest': max(numbers.values(), default=0),
            'groups': [
                {
                    'groups': dict(groups),
                    'nodes': numbers.get(groups, 0),
                    'relaxations': self._of(blocks[groups]).relaxations(count, has_policies=False),
                }
                for groups in best
            ],
        }

    def relaxations(self, count: int, has_policies: bool = True) -> list[dict[str, Any]]:
        """Return the minimal sets of clauses to drop so that enough nodes can be chosen.

        :param has_policies: whether policies may be dropped that all nodes have a group for.
        :returns: as of ``Explanation.relaxations``. The clause of a policy stands for the whole policy.
        """
        failing = Counter({mask: sum(cells.values()) for mask, cells in self.cells.items() if cells})
        policies = {1 << self.clauses.index(policy.clause) for policy in self.policies} if has_policies else set()
        return Explanation(self.clauses, failing).relaxations(count, functools.cache(self.largest), policies)

    def largest(self, dropped: int) -> int:
        """Return the most nodes that can be chosen without some clauses.

        :param dropped: mask of these clauses.
        """
        names = [name for bit, name in enumerate(self.clauses) if dropped >> bit & 1]
        places = [place for place, policy in enumerate(self.policies) if policy.clause not in names]
        total: Counter[Cell] = Counter()
        for mask, cells in self.cells.items():
            if not mask & ~dropped:
                for cell, number in cells.items():
                    total[tuple(cell[place] for place in places)] += number
        policies = [self.policies[place] for place in places]
        return Situation(policies, total, [self.related[place] for place in places]).largest()

    def _blocks(self, cells: Mapping[Cell, int]) -> dict[tuple[tuple[str, str | None], ...], dict[Cell, int]]:
        """Return the cells of each choice of groups for policies of affinity: {((key, group), …): {cell: number}}."""
        complete = {cell: number for cell, number in cells.items() if None not in cell}
        return {tuple(groups.items()): block for groups, block in self._situation(complete).blocks()}

    def _situation(self, cells: Mapping[Cell, int]) -> Situation:
        return Situation(self.policies, cells, self.related)

    def _of(self, block: Mapping[Cell, int]) -> 'GroupExplanation':
        """Return the explanation for some cells only."""
        cells = {mask: {cell: each[cell] for cell in block if cell in each} for mask, each in self.cells.items()}
        return dataclasses.replace(self, cells=cells)
