"""Allocations of mirrored nodes that must be held in their cloud first (``[mirror] claims``).

The claim that holds the node there is taken by a reservation: see ``ironic_traits/mirror/cloud_holder.py``.
"""

from collections.abc import Callable, Iterable, Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.core.mirror_claim_states import OPEN, TAKEN
from ironic_traits.placement import failures
from ironic_traits.placement.consumers import Demand

_NODES, _CLAIMS = tables.nodes, tables.mirror_claims
#: Function from the name of a cloud to whether its nodes must be held there before they are allocated here.
NeedsClaim = Callable[[str], bool]


def never(cloud: str) -> bool:
    """Return False: the nodes of no cloud need a claim."""
    return False


def missing(connection: sa.Connection, demands: Iterable[Demand], needs_claim: NeedsClaim) -> list[tuple[str, sa.Row]]:
    """Return the nodes that must be held in their clouds before demands are written.

    :returns: [(uuid of the consumer, row of the node), …]. The node has no instance, and is not allocated to the
        consumer yet.
    """
    return [
        (consumer, node)
        for consumer, node in _mirrored(connection, demands, needs_claim)
        if node.instance_uuid is None and not _is_allocated(connection, consumer, node)
    ]


def check(connection: sa.Connection, demands: Iterable[Demand], needs_claim: NeedsClaim) -> None:
    """Raise NodeNotHeld unless the nodes in demands are held in their clouds for the consumers.

    A node with another instance is left to the check of its capacity.

    :param connection: of a writer that has taken the locks of the nodes. It locks the claims of the nodes, so that they
        are not given back before it has committed.
    """
    for consumer, node in _mirrored(connection, demands, needs_claim):
        held = sa.select(_CLAIMS.c.state).where(
            _CLAIMS.c.node_uuid == node.uuid, _CLAIMS.c.instance_uuid == consumer, OPEN
        )
        state = connection.scalar(held.with_for_update())
        if state is None and node.instance_uuid is None and not _is_allocated(connection, consumer, node):
            raise failures.NodeNotHeld(node=node.uuid, cloud=node.origin, reason='it is not held there')
        if state not in (None, TAKEN):
            reason = 'the end of an attempt before this one is not known yet'
            raise failures.NodeNotHeld(node=node.uuid, cloud=node.origin, reason=reason)


def _mirrored(
    connection: sa.Connection, demands: Iterable[Demand], needs_claim: NeedsClaim
) -> Sequence[tuple[str, sa.Row]]:
    """Return the mirrored nodes in demands that need a claim, [(uuid of the consumer, row), …]."""
    if needs_claim is never:
        return []
    pairs = [(demand.consumer, uuid) for demand in demands for uuid in demand.resources]
    columns = _NODES.c.uuid, _NODES.c.origin, _NODES.c.instance_uuid
    statement = sa.select(*columns).where(_NODES.c.uuid.in_({uuid for _, uuid in pairs}), _NODES.c.origin.is_not(None))
    rows = {row.uuid: row for row in connection.execute(statement) if needs_claim(row.origin)} if pairs else {}
    return [(consumer, rows[uuid]) for consumer, uuid in pairs if uuid in rows]


def _is_allocated(connection: sa.Connection, consumer: str, node: sa.Row) -> bool:
    statement = (
        sa.select(tables.allocations.c.consumer_id)
        .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
        .join(tables.resource_providers, tables.resource_providers.c.id == tables.allocations.c.resource_provider_id)
        .where(tables.consumers.c.uuid == consumer, tables.resource_providers.c.uuid == node.uuid)
    )
    return connection.scalar(statement.limit(1)) is not None
