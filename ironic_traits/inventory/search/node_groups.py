"""The groups of nodes for the keys of a topology: in statements, and in the index of nodes."""

import functools
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.db.statements.types import names_in
from ironic_traits.matching import bitsets, topology
from ironic_traits.matching.group_limits import Cell
from ironic_traits.matching.topology import Policy

#: Maximum number of sets of nodes whose numbers are kept.
_MAX_COUNTED = 8
#: A set replaces an earlier one if less than one of so many nodes is different.
_SIMILAR = 1000
#: A number with an exponent.
_EXPONENT = re.compile(r'[-+.0-9]+e[-+0-9]+')
#: {(number of nodes, another number of nodes): {number of a cell}}.
_Cells = dict[tuple[int, int], set[int]]


@functools.lru_cache(maxsize=256)
def column(key: str) -> sa.ColumnElement[Any]:
    """Return the column of nodes that ``topology.group`` needs for a key."""
    beginning = topology.prefix(key)
    if beginning is None:
        return tables.nodes.c[key.partition('/')[0]]
    names = sa.select(names_in(tables.node_traits.c.trait)).where(tables.node_traits.c.node_id == tables.nodes.c.id)
    of_key = tables.node_traits.c.trait.startswith(beginning, autoescape=True)
    return names.where(of_key).correlate(tables.nodes).scalar_subquery()


def member(key: str, group: str | None) -> Condition:
    """Return a condition that all nodes of a group fulfil. Other nodes may fulfil it, too."""
    field, *path = key.split('/')
    if topology.prefix(key) is not None:
        of_node = tables.node_traits.c.node_id == tables.nodes.c.id
        return sa.exists().where(of_node, tables.node_traits.c.trait == group).correlate(tables.nodes)
    if not path:
        return tables.nodes.c[field] == group
    if group is not None and _EXPONENT.fullmatch(group):
        # Such a number may be written in several ways.
        return sa.true()
    name, text = (orjson.dumps(each).decode() for each in (path[-1], group))
    # As a text, or as a number, which is followed by a comma or a brace.
    found = (f'{name}{colon}{value}' for colon in (':', ': ') for value in (text, f'{group},', f'{group}}}'))
    document = sa.type_coerce(tables.nodes.c[field], sa.Text)
    return sa.or_(*(document.contains(each, autoescape=True) for each in found))


@functools.lru_cache(maxsize=256)
def columns(policies: tuple[Policy, ...]) -> Columns:
    """Return the columns of a SELECT from nodes that ``cell`` needs."""
    return tuple(column(policy.key).label(f'group_{number}') for number, policy in enumerate(policies))


def cell(policies: Sequence[Policy], row: sa.Row) -> Cell:
    """Return the groups of a node, one for each policy.

    :param row: row with ``columns``.
    """
    values = (getattr(row, f'group_{number}') for number in range(len(policies)))
    return tuple(topology.group(policy.key, value) for policy, value in zip(policies, values, strict=True))


def cell_of(keys: Sequence[str], row: sa.Row) -> Cell:
    """Return the groups of a node, one for each key.

    :param row: row with all traits of the node, and with ``further_columns``.
    """
    return tuple(topology.group(key, _value(key, row)) for key in keys)


def _value(key: str, row: sa.Row) -> Any:
    beginning = topology.prefix(key)
    if beginning is None:
        return getattr(row, key.partition('/')[0])
    return [name for name in row.traits if name.startswith(beginning)]


def further_columns(all_keys: Iterable[Sequence[str]], statement: sa.Select) -> Columns:
    """Return the columns that ``cell_of`` needs for some keys, and that a SELECT does not have yet."""
    fields = {key.partition('/')[0] for keys in all_keys for key in keys if topology.prefix(key) is None}
    return tuple(tables.nodes.c[name] for name in sorted(fields - set(statement.selected_columns.keys())))


class _Counted(NamedTuple):
    """A set of nodes, and how many of them are in each group."""

    nodes: int
    numbers: list[int]


class _ByShare(NamedTuple):
    """The cells by two numbers: how many nodes of one set, and of another one, are in them.

    :ivar pairs: the two numbers of each cell.
    :ivar cells: {the two numbers: {number of a cell}}.
    """

    one: int
    other: int
    pairs: list[tuple[int, int]]
    cells: _Cells


class Groups:
    """The groups of all nodes for some keys. They have numbers.

    :param cells: the cell of the node at each position.
    :ivar cells: [cell, …] in the order of their numbers.
    :ivar members: [the positions of the nodes of a cell, …], in the same order.
    :ivar incomplete: [number of a cell that lacks a group, …].
    """

    def __init__(self, keys: tuple[str, ...], cells: Iterable[Cell]) -> None:
        self.keys = keys
        self.cells: list[Cell] = []
        self.members: list[array[int]] = []
        self.incomplete: list[int] = []
        self._places: dict[Cell, int] = {}
        #: The number of the cell of the node at each position.
        self._numbers = array('I')
        self._counted: list[_Counted] = []
        self._by_share: _ByShare | None = None
        for each in cells:
            self.set(len(self._numbers), each)

    def set(self, position: int, cell: Cell) -> None:
        """Put a node into a cell."""
        place = self._places.setdefault(cell, len(self.cells))
        if place == len(self.cells):
            self.cells.append(cell)
            self.members.append(array('I'))
            if None in cell:
                self.incomplete.append(place)
        if position == len(self._numbers):
            self._numbers.append(place)
        elif self._numbers[position] == place:
            return
        else:
            self.members[self._numbers[position]].remove(position)
            self._numbers[position] = place
        self.members[place].append(position)
        self._counted, self._by_share = [], None

    def members_of(self, cell: Cell) -> Sequence[int]:
        """Return the positions of the nodes of a cell."""
        return self.members[self._places[cell]]

    def set_of(self, cell: Cell) -> int:
        """Return the set of the nodes of a cell, as bits. It may have none."""
        members = self.members[self._places[cell]] if cell in self._places else ()
        return bitsets.from_positions(members, len(self._numbers))

    def by_share(self, one: int, other: int) -> _Cells:
        """Return the cells by two numbers: {(nodes of one set, nodes of the other set): {number of a cell}}.

        There may be many thousand cells. So only what differs from the last sets is changed, as in ``counts``.

        :returns: it is valid until the next call.
        """
        ones, others = self.counts(one), self.counts(other)
        last = self._by_share or _ByShare(0, 0, [], defaultdict(set))
        different = last.one ^ one | last.other ^ other
        places: Collection[int] = range(len(self.cells))
        if last.pairs and different.bit_count() * _SIMILAR <= one.bit_count():
            places = {self._numbers[position] for position in bitsets.positions(different)}
        else:
            last = _ByShare(0, 0, [(0, 0)] * len(self.cells), defaultdict(set))
        for place in places:
            before, after = last.pairs[place], (ones[place], others[place])
            last.cells[before].discard(place)
            last.cells[after].add(place)
            last.pairs[place] = after
        self._by_share = last._replace(one=one, other=other)
        return last.cells

    def counts(self, nodes: int) -> list[int]:
        """Return how many nodes of a set are in each cell: [number, …].

        Requests are often about nearly the same nodes. Therefore only the difference from an earlier set is counted.

        :param nodes: set of nodes, as bits.
        """
        nearest = min(self._counted, key=lambda each: (each.nodes ^ nodes).bit_count(), default=None)
        different = (nearest.nodes ^ nodes).bit_count() if nearest else 0
        kept = self._counted
        if nearest and different * _SIMILAR <= nearest.nodes.bit_count():
            # The same request, some changes later.
            kept = [each for each in kept if each is not nearest]
        if nearest and different * 2 <= nearest.nodes.bit_count():
            numbers = list(nearest.numbers)
            for sign, some in ((1, nodes & ~nearest.nodes), (-1, nearest.nodes & ~nodes)):
                for position in bitsets.positions(some):
                    numbers[self._numbers[position]] += sign
        else:
            found = self._count(nodes)
            numbers = [found[place] for place in range(len(self.cells))]
        self._counted = [*kept[-_MAX_COUNTED + 1 :], _Counted(nodes, numbers)]
        return numbers

    def cells_of(self, nodes: int) -> dict[Cell, int]:
        """Return the number of nodes of a set in each cell, without zeros: {cell: number}. Nothing is kept."""
        return {self.cells[place]: number for place, number in self._count(nodes).items()}

    def without(self, place: int) -> Iterator[int]:
        """Yield the positions of the nodes that have no group for a key.

        :param place: the place of the key.
        """
        for cell, members in zip(self.cells, self.members, strict=True):
            if cell[place] is None:
                yield from members

    def _count(self, nodes: int) -> Counter[int]:
        return Counter(bitsets.members(nodes, self._numbers))
