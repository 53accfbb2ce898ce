"""The states of claims, and conditions on them: see ``mirror_claims``."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.eligibility import LIVE

_CLAIMS = tables.mirror_claims
TAKING, TAKEN, UNDOING, WATCHED = 'taking', 'taken', 'undoing', 'watched'
#: Conditions on claims: the claim is open (OPEN); the reservation or the allocation that it is for exists (HELD).
OPEN = _CLAIMS.c.state != WATCHED
HELD = sa.or_(
    sa.exists().where(tables.reservations.c.uuid == _CLAIMS.c.holder_uuid, LIVE).correlate(_CLAIMS),
    sa.exists().where(tables.node_allocations.c.uuid == _CLAIMS.c.holder_uuid).correlate(_CLAIMS),
)
#: Condition on claims: the node is, or may be, held on one side only.
UNSETTLED = sa.or_(_CLAIMS.c.state.in_((TAKING, UNDOING)), sa.and_(_CLAIMS.c.state == TAKEN, ~HELD))
