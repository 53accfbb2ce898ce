"""New nodes with all that belongs to them, many at once in a few statements: for imports.

The checks are those of the functions that make one node, one port, and so on.  What needs a decision that depends on
other rows is refused here with ``Unusual``: it is made one by one.
"""

import dataclasses
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import names
from ironic_traits.db.models import node_traits, nodes, traits
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.records import Kind, stored
from ironic_traits.inventory.secrets import with_masks


class Unusual(Exception):
    """A node cannot be made together with others; made by itself, it may be, or the reason is said."""


@dataclasses.dataclass(frozen=True)
class NewNode:
    """A node that is not there yet.

    :ivar row: all its columns but the id.
    :ivar traits: valid traits, each once.
    :ivar records: [(Kind, all columns of a record but the id), …]; what others refer to comes first.
    """

    row: dict[str, Any]
    traits: list[str] = dataclasses.field(default_factory=list)
    records: list[tuple[Kind, dict[str, Any]]] = dataclasses.field(default_factory=list)


def create(connection, made):
    """Insert nodes, and their providers, traits and records.

    :param connection: of a writer, in a savepoint of its own: a failure leaves it half done.
    :param made: [NewNode, …], with the same columns each.
    :raises Unusual: a key is taken, something that a row refers to is missing, or a provider is there already.
    """
    try:
        connection.execute(sa.insert(nodes), [with_masks(nodes, node.row) for node in made])
        uuids = [node.row['uuid'] for node in made]
        found = connection.execute(sa.select(nodes.c.uuid, nodes.c.id).where(nodes.c.uuid.in_(uuids)))
        ids = {row.uuid: row.id for row in found}
        if node_providers.of_uuids(connection, uuids):
            raise Unusual
        node_providers.create_all(connection, [(ids[node.row['uuid']], node.row) for node in made])
        _insert_traits(connection, [(ids[node.row['uuid']], node.traits) for node in made])
        _insert_records(connection, [record for node in made for record in node.records])
    except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError, db_exception.RetryRequest) as error:
        raise Unusual from error


def _insert_traits(connection, of_nodes):
    rows = [{'node_id': node_id, 'trait': name} for node_id, each in of_nodes for name in each]
    if rows:
        names.ensure(connection, traits, {row['trait'] for row in rows})
        connection.execute(sa.insert(node_traits), rows)


def _insert_records(connection, records):
    by_kind: dict[str, tuple[Kind, list]] = {}
    for kind, row in records:
        by_kind.setdefault(kind.what, (kind, []))[1].append(row)
    # Ports refer to portgroups.
    for kind, rows in sorted(by_kind.values(), key=lambda each: each[0].what != 'portgroup'):
        connection.execute(sa.insert(kind.table), [stored(kind, row) for row in rows])
