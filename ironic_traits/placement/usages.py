"""How much is used: of a provider, by a project."""

import sqlalchemy as sa

from ironic_traits.db.models import allocations, consumers, resource_classes, resource_providers
from ironic_traits.placement import capacity
from ironic_traits.placement.single_provider import read


def of_provider(context, uuid):
    """Give what is used of a provider.

    :returns: (the provider's row, {resource class: amount}, of each class that it has an inventory of).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        rows = capacity.rows(connection, resource_providers.c.id == provider.id)
        return provider, {row.resource_class: int(row.used) for row in rows}


def of_project(context, project_id, user_id=None):
    """Give what the consumers of a project use.

    :param user_id: those of this user alone.
    :returns: {resource class: amount}.
    """
    statement = sa.select(resource_classes.c.name, sa.func.sum(allocations.c.used).label('used'))
    with context.read() as connection:
        rows = connection.execute(_by_class(statement, project_id, user_id).group_by(resource_classes.c.name))
        return {row.name: int(row.used) for row in rows}


def by_type(context, project_id, user_id=None, consumer_type=None):
    """Give what the consumers of a project use, by their types.

    :param user_id: those of this user alone.
    :param consumer_type: those of this type alone; 'unknown' for those without; 'all' for all of them as one.
    :returns: {type: {'consumer_count': number of consumers, resource class: amount, …}}.
    """
    name = sa.func.coalesce(consumers.c.consumer_type, 'unknown').label('type')
    if consumer_type == 'all':
        name = sa.literal('all').label('type')
    used = _by_class(
        sa.select(name, resource_classes.c.name, sa.func.sum(allocations.c.used).label('used')), project_id, user_id
    ).group_by('type', resource_classes.c.name)
    counted = _of_project(
        sa.select(name, sa.func.count().label('consumers')).select_from(consumers), project_id, user_id
    ).group_by('type')
    counted = counted.where(sa.exists().where(allocations.c.consumer_id == consumers.c.id))
    if consumer_type not in (None, 'all'):
        mine = sa.func.coalesce(consumers.c.consumer_type, 'unknown') == consumer_type
        used, counted = used.where(mine), counted.where(mine)
    with context.read() as connection:
        shown = {row.type: {'consumer_count': row.consumers} for row in connection.execute(counted)}
        for row in connection.execute(used):
            # Between the two statements one may have come to be.
            shown.setdefault(row.type, {'consumer_count': 1})[row.name] = int(row.used)
        return shown


def _by_class(statement, project_id, user_id):
    joined = (
        statement.select_from(allocations)
        .join(consumers, consumers.c.id == allocations.c.consumer_id)
        .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    )
    return _of_project(joined, project_id, user_id)


def _of_project(statement, project_id, user_id):
    conditions = [consumers.c.project_id == project_id] + ([consumers.c.user_id == user_id] if user_id else [])
    return statement.where(*conditions)
