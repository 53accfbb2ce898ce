"""Checks which nodes of a cloud can be stored: uuids, names and instances are unique, and the traits are limited.

See ``mirror_uniqueness`` for nodes that are deferred, and for conflicts.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.core.eligibility import LIVE
from ironic_traits.inventory.core.mirror_claim_states import TAKEN, TAKING
from ironic_traits.inventory.core.node_consumers import CONSUMER
from ironic_traits.inventory.mirrored import mirror_uniqueness
from ironic_traits.inventory.mirrored.mirror_clouds import Turn, owner
from ironic_traits.inventory.mirrored.mirror_uniqueness import Holder

_CLAIMS, _NODES = tables.mirror_claims, tables.nodes


class MirroredNode(NamedTuple):
    """A node of a cloud.

    :ivar row: {column: value} of ``mirrored_nodes.COLUMNS`` and ``uuid``.
    :ivar traits: valid traits.
    :ivar problem: the part of the node that cannot be stored, as a sentence; '' if there is none.
    """

    row: Values
    traits: frozenset[str]
    problem: str = ''


class NodeCheck:
    """The check of some nodes of a cloud.

    :param connection: connection of a writer that has taken the locks of the nodes.
    :param present: {uuid: row with ``origin`` and ``instance_uuid``} of the nodes that are stored.
    :param limit: maximum number of traits of a node.
    :param held: {uuid: why the node that is stored must stay, as a sentence}, of nodes that were created again.
    :ivar reasons: {uuid: what conflicts, as sentences}.
    :ivar deferred: {uuid of a node that is stored later: uuid of the node whose data in this service is outdated}.
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
        self.deferred: dict[str, str] = {}

    def admit(self, mirrored: Sequence[MirroredNode], is_current: bool, is_final: bool) -> list[MirroredNode]:
        """Return the nodes that can be stored now, with the values that can be stored."""
        uncertain = {} if is_current else {uuid: uuid for uuid in map(self._uuid_if_moved, mirrored) if uuid}
        certain = [node for node in mirrored if node.row['uuid'] not in uncertain]
        for node in certain:
            self._add(node, node.problem)
        admitted = [node for node in certain if self._is_ours(node)]
        rows = [node.row for node in admitted]
        self.deferred, taken = mirror_uniqueness.check(self._connection, self._turn, _NODES, rows, is_final)
        stored = [node for node in admitted if node.row['uuid'] not in self.deferred]
        self.deferred |= uncertain
        return [self._without(node, taken.get(node.row['uuid'], {})) for node in stored]

    def _uuid_if_moved(self, node: MirroredNode) -> str | None:
        """Return the uuid of a node that has another instance in this service; None for other nodes."""
        row = self._present.get(node.row['uuid'])
        return row.uuid if row and row.instance_uuid != node.row['instance_uuid'] else None

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
        """Report the nodes that have an instance in the cloud, and are held for another instance in this service."""
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
        self._add(node, f'{owner(row.origin)} has a node with this uuid, which is left as it is.')
        return False

    def _without(self, node: MirroredNode, holders: Mapping[str, Holder]) -> MirroredNode:
        """Return a node without the values that other nodes in this service have.

        Without its instance, a node looks free, so it is in maintenance.
        """
        changes: Values = {}
        for name, holder in holders.items():
            who, value = owner(holder.origin), node.row[name]
            if name == 'name':
                reason = f'{who} has a node named {value}: the mirrored node has no name.'
            else:
                reason = f'{who} has instance {value} on node {holder.uuid}: the mirrored node is in maintenance.'
                changes |= {'maintenance': True, 'maintenance_reason': reason}
            changes[name] = None
            self._add(node, reason)
        return node._replace(row=node.row | changes)

    def _add(self, node: MirroredNode, reason: str) -> None:
        uuid = node.row['uuid']
        if reason:
            self.reasons[uuid] = ' '.join(filter(None, (self.reasons.get(uuid), reason)))


def overlaid(connection: sa.Connection, mirrored: Sequence[MirroredNode]) -> list[MirroredNode]:
    """Return nodes of a cloud with the values that claims add to them.

    While a node is being taken, the cloud may not show the instance yet. And the cloud does not have the allocations of
    this service.
    """
    uuids = [node.row['uuid'] for node in mirrored]
    statement = sa.select(_CLAIMS).where(_CLAIMS.c.node_uuid.in_(uuids), _CLAIMS.c.state.in_((TAKING, TAKEN)))
    claims = {row.node_uuid: row for row in connection.execute(statement)}
    return [
        node._replace(row=node.row | _added(node.row, claims[node.row['uuid']])) if node.row['uuid'] in claims else node
        for node in mirrored
    ]


def _added(row: Values, claim: sa.Row) -> Values:
    added: Values = {}
    if claim.state == TAKING and row['instance_uuid'] is None:
        added['instance_uuid'] = claim.instance_uuid
    if claim.holder_uuid == claim.instance_uuid:
        added['allocation_uuid'] = claim.holder_uuid
    return added
