"""What each tree of providers needs to have a candidate: the clauses of a request that must be dropped for that.

The clauses are not dropped one after another, each time with a new search. Instead, each combination of providers gets
the mask of the clauses that it fails. The minimal masks of a tree answer all questions: it has a candidate without some
clauses if one of its masks has only such clauses.

Which clauses a provider fails comes from one set of providers for each clause. Trees whose providers are alike have the
same masks, so they are combined once: thousands of hosts are mostly of a few kinds.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironic_traits.matching.combinations import Chosen, CombinationRules, Option, ProviderAmount, Tries
from ironic_traits.placement.candidates import tree_candidates
from ironic_traits.placement.candidates.candidate_search import Search
from ironic_traits.placement.candidates.failing_trees import Alternatives, FailingTrees, Key, Tree, Use, Uses, minimal


def count_trees(search: Search, bits: Mapping[Key, int]) -> Counter[frozenset[int]]:
    """Return how many trees have which minimal masks.

    Trees without any are left out: they have no candidate, whatever clauses are dropped. Like a query, it tries at most
    ``[placement] max_candidate_combinations`` combinations.

    :param search: of the request with all clauses.
    :param bits: {key of a clause that can be dropped: its bit}.
    """
    # Of each tree: sets of masks. Thousands of trees share a set, and are not compared mask by mask.
    masks: dict[str, set[frozenset[int]]] = defaultdict(set)
    source = FailingTrees(search, bits)
    for root, mask in source.free_nodes() if search.nodes_suffice else ():
        masks[root].add(frozenset((mask,)))
    kinds: dict[Any, dict[str, frozenset[int]]] = {}
    rules = _CandidateRules(search, bits)
    for tree in source.trees():
        kind = rules.kind(tree)
        if kind not in kinds:
            kinds[kind] = rules.combined(tree)
            # All trees of a kind use the same providers of other trees.
            for root in kinds[kind].keys() - {''}:
                masks[root].add(kinds[kind][root])
        masks[tree.root].add(kinds[kind].get('', frozenset()))
    trees: Counter[frozenset[int]] = Counter()
    for parts, number in Counter(map(frozenset, masks.values())).items():
        trees[minimal(set().union(*parts))] += number
    del trees[frozenset()]
    return trees


#: To compare a combination with masks that have so many bits takes as long as to try it.
_COMPARED = 150_000


def _by_class(uses: Uses) -> Mapping[int, Sequence[Use]]:
    return uses if isinstance(uses, dict) else {0: uses}


class _Found:
    """The masks of a tree that are found, and those of the other trees whose providers it uses.

    :param names: of the trees.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.masks = {name: Alternatives() for name in names}

    def has_better(self, mask: int) -> bool:
        """Whether each tree has a mask with no more clauses than this one."""
        return all(each.has_part_of(mask) for each in self.masks.values())

    def work(self) -> int:
        """Return as how many combinations one counts: it is compared with all masks."""
        return 1 + sum(each.size() for each in self.masks.values()) // _COMPARED


class _CandidateRules:
    """The rules for a whole candidate, and the combination of what the groups can use in one tree."""

    def __init__(self, search: Search, bits: Mapping[Key, int]) -> None:
        self._search, self._bits = search, bits
        self._rules = tree_candidates.rules(search)
        self._rules.isolate = False
        self._repeated = sorted({class_id for _, class_id in self._rules.rooms})
        self._subtrees = [
            (
                bits.get(('same_subtree', place, None)),
                CombinationRules(False, {}, [suffixes], self._rules.above, Tries(0)),
            )
            for place, suffixes in enumerate(search.request.subtrees)
        ]
        self._isolate = bits.get(('group_policy', 0, None), 0)
        #: Of each group: {class id: amount}.
        self._amounts = [
            {search.class_ids[name]: amount for name, amount in group.resources.items()}
            for group in search.request.groups
        ]

    def kind(self, tree: Tree) -> Any:
        """Return what the masks of a tree depend on: the same for trees that differ in the ids of providers only."""
        places: dict[int, int] = {}

        def place(provider_id: int) -> int:
            # Providers of other trees are the same for all trees that use them.
            if provider_id in self._search.sharing and self._root_of(provider_id) != tree.root:
                return -provider_id
            return places.setdefault(provider_id, len(places))

        uses = tuple(
            (class_id, tuple([(place(id), masks, fulfilled) for id, masks, fulfilled in of_class]))
            for by_class in map(_by_class, tree.uses)
            for class_id, of_class in by_class.items()
        )
        return tree.mask, uses, self._rooms(places), self._lineages(places)

    def _rooms(self, places: Mapping[int, int]) -> Any:
        if not self._rules.rooms:
            return ()
        return tuple([self._rules.rooms.get((id, class_id)) for id in places for class_id in self._repeated])

    def _lineages(self, places: Mapping[int, int]) -> Any:
        if not self._subtrees:
            return ()
        return tuple([frozenset(places[each] for each in self._rules.lineage(id) if each in places) for id in places])

    def combined(self, tree: Tree) -> dict[str, frozenset[int]]:
        """Return masks of a tree, with the minimal ones, and of the other trees whose providers it uses.

        :returns: {uuid of the root, or '' for the tree itself: masks}.
        """
        by_class = itertools.chain.from_iterable(_by_class(uses).values() for uses in tree.uses)
        used = {self._root_of(id) for uses in by_class for id, _, _ in uses}
        found = _Found('' if root == tree.root else root for root in used)
        for mask, chosen in self._chosen(0, tree, Chosen(), tree.mask, found):
            roots = {self._root_of(each) for option in chosen for each in option.providers}
            for root in roots:
                found.masks['' if root == tree.root else root].add(mask)
        return {name: frozenset(each) for name, each in found.masks.items()}

    def _root_of(self, provider_id: int) -> str:
        return self._search.providers[provider_id].root_provider_uuid

    def _chosen(
        self, number: int, tree: Tree, chosen: Chosen, mask: int, found: _Found
    ) -> Iterator[tuple[int, list[Option]]]:
        """Yield (mask, [Option of each group, …]) of the combinations that the fixed rules allow.

        :param number: of the first group for which no option is chosen yet.
        :param mask: of the clauses that the chosen options fail.
        :param found: _Found so far: what needs more clauses than these is not yielded.
        """
        if number == len(tree.uses):
            if (whole := self._of_whole(chosen.options)) is not None:
                yield mask | whole, chosen.options
            return
        for option, more in self._options(number, tree.uses[number]):
            # The options of the first group are not counted: there are at most as many as providers.
            if number and not self._rules.tries.spend(found.work()):
                return
            if not self._rules.allow(chosen, option) or found.has_better(mask | more):
                continue
            meets = option.suffix and not option.providers.isdisjoint(chosen.isolated)
            chosen.push(option)
            both = mask | more | (self._isolate if meets else 0)
            yield from self._chosen(number + 1, tree, chosen, both, found)
            chosen.pop()

    def _options(self, number: int, uses: Uses) -> Iterator[tuple[Option, int]]:
        """Yield (Option, mask of the clauses that it fails) of a group, those with the fewest clauses first."""
        suffix, amounts = self._search.request.groups[number].suffix, self._amounts[number]
        if not isinstance(uses, dict):
            for id, (mask,), _ in sorted(uses, key=lambda use: use[1][0].bit_count()):
                taken = tuple(ProviderAmount(id, class_id, amount) for class_id, amount in amounts.items())
                yield Option(suffix, frozenset((id,)), taken), mask
            return
        required = sum({bit for (kind, n, _), bit in self._bits.items() if (kind, n) == ('required', number)})
        for count, chosen in enumerate(itertools.product(*uses.values())):
            if count and not self._rules.tries.spend():
                return
            missing = required
            for _, _, fulfilled in chosen:
                missing &= ~fulfilled
            taken = tuple(
                ProviderAmount(id, class_id, amounts[class_id])
                for class_id, (id, _, _) in zip(uses, chosen, strict=True)
            )
            option = Option(suffix, frozenset(id for id, _, _ in chosen), taken)
            for further, alternative in enumerate(itertools.product(*(masks for _, masks, _ in chosen))):
                if further and not self._rules.tries.spend():
                    return
                mask = missing
                for each in alternative:
                    mask |= each
                yield option, mask

    def _of_whole(self, options: list[Option]) -> int | None:
        """Return the mask of the clauses that a candidate fails as a whole; None if it cannot be a candidate."""
        if self._search.request.flat and self._search.nested:
            taken = {amount.provider_id for option in options for amount in option.amounts}
            if len(set(map(self._root_of, taken))) < len(taken):
                return None
        mask = 0
        for bit, rules in self._subtrees:
            if not rules.accept(options):
                if bit is None:
                    return None
                mask |= bit
        return mask
