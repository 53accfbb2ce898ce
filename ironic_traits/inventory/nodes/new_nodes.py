"""Creates many nodes with their traits, ports and other records in a few statements, for imports.

The caller makes the checks that ``nodes.create``, ``records.create`` and so on make before they write. If the creation
of a node depends on other rows, ``Unusual`` is raised, and the caller creates the nodes one by one.
"""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core import history, node_providers
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.inventory.records.records import stored
from ironic_traits.inventory.traits.trait_store import Hold


class Unusual(Exception):
    """The nodes cannot be created in bulk. The caller creates them one by one, which may raise specific failures."""


@dataclasses.dataclass(frozen=True)
class NewNode:
    """A node to create.

    :ivar row: {column: value} of all columns but the id.
    :ivar traits: {source: [trait, …]}: valid traits without duplicates.
    :ivar records: [(Kind, {column: value} of all columns of a record but the id), …]. A record comes before those that
        refer to it.
    """

    row: Values
    traits: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    records: list[tuple[Kind, Values]] = dataclasses.field(default_factory=list)


def create(context: Context, connection: sa.Connection, new_nodes: Sequence[NewNode]) -> None:
    """Insert nodes with their providers, traits, records and the first entries of their histories.

    :param context: context of the import.
    :param connection: connection of a writer, in a savepoint: the caller rolls back to it after a failure.
    :param new_nodes: [NewNode, …], all with the same columns.
    :raises Unusual: a unique value is in use, a row refers to one that does not exist, or a provider has the uuid.
    """
    try:
        connection.execute(sa.insert(tables.nodes), [with_masks(tables.nodes, node.row) for node in new_nodes])
        uuids = [node.row['uuid'] for node in new_nodes]
        rows = connection.execute(
            sa.select(tables.nodes.c.uuid, tables.nodes.c.id).where(tables.nodes.c.uuid.in_(uuids))
        )
        ids = {row.uuid: row.id for row in rows}
        if node_providers.existing_providers(connection, uuids):
            raise Unusual
        change_feed.record(connection, change_feed.NODE, uuids)
        node_providers.create_all(connection, [(ids[node.row['uuid']], node.row) for node in new_nodes])
        moment = read_clock(connection)
        holds = {
            source: Hold(context.service.writers.id_of(context, source), moment)
            for source in {source for node in new_nodes for source in node.traits}
        }
        _insert_traits(connection, [(ids[node.row['uuid']], node.traits) for node in new_nodes], holds)
        history.record(connection, *_events(context, new_nodes, moment))
        _insert_records(connection, [record for node in new_nodes for record in node.records])
    except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError, db_exception.RetryRequest) as error:
        raise Unusual from error


def _events(context: Context, new_nodes: Sequence[NewNode], moment: datetime.datetime) -> Iterator[Values]:
    author = functools.partial(history.entry, context)
    for node in new_nodes:
        yield nodes.created(context, node.row, moment)
        added: set[str] = set()
        for source, node_names in node.traits.items():
            yield history.trait_edit(
                author, node.row['uuid'], moment, source, [name for name in node_names if name not in added], []
            )
            added.update(node_names)


def _insert_traits(
    connection: sa.Connection,
    traits_of_nodes: Iterable[tuple[int, Mapping[str, Iterable[str]]]],
    holds: Mapping[str, Hold],
) -> None:
    """Insert the traits of nodes.

    :param traits_of_nodes: [(node id, {source: [trait, …]}), …].
    :param holds: {source: hold of its traits}.
    """
    own: list[Values] = []
    further: list[Values] = []
    for node_id, by_source in traits_of_nodes:
        added: set[str] = set()
        for source, node_names in by_source.items():
            for name in node_names:
                row = {'node_id': node_id, 'trait': name, **holds[source]._asdict()}
                if name in added:
                    further.append(row | {'source': source})
                else:
                    own.append(row)
            added.update(node_names)
    if own:
        names.ensure(connection, tables.traits, {row['trait'] for row in own})
        connection.execute(sa.insert(tables.node_traits), own)
    if further:
        connection.execute(sa.insert(tables.node_trait_sources), further)


def _insert_records(connection: sa.Connection, records: Iterable[tuple[Kind, Values]]) -> None:
    by_kind: dict[str, tuple[Kind, list[Values]]] = {}
    for kind, row in records:
        by_kind.setdefault(kind.what, (kind, []))[1].append(row)
    # Ports refer to portgroups.
    for kind, rows in sorted(by_kind.values(), key=lambda each: each[0].what != 'portgroup'):
        connection.execute(sa.insert(kind.table), [stored(kind, row) for row in rows])
