"""Reads the rows of traits with their sources under the node's lock, and writes the changes of edits.

A trait with one source is one row of ``node_traits``. Its further sources are rows of ``node_trait_sources``.
"""

import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import elements, joined, position
from ironic_traits.inventory.core.trait_writers import Writers
from ironic_traits.matching.sources import Edit, Traits

_OWN, _FURTHER, _VETO, _FOREIGN = range(4)


class Hold(NamedTuple):
    """The stored data of a source's hold on a trait, or of a veto.

    :ivar writer_id: id in ``trait_writers``; None for an unknown operator.
    :ivar since: datetime by the database's clock; None if it is unknown.
    """

    writer_id: int | None
    since: datetime.datetime | None


class StoredTraits(NamedTuple):
    """The stored traits of a node.

    :ivar traits: the node's own traits, with their holds, and its vetoes.
    :ivar foreign: names that Placement clients have set on the node's provider.
    """

    traits: Traits
    foreign: set[str]


def _statement(of_nodes: Callable[[sa.Column], Condition], *further: sa.Select) -> sa.CompoundSelect:
    """Return the SELECT of all parts of the stored traits of nodes.

    It is one statement, because a statement costs about as much as all of these parts together.

    :param of_nodes: function from a column of node ids to the condition on the nodes.
    :param further: further parts.
    """

    def part(number: int, table: sa.Table) -> sa.Select:
        columns = (table.c.node_id, table.c.trait, table.c.writer_id, table.c.since)
        return sa.select(sa.literal_column(str(number)).label('part'), *columns).where(of_nodes(table.c.node_id))

    own, sources, vetoes = tables.node_traits, tables.node_trait_sources, tables.node_trait_vetoes
    return sa.union_all(part(_OWN, own), part(_FURTHER, sources), part(_VETO, vetoes), *further)


_foreign = tables.resource_provider_traits
_provider = tables.resource_providers
_NODE_ID: sa.BindParameter[Any] = sa.bindparam('node_id', type_=sa.Integer())
_NODE_IDS: sa.BindParameter[Any] = sa.bindparam('node_ids')
# Built once: building the statement takes as long as executing it. It has subqueries, because PostgreSQL takes longer
# to plan a join.
_READ_OWN = prepared(_statement(lambda column: column == _NODE_ID))
_READ = prepared(
    _statement(
        lambda column: column == _NODE_ID,
        sa.select(
            sa.literal_column(str(_FOREIGN)),
            _NODE_ID,
            sa.select(tables.traits.c.name).where(tables.traits.c.id == _foreign.c.trait_id).scalar_subquery(),
            sa.null(),
            sa.null(),
        ).where(
            _foreign.c.resource_provider_id
            == sa.select(_provider.c.id).where(_provider.c.node_id == _NODE_ID).scalar_subquery()
        ),
    )
)
_READ_MANY = _statement(
    lambda column: column.in_(_NODE_IDS),
    sa.select(sa.literal_column(str(_FOREIGN)), _provider.c.node_id, tables.traits.c.name, sa.null(), sa.null())
    .join(_foreign, _foreign.c.trait_id == tables.traits.c.id)
    .join(_provider, _provider.c.id == _foreign.c.resource_provider_id)
    .where(_provider.c.node_id.in_(_NODE_IDS)),
)


def _has(table: sa.Table) -> sa.Exists:
    return sa.exists().where(table.c.node_id == tables.nodes.c.id).correlate(tables.nodes)


def _string(selected: sa.Select) -> sa.ScalarSelect[Any]:
    return selected.correlate(tables.nodes).scalar_subquery()


#: The own traits with the ids of their writers, as 'CUSTOM_A=7,CUSTOM_B=0', where 0 is an unknown writer.
_OWN_STRING = _string(
    sa.select(
        joined(
            tables.node_traits.c.trait
            + sa.literal_column("'='")
            + sa.cast(sa.func.coalesce(tables.node_traits.c.writer_id, sa.literal_column('0')), sa.String)
        )
    ).where(tables.node_traits.c.node_id == tables.nodes.c.id)
).label('own')
_HAS_MORE = sa.or_(_has(tables.node_trait_sources), _has(tables.node_trait_vetoes)).label('has_more')
_FOREIGN_STRING = _string(
    sa.select(joined(tables.traits.c.name))
    .join(_foreign, _foreign.c.trait_id == tables.traits.c.id)
    .join(_provider, _provider.c.id == _foreign.c.resource_provider_id)
    .where(_provider.c.node_id == tables.nodes.c.id)
).label('foreign')


def columns(connection: sa.Connection, adds: bool) -> tuple[sa.ColumnElement[Any], ...]:
    """Return the columns of a SELECT from nodes that ``read`` needs, besides ``id``.

    On PostgreSQL there are none, because ``single_node.lock`` reads the node with its UPDATE there.

    :param adds: whether the edit may add standard traits. Otherwise it does not need the foreign traits, which are all
        standard traits.
    """
    if connection.dialect.name == 'postgresql':
        return ()
    return (_OWN_STRING, _HAS_MORE, _FOREIGN_STRING) if adds else (_OWN_STRING, _HAS_MORE)


def read(connection: sa.Connection, writers: Writers, node: sa.Row, adds: bool) -> StoredTraits:
    """Return the stored traits of a node, for an edit.

    ``since`` of the first source of each trait may be None, because an edit does not change it.

    :param node: row with ``id`` and ``columns``.
    :param adds: as for ``columns``. If it is False, ``StoredTraits.foreign`` may be empty.
    """
    if getattr(node, 'has_more', True):
        rows = connection.execute(_READ if adds else _READ_OWN, {'node_id': node.id}).all()
        return _stored(connection, writers, [node.id], rows)[node.id]
    holders = {}
    for each in node.own.split(',') if node.own else ():
        name, _, writer = each.partition('=')
        writer_id = int(writer) or None
        holders[name] = {writers.source(connection, writer_id): Hold(writer_id, None)}
    return StoredTraits(Traits(holders), set(node.foreign.split(',')) if adds and node.foreign else set())


def read_many(connection: sa.Connection, writers: Writers, node_ids: Collection[int]) -> dict[int, StoredTraits]:
    """Return the stored traits of nodes, {node id: StoredTraits}."""
    rows = connection.execute(_READ_MANY, {'node_ids': list(node_ids)})
    return _stored(connection, writers, node_ids, rows.all())


def _stored(
    connection: sa.Connection, writers: Writers, node_ids: Collection[int], rows: Iterable[sa.Row]
) -> dict[int, StoredTraits]:
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
    # The first source is that of the row in node_traits. The others follow in the order in which they were added.
    for node_id, name, hold in sorted(further, key=lambda row: (row[2].since is not None, row[2].since)):
        holders[node_id][name][writers.source(connection, hold.writer_id)] = hold
    return {node_id: StoredTraits(Traits(holders[node_id], vetoes[node_id]), foreign[node_id]) for node_id in node_ids}


def writes(edits: Iterable[tuple[int, Edit]]) -> Iterator[Write]:
    """Yield the writes that store the changes of edits.

    Unless all traits are in the table ``traits``, executing them raises DBReferenceError or MissingRows.

    :param edits: [(node id, Edit with holds of the type Hold), …].
    """
    rows = _Rows()
    for node_id, edit in edits:
        rows.add(node_id, edit)
    return rows.writes()


#: The smallest difference of times that the databases store.
_TICK = datetime.timedelta(microseconds=1)

#: {names: ids of the nodes that have a row for each of the names}.
_Groups = dict[frozenset[str], list[int]]


class _Rows:
    """The rows that edits delete, insert and change."""

    def __init__(self) -> None:
        self._gone: _Groups = {}
        self._new: dict[Hold, _Groups] = {}
        self._promoted: list[dict[str, Any]] = []
        self._released: list[dict[str, Any]] = []
        self._further: list[dict[str, Any]] = []
        self._changed: list[dict[str, Any]] = []
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
                self._add_holds(node_id, name, old or {}, holds)
        for hold, names in new.items():
            _group(self._new.setdefault(hold, {}), names, node_id)

    def _add_holds(self, node_id: int, name: str, old: Mapping[str, Hold], holds: Mapping[str, Hold]) -> None:
        """Add the rows of a trait that has a row in node_traits, or gets one.

        :param old: {source: its hold before}; {} if the trait is new.
        """
        own, *further = holds.items()
        own_before, *further_before = old.items() or [own]
        if own != own_before:
            self._promoted.append(_of(_row(node_id, name, own[1])))
        stored = dict(further_before)
        self._release(node_id, name, stored.keys() - dict(further).keys())
        latest = own[1].since
        for source, hold in further:
            if hold != stored.get(source):
                hold = hold._replace(since=_later(hold.since, latest))
                row = _row(node_id, name, hold) | {'source': source}
                # A trait that another one is renamed to may have the same source with another hold.
                (self._changed if source in stored else self._further).append(row)
            latest = hold.since

    def _release(self, node_id: int, name: str, further: Iterable[str]) -> None:
        for source in further:
            self._released.append({'of_node_id': node_id, 'of_trait': name, 'of_source': source})

    def writes(self) -> Iterator[Write]:
        """Yield the writes."""
        for names, node_ids in self._gone.items():
            yield _deletion(tables.node_traits, names, node_ids)
        for names, node_ids in self._lifted.items():
            yield _deletion(tables.node_trait_vetoes, names, node_ids)
        for hold, groups in self._new.items():
            for names, node_ids in groups.items():
                yield _insertion(hold, names, node_ids)
        for statement, rows in (
            (_PROMOTE, self._promoted),
            (_RELEASE, self._released),
            (_INSERT_SOURCES, self._further),
            (_CHANGE_SOURCES, [_of(row) for row in self._changed]),
            (_INSERT_VETOES, self._vetoes),
        ):
            if rows:
                yield Write(statement, rows)


def _later(moment: datetime.datetime | None, latest: datetime.datetime | None) -> datetime.datetime | None:
    """Return a time after ``latest``, which is that of the hold before. The times of the holds have their order.

    Several writes may have the same time: the clock of SQLite counts milliseconds.
    """
    if moment is None or latest is None:
        return moment
    return max(moment, latest + _TICK)


def _group(groups: _Groups, names: Iterable[str], node_id: int) -> None:
    if names:
        groups.setdefault(frozenset(names), []).append(node_id)


def _row(node_id: int, name: str, hold: Hold) -> dict[str, Any]:
    return {'node_id': node_id, 'trait': name, **hold._asdict()}


def _of(row: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an UPDATE of a row: {'of_COLUMN': value}."""
    return {f'of_{name}': value for name, value in row.items()}


def _deletion(table: sa.Table, names: Collection[str], node_ids: list[int]) -> Write:
    if len(node_ids) > 1:
        return Write(_delete_many(table), {'of_nodes': node_ids, 'names': sorted(names)})
    return Write(_delete(table), {f'{table.name}_node': node_ids[0], table.name: ','.join(sorted(names))})


@functools.cache
def _delete(table: sa.Table) -> sa.Delete:
    # Not IN, which has a parameter for each name: SQLAlchemy would render the statement at each execution. No index on
    # the names is needed, because a node has few rows.
    names = sa.bindparam(table.name, type_=table.c.trait.type)
    return sa.delete(table).where(
        table.c.node_id == sa.bindparam(f'{table.name}_node'), position(table.c.trait, names) > 0
    )


@functools.cache
def _delete_many(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(
        table.c.node_id.in_(sa.bindparam('of_nodes')),
        table.c.trait.in_(sa.bindparam('names')),
    )


def _insertion(hold: Hold, names: Collection[str], node_ids: list[int]) -> Write:
    if len(node_ids) == 1:
        to_node = {'to_node': node_ids[0], 'writer': hold.writer_id, 'since': hold.since}
        if len(names) == 1:
            return Write(_INSERT_NAME, to_node | {'new': next(iter(names))})
        return Write(_INSERT_NAMES, to_node | {'new': orjson.dumps(sorted(names)).decode()})
    of_nodes = {'of_nodes': node_ids, 'names': sorted(names), 'writer': hold.writer_id, 'since': hold.since}
    return Write(_INSERT_TRAITS, of_nodes, rows=len(names) * len(node_ids))


def _same(table: sa.Table, *names: str) -> list[Condition]:
    return [table.c[name] == sa.bindparam(f'of_{name}') for name in names]


_COLUMNS = ['node_id', 'trait', 'writer_id', 'since']
_HOLD: tuple[sa.BindParameter[Any], ...] = (
    sa.bindparam('writer', type_=tables.node_traits.c.writer_id.type),
    sa.bindparam('since', type_=tables.node_traits.c.since.type),
)
_TO_NODE = sa.bindparam('to_node', type_=sa.Integer())
_NAME = sa.bindparam('new', type_=tables.node_traits.c.trait.type)
# One row needs no table of names. Without inline(), SQLAlchemy would fetch the primary key of the row.
_INSERT_NAME = (
    sa.insert(tables.node_traits).values(dict(zip(_COLUMNS, (_TO_NODE, _NAME, *_HOLD), strict=True))).inline()
)
_names = elements(sa.bindparam('new', type_=sa.Text())).table_valued('value', name='names')
#: INSERT INTO node_traits (node_id, trait, writer_id, since)
#: SELECT 1, value, 7, '2026-11-22 07:00:00' FROM json_each('["CUSTOM_A","CUSTOM_B"]')
#:
#: SQLAlchemy does not cache an INSERT of several rows of values.
_INSERT_NAMES = sa.insert(tables.node_traits).from_select(
    _COLUMNS,
    sa.select(_TO_NODE, _names.c.value, *_HOLD).select_from(_names),
)
#: Each node gets each trait.
#:
#: INSERT INTO node_traits (node_id, trait, writer_id, since)
#: SELECT nodes.id, traits.name, 7, '2026-11-22 07:00:00' FROM nodes, traits
#: WHERE nodes.id IN (1, 2) AND traits.name IN ('CUSTOM_A', 'CUSTOM_B')
_INSERT_TRAITS = sa.insert(tables.node_traits).from_select(
    _COLUMNS,
    sa.select(tables.nodes.c.id, tables.traits.c.name, *_HOLD)
    .select_from(tables.nodes.join(tables.traits, sa.true()))
    .where(
        tables.nodes.c.id.in_(sa.bindparam('of_nodes')),
        tables.traits.c.name.in_(sa.bindparam('names')),
    ),
)
_INSERT_SOURCES = sa.insert(tables.node_trait_sources)
_INSERT_VETOES = sa.insert(tables.node_trait_vetoes)
_OF_HOLD: Values = {'writer_id': sa.bindparam('of_writer_id'), 'since': sa.bindparam('of_since')}
_PROMOTE = sa.update(tables.node_traits).where(*_same(tables.node_traits, 'node_id', 'trait')).values(_OF_HOLD)
_CHANGE_SOURCES = (
    sa.update(tables.node_trait_sources)
    .where(*_same(tables.node_trait_sources, 'node_id', 'trait', 'source'))
    .values(_OF_HOLD)
)
_RELEASE = sa.delete(tables.node_trait_sources).where(*_same(tables.node_trait_sources, 'node_id', 'trait', 'source'))
