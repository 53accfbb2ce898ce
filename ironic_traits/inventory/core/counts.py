"""Counts of nodes and reservations, for metrics."""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.inventory.core.eligibility import EXPIRED


def nodes_by_state(service: Reader) -> Sequence[sa.Row]:
    """Count the nodes of each provision state, in maintenance and not.

    :returns: [row with ``provision_state``, ``maintenance`` and ``number`` of nodes, …].
    """
    state = (tables.nodes.c.provision_state, tables.nodes.c.maintenance)
    with service.read() as connection:
        return connection.execute(sa.select(*state, sa.func.count().label('number')).group_by(*state)).all()


def reservations_by_life(service: Reader) -> dict[str, int]:
    """Count the live reservations, and the expired ones that are not deleted yet.

    :returns: {'live': number of reservations, 'expired': number of reservations}.
    """
    expired = sa.func.count(sa.case((EXPIRED, 1)))
    with service.read() as connection:
        row = connection.execute(
            sa.select(sa.func.count().label('all'), expired.label('expired')).select_from(tables.reservations)
        ).one()
    return {'live': row.all - row.expired, 'expired': row.expired}
