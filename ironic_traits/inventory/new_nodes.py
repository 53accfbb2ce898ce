"""Bulk creation of nodes with their traits, ports and other records, in a few statements: for imports.

The caller makes the checks that ``nodes.create``, ``records.create`` and so on make before they write. A node whose
creation depends on other rows is refused here with ``Unusual``; the caller then creates it on its own.
"""

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.annotations import Values
from ironic_traits.db.types import read_clock
from ironic_traits.inventory import history, node_providers, nodes
from ironic_traits.inventory.records import Kind, stored
from ironic_traits.inventory.secrets import with_masks
from ironic_traits.inventory.trait_store import Hold
from ironic_traits.matching.sources import OPERATOR


class Unusual(Exception):
    """The nodes cannot be created in bulk. One by one, they can be created, or raise the failure that says why not."""


@dataclasses.dataclass(frozen=True)
class NewNode:
    """A node to create.

    :ivar row: {column: value} of all columns but the id.
    :ivar traits: valid traits, each once.
    :ivar records: [(Kind, {column: value} of all columns of a record but the id), …]; a record that others refer to
        comes before them.
    """

    row: Values
    traits: list[str] = dataclasses.field(default_factory=list)
    records: list[tuple[Kind, Values]] = dataclasses.field(default_factory=list)


def create(context: Context, connection: sa.Connection, new_nodes: Sequence[NewNode]) -> None:
    """Insert nodes with their providers, traits, records and the first entries of their histories.

    :param context: of the import.
    :param connection: of a writer, in a savepoint: the caller rolls back to it after a failure.
    :param new_nodes: [NewNode, …], all with the same columns.
    :raises Unusual: a key is taken, a row refers to one that does not exist, or a provider has the uuid already.
    """
    try:
        connection.execute(sa.insert(tables.nodes), [with_masks(tables.nodes, node.row) for node in new_nodes])
        uuids = [node.row['uuid'] for node in new_nodes]
        rows = connection.execute(
            sa.select(tables.nodes.c.uuid, tables.nodes.c.id).where(tables.nodes.c.uuid.in_(uuids))
        )
        ids = {row.uuid: row.id for row in rows}
        if node_providers.of_uuids(connection, uuids):
            raise Unusual
        node_providers.create_all(connection, [(ids[node.row['uuid']], node.row) for node in new_nodes])
        moment = read_clock(connection)
        hold = Hold(context.writers.id_of(context, OPERATOR), moment)
        _insert_traits(connection, [(ids[node.row['uuid']], node.traits) for node in new_nodes], hold)
        history.record(connection, *_events(context, new_nodes, moment))
        _insert_records(connection, [record for node in new_nodes for record in node.records])
    except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError, db_exception.RetryRequest) as error:
        raise Unusual from error


def _events(context: Context, new_nodes: Sequence[NewNode], moment: datetime.datetime) -> Iterator[Values]:
    for node in new_nodes:
        yield nodes.created(context, node.row, moment)
        if node.traits:
            yield history.trait_edit(context, node.row['uuid'], moment, OPERATOR, node.traits, [])


def _insert_traits(connection: sa.Connection, traits_of_nodes: Iterable[tuple[int, Iterable[str]]], hold: Hold) -> None:
    """Insert the traits of nodes.

    :param traits_of_nodes: [(node id, [trait, …]), …].
    :param hold: of the traits.
    """
    rows: list[Values] = [
        {'node_id': node_id, 'trait': name, **hold._asdict()}
        for node_id, node_names in traits_of_nodes
        for name in node_names
    ]
    if rows:
        names.ensure(connection, tables.traits, {row['trait'] for row in rows})
        connection.execute(sa.insert(tables.node_traits), rows)


def _insert_records(connection: sa.Connection, records: Iterable[tuple[Kind, Values]]) -> None:
    by_kind: dict[str, tuple[Kind, list[Values]]] = {}
    for kind, row in records:
        by_kind.setdefault(kind.what, (kind, []))[1].append(row)
    # Ports refer to portgroups.
    for kind, rows in sorted(by_kind.values(), key=lambda each: each[0].what != 'portgroup'):
        connection.execute(sa.insert(kind.table), [stored(kind, row) for row in rows])
