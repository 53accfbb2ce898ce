"""Deploy templates: deploy steps for instances that require a trait. The trait is the name of the template."""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits import resources
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy import base, steps
from ironic_traits.inventory.records.record_kinds import Kind

DEPLOY_TEMPLATES = Kind(resource=resources.DEPLOY_TEMPLATES, duplicates={'name': 'with name {name}'})


def names(context: Reader, traits: Sequence[str]) -> list[str]:
    """Return the traits that are names of deploy templates, sorted."""
    if not traits:
        return []
    name = tables.deploy_templates.c.name
    with context.read() as connection:
        return list(connection.scalars(sa.select(name).where(name.in_(traits)).order_by(name)))


def steps_of(context: Context, node: Values) -> list[Values]:
    """Return the steps that deploy templates contribute to the deploy of a node.

    :param node: the node's columns by name.
    :returns: [{'interface': …, 'step': …, 'args': …, 'priority': …}, …].
    :raises base.WorkRefused: the steps contradict each other, or the node does not support them.
    """
    with context.read() as connection:
        templates = node_templates(connection, node)
    problem = errors(context, node, templates)
    if problem:
        raise base.WorkRefused(f'Cannot get deploy steps; failed to deploy: {problem}')
    return _steps(templates)


def errors(context: Context, node: Values, templates: Sequence[sa.Row]) -> str:
    """Return why a node cannot be deployed with deploy templates, as Ironic's message; '' if there is no error.

    :param node: the node's columns by name.
    :param templates: the result of ``node_templates``.
    """
    problem = steps.errors(context.service.drivers.get(node['driver']), node, 'deploy', _steps(templates))
    if not problem:
        return ''
    return (
        "Validation of deploy steps from deploy templates matching this node's instance traits failed. Matching "
        f'deploy templates: {",".join(each.name for each in templates)}. Errors: {problem}'
    )


def _steps(templates: Sequence[sa.Row]) -> list[Values]:
    return [step for template in templates for step in template.steps]


def node_templates(connection: sa.Connection, node: Values) -> list[sa.Row]:
    """Return the deploy templates for the deploy of a node: those that ``instance_info['traits']`` names.

    :param node: the node's columns by name.
    :returns: [row with ``name`` and ``steps``, …], sorted by name.
    """
    traits = node['instance_info'].get('traits')
    if not isinstance(traits, list) or not traits:
        return []
    table = tables.deploy_templates
    # deploy/instance_traits.py refuses names that are not strings or not traits.
    requested = [name for name in traits if isinstance(name, str)]
    statement = sa.select(table.c.name, table.c.steps).where(table.c.name.in_(requested))
    return list(connection.execute(statement.order_by(table.c.name)))
