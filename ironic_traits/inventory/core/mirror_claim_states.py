"""The states of claims, and conditions on them: see ``mirror_claims``."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.core.eligibility import LIVE

_CLAIMS = tables.mirror_claims
TAKING, TAKEN, UNDOING, WATCHED, LOST = 'taking', 'taken', 'undoing', 'watched', 'lost'
#: Condition on claims: the node is allocated to the instance in Placement.
ALLOCATED = (
    sa.exists()
    .where(
        tables.consumers.c.uuid == _CLAIMS.c.instance_uuid,
        tables.allocations.c.consumer_id == tables.consumers.c.id,
        tables.resource_providers.c.id == tables.allocations.c.resource_provider_id,
        tables.resource_providers.c.uuid == _CLAIMS.c.node_uuid,
    )
    .correlate(_CLAIMS)
)
#: Conditions on claims: the claim is open (OPEN); the reservation or the allocation that it is for exists, or the
#: instance has an allocation in Placement (HELD).
OPEN = _CLAIMS.c.state.not_in((WATCHED, LOST))
HELD = sa.or_(
    sa.exists().where(tables.reservations.c.uuid == _CLAIMS.c.holder_uuid, LIVE).correlate(_CLAIMS),
    sa.exists().where(tables.node_allocations.c.uuid == _CLAIMS.c.holder_uuid).correlate(_CLAIMS),
    ALLOCATED,
)
#: Condition on claims: the node is held only in this service or only in its cloud, or may be.
UNSETTLED = sa.or_(_CLAIMS.c.state.in_((TAKING, UNDOING)), sa.and_(_CLAIMS.c.state == TAKEN, ~HELD))
_HAS_INSTANCE = sa.exists().where(
    tables.nodes.c.uuid == _CLAIMS.c.node_uuid, tables.nodes.c.instance_uuid == _CLAIMS.c.instance_uuid
)
#: Condition on claims: an allocation in Placement holds the node in this service, and the node is not held in its cloud
#: any more.
HELD_HERE_ONLY = sa.and_(_CLAIMS.c.state == LOST, ALLOCATED, ~_HAS_INSTANCE.correlate(_CLAIMS))
