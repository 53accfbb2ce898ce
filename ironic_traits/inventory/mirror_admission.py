"""Checks which nodes of a cloud can be stored: uuids, names and instances are unique, and the traits are limited.

Within a cloud, these values are unique at each moment. But nodes are read one after another, so a node may get the name
of another one whose change has not been read yet. Such a node is *deferred*: it is stored when it is read again. If a
node of another cloud, or of this service itself, has the value, this is a *conflict*, which is reported.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Values
from ironic_traits.inventory.eligibility import LIVE
from ironic_traits.inventory.mirror_clouds import Turn
from ironic_traits.inventory.node_providers import CONSUMER

_NODES = tables.nodes


class MirroredNode(NamedTuple):
    """A node of a cloud.

    :ivar row: {column: value} of ``mirrored_nodes.COLUMNS`` and ``uuid``.
    :ivar traits: valid traits.
    :ivar problem: the part of the node that cannot be stored, as a sentence; '' if there is none.
    """

    row: Values
    traits: frozenset[str]
    problem: str = ''


class Admission:
    """The check of some nodes of a cloud.

    :param connection: connection of a writer that has taken the locks of the nodes.
    :param turn: the turn for the cloud.
    :param present: {uuid: row with ``origin``} of the nodes that are stored.
    :param limit: maximum number of traits of a node.
    :param held: {uuid: why the node that is stored must stay, as a sentence}, of nodes that were created again.
    :ivar reasons: {uuid: what conflicts, as sentences}.
    :ivar deferred: uuids of nodes that are stored later.
    """

    def __init__(
        self,
        connection: sa.Connection,
        turn: Turn,
        present: Mapping[str, sa.Row],
        limit: int,
        held: Mapping[str, str],
    ) -> None:
        self._connection, self._turn, self._present, self._limit = connection, turn, present, limit
        self._held = held
        self.reasons: dict[str, str] = {}
        self.deferred: set[str] = set()

    def admit(self, mirrored: Sequence[MirroredNode]) -> list[MirroredNode]:
        """Return the nodes that can be stored now, with the values that can be stored."""
        for node in mirrored:
            self._add(node, node.problem)
        admitted = [node for node in mirrored if self._is_ours(node)]
        return self._with_unique_instances(self._with_unique_names(admitted))

    def limited(self, node: MirroredNode, others: AbstractSet[str] = frozenset()) -> MirroredNode:
        """Return a node without the traits that exceed the limit, together with the traits of other sources."""
        room = max(self._limit - len(others), 0)
        further = sorted(node.traits - others)
        if len(further) <= room:
            return node
        left_out = ', '.join(further[room:])
        self._add(node, f'It has more than {self._limit} traits with those of other sources; left out: {left_out}.')
        return node._replace(traits=(node.traits & others) | frozenset(further[:room]))

    def check_holders(self, uuids: Collection[str]) -> None:
        """Report the nodes that have an instance in the cloud, and are held for another instance here."""
        reserved = (
            sa.select(tables.reservations.c.instance_uuid)
            .where(tables.reservations.c.node_uuid == _NODES.c.uuid, LIVE)
            .correlate(_NODES)
            .scalar_subquery()
        )
        statement = sa.select(_NODES.c.uuid, _NODES.c.instance_uuid, reserved.label('reserved'), CONSUMER).where(
            _NODES.c.uuid.in_(list(uuids)), _NODES.c.origin == self._turn.cloud, _NODES.c.instance_uuid.is_not(None)
        )
        for row in self._connection.execute(statement):
            for verb, holder in (('reserved for', row.reserved), ('allocated to', row.consumer_uuid)):
                if holder not in (None, row.instance_uuid):
                    reason = f'It has instance {row.instance_uuid} there, and is {verb} {holder} here.'
                    self.reasons[row.uuid] = ' '.join(filter(None, (self.reasons.get(row.uuid), reason)))

    def _is_ours(self, node: MirroredNode) -> bool:
        if reason := self._held.get(node.row['uuid']):
            self._add(node, reason)
            return False
        row = self._present.get(node.row['uuid'])
        if row is None or row.origin == self._turn.cloud:
            return True
        self._add(node, f'{_owner(row.origin)} has a node with this uuid, which is left as it is.')
        return False

    def _with_unique_names(self, mirrored: Sequence[MirroredNode]) -> list[MirroredNode]:
        nodes, holders = self._unique(mirrored, 'name')
        return [
            self._without(
                node,
                {'name': None},
                f'{_owner(holder.origin)} has a node named {node.row["name"]}: here, it has no name.',
            )
            if (holder := holders.get(node.row['name']))
            else node
            for node in nodes
        ]

    def _with_unique_instances(self, mirrored: Sequence[MirroredNode]) -> list[MirroredNode]:
        nodes, holders = self._unique(mirrored, 'instance_uuid')
        return [self._held_out(node, holders.get(node.row['instance_uuid'])) for node in nodes]

    def _held_out(self, node: MirroredNode, holder: sa.Row | None) -> MirroredNode:
        """Return the node. If another node here has its instance, remove the instance, and set maintenance."""
        if holder is None:
            return node
        instance = node.row['instance_uuid']
        reason = f'{_owner(holder.origin)} has instance {instance} on node {holder.uuid}: here, it is in maintenance.'
        changes = {'instance_uuid': None, 'maintenance': True, 'maintenance_reason': reason}
        return self._without(node, changes, reason)

    def _unique(self, mirrored: Sequence[MirroredNode], column: str) -> tuple[list[MirroredNode], dict[str, sa.Row]]:
        """Return the nodes that need not be deferred because of a unique column, and other nodes with their values.

        :returns: (nodes, {value: row with ``uuid`` and ``origin`` of the other node that has it}).
        """
        by_value: dict[str, MirroredNode] = {}
        for node in sorted(mirrored, key=_written_at, reverse=True):
            value = node.row[column]
            if value is not None and by_value.setdefault(value, node) is not node:
                self.deferred.add(node.row['uuid'])
        uuids = [node.row['uuid'] for node in mirrored if node.row['uuid'] not in self.deferred]
        statement = sa.select(_NODES.c.uuid, _NODES.c.origin, _NODES.c[column].label('value')).where(
            _NODES.c[column].in_(list(by_value)), _NODES.c.uuid.not_in(uuids)
        )
        holders = {row.value: row for row in self._connection.execute(statement)}
        for value, holder in holders.items():
            if holder.origin == self._turn.cloud:
                self.deferred.add(by_value[value].row['uuid'])
        return [node for node in mirrored if node.row['uuid'] not in self.deferred], holders

    def _without(self, node: MirroredNode, changes: Values, reason: str) -> MirroredNode:
        self._add(node, reason)
        return node._replace(row=node.row | changes)

    def _add(self, node: MirroredNode, reason: str) -> None:
        uuid = node.row['uuid']
        if reason:
            self.reasons[uuid] = ' '.join(filter(None, (self.reasons.get(uuid), reason)))


def _owner(origin: str | None) -> str:
    return f'Cloud {origin}' if origin else 'This service'


def _written_at(node: MirroredNode) -> str:
    return str(node.row['updated_at'] or node.row['created_at'])
