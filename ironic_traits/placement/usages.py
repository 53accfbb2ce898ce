"""How much of providers is used."""

import sqlalchemy as sa

from ironic_traits.db.models import inventories, nodes, resource_classes, resource_providers
from ironic_traits.inventory.reservations import RESERVED
from ironic_traits.placement.single_provider import read


def of_provider(context, uuid):
    """Give what is used of a provider.

    :returns: (the provider's row, {resource class: amount}, of each class that it has an inventory of).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        statement = _OF_NODE if provider.node_id else _OF_OTHERS
        rows = connection.execute(statement.where(resource_providers.c.id == provider.id))
        return provider, {row.name: row.used for row in rows}


# A live reservation takes the node's one unit.
_OF_NODE = (
    sa.select(resource_classes.c.name, sa.case((RESERVED, 1), else_=0).label('used'))
    .select_from(resource_providers)
    .join(nodes, nodes.c.id == resource_providers.c.node_id)
    .join(resource_classes, resource_classes.c.id == resource_providers.c.resource_class_id)
)
_OF_OTHERS = (
    sa.select(resource_classes.c.name, sa.literal(0).label('used'))
    .select_from(resource_providers)
    .join(inventories, inventories.c.resource_provider_id == resource_providers.c.id)
    .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
)
