"""Traits in statements that select nodes: the column of a node's traits, and the conditions of the filters."""

from collections.abc import Iterator

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.db.types import names_in
from ironic_traits.inventory import trait_writers
from ironic_traits.matching.sources import OPERATOR
from ironic_traits.matching.traits import Filter

#: A column of a SELECT from nodes: the node's traits, which are read as a sorted list.
JOINED = (
    sa.select(names_in(tables.node_traits.c.trait))
    .where(tables.node_traits.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('traits')
)

#: Up to this number of required traits, each has a subquery of its own, which is quick when one of the traits is rare.
#: More are counted in one subquery, because the planners' work grows at least with the square of the subqueries.
MAX_SUBQUERIES = 5


def where(trait_filter: Filter) -> Iterator[Condition]:
    """Yield the conditions on nodes that implement a trait filter."""
    # IN, not EXISTS: then a rare trait drives the statement from the index on traits on SQLite, too.
    if len(trait_filter.all_of) > MAX_SUBQUERIES:
        # nodes.id IN (SELECT node_id FROM node_traits WHERE trait IN ('A', 'B', 'C', 'D', 'E', 'F')
        #              GROUP BY node_id HAVING count(*) = 6)
        carried = sa.select(tables.node_traits.c.node_id).where(
            tables.node_traits.c.trait.in_(sorted(trait_filter.all_of))
        )
        counted = carried.group_by(tables.node_traits.c.node_id).having(sa.func.count() == len(trait_filter.all_of))
        yield tables.nodes.c.id.in_(counted)
    else:
        # nodes.id IN (SELECT node_id FROM node_traits WHERE trait = 'A')
        for name in sorted(trait_filter.all_of):
            yield tables.nodes.c.id.in_(
                sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait == name)
            )
    # nodes.id IN (SELECT node_id FROM node_traits WHERE trait IN ('B', 'C'))
    for one_of in trait_filter.any_of:
        yield tables.nodes.c.id.in_(
            sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait.in_(sorted(one_of)))
        )
    # (NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'D')
    #  OR NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'E'))
    for all_of in trait_filter.not_all_of:
        yield sa.or_(*(~_has(tables.node_traits.c.trait == name) for name in sorted(all_of)))
    # NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait IN ('F', 'G'))
    if trait_filter.none_of:
        yield ~_has(tables.node_traits.c.trait.in_(sorted(trait_filter.none_of)))


def held_by(source: str) -> Condition:
    """Return the condition on nodes that a source holds a trait of the node."""
    # nodes.id IN (SELECT node_id FROM node_traits WHERE writer_id IN (…)
    #              UNION ALL SELECT node_id FROM node_trait_sources WHERE writer_id IN (…))
    holds = (_of_source(table, source) for table in (tables.node_traits, tables.node_trait_sources))
    return tables.nodes.c.id.in_(sa.union_all(*holds))


def _of_source(table: sa.Table, source: str) -> sa.Select:
    written = table.c.writer_id.in_(trait_writers.of_source(source))
    # The writer of rows from before writers were recorded is the operator.
    return sa.select(table.c.node_id).where(
        sa.or_(written, table.c.writer_id.is_(None)) if source == OPERATOR else written
    )


def _has(condition: Condition) -> Condition:
    return sa.exists().where(tables.node_traits.c.node_id == tables.nodes.c.id, condition).correlate(tables.nodes)
