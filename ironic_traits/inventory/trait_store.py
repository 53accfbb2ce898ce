"""The rows of traits with their sources: read them under the node's lock, and write what an edit changes.

A trait with one source is one row of ``node_traits``. Its further sources are rows of ``node_trait_sources``, which the
database deletes with the trait.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory.trait_writers import Writers
from ironic_traits.matching.sources import Edit, Traits

_OWN, _FURTHER, _VETO, _FOREIGN, _RETIRED = range(5)


class Hold(NamedTuple):
    """What is stored of a source's hold on a trait, and of a veto.

    :ivar writer_id: of ``trait_writers``; None for an unknown operator.
    :ivar since: datetime by the database's clock; None if it is unknown.
    """

    writer_id: int | None
    since: datetime.datetime | None


class Stored(NamedTuple):
    """What the database has of a node's traits.

    :ivar traits: the node's own traits, with their holds, and its vetoes.
    :ivar foreign: names that Placement clients have set on the node's provider.
    :ivar retired: names that are retired in the catalogue, whether the node has them or not.
    """

    traits: Traits
    foreign: set[str]
    retired: set[str]


def _part(part: int, table: sa.Table) -> sa.Select:
    return sa.select(
        sa.literal_column(str(part)).label('part'), table.c.node_id, table.c.trait, table.c.writer_id, table.c.since
    )


def _statement(of_nodes: Callable[[sa.Column], Condition]) -> sa.CompoundSelect:
    """Return the SELECT of all parts of what is stored of nodes.

    One statement, because each statement costs about as much as all of these parts together.

    :param of_nodes: function from a column of node ids to the condition on the nodes.
    """
    foreign = (
        sa.select(
            sa.literal_column(str(_FOREIGN)),
            tables.resource_providers.c.node_id,
            tables.traits.c.name,
            sa.null(),
            sa.null(),
        )
        .join(tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
        .join(
            tables.resource_providers,
            tables.resource_providers.c.id == tables.resource_provider_traits.c.resource_provider_id,
        )
        .where(of_nodes(tables.resource_providers.c.node_id))
    )
    retired = sa.select(
        sa.literal_column(str(_RETIRED)), sa.null(), tables.trait_notes.c.trait, sa.null(), sa.null()
    ).where(tables.trait_notes.c.retired.is_(sa.true()))
    own = (
        _part(part, table).where(of_nodes(table.c.node_id))
        for part, table in (
            (_OWN, tables.node_traits),
            (_FURTHER, tables.node_trait_sources),
            (_VETO, tables.node_trait_vetoes),
        )
    )
    return sa.union_all(*own, foreign, retired)


# Built once: to build a statement for each call takes as long as to execute it.
_READ = _statement(lambda column: column == sa.bindparam('node_id'))
_READ_MANY = _statement(lambda column: column.in_(sa.bindparam('node_ids', expanding=True)))


def read(connection: sa.Connection, writers: Writers, node_id: int) -> Stored:
    """Return what the database has of a node's traits."""
    return _stored(connection, writers, [node_id], connection.execute(_READ, {'node_id': node_id}))[node_id]


def read_many(connection: sa.Connection, writers: Writers, node_ids: Collection[int]) -> dict[int, Stored]:
    """Return what the database has of the traits of nodes, {node id: Stored}."""
    rows = connection.execute(_READ_MANY, {'node_ids': list(node_ids)})
    return _stored(connection, writers, node_ids, rows.all())


def _stored(
    connection: sa.Connection, writers: Writers, node_ids: Collection[int], rows: Iterable[sa.Row]
) -> dict[int, Stored]:
    retired: set[str] = set()
    holders: dict[int, dict[str, dict[str, Hold]]] = {node_id: {} for node_id in node_ids}
    vetoes: dict[int, dict[str, Hold]] = {node_id: {} for node_id in node_ids}
    foreign: dict[int, set[str]] = {node_id: set() for node_id in node_ids}
    further = []
    for part, node_id, name, writer_id, since in rows:
        if part == _OWN:
            holders[node_id][name] = {writers.source(connection, writer_id): Hold(writer_id, since)}
        elif part == _FURTHER:
            further.append((node_id, name, Hold(writer_id, since)))
        elif part == _VETO:
            vetoes[node_id][name] = Hold(writer_id, since)
        elif part == _FOREIGN:
            foreign[node_id].add(name)
        else:
            retired.add(name)
    # The first source is that of the row in node_traits. The others follow in the order in which they came.
    for node_id, name, hold in sorted(further, key=lambda row: (row[2].since is not None, row[2].since)):
        holders[node_id][name][writers.source(connection, hold.writer_id)] = hold
    return {
        node_id: Stored(Traits(holders[node_id], vetoes[node_id]), foreign[node_id], retired) for node_id in node_ids
    }


def write(connection: sa.Connection, edits: Iterable[tuple[int, Edit]]) -> None:
    """Store what edits change.

    :param connection: of a writer that has taken the locks of the nodes.
    :param edits: [(node id, Edit with holds of the type Hold), …].
    """
    rows = _Rows()
    for node_id, edit in edits:
        rows.add(node_id, edit)
    rows.write(connection)


#: {names: ids of the nodes to which a row for each of the names belongs}.
_Groups = dict[frozenset[str], list[int]]


class _Rows:
    """The rows that edits delete, insert and change."""

    def __init__(self) -> None:
        self._gone: _Groups = {}
        self._new: list[dict[str, Any]] = []
        self._promoted: list[dict[str, Any]] = []
        self._released: list[dict[str, Any]] = []
        self._further: list[dict[str, Any]] = []
        self._lifted: _Groups = {}
        self._vetoes: list[dict[str, Any]] = []

    def add(self, node_id: int, edit: Edit) -> None:
        """Add the rows of one edit."""
        before, after = edit.before, edit.after
        _group(self._gone, edit.removed, node_id)
        _group(self._lifted, before.vetoes.keys() - after.vetoes.keys(), node_id)
        for name in after.vetoes.keys() - before.vetoes.keys():
            self._vetoes.append(_row(node_id, name, after.vetoes[name]))
        for name, holds in after.holders.items():
            old = before.holders.get(name, {})
            if holds != old:
                self._add_holds(node_id, name, list(old), holds)

    def _add_holds(self, node_id: int, name: str, old: Sequence[str], holds: Any) -> None:
        first, *further = holds
        if not old:
            self._new.append(_row(node_id, name, holds[first]))
        elif old[0] != first:
            self._promoted.append({f'of_{key}': value for key, value in _row(node_id, name, holds[first]).items()})
        for source in set(old[1:]).difference(further):
            self._released.append({'of_node_id': node_id, 'of_trait': name, 'of_source': source})
        for source in set(further).difference(old[1:]):
            self._further.append(_row(node_id, name, holds[source]) | {'source': source})

    def write(self, connection: sa.Connection) -> None:
        """Write the rows."""
        _delete(connection, _DELETE_TRAITS, self._gone)
        _delete(connection, _DELETE_VETOES, self._lifted)
        for statement, rows in (
            (_INSERT_TRAITS, self._new),
            (_PROMOTE, self._promoted),
            (_RELEASE, self._released),
            (_INSERT_SOURCES, self._further),
            (_INSERT_VETOES, self._vetoes),
        ):
            if rows:
                connection.execute(statement, rows)


def _group(groups: _Groups, names: Iterable[str], node_id: int) -> None:
    if names:
        groups.setdefault(frozenset(names), []).append(node_id)


def _row(node_id: int, name: str, hold: Hold) -> dict[str, Any]:
    return {'node_id': node_id, 'trait': name, **hold._asdict()}


def _delete(connection: sa.Connection, statement: sa.Delete, groups: _Groups) -> None:
    for names, node_ids in groups.items():
        connection.execute(statement, {'of_nodes': node_ids, 'gone': sorted(names)})


def _deletion(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(
        table.c.node_id.in_(sa.bindparam('of_nodes', expanding=True)),
        table.c.trait.in_(sa.bindparam('gone', expanding=True)),
    )


def _same(table: sa.Table, *names: str) -> list[Condition]:
    return [table.c[name] == sa.bindparam(f'of_{name}') for name in names]


# Built once, as _READ.
_DELETE_TRAITS = _deletion(tables.node_traits)
_DELETE_VETOES = _deletion(tables.node_trait_vetoes)
_INSERT_TRAITS = sa.insert(tables.node_traits)
_INSERT_SOURCES = sa.insert(tables.node_trait_sources)
_INSERT_VETOES = sa.insert(tables.node_trait_vetoes)
_PROMOTE = (
    sa.update(tables.node_traits)
    .where(*_same(tables.node_traits, 'node_id', 'trait'))
    .values(writer_id=sa.bindparam('of_writer_id'), since=sa.bindparam('of_since'))
)
_RELEASE = sa.delete(tables.node_trait_sources).where(*_same(tables.node_trait_sources, 'node_id', 'trait', 'source'))
