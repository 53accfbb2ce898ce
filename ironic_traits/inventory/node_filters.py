"""The filters of nodes, as conditions; and which nodes somebody may see at all."""

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db.models import nodes
from ironic_traits.inventory import eligibility


def conditions(filters):
    """Give the conditions that stand for filters.

    :param filters: {column: value} that must be equal, and those of ``_CONDITIONS``.
    :returns: {filter: condition}.
    """
    return {name: _condition(name, value) for name, value in filters.items()}


def visible(context, list_all='baremetal:node:list_all'):
    """Return the conditions on the nodes that the caller may see.

    These are all nodes, or the ones that the caller's project owns or leases.

    :param list_all: the policy rule that allows to see all of them, or what belongs to them.
    :raises failures.Forbidden: the caller may not, and has no project (a token for a domain, for example).
    """
    if context.may(list_all):
        return []
    if not context.project_id:
        raise failures.Forbidden(rule=list_all)
    return [_is_of(context.project_id)]


def seen(context):
    """Give the column that says whether the caller may see a node."""
    return sa.and_(sa.true(), *visible(context)).label('seen')


def _condition(name, value):
    condition = _CONDITIONS.get(name)
    return condition(value) if condition else nodes.c[name] == value


def _is_set(column):
    return lambda value: column.is_not(None) if value else column.is_(None)


def _is_of(project):
    return sa.or_(nodes.c.owner == project, nodes.c.lessee == project)


#: Filters that are more than a column with a value.
_CONDITIONS = {
    'associated': _is_set(nodes.c.instance_uuid),
    'sharded': _is_set(nodes.c.shard),
    'eligible': lambda value: eligibility.ELIGIBLE if value else ~eligibility.ELIGIBLE,
    'reserved': lambda value: eligibility.RESERVED if value else ~eligibility.RESERVED,
    'shard': nodes.c.shard.in_,
    'project': _is_of,
    'description_contains': lambda text: nodes.c.description.icontains(text, autoescape=True),
    # There is one, and who asks for it does not filter.
    'conductor': lambda other: sa.false(),
}
