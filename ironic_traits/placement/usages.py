"""Usages: the used amounts of a provider's inventories, and of a project's consumers."""

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.placement import inventory_usage
from ironic_traits.placement.single_provider import read


def provider_usage(context: Context, uuid: str) -> tuple[sa.Row, dict[str, int]]:
    """Return the usage of a provider.

    :returns: (row of the provider, {resource class of each of its inventories: used amount}).
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        rows = inventory_usage.rows_of(connection, [provider.id])
        return provider, {row.resource_class: int(row.used) for row in rows}


def project_usage(context: Context, project_id: str, user_id: str | None = None) -> dict[str, int]:
    """Return the usage of a project's consumers.

    :param project_id: of the consumers.
    :param user_id: only consumers of this user; None for all.
    :returns: {resource class: used amount}.
    """
    statement = sa.select(tables.resource_classes.c.name, sa.func.sum(tables.allocations.c.used).label('used'))
    with context.read() as connection:
        rows = connection.execute(_by_class(statement, project_id, user_id).group_by(tables.resource_classes.c.name))
        return {row.name: int(row.used) for row in rows}


def by_type(
    context: Context, project_id: str, user_id: str | None = None, consumer_type: str | None = None
) -> dict[str, dict[str, int]]:
    """Return the usage of a project's consumers by consumer type.

    :param project_id: of the consumers.
    :param user_id: only consumers of this user; None for all.
    :param consumer_type: only consumers of this type; 'unknown' for consumers without a type; 'all' for all consumers
        as one type; None for all types.
    :returns: {type: {'consumer_count': number of consumers, resource class: used amount, …}}.
    """
    name = sa.func.coalesce(tables.consumers.c.consumer_type, 'unknown').label('type')
    if consumer_type == 'all':
        name = sa.literal('all').label('type')
    used = _by_class(
        sa.select(name, tables.resource_classes.c.name, sa.func.sum(tables.allocations.c.used).label('used')),
        project_id,
        user_id,
    ).group_by('type', tables.resource_classes.c.name)
    counted = _of_project(
        sa.select(name, sa.func.count().label('consumers')).select_from(tables.consumers), project_id, user_id
    ).group_by('type')
    counted = counted.where(sa.exists().where(tables.allocations.c.consumer_id == tables.consumers.c.id))
    if consumer_type not in (None, 'all'):
        of_type = sa.func.coalesce(tables.consumers.c.consumer_type, 'unknown') == consumer_type
        used, counted = used.where(of_type), counted.where(of_type)
    with context.read() as connection:
        usages = {row.type: {'consumer_count': row.consumers} for row in connection.execute(counted)}
        for row in connection.execute(used):
            # The type may be missing: its first consumer may have been created between the two statements.
            usages.setdefault(row.type, {'consumer_count': 1})[row.name] = int(row.used)
        return usages


def _by_class(statement: sa.Select, project_id: str, user_id: str | None) -> sa.Select:
    joined = (
        statement.select_from(tables.allocations)
        .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
        .join(tables.resource_classes, tables.resource_classes.c.id == tables.allocations.c.resource_class_id)
    )
    return _of_project(joined, project_id, user_id)


def _of_project(statement: sa.Select, project_id: str, user_id: str | None) -> sa.Select:
    conditions = [tables.consumers.c.project_id == project_id] + (
        [tables.consumers.c.user_id == user_id] if user_id else []
    )
    return statement.where(*conditions)
