"""Requests for allocation candidates."""

import dataclasses
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Self

#: (traits of which one of each set is required, forbidden traits).
RootTraits = tuple[tuple[frozenset[str], ...], frozenset[str]]


@dataclasses.dataclass(frozen=True)
class CandidateGroup:
    """One group of a request.

    :ivar suffix: '' for the group that several providers of a tree may fulfil together.
    :ivar resources: {resource class: amount}.
    :ivar required: [{trait, …}, …]: one trait of each set is required.
    :ivar forbidden: {trait, …}: none of them is allowed.
    :ivar member_of: [{uuid of an aggregate, …}, …]: membership in one aggregate of each set is required.
    :ivar not_member_of: {uuid of an aggregate, …}: membership in none of them is allowed.
    :ivar in_tree: uuid of a provider in whose tree the providers must be; None for any tree.
    """

    suffix: str
    resources: dict[str, int]
    required: Sequence[AbstractSet[str]]
    forbidden: AbstractSet[str]
    member_of: Sequence[AbstractSet[str]]
    not_member_of: AbstractSet[str]
    in_tree: str | None

    def __hash__(self) -> int:
        names = (self.required, self.member_of)
        sets = (self.resources.items(), self.forbidden, self.not_member_of)
        return hash((self.suffix, self.in_tree, *(tuple(map(frozenset, each)) for each in (*names, sets))))


@dataclasses.dataclass(frozen=True)
class CandidateRequest:
    """A request for allocation candidates.

    :ivar groups: [CandidateGroup, …].
    :ivar limit: maximum number of candidates to return; None for no limit.
    :ivar isolate: whether each group with a suffix needs a provider of its own (``group_policy=isolate``).
    :ivar root_required: traits of the root of a tree; None for no requirement.
    :ivar subtrees: [{suffix, …}, …]: for each set, one of the providers of its groups must be the ancestor of the
        others (``same_subtree``).
    :ivar exclusive: exclusive traits that the request does not ask for. No provider of a tree may have one.
    :ivar flat: whether to leave out candidates with two providers of one tree: for versions before nested providers.
    """

    groups: Sequence[CandidateGroup]
    limit: int | None
    isolate: bool
    root_required: RootTraits | None
    subtrees: Sequence[AbstractSet[str]]
    flat: bool
    exclusive: frozenset[str] = frozenset()

    def without_exclusive(self, names: frozenset[str]) -> Self:
        """Return the request, such that trees with an exclusive trait are left out unless it asks for the trait.

        :param names: {exclusive trait, …}.
        """
        asked, _ = self.root_required or ((), frozenset())
        sets = [*asked, *(one_of for group in self.groups for one_of in group.required)]
        return dataclasses.replace(self, exclusive=names.difference(*sets))
