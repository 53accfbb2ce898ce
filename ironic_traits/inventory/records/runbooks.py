"""Runbooks: steps for cleaning and servicing, for nodes that have one of the runbook's traits."""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures, resources
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import names_in
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.record_kinds import Kind

#: The minor version that brought traits of runbooks.
TRAITS_SINCE = resources.RUNBOOKS['traits'].since
_OF_RUNBOOK = tables.runbook_traits.c.runbook_id == tables.runbooks.c.id
_TRAITS = (
    sa.select(names_in(tables.runbook_traits.c.trait))
    .where(_OF_RUNBOOK)
    .correlate(tables.runbooks)
    .scalar_subquery()
    .label('traits')
)


def _visible(context: Context, grant: Grant) -> list[Condition]:
    """Return the conditions on the runbooks that a caller may see: all, or the public ones and their own.

    :raises failures.Forbidden: the caller may not see all runbooks, and has no project.
    """
    if context.may('baremetal:runbook:list_all'):
        return []
    if not context.project_id:
        raise context.forbidden('baremetal:runbook:list_all')
    return [sa.or_(tables.runbooks.c.owner == context.project_id, tables.runbooks.c.public)]


RUNBOOKS = Kind(
    resource=resources.RUNBOOKS,
    duplicates={'name': 'with name {name}'},
    list_all='baremetal:runbook:list_all',
    computed={'traits': _TRAITS},
    visible=_visible,
)


def owner(context: Context, ident: str) -> sa.Row:
    """Return the columns of a runbook that decide who may see it.

    :returns: a row with ``owner`` and ``public``.
    """
    return _read(context, ident, (tables.runbooks.c.owner, tables.runbooks.c.public))


def expanded(
    connection: sa.Connection, minor: int, node: Values, verb: str, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the arguments of an action, with the steps of a runbook instead of its name.

    :param connection: connection of a writer that has taken the node's lock.
    :param minor: the minor version of the request.
    :param node: the node's columns by name, and ``traits``.
    :param verb: 'clean' or 'service', if the arguments have a runbook.
    :param arguments: {name: value}; ``runbook`` is the uuid or the name of a runbook.
    :raises failures.InvalidInput: the runbook is not for the node.
    """
    if 'runbook' not in arguments:
        return arguments
    names = ('uuid', 'name', 'steps', 'disable_ramdisk')
    columns = (*(tables.runbooks.c[name] for name in names), _TRAITS)
    runbook = records.read(connection, RUNBOOKS, arguments['runbook'], columns)
    reason = _refusal(runbook, node) if minor >= TRAITS_SINCE else _refusal_by_name(runbook, node)
    if reason:
        raise failures.InvalidInput(reason=reason)
    steps = [
        {name: step[name] for name in ('interface', 'step', 'args')}
        for step in sorted(runbook.steps, key=lambda step: step['order'])
    ]
    return {
        **{name: value for name, value in arguments.items() if name != 'runbook'},
        f'{verb}_steps': steps,
        'disable_ramdisk': runbook.disable_ramdisk,
    }


def _refusal(runbook: sa.Row, node: Values) -> str | None:
    """Return why a node cannot be cleaned or serviced with a runbook; None if it can."""
    if not runbook.traits:
        return (
            f'Runbook {runbook.uuid} has no traits configured. Please ask an administrator to add traits to the '
            'runbook.'
        )
    if set(runbook.traits).isdisjoint(node['traits']):
        return (
            f'This runbook has not been approved for use on this node {node["uuid"]}. The node does not have any of '
            f"the runbook's traits {runbook.traits}. Please ask an administrator to add a matching trait to your node."
        )
    return None


def _refusal_by_name(runbook: sa.Row, node: Values) -> str | None:
    """Return the same as ``_refusal`` for versions in which the node must have the runbook's name as a trait."""
    if runbook.name in node['traits']:
        return None
    return (
        f'This runbook has not been approved for use on this node {node["uuid"]}. Please ask an administrator to add '
        'it to your node traits.'
    )


def traits(context: Context, ident: str) -> list[str]:
    """Return the traits of a runbook, sorted."""
    return _read(context, ident, (_TRAITS,)).traits


@waiting_for_lock
@retried
def replace_traits(context: Context, ident: str, names: Iterable[str]) -> None:
    """Replace the traits of a runbook."""
    with context.write() as connection:
        runbook_id = records.lock(connection, RUNBOOKS, ident).id
        connection.execute(_delete(runbook_id))
        _insert(connection, runbook_id, names)


@waiting_for_lock
@retried
def add_trait(context: Context, ident: str, name: str) -> None:
    """Add a trait to a runbook, unless the runbook has it already."""
    with context.write() as connection:
        _insert(connection, records.lock(connection, RUNBOOKS, ident).id, [name])


@waiting_for_lock
@retried
def remove_traits(context: Context, ident: str, name: str | None = None) -> None:
    """Remove a trait from a runbook, if the runbook has it.

    :param name: the trait; None for all traits.
    """
    with context.write() as connection:
        statement = _delete(records.lock(connection, RUNBOOKS, ident).id)
        connection.execute(statement if name is None else statement.where(tables.runbook_traits.c.trait == name))


def _read(context: Context, ident: str, columns: Columns) -> sa.Row:
    with context.read() as connection:
        return records.read(connection, RUNBOOKS, ident, columns)


def _delete(runbook_id: int) -> sa.Delete:
    return sa.delete(tables.runbook_traits).where(tables.runbook_traits.c.runbook_id == runbook_id)


def _insert(connection: sa.Connection, runbook_id: int, names: Iterable[str]) -> None:
    rows = [{'runbook_id': runbook_id, 'trait': name} for name in sorted(set(names))]
    insert_missing(connection, tables.runbook_traits, rows)
