"""Checks before a rebuild whether the providers that an instance holds still fulfil a request.

An instance holds a provider if it is deployed on it, has reserved it, or has an allocation of it.
"""

from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.types import names_in
from ironic_traits.inventory.core import node_consumers, node_filters, trait_filters
from ironic_traits.inventory.core.eligibility import OF_NODE
from ironic_traits.matching.rebuilds import HeldProvider, check
from ironic_traits.matching.requests import Request


def fulfil(context: Context, instance: str, request: Request) -> list[dict[str, Any]]:
    """Check whether the providers that an instance holds fulfil a request.

    Only traits count. Capacity and eligibility do not, because the instance has the providers already.

    :param instance: uuid.
    :returns: the result of ``matching.rebuilds.check``, [{'uuid', 'missing', 'forbidden', …}, …], sorted by uuid.
    :raises failures.InstanceNotFound: the instance holds no provider, or a node that the caller may not see.
    """
    with context.read() as connection:
        held = [*_nodes(context, connection, instance), *_others(context, connection, instance)]
    visible = [each for each in held if each]
    # A check of only some of the providers could be wrong.
    if not held or len(visible) < len(held):
        raise failures.InstanceNotFound(instance=instance)
    return check(request, sorted(visible, key=lambda each: each.uuid))


def _nodes(context: Context, connection: sa.Connection, instance: str) -> list[HeldProvider | None]:
    """Return the nodes that an instance is deployed on, has reserved, or has an allocation of.

    :returns: [HeldProvider, …] with the node's own traits, which a deploy checks. An item is None if the caller may not
        see the node.
    """
    held_by_instance = sa.or_(
        tables.nodes.c.instance_uuid == instance,
        sa.exists().where(OF_NODE, tables.reservations.c.instance_uuid == instance).correlate(tables.nodes),
        node_consumers.allocated_to(instance),
    )
    return [
        HeldProvider(row.uuid, frozenset(row.traits), True) if row.seen else None
        for row in connection.execute(
            sa.select(tables.nodes.c.uuid, trait_filters.JOINED, node_filters.seen(context)).where(held_by_instance)
        )
    ]


def _others(context: Context, connection: sa.Connection, instance: str) -> list[HeldProvider]:
    """Return the providers other than nodes that an instance has allocations of, as [HeldProvider, …].

    A caller who may see all nodes may name a consumer of any project, other callers only one of their own project.
    """
    whose = [tables.consumers.c.project_id == context.project_id] if node_filters.visible(context, Grant(())) else []
    allocated = (
        sa.select(tables.allocations.c.resource_provider_id)
        .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
        .where(tables.consumers.c.uuid == instance, *whose)
    )
    columns = (tables.resource_providers.c.uuid, names_in(tables.traits.c.name).label('traits'))
    statement = (
        sa.select(*columns)
        .select_from(tables.resource_providers)
        .outerjoin(
            tables.resource_provider_traits,
            tables.resource_provider_traits.c.resource_provider_id == tables.resource_providers.c.id,
        )
        .outerjoin(tables.traits, tables.traits.c.id == tables.resource_provider_traits.c.trait_id)
        .where(tables.resource_providers.c.node_id.is_(None), tables.resource_providers.c.id.in_(allocated))
        .group_by(tables.resource_providers.c.uuid)
    )
    return [HeldProvider(row.uuid, frozenset(row.traits), False) for row in connection.execute(statement)]
