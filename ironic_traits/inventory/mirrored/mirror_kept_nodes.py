"""What operators and rules in this service did to mirrored nodes that were deleted. A node that returns gets it back.

Kept are the traits with their sources, except those of the cloud, which are read again; the vetoes; the data of
inspections, and the expectations that the node did not meet; and the traits and aggregates of its provider. The history
of a node stays anyway.

A node that was created again in its cloud with the same uuid may be another machine. It gets nothing back until an
operator says so (``ironic-traits-mirror restore``), and only what does not depend on the machine's hardware.
"""

import base64
import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import Writer, retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core import node_providers
from ironic_traits.inventory.core.single_node import MOMENT, take
from ironic_traits.inventory.mirrored import mirror_leftovers
from ironic_traits.inventory.traits import node_traits, trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching.sources import MIRROR, OPERATOR, RULE, Edit, Traits

_KEPT = tables.mirror_kept_nodes
#: Condition on nodes: something is kept of an earlier node with the uuid.
IS_KEPT = sa.exists().where(_KEPT.c.uuid == tables.nodes.c.uuid).correlate(tables.nodes)
#: The time for nodes whose time of creation is not known.
_UNKNOWN = datetime.datetime.fromisoformat('1970-01-01')
#: Tables whose rows depend on the hardware of a node, by ``node_id``.
_HARDWARE = (tables.node_inventories, tables.node_mismatches)
#: Tables of the provider, by ``resource_provider_id``.
_OF_PROVIDER = (tables.resource_provider_traits, tables.resource_provider_aggregates)


def keep(context: Context, connection: sa.Connection, node: sa.Row, moment: datetime.datetime) -> str:
    """Keep what was done to a node in this service, before it is deleted.

    :param node: row with ``id``, ``uuid``, ``origin`` and ``created_at``.
    :param moment: time of the deletion, by the database's clock.
    :returns: what is kept, as a part of a sentence; '' if there is nothing.
    """
    created_at = node.created_at or _UNKNOWN
    kept = _kept(
        connection, trait_store.read_many(connection, context.service.writers, [node.id])[node.id].traits, node
    )
    connection.execute(sa.delete(_KEPT).where(_KEPT.c.uuid == node.uuid, _KEPT.c.node_created_at == created_at))
    if not (context.conf.mirror.keep_deleted and any(kept.values())):
        return ''
    row = {'uuid': node.uuid, 'cloud': node.origin, 'node_created_at': created_at, 'deleted_at': moment}
    connection.execute(sa.insert(_KEPT).values(**row, by_operators=_is_by_operators(kept), kept=kept))
    named = [f'{word} {", ".join(sorted(kept[name]))}' for name, word in _WORDS.items() if kept[name]]
    return '; '.join([*named, *(name.replace('_', ' ') for name in kept['rows'])])


#: {key of what is kept: word for it}.
_WORDS = {'holders': 'traits', 'vetoes': 'vetoed traits'}


def _kept(connection: sa.Connection, traits: Traits, node: sa.Row) -> Values:
    return {
        'holders': {
            trait: others
            for trait, holds in traits.holders.items()
            if (others := {name: [*hold] for name, hold in holds.items() if not name.startswith(MIRROR)})
        },
        'vetoes': {trait: [*hold] for trait, hold in traits.vetoes.items()},
        'rows': {table.name: rows for table in (*_HARDWARE, *_OF_PROVIDER) if (rows := _read(connection, table, node))},
    }


def _is_by_operators(kept: Mapping[str, Any]) -> bool:
    of_hardware = {table.name for table in _HARDWARE}
    return bool(_chosen(kept['holders']) or kept['vetoes'] or kept['rows'].keys() - of_hardware)


def _chosen(holders: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the holders of traits without inspection rules, whose traits follow from the hardware."""
    others = {
        trait: {source: hold for source, hold in holds.items() if not source.startswith(RULE)}
        for trait, holds in holders.items()
    }
    return {trait: holds for trait, holds in others.items() if holds}


def find(connection: sa.Connection, nodes: Collection[Values]) -> dict[str, sa.Row]:
    """Return what is kept of nodes, {uuid: row}. What is kept of other machines with their uuids is left out.

    :param nodes: {column: value} of nodes.
    """
    created = {node['uuid']: node['created_at'] or _UNKNOWN for node in nodes}
    if not created:
        return {}
    rows = connection.execute(sa.select(_KEPT).where(_KEPT.c.uuid.in_(list(created))))
    return {row.uuid: row for row in rows if row.node_created_at == created[row.uuid]}


def put_back(
    context: Context, connection: sa.Connection, node: sa.Row, kept: sa.Row, is_same_machine: bool = True
) -> None:
    """Restore what was kept of a node.

    :param node: row with ``id``, ``uuid`` and ``moment``.
    :param kept: result of ``find``.
    :param is_same_machine: whether also what depends on the hardware is given back.
    :raises failures.TooManyTraits: the node would have more traits than allowed.
    """
    stored = trait_store.read_many(connection, context.service.writers, [node.id])[node.id]
    holders = kept.kept['holders']
    held = holders if is_same_machine else _chosen(holders)
    edit = Edit(stored.traits, _merged(stored.traits, held, kept.kept['vetoes']))
    limit = context.conf.inventory.max_traits_per_node
    if edit.exceeds(limit):
        raise failures.TooManyTraits(node=node.uuid, limit=limit)
    if edit.changes:
        names.ensure(connection, tables.traits, {*edit.after.holders, *edit.after.vetoes})
        edits = [NodeEdit(node, stored, edit)]
        node_traits.store(connection, edits, node_traits.entries(context, OPERATOR, node.moment, edits))
    for table in (*(_HARDWARE if is_same_machine else ()), *_OF_PROVIDER):
        insert_missing(connection, table, list(_rows(connection, table, node, kept.kept['rows'].get(table.name, ()))))
    if is_same_machine:
        mirror_leftovers.put_back(connection, node)
    node_providers.bump(connection, node.id)
    is_row = _KEPT.c.uuid == kept.uuid, _KEPT.c.node_created_at == kept.node_created_at
    connection.execute(sa.delete(_KEPT).where(*is_row))


@retried
def restore(context: Context, ident: str) -> str:
    """Restore what was kept of an earlier node with the uuid of a node, and return the uuid.

    :raises failures.InvalidState: nothing is kept of it.
    :raises failures.TooManyTraits: it would have more traits than allowed.
    """
    with context.write() as connection:
        node = take(connection, ident, MOMENT, tables.nodes.c.created_at)
        newest = sa.select(_KEPT).where(_KEPT.c.uuid == node.uuid).order_by(_KEPT.c.deleted_at.desc())
        kept = connection.execute(newest).first()
        if kept is None:
            raise failures.InvalidState(reason=f'Nothing is kept of an earlier node {node.uuid}.')
        put_back(context, connection, node, kept, kept.node_created_at == (node.created_at or _UNKNOWN))
        return node.uuid


@retried
def purge(service: Writer, days: int) -> int:
    """Delete what is kept of nodes that were deleted long ago, and what was written to them. Return the number of rows.

    :param days: number of days after their deletion.
    """
    with service.write() as connection:
        until = read_clock(connection) - datetime.timedelta(days=days)
        statements = [sa.delete(table).where(table.c.deleted_at < until) for table in (_KEPT, tables.mirror_leftovers)]
        return sum(connection.execute(statement).rowcount for statement in statements)


def _merged(present: Traits, kept: Mapping[str, Any], kept_vetoes: Mapping[str, Any]) -> Traits:
    """Return the traits of a node together with kept ones. What the operator has set in the meantime prevails."""
    holders = {trait: dict(holds) for trait, holds in present.holders.items()}
    vetoes = dict(present.vetoes)
    for trait, hold in kept_vetoes.items():
        if OPERATOR not in holders.get(trait, ()):
            holders.pop(trait, None)
            vetoes.setdefault(trait, _hold(hold))
    for trait, holds in kept.items():
        if trait not in vetoes:
            older = {source: _hold(hold) for source, hold in holds.items()}
            holders[trait] = older | {name: hold for name, hold in holders.get(trait, {}).items() if name not in older}
    return Traits(holders, vetoes)


def _hold(kept: Sequence[Any]) -> Hold:
    writer_id, since = kept
    return Hold(writer_id, since and datetime.datetime.fromisoformat(since))


def _read(connection: sa.Connection, table: sa.Table, node: sa.Row) -> list[Values]:
    """Return the rows of a node, or of its provider, without the column that refers to it."""
    key = _key(table)
    owner = _owner(table, node)
    columns = [column for column in table.c if column is not key]
    rows = connection.execute(sa.select(*columns).where(key == owner)).mappings()
    return [{name: _packed(value) for name, value in row.items()} for row in rows]


def _rows(
    connection: sa.Connection, table: sa.Table, node: sa.Row, kept: Collection[Mapping[str, Any]]
) -> Iterator[Values]:
    """Yield kept rows with the id of the present node or provider; none if it has no provider."""
    owner = connection.scalar(sa.select(_owner(table, node))) if kept else None
    if owner is not None:
        for row in kept:
            values = {name: _unpacked(table.c[name], value) for name, value in row.items()}
            yield {_key(table).name: owner, **values}


def _key(table: sa.Table) -> sa.Column:
    return next(iter(table.primary_key))


def _owner(table: sa.Table, node: sa.Row) -> sa.ColumnElement[int]:
    if table not in _OF_PROVIDER:
        return sa.literal(node.id)
    providers = tables.resource_providers.c
    return sa.select(providers.id).where(providers.node_id == node.id).scalar_subquery()


def _packed(value: Any) -> Any:
    return base64.b85encode(value).decode() if isinstance(value, bytes) else value


def _unpacked(column: sa.Column, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, sa.LargeBinary):
        return base64.b85decode(value)
    return datetime.datetime.fromisoformat(value) if isinstance(column.type, sa.DateTime) else value
