"""The traits that inspection rules hold on a node after a run. Each rule is a source of its own: ``rule:NAME``.

A rule holds exactly the traits that it adds, with two exceptions. It does not hold vetoed traits. If its new traits
would exceed the limit of the node, it adds none of them, because some of its traits could be mistaken for all. It keeps
the traits that it held before and still adds.

>>> before = Traits({'CUSTOM_OLD': {'rule:a': 1}, 'CUSTOM_X': {'operator': 1}})
>>> settled = settle(before, {'a': {'CUSTOM_A'}, 'b': {'CUSTOM_B', 'CUSTOM_C'}}, lambda source: 2, limit=3)
>>> settled.edit.after.holders
{'CUSTOM_X': {'operator': 1}, 'CUSTOM_A': {'rule:a': 2}}
>>> settled.excess
{'b': ['CUSTOM_B', 'CUSTOM_C']}
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from ironic_traits.matching import sources
from ironic_traits.matching.sources import RULE, Edit, Traits


class Settled(NamedTuple):
    """What a run of rules changes of the traits of a node.

    :ivar edit: what it changes; ``refused`` are the vetoed traits.
    :ivar excess: {name of a rule: what it would add, sorted}, for which there is no room.
    """

    edit: Edit
    excess: dict[str, list[str]]

    @property
    def changed(self) -> list[str]:
        """The sources of rules that hold more or less than before, sorted."""
        before, after = self.edit.before, self.edit.after
        return [source for source in _sources(before, after) if before.of(source) != after.of(source)]


def source_of(name: str) -> str:
    """Return the source of a rule."""
    return RULE + name


def gaining(before: Traits, wanted: Mapping[str, AbstractSet[str]]) -> set[str]:
    """Return the sources that may get a hold on a trait in ``settle``."""
    return {source_of(name) for name, traits in wanted.items() if traits - before.of(source_of(name))}


def settle(before: Traits, wanted: Mapping[str, AbstractSet[str]], hold: Callable[[str], Any], limit: int) -> Settled:
    """Return what a run of rules changes.

    To run the rules again changes nothing.

    :param before: the traits of the node.
    :param wanted: {name of a rule: traits that it adds}, in the order in which the rules run. All other rules lose
        what they hold.
    :param hold: function from a source to its hold on what it adds.
    :param limit: maximum number of traits of a node.
    """
    said = {source_of(name): traits for name, traits in wanted.items()}
    after, refused, excess = before, set(), {}
    # All rules lose first, so that the room does not depend on the order of the rules.
    for source in _sources(before):
        gone = before.of(source) - said.get(source, set())
        after = sources.edit(after, None, remove=gone, source=source).after if gone else after
    for name, traits in wanted.items():
        source = source_of(name)
        missing = traits - after.of(source)
        refused |= missing & after.vetoes.keys()
        allowed = missing - after.vetoes.keys()
        new = allowed - after.holders.keys()
        if new and len(new) + len(after.holders) > limit:
            excess[name] = sorted(allowed)
        elif allowed:
            after = sources.edit(after, hold(source), add=allowed, source=source).after
    return Settled(Edit(before, after, frozenset(refused)), excess)


def _sources(*traits: Traits) -> list[str]:
    return sorted({source for each in traits for source in each.sources if source.startswith(RULE)})
