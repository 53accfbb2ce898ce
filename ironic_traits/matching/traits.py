"""Which names are valid traits, and the trait filters of a list."""

import dataclasses
import functools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Self

import os_traits

from ironic_traits import spelling

#: The names that os-traits ships.
STANDARD = frozenset(os_traits.get_traits())

#: Several sets of traits.
Sets = Sequence[AbstractSet[str]]

_CUSTOM = re.compile(r'CUSTOM_[A-Z0-9_]+')
_WELL_FORMED = re.compile(r'[A-Z0-9_]{1,255}')
#: Maximum number of characters of a trait.
MAX_LENGTH = 255
#: Maximum number of traits in one request.
MAX_NAMES = 200
#: Maximum number of any-of sets in one request: each needs a subquery.
MAX_ANY_OF = 10


def is_trait(name: str) -> bool:
    """Whether a name is a trait that a node may have: one of os-traits, or CUSTOM_… of 255 characters at most."""
    return name in STANDARD or (len(name) <= MAX_LENGTH and _CUSTOM.fullmatch(name) is not None)


def is_well_formed(name: str) -> bool:
    """Whether a filter may contain a name: it has the form of a trait, but need not be one."""
    return _WELL_FORMED.fullmatch(name) is not None


def nearest(name: str) -> str | None:
    """Return the valid trait that is most similar to an invalid name; None if none is similar."""
    upper = re.sub(r'[^A-Z0-9_]', '_', name[:MAX_LENGTH].strip().upper())
    if is_trait(upper):
        return upper
    return spelling.nearest(upper, STANDARD, cutoff=0.85)


class TermKind(NamedTuple):
    """A kind of condition on the traits of a node. Statements, sets and explanations derive from its two properties.

    :ivar name: as explanations call it.
    :ivar is_met: ``all`` or ``any``: how many of its traits count.
    :ivar wants: whether the node must have them.
    """

    name: str
    is_met: Callable[[Iterable[bool]], bool]
    wants: bool


REQUIRED, REQUIRED_ANY = TermKind('required', all, True), TermKind('required_any', any, True)
NOT_ALL, FORBIDDEN = TermKind('not_all', all, False), TermKind('forbidden', any, False)
EXCLUSIVE = TermKind('exclusive', any, False)


class TraitTerm(NamedTuple):
    """A condition on the traits of a node.

    :ivar traits: {trait, …}, at least one.
    """

    kind: TermKind
    traits: AbstractSet[str]

    @property
    def name(self) -> str:
        """The name of the clause in explanations, such as "required_any:CUSTOM_A,CUSTOM_B"."""
        return f'{self.kind.name}:{",".join(sorted(self.traits))}'

    def passes(self, traits: AbstractSet[str]) -> bool:
        """Whether a node with this set of traits fulfils the condition."""
        return self.kind.is_met(name in traits for name in self.traits) is self.kind.wants

    def of_sets(self, members: Callable[[str], int], every: int) -> int:
        """Return the set of the nodes that fulfil the condition, as bits.

        :param members: function from a trait to the set of the nodes that have it.
        :param every: the set of all nodes.
        """
        combine = operator.and_ if self.kind.is_met is all else operator.or_
        found = functools.reduce(combine, map(members, self.traits))
        return every & (found if self.kind.wants else ~found)


@dataclasses.dataclass(frozen=True)
class Filter:
    """Conditions on the traits of a node: the four trait filters of the node-traits specification. All must hold.

    :ivar all_of: {trait, …}: the node has all of them (``traits``).
    :ivar any_of: ({trait, …}, …): the node has at least one of each set (``traits-any``).
    :ivar not_all_of: ({trait, …}, …): the node lacks at least one of each set (``not-traits``).
    :ivar none_of: {trait, …}: the node has none of them (``not-traits-any``).
    :ivar exclusive: {trait, …}: the node has none of them, because they are exclusive. Lists have no such condition.
    """

    all_of: frozenset[str] = frozenset()
    any_of: Sets = ()
    not_all_of: Sets = ()
    none_of: frozenset[str] = frozenset()
    exclusive: frozenset[str] = frozenset()

    @classmethod
    def of(cls, traits: Sets = (), traits_any: Sets = (), not_traits: Sets = (), not_traits_any: Sets = ()) -> Self:
        """Return the filter for query parameters, which may each be repeated.

        :param traits: [{trait, …}, …], one set for each occurrence of the parameter; likewise the others.
        """
        # "Any of" one trait means "all of" it, and "not all of" one trait means "none of" it. In this form, many of
        # them are one condition in SQL.
        return cls(
            all_of=frozenset().union(*traits, *(names for names in traits_any if len(names) == 1)),
            any_of=tuple(names for names in traits_any if len(names) > 1),
            not_all_of=tuple(names for names in not_traits if len(names) > 1),
            none_of=frozenset().union(*not_traits_any, *(names for names in not_traits if len(names) == 1)),
        )

    def terms(self) -> Iterator[TraitTerm]:
        """Yield the conditions of the filter, one for each trait where that is possible."""
        yield from (TraitTerm(REQUIRED, {name}) for name in sorted(self.all_of))
        yield from (TraitTerm(REQUIRED_ANY, names) for names in self.any_of)
        yield from (TraitTerm(NOT_ALL, names) for names in self.not_all_of)
        yield from (TraitTerm(FORBIDDEN, {name}) for name in sorted(self.none_of))
        yield from (TraitTerm(EXCLUSIVE, {name}) for name in sorted(self.exclusive))

    def matches(self, traits: AbstractSet[str]) -> bool:
        """Whether a node with this set of traits passes the filter."""
        return all(term.passes(traits) for term in self.terms())
