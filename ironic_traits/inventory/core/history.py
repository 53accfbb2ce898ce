"""The history of nodes: an entry for each event, written in the transaction of the event.

An entry has the uuid of its node, so it remains when the node is deleted. The entries of a node are inserted under the
node's lock: their ids are in the order of the events, even if the clock is changed. (Only the entry of an expired
reservation needs no lock. Its place among the others does not matter.)
"""

import datetime
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.inventory.core import node_filters, single_node
from ironic_traits.inventory.core.eligibility import moment_text
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.matching.sources import RULE, RULES, Edit

#: The types of events: those of Ironic, and those that this service adds.
PROVISIONING, POWER, MAINTENANCE, RESERVATION, NODE, TRAIT, INSPECTION = EVENT_TYPES = (
    'provisioning',
    'power',
    'maintenance',
    'reservation',
    'node',
    'trait',
    'inspection',
)
SEVERITIES = INFO, WARNING, ERROR = 'INFO', 'WARNING', 'ERROR'
#: The event of the first entry of a node. A deleted node may be created again, with the same uuid.
CREATED = 'The node was created.'

#: Condition on entries.
IS_CREATION = sa.and_(tables.node_history.c.event_type == NODE, tables.node_history.c.event == CREATED)

_INSERT = sa.insert(tables.node_history)
_INSERT_NOW = _INSERT.values(created_at=clock())
#: The columns that only some entries have. In the rows of one INSERT, all columns must be there.
_FURTHER = dict.fromkeys(
    ('conductor', 'provision_state', 'target_provision_state', 'duration_seconds', 'source', 'added', 'removed')
)

#: The columns of an entry that readers get.
_COLUMNS = tuple(column for column in tables.node_history.c if column.name != 'id')
#: The current name and class of the node of an entry. Subqueries, because with a join, a database might begin with the
#: nodes.
_OF_NODE = tuple(
    sa.select(column)
    .where(tables.nodes.c.uuid == tables.node_history.c.node_uuid)
    .correlate(tables.node_history)
    .scalar_subquery()
    .label(f'node_{column.name}')
    for column in (tables.nodes.c.name, tables.nodes.c.resource_class)
)
#: The policy rule for the history of a node.
GET = 'baremetal:node:history:get'

#: ``entry`` with its first argument, which is the author of events.
Author = Callable[..., Values]


def entry(
    context: Context | None,
    node_uuid: str,
    moment: datetime.datetime | None,
    event_type: str,
    event: str | None,
    **columns: Any,
) -> Values:
    """Return the row of an event.

    :param context: context of the request; None for a worker.
    :param moment: time of the event, by the database's clock; None for the time at which the row is inserted.
    :param event_type: one of EVENT_TYPES.
    :param event: what happened, as a sentence; None for writes of traits.
    :param columns: further columns.
    """
    author = {
        'user_id': context.user_id if context else None,
        'project_id': context.project_id if context else None,
        'request_id': context.request_id if context else None,
    }
    return {
        'uuid': uuidutils.generate_uuid(),
        'node_uuid': node_uuid,
        'created_at': moment,
        'event_type': event_type,
        'severity': INFO,
        'event': event,
        **author,
        **_FURTHER,
        **columns,
    }


def transition(author: Author, node: Any, moment: datetime.datetime, changes: Mapping[str, Any]) -> Values:
    """Return the row of a change of the provision state. It is an error if it sets ``last_error``.

    :param node: row with ``uuid``, ``provision_state``, ``provision_updated_at`` and ``power_state``, before the
        change.
    :param changes: {column of the node: new value}.
    """
    state, power = changes['provision_state'], changes.get('power_state')
    event = f'The provision state changed from "{node.provision_state}" to "{state}".'
    if power and power != node.power_state:
        event += f' The power state changed to "{power}".'
    return _outcome(author, node.uuid, moment, PROVISIONING, event, changes) | {
        'provision_state': state,
        'target_provision_state': changes['target_provision_state'],
        'duration_seconds': _seconds(node.provision_updated_at, moment),
    }


def _seconds(begin: datetime.datetime | None, end: datetime.datetime) -> int | None:
    """Return the whole seconds between two times; None if the first is not known."""
    return None if begin is None else max(int((end - begin).total_seconds()), 0)


def power(author: Author, node: Any, moment: datetime.datetime, event: str, changes: Mapping[str, Any]) -> Values:
    """Return the row of a request for a power state, or of its end. It is an error if it sets ``last_error``.

    :param node: row with ``uuid``.
    :param changes: {column of the node: new value}.
    """
    return _outcome(author, node.uuid, moment, POWER, event, changes)


def _outcome(
    author: Author,
    node_uuid: str,
    moment: datetime.datetime,
    event_type: str,
    event: str,
    changes: Mapping[str, Any],
) -> Values:
    error = changes.get('last_error')
    return author(node_uuid, moment, event_type, error or event, severity=ERROR if error else INFO)


def maintenance(author: Author, node: Any, is_set: bool, reason: str | None) -> Values:
    """Return the row of an event that sets or clears maintenance.

    :param node: row with ``uuid`` and ``moment``.
    """
    event = f'Maintenance was set{f": {reason}" if reason else "."}' if is_set else 'Maintenance was cleared.'
    return author(node.uuid, node.moment, MAINTENANCE, event)


def trait_edit(
    author: Author,
    node_uuid: str,
    moment: datetime.datetime,
    source: str,
    added: Iterable[str],
    removed: Iterable[str],
) -> Values:
    """Return the row of a write of traits.

    :param added: the traits that the node did not have before; empty if only the sources changed.
    :param removed: the traits that the node no longer has.
    """
    changes = {'added': ','.join(sorted(added)), 'removed': ','.join(sorted(removed))}
    return author(node_uuid, moment, TRAIT, None, source=source, **changes)


def rules_edit(author: Author, node_uuid: str, moment: datetime.datetime, changed: Sequence[str], edit: Edit) -> Values:
    """Return the row of a write of traits by inspection rules.

    :param changed: the sources whose traits have changed, at least one.
    """
    if len(changed) == 1:
        return trait_edit(author, node_uuid, moment, changed[0], edit.added, edit.removed)
    row = trait_edit(author, node_uuid, moment, RULES, edit.added, edit.removed)
    names = ', '.join(source.removeprefix(RULE) for source in changed)
    return row | {'event': f'Rules {names}: {_changes(row["added"], row["removed"])}.'}


def event(row: sa.Row) -> str:
    """Return what happened, as a sentence.

    :param row: an entry. If it has no text, because one source has written traits, its columns make the sentence.
    """
    return row.event if row.event is not None else f'Source {row.source}: {_changes(row.added, row.removed)}.'


def _changes(added: str, removed: str) -> str:
    """Return what a write of traits changed, as a part of a sentence.

    :param added: names, joined by commas.
    :param removed: names, joined by commas.
    """
    edits = (('added', added), ('removed', removed))
    changes = [f'{verb} {names.replace(",", ", ")}' for verb, names in edits if names]
    return '; '.join(changes) or 'no change of the effective traits'


def record(connection: sa.Connection, *entries: Values) -> None:
    """Insert entries.

    :param connection: connection of a writer that has taken the locks of their nodes.
    :param entries: rows as ``entry`` returns them, all of them with a moment, or all without.
    """
    joined.execute(connection, writes(*entries))


def writes(*entries: Values) -> Iterator[Write]:
    """Yield the writes that insert entries, as ``record``."""
    if not entries:
        return
    is_now = entries[0]['created_at'] is None
    rows = [_without_moment(each) for each in entries] if is_now else list(entries)
    if len(rows) > 1:
        yield Write(_INSERT_NOW if is_now else _INSERT, rows)
        return
    # A single row is inserted without its NULLs, which is quicker: there are fewer parameters.
    row = {name: value for name, value in rows[0].items() if value is not None}
    yield Write(_insert_one(tuple(row), is_now), {f'entry_{name}': value for name, value in row.items()})


@functools.cache
def _insert_one(names: tuple[str, ...], is_now: bool) -> sa.Insert:
    columns = {name: sa.bindparam(f'entry_{name}', type_=tables.node_history.c[name].type) for name in names}
    # Without inline(), SQLAlchemy would fetch the id of the row.
    return (_INSERT_NOW if is_now else _INSERT).values(columns).inline()


def _without_moment(row: Values) -> Values:
    return {name: value for name, value in row.items() if name != 'created_at'}


def node_history(context: Context, grant: Grant, page: Page) -> Rows:
    """List the history of a node, the oldest entry first.

    :returns: rows with all columns but the id.
    :raises failures.HistoryNotFound: the marker is not an entry of the node.
    """
    with context.read() as connection:
        same_node = _same_node(connection, grant.ident)
        marker = functools.partial(_read, connection, same_node)
        return fetch(connection, sa.select(*_COLUMNS).where(same_node), tables.node_history, page, marker)


def get(context: Context, grant: Grant, uuid: str) -> sa.Row:
    """Return an entry in the history of a node.

    :returns: a row with all columns but the id.
    :raises failures.HistoryNotFound: the node has no such entry.
    """
    with context.read() as connection:
        return _read(connection, _same_node(connection, grant.ident), uuid, _COLUMNS)


def find(context: Context, grant: Grant, filters: Mapping[str, Any], page: Page) -> Rows:
    """List the histories of nodes.

    A caller who may see all nodes and all histories also sees the entries of deleted nodes. Other callers see the
    entries of the nodes whose histories their project may see.

    :param filters: {'since' or 'until': datetime, 'node': uuid or name, 'trait': names of which one was added or
        removed, 'source', 'event_type' or 'severity': value}, all optional.
    :returns: rows with all columns but the id, and ``node_name`` and ``node_resource_class``: those that the node has
        now; None if it has none, or is deleted.
    :raises failures.NodeNotFound: the node of the filter does not exist, or the caller may not see it.
    :raises failures.InvalidInput: ``since`` or ``until`` is in the future.
    :raises failures.HistoryNotFound: the marker does not exist, or the caller may not see it.
    """
    visible = _visible(context, grant)
    with context.read() as connection:
        conditions = [*_of_nodes(visible), *_where(connection, filters, visible)]
        marker = functools.partial(_read, connection, sa.and_(sa.true(), *_of_nodes(visible)))
        return fetch(connection, sa.select(*_COLUMNS, *_OF_NODE).where(*conditions), tables.node_history, page, marker)


def check_past(connection: sa.Connection, name: str, moment: datetime.datetime) -> None:
    """Raise InvalidInput if a time is in the future, by the database's clock.

    :param name: the query parameter that has the time.
    """
    now = read_clock(connection)
    if moment > now:
        raise failures.InvalidInput(
            reason=f'{name}, {moment_text(moment)}, is in the future: the time is {moment_text(now)}.'
        )


def first_moment(connection: sa.Connection, node_uuid: str) -> datetime.datetime | None:
    """Return when the history of a node begins (of the last node with this uuid); None without entries."""
    columns = tables.node_history.c
    statement = sa.select(columns.created_at).where(columns.node_uuid == node_uuid).limit(1)
    created = connection.scalar(statement.where(IS_CREATION).order_by(columns.id.desc()))
    return created or connection.scalar(statement.order_by(columns.id))


def _same_node(connection: sa.Connection, ident: str) -> Condition:
    node = single_node.read(connection, ident, (tables.nodes.c.uuid,))
    return tables.node_history.c.node_uuid == node.uuid


def _read(connection: sa.Connection, condition: Condition, uuid: str, columns: Columns) -> sa.Row:
    row = connection.execute(sa.select(*columns).where(tables.node_history.c.uuid == uuid, condition)).first()
    if row is None:
        raise failures.HistoryNotFound(history=uuid)
    return row


def _visible(context: Context, grant: Grant) -> list[Condition]:
    """Return the conditions on nodes whose histories the caller may see; [] for all, including deleted nodes.

    :raises failures.Forbidden: the caller has no project, and may not see all histories.
    """
    project = context.project_id
    if not node_filters.visible(context, grant) and context.may(GET):
        return []
    if not project:
        raise context.forbidden(GET)
    roles = [role for role in ('owner', 'lessee') if context.may(GET, {f'node.{role}': project})]
    return [sa.or_(sa.false(), *(tables.nodes.c[role] == project for role in roles))]


def _of_nodes(conditions: list[Condition]) -> list[Condition]:
    """Return the conditions on entries that their nodes fulfil conditions; [] if there are no conditions."""
    uuids = sa.select(tables.nodes.c.uuid).where(*conditions)
    return [tables.node_history.c.node_uuid.in_(uuids)] if conditions else []


def _where(connection: sa.Connection, filters: Mapping[str, Any], visible: list[Condition]) -> Iterator[Condition]:
    """Yield the conditions of the filters of ``find``.

    :param visible: conditions on the nodes that the caller may see; [] for all.
    """
    columns = tables.node_history.c
    for name, value in filters.items():
        if name == 'node':
            yield columns.node_uuid == _node_uuid(connection, value, visible)
        elif name == 'trait':
            yield sa.or_(*(_has(column, each) for each in sorted(value) for column in (columns.added, columns.removed)))
        elif name in ('since', 'until'):
            check_past(connection, name, value)
            yield columns.created_at >= value if name == 'since' else columns.created_at <= value
        else:
            yield columns[name] == value


def _node_uuid(connection: sa.Connection, ident: str, visible: list[Condition]) -> str:
    """Return the uuid of a node. A caller who may see all nodes can also name a deleted node by its uuid."""
    if not visible and uuidutils.is_uuid_like(ident):
        return ident
    return single_node.read(connection, ident, (tables.nodes.c.uuid,), visible).uuid


def _has(names: sa.Column[str], name: str) -> Condition:
    """Return the condition that a name is in a list that is joined by commas."""
    return (sa.literal(',') + names + sa.literal(',')).contains(f',{name},', autoescape=True)
