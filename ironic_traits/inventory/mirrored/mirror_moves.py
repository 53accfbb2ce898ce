"""The end of mirroring: mirrored nodes become this service's own, or are removed."""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import read_clock
from ironic_traits.deploy import states
from ironic_traits.inventory.core import history, origins
from ironic_traits.inventory.core.single_node import MOMENT, take, write
from ironic_traits.inventory.holds import mirror_claims
from ironic_traits.inventory.mirrored import (
    mirror_deletions,
    mirror_leftovers,
    mirror_written_traits,
    mirrored_allocations,
)
from ironic_traits.inventory.traits import node_traits, trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching.sources import MIRROR, OPERATOR, Edit, Traits

_NODES = tables.nodes
_STATE = (
    *(_NODES.c[name] for name in ('provision_state', 'instance_uuid', 'reservation', 'driver', 'created_at')),
    MOMENT,
)


def mirrored(context: Context, clouds: Sequence[str], *conditions: Condition) -> list[str]:
    """Return the uuids of mirrored nodes, in the order in which they were created in this service.

    :param clouds: names of clouds; empty for all.
    """
    condition = _NODES.c.origin.in_(clouds) if clouds else _NODES.c.origin.is_not(None)
    with context.read() as connection:
        return list(connection.scalars(sa.select(_NODES.c.uuid).where(condition, *conditions).order_by(_NODES.c.id)))


@retried
def _adopt(context: Context, ident: str, writer_id: int) -> sa.Row:
    with context.write() as connection:
        node = take(connection, ident, *_STATE)
        origins.check_mirrored(node)
        if node.reservation or node.provision_state in (*states.WORKING, *states.WAITING):
            state = node.provision_state
            reason = f'Node {node.uuid} cannot be adopted while work on it is in progress; it is in state "{state}".'
            raise failures.InvalidState(reason=reason)
        mirror_leftovers.keep(connection, node)
        # If the node's allocation is not stored in this service, its instance still holds the node.
        changes = {'origin': None, 'origin_conductor': None, 'allocation_uuid': None}
        changes |= mirrored_allocations.adopt(connection, node)
        changes |= mirror_claims.adopt(connection, node)
        write(connection, node, changes)
        mirror_written_traits.forget(connection, node.id)
        stored = trait_store.read_many(connection, context.service.writers, [node.id])[node.id]
        edit = _renamed(stored.traits, MIRROR + node.origin, Hold(writer_id, node.moment))
        if edit.changes:
            edits = [NodeEdit(node, stored, edit)]
            node_traits.store(connection, edits, node_traits.entries(context, OPERATOR, node.moment, edits))
        event = f'The node was adopted. Before, it was mirrored from cloud {node.origin}.'
        history.record(connection, history.entry(context, node.uuid, node.moment, history.NODE, event))
        return node


def adopt(context: Context, ident: str) -> sa.Row:
    """Make a mirrored node this service's own. The operator then holds the traits that its cloud held.

    :returns: row with ``uuid`` and ``driver``.
    :raises failures.InvalidState: the node is not mirrored, or work on it is in progress in its cloud.
    """
    return _adopt(context, ident, context.service.writers.id_of(context, OPERATOR))


@retried
def forget(context: Context, ident: str) -> str:
    """Remove a mirrored node, and return its uuid.

    :raises failures.InvalidState: the node is not mirrored, or it is held in this service.
    """
    with context.write() as connection:
        node = take(connection, ident, *_STATE)
        origins.check_mirrored(node)
        reason = mirror_deletions.holder(connection, node)
        claim = mirror_claims.open_claim(connection, node.uuid)
        if claim and not reason:
            reason = f'It is held in cloud {node.origin} for instance {claim.instance_uuid}, which is being undone.'
        if reason:
            raise failures.InvalidState(
                reason=f'Node {node.uuid} cannot be removed while it is held in this service: {reason}'
            )
        mirror_deletions.remove(context, connection, node, node.moment, None)
        return node.uuid


@retried
def forget_cloud(context: Context, name: str) -> bool:
    """Delete the data of a cloud without mirrored nodes, unless a mirror follows it. Return whether it was deleted."""
    columns = tables.mirror_clouds.c
    has_nodes = sa.exists().where(_NODES.c.origin == columns.name)
    with context.write() as connection:
        moment = read_clock(connection)
        is_free = sa.or_(columns.leased_until.is_(None), columns.leased_until <= moment)
        statement = sa.delete(tables.mirror_clouds).where(columns.name == name, is_free, ~has_nodes)
        is_deleted = bool(connection.execute(statement).rowcount)
        if is_deleted:
            allocations = tables.node_allocations
            connection.execute(sa.delete(allocations).where(allocations.c.origin == name))
        return is_deleted


def _renamed(before: Traits, source: str, hold: Hold) -> Edit:
    """Return the edit that gives the operator the traits that a source held."""
    holders = {}
    for trait, holds in before.holders.items():
        kept = {name: each for name, each in holds.items() if name != source}
        is_new = source in holds and OPERATOR not in holds
        # The operator takes the place of the source: the source that has held a trait the longest comes first.
        holders[trait] = {OPERATOR: hold, **kept} if is_new and next(iter(holds)) == source else kept
        if is_new:
            holders[trait].setdefault(OPERATOR, hold)
    return Edit(before, Traits(holders, before.vetoes))
