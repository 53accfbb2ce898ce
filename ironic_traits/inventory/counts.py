"""How many there are of what, for those who watch the service."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, reservations
from ironic_traits.inventory.eligibility import EXPIRED


def nodes_by_state(service):
    """Count nodes.

    :param service: what has ``read``.
    :returns: rows of ``provision_state``, ``maintenance`` and ``number``.
    """
    state = (nodes.c.provision_state, nodes.c.maintenance)
    with service.read() as connection:
        return connection.execute(sa.select(*state, sa.func.count().label('number')).group_by(*state)).all()


def reservations_by_life(service):
    """Count reservations.

    :param service: what has ``read``.
    :returns: {'live': how many hold a node, 'expired': how many do not any more, and have not been deleted}.
    """
    expired = sa.func.count(sa.case((EXPIRED, 1)))
    with service.read() as connection:
        row = connection.execute(
            sa.select(sa.func.count().label('all'), expired.label('expired')).select_from(reservations)
        ).one()
    return {'live': row.all - row.expired, 'expired': row.expired}
