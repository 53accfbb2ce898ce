"""What an instance holds, by whichever door, and whether that still fulfils a request: before it is rebuilt."""

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db.models import (
    allocations,
    consumers,
    nodes,
    reservations,
    resource_provider_traits,
    resource_providers,
    traits,
)
from ironic_traits.inventory import node_filters, node_providers, node_traits
from ironic_traits.inventory.eligibility import OF_NODE
from ironic_traits.matching.rebuilds import Held, check


def fulfil(context, instance, request):
    """Tell whether the providers that an instance holds fulfil a request.

    That a node is full, or could not be had for another reason, does not count: the instance has it.

    :param request: ironic_traits.matching.requests.Request.
    :returns: what ``matching.rebuilds.check`` gives: [{'uuid', 'missing', 'forbidden', …}, …], by uuid.
    :raises failures.InstanceNotFound: it holds nothing that the caller may see.
    """
    with context.read() as connection:
        held = [*_nodes(context, connection, instance), *_others(context, connection, instance)]
    # Of what somebody sees a part of, there is nothing to be said.
    if not held or None in held:
        raise failures.InstanceNotFound(instance=instance)
    return check(request, sorted(held, key=lambda each: each.uuid))


def _nodes(context, connection, instance):
    """Give the nodes that an instance is on, has reserved, or has allocated: with the traits that a deploy checks.

    None stands for one that the caller may not see.
    """
    mine = sa.or_(
        nodes.c.instance_uuid == instance,
        sa.exists().where(OF_NODE, reservations.c.instance_uuid == instance).correlate(nodes),
        node_providers.allocated_to(instance),
    )
    return [
        Held(row.uuid, frozenset(node_traits.split(row.traits)), True) if row.seen else None
        for row in connection.execute(
            sa.select(nodes.c.uuid, node_traits.JOINED, node_filters.seen(context)).where(mine)
        )
    ]


def _others(context, connection, instance):
    """Give the providers that are no nodes.

    Those of the consumers of all projects to whom all nodes are shown, to others those of the own project's.
    """
    whose = [consumers.c.project_id == context.project_id] if node_filters.visible(context) else []
    allocated = (
        sa.select(allocations.c.resource_provider_id)
        .join(consumers, consumers.c.id == allocations.c.consumer_id)
        .where(consumers.c.uuid == instance, *whose)
    )
    columns = (resource_providers.c.uuid, sa.func.aggregate_strings(traits.c.name, ',').label('traits'))
    statement = (
        sa.select(*columns)
        .select_from(resource_providers)
        .outerjoin(resource_provider_traits, resource_provider_traits.c.resource_provider_id == resource_providers.c.id)
        .outerjoin(traits, traits.c.id == resource_provider_traits.c.trait_id)
        .where(resource_providers.c.node_id.is_(None), resource_providers.c.id.in_(allocated))
        .group_by(resource_providers.c.uuid)
    )
    return [Held(row.uuid, frozenset(node_traits.split(row.traits)), False) for row in connection.execute(statement)]
