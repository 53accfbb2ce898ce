"""How the groups of a request are put together to candidates, tree by tree; pure, from what the database has found.

A candidate takes one option of each group.  An option is what one group would take: of one provider for a group with a
suffix, of several of a tree (and of those that share with it) for the group without.  Options are tried in depth, and
given up as soon as one of them cannot be.
"""

import dataclasses
import itertools
from collections import Counter, deque
from collections.abc import Callable, Iterable


@dataclasses.dataclass(frozen=True)
class Option:
    """What one group would take.

    :ivar suffix: of the group.
    :ivar providers: ids of the providers, a frozenset.
    :ivar amounts: ((provider id, class id, amount), …); empty for a group that wants no resources.
    """

    suffix: str
    providers: frozenset
    amounts: tuple


@dataclasses.dataclass(frozen=True)
class Candidate:
    """What all groups would take together.

    :ivar amounts: frozenset of ((provider id, class id), amount).
    :ivar mappings: frozenset of (suffix, frozenset of provider ids).
    """

    amounts: frozenset
    mappings: frozenset


class Tries:
    """How many combinations may be tried yet, in one search.

    :param left: how many.
    """

    def __init__(self, left):
        self._left = left

    def spend(self, number=1):
        """Count some; return whether they were left."""
        self._left -= number
        return self._left >= 0


@dataclasses.dataclass
class Rules:
    """What a candidate must keep to beside its groups.

    :ivar isolate: whether each group with a suffix takes a provider of its own.
    :ivar rooms: {(provider id, class id): (how much is left, most at once)} of the classes that several groups want.
    :ivar subtrees: sets of suffixes: the providers of their groups are below one of them.
    :ivar above: {provider id: id of the one above it}.
    :ivar tries: Tries.
    """

    isolate: bool
    rooms: dict
    subtrees: list
    above: dict
    tries: Tries

    def allow(self, chosen, option):
        """Whether an option may follow those that are chosen.

        :param chosen: Chosen.
        """
        if self.isolate and option.suffix and not option.providers.isdisjoint(chosen.isolated):
            return False
        if not self.rooms:
            return True
        together: Counter = Counter()
        for provider_id, class_id, amount in option.amounts:
            key = provider_id, class_id
            together[key] += amount
            left, most = self.rooms.get(key, (None, None))
            if left is not None and chosen.amounts[key] + together[key] > min(left, most):
                return False
        return True

    def accept(self, chosen):
        """Tell whether the groups that shall be in one subtree are."""
        for suffixes in self.subtrees:
            providers = frozenset().union(*(option.providers for option in chosen if option.suffix in suffixes))
            if len(providers) > 1 and not providers & frozenset.intersection(*map(self._lineage, providers)):
                return False
        return True

    def _lineage(self, provider_id):
        """Give the ids of a provider and of all above it."""
        found = set()
        while provider_id is not None:
            found.add(provider_id)
            provider_id = self.above.get(provider_id)
        return frozenset(found)


class Chosen:
    """The options that are chosen so far, of one tree, and what they take together.

    What they take is kept up to date as options come and go: to add it up anew for each try costs the square of the
    number of groups.

    :ivar options: [Option, …].
    :ivar amounts: Counter of {(provider id, class id): amount}.
    :ivar isolated: ids of the providers of groups with a suffix.
    """

    def __init__(self):
        self.options: list[Option] = []
        self.amounts: Counter = Counter()
        self.isolated: Counter = Counter()

    def push(self, option):
        """Choose one option more."""
        self.options.append(option)
        self._count(option, 1)

    def pop(self):
        """Give the last option back."""
        self._count(self.options.pop(), -1)

    def _count(self, option, sign):
        for provider_id, class_id, amount in option.amounts:
            self.amounts[provider_id, class_id] += sign * amount
        if option.suffix:
            for provider_id in option.providers:
                self.isolated[provider_id] += sign
                if not self.isolated[provider_id]:
                    del self.isolated[provider_id]


@dataclasses.dataclass(frozen=True)
class Collective:
    """The group without a suffix: one provider for each class, and all traits among them.

    :ivar amounts: {class id: amount}.
    :ivar clauses: what it asks about traits: a set of clauses.
    :ivar fulfilled: {provider id: those of them that the provider fulfils}.
    :ivar tries: Tries.
    """

    amounts: dict
    clauses: frozenset
    fulfilled: dict
    tries: Tries

    def options(self, by_class) -> Iterable[Option]:
        """Give the options in one tree.

        :param by_class: {class id: [provider id, …]}.
        """
        class_ids = sorted(by_class)
        given = [by_class[class_id] for class_id in class_ids]
        if len(given) < len(self.amounts) or not self._fulfil(itertools.chain.from_iterable(given)):
            return
        for number, providers in enumerate(itertools.product(*given)):
            # The first one of each tree is free: trees are no more than providers, combinations are.
            if number and not self.tries.spend():
                return
            if self._fulfil(providers):
                parts = zip(providers, class_ids, strict=True)
                taken = tuple((provider_id, class_id, self.amounts[class_id]) for provider_id, class_id in parts)
                yield Option('', frozenset(providers), taken)

    def _fulfil(self, providers):
        return self.clauses <= set().union(*(self.fulfilled.get(provider_id, ()) for provider_id in providers))


def combine(trees: Iterable[list[Callable]], rules: Rules, by_turns: bool):
    """Give the candidates, each once.

    :param trees: for each tree, functions that give the options of each group.
    :param by_turns: one of each tree in turn, and not all of a tree before those of the next.
    """
    seen = set()
    given = (_in_tree(groups, rules, Chosen()) for groups in trees)
    for chosen in _by_turns(given) if by_turns else itertools.chain.from_iterable(given):
        candidate = Candidate(
            frozenset(_amounts(chosen).items()), frozenset((option.suffix, option.providers) for option in chosen)
        )
        # The same may be had by way of several trees, of what is shared with them.
        if candidate not in seen:
            seen.add(candidate)
            yield candidate


def _in_tree(groups, rules, chosen):
    """Yield the lists of options that may be taken together from one tree.

    :param groups: functions that give the options of each group that has none yet.
    :param chosen: Chosen.
    """
    if not groups:
        # A candidate costs what it takes to write it down.
        if rules.accept(chosen.options) and rules.tries.spend(len(chosen.options) - 1):
            yield list(chosen.options)
        return
    for option in groups[0]():
        # The options of the first group are free: they are no more than providers, combinations are.
        if chosen.options and not rules.tries.spend():
            return
        if rules.allow(chosen, option):
            chosen.push(option)
            yield from _in_tree(groups[1:], rules, chosen)
            chosen.pop()


def _amounts(chosen):
    together: Counter = Counter()
    for option in chosen:
        for provider_id, class_id, amount in option.amounts:
            together[provider_id, class_id] += amount
    return together


def _by_turns(generators):
    waiting = deque(generators)
    while waiting:
        generator = waiting.popleft()
        for item in generator:
            yield item
            waiting.append(generator)
            break
