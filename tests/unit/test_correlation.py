"""The check of subqueries in ``tests.correlation``."""

import pytest
import sqlalchemy as sa

from ironic_traits.db.models import allocations, nodes, reservations, resource_providers
from tests.correlation import NotCorrelated

_OF_PROVIDER = allocations.c.resource_provider_id == resource_providers.c.id


def _reserved(is_allocated):
    """Return a SELECT of the providers that have a reservation and no allocation.

    :param is_allocated: EXISTS clause for an allocation.
    """
    is_reserved = sa.exists().where(reservations.c.node_uuid == resource_providers.c.uuid, ~is_allocated)
    return sa.select(resource_providers.c.id).where(is_reserved.correlate(resource_providers))


def test_a_subquery_that_is_not_correlated():
    with pytest.raises(NotCorrelated, match='resource_providers'):
        str(_reserved(sa.exists().where(_OF_PROVIDER)))


def test_correlated_subqueries():
    str(_reserved(sa.exists().where(_OF_PROVIDER).correlate(resource_providers)))
    other = resource_providers.alias()
    str(_reserved(sa.exists().where(allocations.c.resource_provider_id == other.c.id)))
    one = sa.select(nodes.c.id)
    str(one.union_all(one))
    str(sa.update(nodes).where(sa.exists().where(reservations.c.node_uuid == nodes.c.uuid)).values(name=None))
