"""The sets of bits of the index of nodes, and the position of each node in them.

``inventory.search.node_index`` reads the nodes from the database, and keeps the sets up to date.
"""

import itertools
import struct
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import names_in
from ironic_traits.inventory.core import eligibility, mismatches, node_consumers, trait_filters
from ironic_traits.inventory.search import node_groups
from ironic_traits.inventory.search.node_groups import Groups
from ironic_traits.matching import bitsets, topology
from ironic_traits.matching.group_limits import Cell
from ironic_traits.resources.nodes import NODES

#: Maximum number of uuids whose positions are looked up one by one. For more, one pass over all positions is quicker.
_FEW = 20
#: Columns by which nodes are counted. The reasons below have maintenance.
COLUMNS = tuple(name for name in NODES.facets if name != 'maintenance')
#: Reasons why a node is not free, in the order in which ``eligibility.refusal`` names them. For "reserved", the index
#: has all nodes with a reservation, live or expired.
REASONS = tuple(clause.name for clause in eligibility.CLAUSES)
#: Maximum number of different keys of topologies for which the groups of all nodes are kept.
_MAX_GROUPS = 16
#: Names of the set of all nodes, and of the set of children.
ALL, CHILDREN = 'all', 'children'
_FOREIGN = tables.resource_provider_traits.c.resource_provider_id
_MEMBER = tables.resource_provider_aggregates.c.resource_provider_id
#: The columns that ``NodeSets`` needs, of all nodes.
STATEMENT = sa.select(
    tables.nodes.c.id,
    tables.nodes.c.uuid,
    *(tables.nodes.c[name] for name in COLUMNS),
    tables.nodes.c.parent_node,
    *(column for column in eligibility.STATE_COLUMNS if column.name not in COLUMNS),
    sa.exists().where(tables.reservations.c.node_uuid == tables.nodes.c.uuid).correlate(tables.nodes).label('reserved'),
    node_consumers.ALLOCATED.label('allocated'),
    mismatches.MISMATCHED.label(eligibility.EXPECTATION),
    trait_filters.JOINED,
    # The foreign traits and the aggregates of the node's provider.
    sa.select(names_in(tables.traits.c.name))
    .join(tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
    .join(tables.resource_providers, tables.resource_providers.c.id == _FOREIGN)
    .where(tables.resource_providers.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('foreign_traits'),
    sa.select(names_in(tables.resource_provider_aggregates.c.aggregate_uuid))
    .join(tables.resource_providers, tables.resource_providers.c.id == _MEMBER)
    .where(tables.resource_providers.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('aggregates'),
)


class NodeSets:
    """The sets of nodes.

    :ivar sets: {name: set of nodes}, with the names from ``_names``.
    :ivar ids: id of the node at each position, in the order in which nodes were added.
    :ivar deleted: number of positions of deleted nodes. These positions are not used again.
    """

    def __init__(self) -> None:
        self.sets = bitsets.Bitsets()
        self.ids = array('q')
        self.deleted = 0
        #: For each position: the node's uuid (16 bytes), and 1 for an existing node or 0 for a deleted one.
        self._uuids, self._living = bytearray(), bytearray()
        #: {id: position} of *late* nodes: after the first node that was added after one with a higher id.
        self._late: dict[int, int] = {}
        #: {position: names of its sets} of the last nodes that were added. A change without a number is read at each
        #: use (``change_feed.news``), and mostly nothing is new.
        self._last: dict[int, list[Hashable]] = {}
        #: {keys of a topology: Groups}, the one that was used last at the end.
        self._groups: dict[tuple[str, ...], Groups] = {}

    def position(self, node_id: int) -> int | None:
        """Return the position of a node; None if it was not added."""
        if node_id in self._late:
            return self._late[node_id]
        # Nodes are usually added in the order of their ids, so few are late. The ids before them are sorted.
        place = bisect_left(self.ids, node_id, hi=self._ordered)
        return place if place < self._ordered and self.ids[place] == node_id else None

    def uuid(self, position: int) -> str:
        """Return the uuid of the node at a position."""
        return str(uuid.UUID(bytes=bytes(self._uuids[16 * position : 16 * position + 16])))

    @property
    def _ordered(self) -> int:
        """The number of ids that are sorted. From the first late node on, all nodes are in ``_late``."""
        return len(self.ids) - len(self._late)

    @property
    def statement(self) -> sa.Select:
        """The SELECT of the columns that ``add`` and ``update`` need, of all nodes."""
        return STATEMENT.add_columns(*node_groups.further_columns(self._groups, STATEMENT))

    def add(self, rows: Sequence[sa.Row]) -> None:
        """Put nodes into the sets that fit their current rows.

        :param rows: rows of ``statement``.
        """
        current: dict[int, list[Hashable]] = {}
        for row in rows:
            position = self.position(row.id)
            if position is None:
                position = self._append(row)
            current[position] = list(_names(row))
            for groups in self._groups.values():
                groups.set(position, node_groups.cell_of(groups.keys, row))
        changed = {position: names for position, names in current.items() if self._last.get(position) != names}
        self.sets.replace(changed, len(self.ids))
        self._last = current

    def groups(self, connection: sa.Connection, keys: tuple[str, ...]) -> Groups:
        """Return the groups of all nodes for some keys of a topology.

        :param connection: on the snapshot of which the sets are.
        """
        groups = self._groups.pop(keys, None)
        if groups is None:
            groups = Groups(keys, self._cells(connection, keys))
        while len(self._groups) >= _MAX_GROUPS:
            self._groups.pop(next(iter(self._groups)))
        self._groups[keys] = groups
        return groups

    def _cells(self, connection: sa.Connection, keys: Sequence[str]) -> Iterator[Cell]:
        """Return the cell of the node at each position: the values of the keys."""
        if not keys:
            return itertools.repeat((), len(self.ids))
        return zip(*(self._values(connection, key) for key in keys), strict=True)

    def _values(self, connection: sa.Connection, key: str) -> list[str | None]:
        """Return the group of the node at each position, for a key."""
        values: list[str | None] = [None] * len(self.ids)
        beginning = topology.prefix(key)
        if beginning is None:
            column = node_groups.column(key)
            for node_id, value in connection.execute(sa.select(tables.nodes.c.id, column)):
                if (position := self.position(node_id)) is not None:
                    values[position] = topology.group(key, value)
            return values
        twice: list[int] = []
        names = [name for _, name in self.sets.of_kind('trait') if name.startswith(beginning)]
        for name in names:
            for position in bitsets.positions(self.sets.get(('trait', name))):
                if values[position] is not None:
                    twice.append(position)
                values[position] = name
        for position in twice:
            values[position] = None
        return values

    def update(self, uuids: Collection[str], rows: Sequence[sa.Row]) -> None:
        """Update the sets after nodes were written.

        :param uuids: uuids of these nodes.
        :param rows: rows of ``statement``, of the nodes that exist now.
        """
        # A node may have been deleted, and created again with the same uuid. Then it has a new id without a position,
        # and the old position is cleared.
        self._delete(set(uuids) - {row.uuid for row in rows if self.position(row.id) is not None})
        self.add(rows)

    def _append(self, row: sa.Row) -> int:
        position = len(self.ids)
        if self._late or (self.ids and self.ids[-1] > row.id):
            self._late[row.id] = position
        self.ids.append(row.id)
        self._uuids += uuid.UUID(row.uuid).bytes
        self._living.append(1)
        return position

    def _delete(self, uuids: Collection[str]) -> None:
        """Remove nodes from all sets. Nodes without a position are ignored."""
        positions = [each for each in self._positions({uuid.UUID(each).bytes for each in uuids}) if self._living[each]]
        self.sets.replace({position: () for position in positions}, len(self.ids))
        for position in positions:
            self._living[position] = 0
            self._last.pop(position, None)
            for groups in self._groups.values():
                groups.set(position, (None,) * len(groups.keys))
        self.deleted += len(positions)

    def _positions(self, keys: Collection[bytes]) -> Iterable[int]:
        """Return the positions of uuids, at least the last position of each. Unknown uuids have no position."""
        if len(keys) <= _FEW:
            return [place for place in map(self._find, keys) if place is not None]
        return (place for place, (key,) in enumerate(struct.iter_unpack('16s', self._uuids)) if key in keys)

    def _find(self, key: bytes) -> int | None:
        # The last position: the earlier ones belong to deleted nodes.
        place = self._uuids.rfind(key)
        while place % 16 and place >= 0:
            place = self._uuids.rfind(key, 0, place + 15)
        return None if place < 0 else place // 16


def _names(row: sa.Row) -> Iterator[Hashable]:
    """Yield the names of the sets that a node belongs to."""
    yield ALL
    if row.parent_node is not None:
        yield CHILDREN
    for column in COLUMNS:
        yield column, getattr(row, column)
    for name in row.traits:
        yield 'trait', name
    for name in row.foreign_traits:
        yield 'foreign', name
    for name in row.aggregates:
        yield 'aggregate', name
    for clause in eligibility.CLAUSES:
        if clause.is_failed(row):
            yield 'reason', clause.name
