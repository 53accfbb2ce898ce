"""Combination of the groups of a request into allocation candidates, tree by tree. Pure: no database access.

A candidate consists of one option for each group. An option is what one group could take: from one provider for a group
with a suffix; from several providers of a tree, and from those that share with it, for the group without a suffix.
Options are tried depth first. A branch ends as soon as an option violates the rules.
"""

import dataclasses
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeVar

#: (provider id, class id).
Key = tuple[int, int]
_Item = TypeVar('_Item')


class ProviderAmount(NamedTuple):
    """An amount of a resource class of a provider."""

    provider_id: int
    class_id: int
    amount: int


@dataclasses.dataclass(frozen=True)
class Option:
    """What one group could take.

    :ivar suffix: suffix of the group.
    :ivar providers: ids of the providers, a frozenset.
    :ivar amounts: (ProviderAmount, …); empty for a group without resources.
    """

    suffix: str
    providers: frozenset[int]
    amounts: tuple[ProviderAmount, ...]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """What all groups could take together.

    :ivar amounts: frozenset of ((provider id, class id), amount).
    :ivar mappings: frozenset of (suffix, frozenset of provider ids).
    """

    amounts: frozenset[tuple[Key, int]]
    mappings: frozenset[tuple[str, frozenset[int]]]


class Tries:
    """A limit of the combinations that one search tries.

    :param left: number of combinations.
    """

    def __init__(self, left: int) -> None:
        self._left = left

    def spend(self, number: int = 1) -> bool:
        """Count tried combinations, and return whether the limit allows them."""
        self._left -= number
        return self._left >= 0

    @property
    def are_over(self) -> bool:
        """Whether the limit has stopped the search."""
        return self._left < 0


class Chosen:
    """The options chosen so far, of one tree, and what they take together.

    The sums are updated as options are pushed and popped. To add them up for each try would cost the square of the
    number of groups.

    :ivar options: [Option, …].
    :ivar amounts: Counter of {(provider id, class id): amount}.
    :ivar isolated: Counter of {id of a provider: number of groups with a suffix that take from it}.
    """

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.amounts: Counter[Key] = Counter()
        self.isolated: Counter[int] = Counter()

    def push(self, option: Option) -> None:
        """Add an option."""
        self.options.append(option)
        self._count(option, 1)

    def pop(self) -> None:
        """Remove the last option."""
        self._count(self.options.pop(), -1)

    def _count(self, option: Option, sign: int) -> None:
        for provider_id, class_id, amount in option.amounts:
            self.amounts[provider_id, class_id] += sign * amount
        if option.suffix:
            for provider_id in option.providers:
                self.isolated[provider_id] += sign
                if not self.isolated[provider_id]:
                    del self.isolated[provider_id]


@dataclasses.dataclass
class CombinationRules:
    """The rules for a whole candidate, in addition to those of each group.

    :ivar isolate: whether each group with a suffix needs a provider of its own (``group_policy=isolate``).
    :ivar rooms: {(provider id, class id): (free amount, ``max_unit``)} of the classes that several groups request.
    :ivar subtrees: [{suffix, …}, …]: for each set, one of the providers of its groups must be the ancestor of the
        others (``same_subtree``).
    :ivar above: {provider id: id of its parent}.
    :ivar tries: Tries.
    """

    isolate: bool
    rooms: dict[Key, tuple[int, int]]
    subtrees: Sequence[AbstractSet[str]]
    above: dict[int, int]
    tries: Tries

    def allow(self, chosen: Chosen, option: Option) -> bool:
        """Whether an option may be added to the chosen ones."""
        if self.isolate and option.suffix and not option.providers.isdisjoint(chosen.isolated):
            return False
        if not self.rooms:
            return True
        together: Counter[Key] = Counter()
        for provider_id, class_id, amount in option.amounts:
            key = provider_id, class_id
            together[key] += amount
            room = self.rooms.get(key)
            if room and chosen.amounts[key] + together[key] > min(room):
                return False
        return True

    def accept(self, chosen: list[Option]) -> bool:
        """Whether the chosen options fulfil ``subtrees``.

        :param chosen: [Option, …], one of each group.
        """
        for suffixes in self.subtrees:
            providers = frozenset().union(*(option.providers for option in chosen if option.suffix in suffixes))
            if len(providers) > 1 and not providers & frozenset.intersection(*map(self.lineage, providers)):
                return False
        return True

    def lineage(self, provider_id: int | None) -> frozenset[int]:
        """Return the ids of a provider and of its ancestors, a frozenset."""
        ids = set()
        while provider_id is not None:
            ids.add(provider_id)
            provider_id = self.above.get(provider_id)
        return frozenset(ids)


@dataclasses.dataclass(frozen=True)
class Collective:
    """The group without a suffix: one provider for each resource class, which have the required traits together.

    :ivar amounts: {class id: amount}.
    :ivar clauses: {number of a clause about required traits, …}.
    :ivar fulfilled: {provider id: {number of a clause that the provider fulfils, …}}.
    :ivar tries: Tries.
    """

    amounts: dict[int, int]
    clauses: frozenset[int]
    fulfilled: dict[int, set[int]]
    tries: Tries

    def options(self, by_class: dict[int, list[int]]) -> Iterable[Option]:
        """Yield the options in one tree.

        :param by_class: {class id: [id of a provider with enough of the class, …]}.
        """
        class_ids = sorted(by_class)
        providers_by_class = [by_class[class_id] for class_id in class_ids]
        if len(providers_by_class) < len(self.amounts):
            return
        if not self._fulfil(itertools.chain.from_iterable(providers_by_class)):
            return
        for number, providers in enumerate(itertools.product(*providers_by_class)):
            # The first combination of each tree is not counted: there are at most as many trees as providers.
            if number and not self.tries.spend():
                return
            if self._fulfil(providers):
                pairs = zip(providers, class_ids, strict=True)
                amounts = tuple(
                    ProviderAmount(provider_id, class_id, self.amounts[class_id]) for provider_id, class_id in pairs
                )
                yield Option('', frozenset(providers), amounts)

    def _fulfil(self, providers: Iterable[int]) -> bool:
        return self.clauses <= set().union(*(self.fulfilled.get(provider_id, ()) for provider_id in providers))


#: The groups of a request in one tree: functions that each return the options of one group.
Groups = list[Callable[[], Iterable[Option]]]


def combine(trees: Iterable[Groups], rules: CombinationRules, by_turns: bool) -> Iterator[Candidate]:
    """Yield the candidates, each once.

    :param trees: for each tree, a list of functions that each return the options of one group in the tree.
    :param by_turns: whether to yield one candidate of each tree in turn, not all of a tree before those of the next.
    """
    seen = set()
    by_tree = (_in_tree(groups, rules, Chosen()) for groups in trees)
    for chosen in _by_turns(by_tree) if by_turns else itertools.chain.from_iterable(by_tree):
        candidate = Candidate(
            amounts=frozenset(_amounts(chosen).items()),
            mappings=frozenset((option.suffix, option.providers) for option in chosen),
        )
        # Several trees yield the same candidate if it takes only from providers that share with them.
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def _in_tree(groups: Groups, rules: CombinationRules, chosen: Chosen) -> Iterator[list[Option]]:
    """Yield the lists of options of one tree that the rules allow together.

    :param groups: functions that each return the options of a group for which none is chosen yet.
    """
    if not groups:
        # A candidate counts as many tries as it has options, because to build it takes so long.
        if rules.accept(chosen.options) and rules.tries.spend(len(chosen.options) - 1):
            yield list(chosen.options)
        return
    for option in groups[0]():
        # The options of the first group are not counted: there are at most as many as providers.
        if chosen.options and not rules.tries.spend():
            return
        if rules.allow(chosen, option):
            chosen.push(option)
            yield from _in_tree(groups[1:], rules, chosen)
            chosen.pop()


def _amounts(chosen: list[Option]) -> Counter[Key]:
    together: Counter[Key] = Counter()
    for option in chosen:
        for provider_id, class_id, amount in option.amounts:
            together[provider_id, class_id] += amount
    return together


def _by_turns(generators: Iterable[Iterator[_Item]]) -> Iterator[_Item]:
    """Yield the items of generators: the first of each, then the second of each, and so on."""
    waiting = deque(generators)
    while waiting:
        generator = waiting.popleft()
        for item in generator:
            yield item
            waiting.append(generator)
            break
