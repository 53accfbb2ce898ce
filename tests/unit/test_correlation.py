"""The check of subqueries in ``tests.support.correlation``."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.correlation import NotCorrelated

_OF_PROVIDER = tables.allocations.c.resource_provider_id == tables.resource_providers.c.id


def _reserved(is_allocated):
    """Return a SELECT of the providers that have a reservation and no allocation.

    :param is_allocated: EXISTS clause for an allocation.
    """
    is_reserved = sa.exists().where(tables.reservations.c.node_uuid == tables.resource_providers.c.uuid, ~is_allocated)
    return sa.select(tables.resource_providers.c.id).where(is_reserved.correlate(tables.resource_providers))


def test_a_subquery_that_is_not_correlated():
    with pytest.raises(NotCorrelated, match='resource_providers'):
        str(_reserved(sa.exists().where(_OF_PROVIDER)))


def test_correlated_subqueries():
    str(_reserved(sa.exists().where(_OF_PROVIDER).correlate(tables.resource_providers)))
    other = tables.resource_providers.alias()
    str(_reserved(sa.exists().where(tables.allocations.c.resource_provider_id == other.c.id)))
    one = sa.select(tables.nodes.c.id)
    str(one.union_all(one))
    str(
        sa.update(tables.nodes)
        .where(sa.exists().where(tables.reservations.c.node_uuid == tables.nodes.c.uuid))
        .values(name=None)
    )
