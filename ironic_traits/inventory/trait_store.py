"""The rows of traits with their sources: read them under the node's lock, and write what an edit changes.

A trait with one source is one row of ``node_traits``. Its further sources are rows of ``node_trait_sources``.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory.trait_writers import Writers
from ironic_traits.matching.sources import Edit, Traits

_OWN, _FURTHER, _VETO, _FOREIGN = range(4)


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
    """

    traits: Traits
    foreign: set[str]


def _part(part: int, table: sa.Table, with_since: bool = True) -> sa.Select:
    since = table.c.since if with_since else sa.type_coerce(sa.null(), table.c.since.type)
    return sa.select(
        sa.literal_column(str(part)).label('part'), table.c.node_id, table.c.trait, table.c.writer_id, since
    )


def _statement(
    of_nodes: Callable[[sa.Column], Condition], with_since: bool = False, with_foreign: bool = True
) -> sa.CompoundSelect:
    """Return the SELECT of all parts of what is stored of nodes.

    One statement, because each statement costs about as much as all of these parts together.

    :param of_nodes: function from a column of node ids to the condition on the nodes.
    :param with_since: whether to read when the first sources of the traits came.
    :param with_foreign: whether to read the traits that Placement clients have set.
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
    own = _part(_OWN, tables.node_traits, with_since).where(of_nodes(tables.node_traits.c.node_id))
    further = _part(_FURTHER, tables.node_trait_sources).where(of_nodes(tables.node_trait_sources.c.node_id))
    vetoes = _part(_VETO, tables.node_trait_vetoes).where(of_nodes(tables.node_trait_vetoes.c.node_id))
    return sa.union_all(own, further, vetoes, *([foreign] if with_foreign else []))


# Built once: to build a statement for each call takes as long as to execute it.
_READ = _statement(lambda column: column == sa.bindparam('node_id'))
_READ_OWN = _statement(lambda column: column == sa.bindparam('node_id'), with_foreign=False)
_READ_MANY = _statement(lambda column: column.in_(sa.bindparam('node_ids', expanding=True)), with_since=True)


def read(connection: sa.Connection, writers: Writers, node_id: int, adds: bool = True) -> Stored:
    """Return what the database has of a node's traits, for an edit.

    ``since`` of the first source of each trait is None: an edit does not change it, and to read it takes time.

    :param adds: whether the edit may add traits; otherwise ``foreign`` is not read, and is empty.
    """
    rows = connection.execute(_READ if adds else _READ_OWN, {'node_id': node_id})
    return _stored(connection, writers, [node_id], rows)[node_id]


def read_many(connection: sa.Connection, writers: Writers, node_ids: Collection[int]) -> dict[int, Stored]:
    """Return what the database has of the traits of nodes, {node id: Stored}."""
    rows = connection.execute(_READ_MANY, {'node_ids': list(node_ids)})
    return _stored(connection, writers, node_ids, rows.all())


def _stored(
    connection: sa.Connection, writers: Writers, node_ids: Collection[int], rows: Iterable[sa.Row]
) -> dict[int, Stored]:
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
        else:
            foreign[node_id].add(name)
    # The first source is that of the row in node_traits. The others follow in the order in which they came.
    for node_id, name, hold in sorted(further, key=lambda row: (row[2].since is not None, row[2].since)):
        holders[node_id][name][writers.source(connection, hold.writer_id)] = hold
    return {node_id: Stored(Traits(holders[node_id], vetoes[node_id]), foreign[node_id]) for node_id in node_ids}


class MissingNames(Exception):
    """Traits of an edit are not in the table ``traits``. Nothing may be committed.

    For few traits, the foreign key fails instead (oslo.db's DBReferenceError).
    """


def write(connection: sa.Connection, edits: Iterable[tuple[int, Edit]]) -> None:
    """Store what edits change.

    :param connection: of a writer that has taken the locks of the nodes.
    :param edits: [(node id, Edit with holds of the type Hold), …].
    :raises MissingNames: traits are not in the table ``traits``.
    :raises oslo_db.exception.DBReferenceError: the same.
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
        self._new: dict[Hold, _Groups] = {}
        self._promoted: list[dict[str, Any]] = []
        self._released: list[dict[str, Any]] = []
        self._further: list[dict[str, Any]] = []
        self._lifted: _Groups = {}
        self._vetoes: list[dict[str, Any]] = []

    def add(self, node_id: int, edit: Edit) -> None:
        """Add the rows of one edit."""
        before, after = edit.before, edit.after
        _group(self._gone, edit.removed, node_id)
        for name in edit.removed:
            self._release(node_id, name, list(before.holders[name])[1:])
        _group(self._lifted, before.vetoes.keys() - after.vetoes.keys(), node_id)
        for name in after.vetoes.keys() - before.vetoes.keys():
            self._vetoes.append(_row(node_id, name, after.vetoes[name]))
        new: dict[Hold, set[str]] = {}
        for name, holds in after.holders.items():
            old = before.holders.get(name)
            if old is None:
                new.setdefault(next(iter(holds.values())), set()).add(name)
            if holds != old:
                self._add_holds(node_id, name, list(old or holds), holds)
        for hold, names in new.items():
            _group(self._new.setdefault(hold, {}), names, node_id)

    def _add_holds(self, node_id: int, name: str, old: Sequence[str], holds: Any) -> None:
        """Add the rows of a trait that has a row in node_traits, or gets one.

        :param old: the sources that held it before; those of ``holds`` if it is new.
        """
        first, *further = holds
        if old[0] != first:
            self._promoted.append({f'of_{key}': value for key, value in _row(node_id, name, holds[first]).items()})
        stored = () if old == [*holds] else old[1:]
        self._release(node_id, name, set(stored).difference(further))
        for source in set(further).difference(stored):
            self._further.append(_row(node_id, name, holds[source]) | {'source': source})

    def _release(self, node_id: int, name: str, further: Iterable[str]) -> None:
        for source in further:
            self._released.append({'of_node_id': node_id, 'of_trait': name, 'of_source': source})

    def write(self, connection: sa.Connection) -> None:
        """Write the rows."""
        _delete(connection, _DELETE_TRAITS, self._gone)
        _delete(connection, _DELETE_VETOES, self._lifted)
        for hold, groups in self._new.items():
            _insert_traits(connection, hold, groups)
        for statement, rows in (
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
        connection.execute(statement, {'of_nodes': node_ids, 'names': sorted(names)})


def _insert_traits(connection: sa.Connection, hold: Hold, groups: _Groups) -> None:
    for names, node_ids in groups.items():
        if len(names) * len(node_ids) <= _FEW:
            rows = [_row(node_id, name, hold) for node_id in node_ids for name in names]
            connection.execute(_INSERT_ROWS, rows if len(rows) > 1 else rows[0])
            continue
        parameters = {'of_nodes': node_ids, 'names': sorted(names), **hold._asdict()}
        if connection.execute(_INSERT_TRAITS, parameters).rowcount < len(names) * len(node_ids):
            raise MissingNames


def _deletion(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(
        table.c.node_id.in_(sa.bindparam('of_nodes', expanding=True)),
        table.c.trait.in_(sa.bindparam('names', expanding=True)),
    )


def _same(table: sa.Table, *names: str) -> list[Condition]:
    return [table.c[name] == sa.bindparam(f'of_{name}') for name in names]


# Built once, as _READ.
_DELETE_TRAITS = _deletion(tables.node_traits)
_DELETE_VETOES = _deletion(tables.node_trait_vetoes)
_INSERT_ROWS = sa.insert(tables.node_traits)
#: Up to this number of rows, rows of values are quicker than ``_INSERT_TRAITS``.
_FEW = 3
#: Each node gets each trait. For many rows this is quicker than rows of values, because SQLAlchemy and the drivers take
#: their time for each parameter.
#:
#: INSERT INTO node_traits (node_id, trait, writer_id, since)
#: SELECT nodes.id, traits.name, 7, '2026-11-22 07:00:00' FROM nodes, traits
#: WHERE nodes.id IN (1) AND traits.name IN ('CUSTOM_A', 'CUSTOM_B')
_INSERT_TRAITS = sa.insert(tables.node_traits).from_select(
    ['node_id', 'trait', 'writer_id', 'since'],
    sa.select(
        tables.nodes.c.id,
        tables.traits.c.name,
        sa.bindparam('writer_id', type_=tables.node_traits.c.writer_id.type),
        sa.bindparam('since', type_=tables.node_traits.c.since.type),
    )
    .select_from(tables.nodes.join(tables.traits, sa.true()))
    .where(
        tables.nodes.c.id.in_(sa.bindparam('of_nodes', expanding=True)),
        tables.traits.c.name.in_(sa.bindparam('names', expanding=True)),
    ),
)
_INSERT_SOURCES = sa.insert(tables.node_trait_sources)
_INSERT_VETOES = sa.insert(tables.node_trait_vetoes)
_PROMOTE = (
    sa.update(tables.node_traits)
    .where(*_same(tables.node_traits, 'node_id', 'trait'))
    .values(writer_id=sa.bindparam('of_writer_id'), since=sa.bindparam('of_since'))
)
_RELEASE = sa.delete(tables.node_trait_sources).where(*_same(tables.node_trait_sources, 'node_id', 'trait', 'source'))
