"""The trees of providers that have room for the groups of a request, with the clauses that each provider fails.

A set of clauses is a mask: bit n stands for clause n.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.placement import inventory_usage, trait_conditions
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup
from ironic_traits.placement.candidates.candidate_search import Search
from ironic_traits.placement.resource_providers import in_tree, is_in

#: What a clause is about: a parameter, the number of its group or of its set of groups, and its value.
Key = tuple[str, int, Any]


class _Test(NamedTuple):
    """A clause, as a test of one column of a provider.

    :ivar bit: of the clause in a mask.
    :ivar column: of resource_providers.
    :ivar values: of the column.
    :ivar is_one: whether the column must have one of the values, or none of them.
    """

    bit: int
    column: str
    values: AbstractSet[Any]
    is_one: bool


#: A provider that a group can use in a tree: (its id, masks, mask). The clauses in one of the masks must be dropped for
#: that. The last mask is that of the clauses that it fulfils for all providers of the group. Plain tuples: these
#: cost the garbage collector nothing, which otherwise takes half of the time.
Use = tuple[int, tuple[int, ...], int]
#: What a group can use in a tree: {class id: [Use, …]}; only the Uses if one provider fulfils the group.
Uses = dict[int, list[Use]] | Sequence[Use]


class Alternatives:
    """Masks, of which one is enough. To look for one takes as long for thousands as for a few.

    :param masks: the first ones.
    """

    def __init__(self, masks: Iterable[int] = ()) -> None:
        self._masks: list[int] = []
        #: {bit: the places of the masks that have it, as a set of bits}.
        self._places: dict[int, int] = {}
        for mask in masks:
            self.add(mask)

    def __iter__(self) -> Iterator[int]:
        return iter(self._masks)

    def __len__(self) -> int:
        return len(self._masks)

    def size(self) -> int:
        """Return the number of bits that are compared."""
        return len(self._masks) * len(self._places)

    def add(self, mask: int) -> None:
        """Add a mask."""
        place = 1 << len(self._masks)
        self._masks.append(mask)
        while mask:
            bit = mask & -mask
            self._places[bit] = self._places.get(bit, 0) | place
            mask ^= bit

    def has_part_of(self, mask: int) -> bool:
        """Whether a mask contains one of these."""
        # Those with a bit that the mask lacks.
        others = 0
        for bit, places in self._places.items():
            if not mask & bit:
                others |= places
        return others.bit_count() < len(self._masks)


def minimal(masks: Iterable[int]) -> frozenset[int]:
    """Return the masks that contain no other mask."""
    kept = Alternatives()
    for mask in sorted(masks, key=int.bit_count):
        if not kept.has_part_of(mask):
            kept.add(mask)
    return frozenset(kept)


def _failed(tests: Iterable[_Test], columns: Mapping[str, Sequence[Any]]) -> list[int]:
    """Return the masks of the tests that providers fail.

    :param columns: {column: its value of each provider}.
    """
    masks = [0] * len(next(iter(columns.values())))
    for bit, column, values, is_one in tests:
        masks = [
            mask if (value in values) is is_one else mask | bit
            for mask, value in zip(masks, columns[column], strict=True)
        ]
    return masks


class Tree(NamedTuple):
    """A tree with a provider with room for each group.

    :ivar root: uuid.
    :ivar mask: of the clauses that its root fails.
    :ivar uses: of each group.
    """

    root: str
    mask: int
    uses: list[Uses]


class FailingTrees:
    """The providers of a search, with the clauses that they fail."""

    def __init__(self, search: Search, bits: Mapping[Key, int]) -> None:
        self._search, self._bits = search, bits
        self._ids: dict[AbstractSet[str], set[int]] = {}
        self._uuids: dict[AbstractSet[str], set[str]] = {}
        self._trees: dict[str, set[str]] = {}
        self._rows: dict[frozenset[tuple[int, int]], Sequence[sa.Row]] = {}

    def trees(self) -> Iterator[Tree]:
        """Yield the trees that have room for all groups."""
        of_groups = [self._uses(number, group) for number, group in enumerate(self._search.request.groups)]
        roots = [root for root in of_groups[0] if all(root in uses for uses in of_groups)]
        for root, mask in zip(roots, _failed(self._root_tests(), {'uuid': roots}), strict=True):
            yield Tree(root, mask, [uses[root] for uses in of_groups])

    def free_nodes(self) -> Iterator[tuple[str, int]]:
        """Yield (uuid of the root, mask) of the provider of each free node, which is a candidate by itself."""
        (group,) = self._search.request.groups
        (class_id,) = self._search.amounts_of(group)
        rows = self._search.read(inventory_usage.with_room({class_id: 1})[-1])
        columns = _columns(rows)
        of_root, every = list(self._root_tests()), self._mask('root_required', 'root_forbidden')
        parts = _failed(self._tests(0, group), columns), _failed(of_root, columns)
        for row, mask, mask_of_root in zip(rows, *parts, strict=True):
            yield row.root_provider_uuid, mask | (mask_of_root if row.uuid == row.root_provider_uuid else every)

    def _uses(self, number: int, group: CandidateGroup) -> Mapping[str, Uses]:
        """Return what a group can use: {uuid of the root of a tree: Uses}."""
        search = self._search
        if group.suffix or not (search.nested or search.sharing):
            return self._uses_of_one(number, group)
        uses: dict[str, dict[int, list[Use]]] = {}
        for class_id, amount in search.amounts_of(group).items():
            for root, use in self._used_together(number, group, self._with_room({class_id: amount})):
                uses.setdefault(root, {}).setdefault(class_id, []).append(use)
        return {root: by_class for root, by_class in uses.items() if len(by_class) == len(group.resources)}

    def _uses_of_one(self, number: int, group: CandidateGroup) -> Mapping[str, Uses]:
        """As ``_uses``, of a group that one provider fulfils."""
        rows = self._with_room(self._search.amounts_of(group))
        # Most trees have one such provider, or few.
        uses: dict[str, tuple[Use, ...]] = {}
        further: dict[str, list[Use]] = {}
        for row, mask in zip(rows, _failed(self._tests(number, group), _columns(rows)), strict=True):
            use = (row.id, (mask,), 0)
            for root in self._search.trees_of(row):
                if root in uses:
                    further.setdefault(root, []).append(use)
                else:
                    uses[root] = (use,)
        return uses | {root: uses[root] + tuple(more) for root, more in further.items()}

    def _used_together(self, number: int, group: CandidateGroup, rows: Sequence[sa.Row]) -> Iterator[tuple[str, Use]]:
        """Yield (uuid of the root of a tree, Use) of the group that several providers may fulfil together.

        The rules are those of ``tree_candidates.Trees``.
        """
        columns, required = _columns(rows), self._mask('required', number=number)
        elsewhere = self._bits.get(('in_tree', number, group.in_tree), 0)
        masks = _failed(self._tests(number, group, 'forbidden', 'in_tree', 'exclusive'), columns)
        missing = _failed(self._tests(number, group, 'required'), columns)
        tests = [list(self._tests(number, group, kind)) for kind in ('member_of', 'not_member_of')]
        members, excluded = (_failed(each, columns) for each in tests)
        # Of the roots, {uuid: (mask, mask)}.
        roots = list({root for row in rows for root in self._search.trees_of(row)}) if any(tests) else []
        of_roots = dict(zip(roots, zip(*(_failed(each, {'uuid': roots}) for each in tests), strict=True), strict=True))
        for row, mask, lacks, own_members, own_excluded in zip(rows, masks, missing, members, excluded, strict=True):
            for root in self._search.trees_of(row):
                root_members, root_excluded = of_roots.get(root, (0, 0))
                base = mask | own_excluded | root_excluded
                if root == row.root_provider_uuid:
                    # It is enough that the root is a member.
                    alternatives = minimal({base | own_members, base | root_members})
                else:
                    alternatives = frozenset({base | elsewhere | own_members})
                yield root, (row.id, tuple(sorted(alternatives)), required & ~lacks)

    def _with_room(self, amounts: Mapping[int, int]) -> Sequence[sa.Row]:
        key = frozenset(amounts.items())
        if key not in self._rows:
            self._rows[key] = self._search.rows(dict(amounts), [])
        return self._rows[key]

    def _tests(self, number: int, group: CandidateGroup, *kinds: str) -> Iterator[_Test]:
        """Yield the tests of a group.

        :param kinds: parameters; none for all.
        """
        clauses: list[tuple[str, Any]] = [
            *(('required', frozenset(one_of)) for one_of in group.required),
            *(('forbidden', name) for name in group.forbidden),
            *(('member_of', frozenset(aggregates)) for aggregates in group.member_of),
            *(('not_member_of', uuid) for uuid in group.not_member_of),
            *([('in_tree', group.in_tree)] if group.in_tree else []),
        ]
        for kind, value in clauses:
            if not kinds or kind in kinds:
                yield self._test(kind, value, self._bits[kind, number, value])
        for name in self._search.request.exclusive if not kinds or 'exclusive' in kinds else ():
            yield _Test(self._bits['exclusive', 0, name], 'root_provider_uuid', self._roots_of_trees(name), False)

    def _test(self, kind: str, value: Any, bit: int) -> _Test:
        if kind == 'required':
            return _Test(bit, 'id', self._with_one_of(value), True)
        if kind == 'forbidden':
            return _Test(bit, 'id', self._with_one_of(frozenset({value})), False)
        if kind == 'member_of':
            return _Test(bit, 'uuid', self._members(value), True)
        if kind == 'not_member_of':
            return _Test(bit, 'uuid', self._members(frozenset({value})), False)
        statement = sa.select(tables.resource_providers.c.root_provider_uuid).where(in_tree(value)).limit(1)
        return _Test(bit, 'root_provider_uuid', set(self._search.connection.scalars(statement)), True)

    def _root_tests(self) -> Iterator[_Test]:
        """Yield the tests of the roots of trees, by their uuids."""
        required, forbidden = self._search.request.root_required or ((), frozenset())
        for one_of in required:
            yield _Test(self._bits['root_required', 0, frozenset(one_of)], 'uuid', self._roots(one_of), True)
        for name in forbidden:
            yield _Test(self._bits['root_forbidden', 0, name], 'uuid', self._roots({name}), False)

    def _with_one_of(self, names: AbstractSet[str]) -> set[int]:
        key = frozenset(names)
        if key not in self._ids:
            self._ids[key] = self._search.with_one_of(names)
        return self._ids[key]

    def _members(self, aggregates: AbstractSet[str]) -> set[str]:
        key = frozenset(aggregates)
        if key not in self._uuids:
            self._uuids[key] = self._search.uuids(is_in(aggregates))
        return self._uuids[key]

    def _roots(self, names: AbstractSet[str]) -> set[str]:
        is_root: Condition = tables.resource_providers.c.parent_provider_uuid.is_(None)
        return self._search.uuids(is_root, *trait_conditions.conditions(self._search.holders, [names]))

    def _roots_of_trees(self, name: str) -> set[str]:
        """Return the uuids of the roots of the trees with a provider that has a trait."""
        if name not in self._trees:
            roots = trait_conditions.roots(self._search.holders, {name})
            self._trees[name] = set(self._search.connection.scalars(roots))
        return self._trees[name]

    def _mask(self, *kinds: str, number: int = 0) -> int:
        """Return the mask of all clauses of some parameters."""
        return sum({bit for (kind, place, _), bit in self._bits.items() if kind in kinds and place == number})


def _columns(rows: Sequence[sa.Row]) -> dict[str, Sequence[Any]]:
    values = list(zip(*rows, strict=True)) or [(), (), ()]
    return dict(zip(('id', 'uuid', 'root_provider_uuid'), values, strict=True))
