"""Sharing providers: the trees of all providers in their aggregates can use their inventories."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.placement import trait_conditions

#: The trait of sharing providers.
SHARES = 'MISC_SHARES_VIA_AGGREGATE'


def roots_of_sharing(connection: sa.Connection) -> dict[int, set[str]]:
    """Return the trees that each sharing provider shares with.

    :returns: {id of a sharing provider: {uuid of the root of a provider in one of its aggregates, …}}.
    """
    holders = trait_conditions.existing_holders(connection, [SHARES])
    if not holders:
        return {}
    sharing: dict[int, set[str]] = {}
    # SELECT DISTINCT mine.resource_provider_id, others.root_provider_uuid
    # FROM resource_providers JOIN resource_provider_aggregates AS mine ON mine.resource_provider_id = …id
    # JOIN resource_provider_aggregates AS theirs ON theirs.aggregate_uuid = mine.aggregate_uuid
    # JOIN resource_providers AS others ON others.id = theirs.resource_provider_id
    # WHERE HAS THE TRAIT
    mine, theirs = tables.resource_provider_aggregates.alias(), tables.resource_provider_aggregates.alias()
    others = tables.resource_providers.alias()
    statement = (
        sa.select(mine.c.resource_provider_id, others.c.root_provider_uuid)
        .select_from(tables.resource_providers)
        .join(mine, mine.c.resource_provider_id == tables.resource_providers.c.id)
        .join(theirs, theirs.c.aggregate_uuid == mine.c.aggregate_uuid)
        .join(others, others.c.id == theirs.c.resource_provider_id)
        .where(*trait_conditions.conditions(holders, [[SHARES]]))
        .distinct()
    )
    for row in connection.execute(statement):
        sharing.setdefault(row.resource_provider_id, set()).add(row.root_provider_uuid)
    # A provider without an aggregate, or alone in its aggregates, shares with no other tree.
    return {provider_id: roots for provider_id, roots in sharing.items() if len(roots) > 1}
