"""The sources that hold the traits of a node, and what an edit changes.

A node has a trait while at least one source holds it (invariant 8). A plain write, one without a source,
is the operator's, and is about all traits: it adds traits as the source ``operator``, and it removes traits from every
source. A trait that it removes from another source is vetoed. doc/source/contributor/decisions/sources.rst says why.

>>> before = Traits({'CUSTOM_A': {'rule:cpu': 1}})
>>> plain = edit(before, hold=2, remove={'CUSTOM_A'})
>>> plain.after
Traits(holders={}, vetoes={'CUSTOM_A': 2})
>>> edit(plain.after, hold=3, add={'CUSTOM_A'}, source='rule:cpu').refused
frozenset({'CUSTOM_A'})
>>> edit(plain.after, hold=4, add={'CUSTOM_A'}).after
Traits(holders={'CUSTOM_A': {'operator': 4}}, vetoes={})
"""

import dataclasses
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

#: The source of plain writes, and that of the trait of nodes that are not cleaned yet. Vetoes do not apply to them.
OPERATOR, RECLAIM = 'operator', 'reclaim:'
#: The source under which the foreign traits of a node's provider are shown. Only Placement clients change them.
PLACEMENT = 'placement'
#: Shown as the source of a write by several inspection rules, each of which is a source of its own, "rule:NAME".
RULES = 'rules'
#: The beginnings of the sources of inspection rules, imports and mirrors, which belong to the service itself.
RULE, IMPORT, MIRROR = 'rule:', 'import:', 'mirror:'
RESERVED = (RULE, IMPORT, MIRROR, RECLAIM)
MAX_LENGTH = 64
#: Pattern of the name of a source.
FORM = rf'[A-Za-z0-9._:-]{{1,{MAX_LENGTH}}}'
_NAME = re.compile(FORM)


def is_source(name: str) -> bool:
    """Whether a string has the form of a source's name."""
    return _NAME.fullmatch(name) is not None


def is_reserved(name: str) -> bool:
    """Whether clients cannot write as a source."""
    return name in (PLACEMENT, RULES) or name.startswith(RESERVED)


@dataclasses.dataclass(frozen=True)
class Traits:
    """The traits of a node.

    :ivar holders: {trait: {source: hold, …}, …}. The first source of a trait is the one that has held it the longest. A
        hold is what is stored of it: any value, which is only copied here.
    :ivar vetoes: {trait: hold}: only the operator can add these traits. No source holds them.
    """

    holders: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    vetoes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def sources(self) -> list[str]:
        """The names of the sources that hold a trait, sorted."""
        return sorted({source for holds in self.holders.values() for source in holds})

    def of(self, source: str) -> set[str]:
        """Return the traits that a source holds."""
        return {trait for trait, holds in self.holders.items() if source in holds}


@dataclasses.dataclass(frozen=True)
class Edit:
    """The traits of a node before and after a write.

    :ivar refused: traits that the write did not add, because they are vetoed.
    """

    before: Traits
    after: Traits
    refused: frozenset[str] = frozenset()

    @property
    def added(self) -> set[str]:
        """The traits that the node did not have before."""
        return self.after.holders.keys() - self.before.holders.keys()

    @property
    def removed(self) -> set[str]:
        """The traits that the node has no longer."""
        return self.before.holders.keys() - self.after.holders.keys()

    @property
    def changes(self) -> bool:
        """Whether the write changes anything that is stored."""
        return self.before != self.after

    def exceeds(self, limit: int) -> bool:
        """Whether the write adds traits, and the node has more of them than the limit after it."""
        return bool(self.added) and len(self.after.holders) > limit


def edit(
    before: Traits,
    hold: Any,
    *,
    add: AbstractSet[str] = frozenset(),
    remove: AbstractSet[str] = frozenset(),
    source: str | None = None,
) -> Edit:
    """Return what adding and removing traits changes.

    :param before: the traits of the node.
    :param hold: the hold of what is added, and of vetoes.
    :param add: traits; those in ``remove``, too, are added.
    :param remove: traits; without a source every source loses them, else only that source.
    :param source: the source that writes; None for a plain write.
    """
    holders = {trait: dict(holds) for trait, holds in before.holders.items()}
    vetoes = dict(before.vetoes)
    for trait in (remove - add) & holders.keys():
        if source is None:
            if holders[trait].keys() - {OPERATOR}:
                vetoes[trait] = hold
            del holders[trait]
        else:
            holders[trait].pop(source, None)
            if not holders[trait]:
                del holders[trait]
    is_free = source in (None, OPERATOR, RECLAIM)
    refused = frozenset() if is_free else frozenset(add & vetoes.keys())
    for trait in sorted(add - refused):
        holders.setdefault(trait, {}).setdefault(source or OPERATOR, hold)
        vetoes.pop(trait, None)
    return Edit(before, Traits(holders, vetoes), refused)


def replace(before: Traits, hold: Any, names: AbstractSet[str], source: str | None = None) -> Edit:
    """Return what replacing the traits of a node changes.

    :param names: the traits that the node has after a plain write; or those that the source holds, unless vetoed.
    :param source: as for ``edit``; what other sources hold does not change.
    """
    present = before.holders.keys() if source is None else before.of(source)
    return edit(before, hold, add=names, remove=present - names, source=source)


def rename(before: Traits, names: Mapping[str, str]) -> Edit:
    """Return what renaming traits changes. Their holds, and their vetoes, stay what they are.

    If a source holds both a trait and one that gets its name, its hold on the former stays.

    :param names: {trait: its new name}.
    """
    holders: dict[str, dict[str, Any]] = {}
    for trait, holds in sorted(before.holders.items(), key=lambda item: (item[0] in names, item[0])):
        target = holders.setdefault(names.get(trait, trait), {})
        for source, hold in holds.items():
            target.setdefault(source, hold)
    vetoes = {names.get(trait, trait): hold for trait, hold in before.vetoes.items()}
    return Edit(before, Traits(holders, {trait: vetoes[trait] for trait in vetoes.keys() - holders.keys()}))
