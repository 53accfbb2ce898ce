"""The check of subqueries finds what it is for."""

import pytest
import sqlalchemy as sa

from ironic_traits.db.models import allocations, nodes, reservations, resource_providers
from tests.correlation import NotCorrelated

_HERE = allocations.c.resource_provider_id == resource_providers.c.id


def _held(allocated):
    """SELECT the providers that have a reservation and no allocation."""
    held = sa.exists().where(reservations.c.node_uuid == resource_providers.c.uuid, ~allocated)
    return sa.select(resource_providers.c.id).where(held.correlate(resource_providers))


def test_a_subquery_that_is_not_correlated():
    with pytest.raises(NotCorrelated, match='resource_providers'):
        str(_held(sa.exists().where(_HERE)))


def test_subqueries_that_are():
    str(_held(sa.exists().where(_HERE).correlate(resource_providers)))
    other = resource_providers.alias()
    str(_held(sa.exists().where(allocations.c.resource_provider_id == other.c.id)))
    one = sa.select(nodes.c.id)
    str(one.union_all(one))
    str(sa.update(nodes).where(sa.exists().where(reservations.c.node_uuid == nodes.c.uuid)).values(name=None))
