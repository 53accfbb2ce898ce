"""Traits in statements that select nodes: the column of a node's traits, and the conditions of the filters."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import names_in
from ironic_traits.inventory.core import trait_writers
from ironic_traits.matching.sources import OPERATOR
from ironic_traits.matching.traits import FORBIDDEN, Filter, TraitTerm

#: A column of a SELECT from nodes: the node's traits, which are read as a sorted list.
JOINED = (
    sa.select(names_in(tables.node_traits.c.trait))
    .where(tables.node_traits.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('traits')
)

#: Maximum number of required traits with separate subqueries, which are quick if one of the traits is rare. Further
#: traits are counted in one subquery: the work of a planner grows at least with the square of the number of subqueries.
MAX_SUBQUERIES = 5
_MYSQL = ('mysql', 'mariadb')


def begin_with(statement: sa.Select, dialect: str, trait_filter: Filter) -> sa.Select:
    """Return a SELECT from nodes with the conditions of a trait filter, in the form that is quickest with a LIMIT.

    For several required traits, MariaDB would read the row of each node with the first trait before it looks for the
    next trait. It would look for it in the primary key, where each node has a separate page. With joins by the index on
    traits, in which the nodes of a trait are adjacent, it first compares index entries. The database still chooses the
    order of the joins.

    :param statement: SELECT from nodes, by id.
    """
    if dialect not in _MYSQL or len(trait_filter.all_of) < 2:
        return statement.where(*where(trait_filter))
    # FROM node_traits AS required_0 FORCE INDEX (…) INNER JOIN node_traits AS required_1 FORCE INDEX (…)
    #     ON required_1.node_id = required_0.node_id … INNER JOIN nodes ON nodes.id = required_0.node_id
    names, others = _divided(trait_filter.all_of)
    tables_of_traits = [tables.node_traits.alias(f'required_{number}') for number in range(len(names))]
    first, *further = tables_of_traits
    source: sa.FromClause = first
    for table in further:
        source = source.join(table, table.c.node_id == first.c.node_id)
    statement = statement.select_from(source.join(tables.nodes, tables.nodes.c.id == first.c.node_id))
    for table, name in zip(tables_of_traits, names, strict=True):
        statement = statement.where(table.c.trait == name)
        statement = statement.with_hint(table, 'FORCE INDEX (node_traits_trait_idx)', dialect)
    rest = dataclasses.replace(trait_filter, all_of=frozenset())
    return statement.where(*_have_all(others), *where(rest))


def where(trait_filter: Filter) -> Iterator[Condition]:
    """Yield the conditions on nodes that implement a trait filter."""
    names, others = _divided(trait_filter.all_of)
    first = dataclasses.replace(trait_filter, all_of=frozenset(names), none_of=frozenset(), exclusive=frozenset())
    yield from map(condition, first.terms())
    yield from _have_all(others)
    if forbidden := trait_filter.none_of | trait_filter.exclusive:
        # One subquery for all of them.
        yield condition(TraitTerm(FORBIDDEN, forbidden))


def condition(term: TraitTerm) -> Condition:
    """Return the condition on nodes that implements a term of a filter."""
    names = sorted(term.traits)
    groups = [[name] for name in names] if term.kind.is_met is all else [names]
    if term.kind.wants:
        # IN, not EXISTS: then SQLite, too, begins with the index on traits if a trait is rare.
        # nodes.id IN (SELECT node_id FROM node_traits WHERE trait IN ('B', 'C'))
        ids = sa.select(tables.node_traits.c.node_id)
        return sa.and_(*(tables.nodes.c.id.in_(ids.where(_is_one_of(group))) for group in groups))
    # (NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'D')
    #  OR NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'E'))
    return sa.or_(*(~_has(_is_one_of(group)) for group in groups))


def _is_one_of(names: Sequence[str]) -> Condition:
    trait = tables.node_traits.c.trait
    return trait == names[0] if len(names) == 1 else trait.in_(names)


def _divided(names: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the required traits that have a subquery each, and the others."""
    ordered = sorted(names)
    return ordered[:MAX_SUBQUERIES], ordered[MAX_SUBQUERIES:]


def _have_all(names: Collection[str]) -> Iterator[Condition]:
    """Yield the condition on nodes that they have all these traits. Other conditions should leave few nodes."""
    if names:
        # (SELECT count(*) FROM node_traits WHERE node_id = nodes.id AND trait IN ('F', 'G')) = 2
        same = tables.node_traits.c.node_id == tables.nodes.c.id, tables.node_traits.c.trait.in_(names)
        count = sa.select(sa.func.count()).select_from(tables.node_traits).where(*same).correlate(tables.nodes)
        yield count.scalar_subquery() == len(names)


def held_by(source: str) -> Condition:
    """Return the condition on nodes that a source holds a trait of the node."""
    # nodes.id IN (SELECT node_id FROM node_traits WHERE writer_id IN (…)
    #              UNION ALL SELECT node_id FROM node_trait_sources WHERE writer_id IN (…))
    holds = (_of_source(table, source) for table in (tables.node_traits, tables.node_trait_sources))
    return tables.nodes.c.id.in_(sa.union_all(*holds))


def _of_source(table: sa.Table, source: str) -> sa.Select:
    written = table.c.writer_id.in_(trait_writers.select_writers(source))
    # For rows from before writers were recorded, the writer is the operator.
    return sa.select(table.c.node_id).where(
        sa.or_(written, table.c.writer_id.is_(None)) if source == OPERATOR else written
    )


def _has(condition: Condition) -> Condition:
    return sa.exists().where(tables.node_traits.c.node_id == tables.nodes.c.id, condition).correlate(tables.nodes)
