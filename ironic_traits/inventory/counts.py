"""Counts of nodes and reservations, for metrics."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, reservations
from ironic_traits.inventory.eligibility import EXPIRED


def nodes_by_state(service):
    """Count the nodes of each provision state, in maintenance and not.

    :param service: an object with ``read``: ironic_traits.service.Service, for example.
    :returns: [row with ``provision_state``, ``maintenance`` and ``number`` of nodes, …].
    """
    state = (nodes.c.provision_state, nodes.c.maintenance)
    with service.read() as connection:
        return connection.execute(sa.select(*state, sa.func.count().label('number')).group_by(*state)).all()


def reservations_by_life(service):
    """Count the live reservations, and the expired ones that are not deleted yet.

    :param service: an object with ``read``: ironic_traits.service.Service, for example.
    :returns: {'live': number of reservations, 'expired': number of reservations}.
    """
    expired = sa.func.count(sa.case((EXPIRED, 1)))
    with service.read() as connection:
        row = connection.execute(
            sa.select(sa.func.count().label('all'), expired.label('expired')).select_from(reservations)
        ).one()
    return {'live': row.all - row.expired, 'expired': row.expired}
