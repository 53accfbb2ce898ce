"""Facets: the number of nodes in a list for each value of a field, and for each trait."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core import node_filters, trait_filters
from ironic_traits.inventory.search import node_index
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.matching.traits import Filter
from ironic_traits.resources.nodes import NODES

TRAITS = 'traits'
#: Maximum number of traits in ``absent_traits``: each needs a subquery.
MAX_ABSENT = 10
#: Fields by which nodes can be counted, besides their traits.
FIELDS = NODES.facets


class Counts(NamedTuple):
    """The facets of a list of nodes.

    :ivar nodes: the number of nodes in the list.
    :ivar facets: {field, or TRAITS: [(value, number of nodes), …]}, the most frequent values first.
    """

    nodes: int
    facets: dict[str, list[tuple[Any, int]]]


def count(
    context: Context, grant: Grant, by: Collection[str], filters: Mapping[str, Any], traits: Filter, limit: int
) -> Counts:
    """Count the nodes of a list by their values of fields.

    :param by: names from FIELDS, and TRAITS.
    :param filters: {filter: value}, as for ``node_filters.conditions``.
    :param limit: the maximum number of values of each field.
    :returns: Counts of the nodes that the caller may see.
    """
    names = dict.fromkeys(by)
    with context.service.node_index.if_ready(context) as view:
        if view:
            nodes = Nodes(context, grant, view)
            return _by_index(view, nodes.with_traits(nodes.considered(filters), traits), names, limit)
    conditions = [
        *node_filters.visible(context, grant),
        *node_filters.conditions(filters).values(),
        *trait_filters.where(traits),
        *node_filters.without_children(filters),
    ]
    is_everything = len(conditions) == 1 and bool(node_filters.without_children(filters))
    with context.read() as connection:
        number = _number(connection, conditions)
        facets = _of_fields(connection, [name for name in names if name != TRAITS], conditions, limit)
        if TRAITS in names:
            condition = _CHILDLESS if is_everything else _selected(connection, conditions, number)
            facets[TRAITS] = [(name, nodes) for name, nodes in connection.execute(_traits(condition).limit(limit))]
        is_slow = number >= node_index.MIN_NODES and _number(connection, []) <= node_index.MAX_NODES
    if is_slow:
        context.service.node_index.prepare(context)
    return Counts(number, facets)


def absent_traits(context: Context, grant: Grant, traits: Filter) -> list[str]:
    """Return the traits that a filter requires, and that no node has which the caller may see.

    Only the first MAX_ABSENT names are looked up. Each ends at the first node that has the trait. If the caller may see
    only some nodes, the first one can come after very many others, which the index does not read.

    :returns: [name, …], sorted.
    """
    names = sorted(traits.all_of.union(*traits.any_of))[:MAX_ABSENT]
    if not names:
        return []
    with context.service.node_index.if_ready(context) as view:
        if view:
            nodes = Nodes(context, grant, view)
            return [name for name in names if not nodes.all & nodes.trait(name)]
    conditions = node_filters.visible(context, grant)
    seen = _HOLDS.node_id.in_(sa.select(tables.nodes.c.id).where(*conditions)) if conditions else sa.true()
    columns = [sa.exists().where(_HOLDS.trait == name, seen).label(f'has_{place}') for place, name in enumerate(names)]
    with context.read() as connection:
        has = connection.execute(sa.select(*columns)).one()
    return [name for name, is_present in zip(names, has, strict=True) if not is_present]


def _by_index(view: node_index.View, nodes: int, by: Iterable[str], limit: int) -> Counts:
    """Count a set of nodes. This takes only milliseconds, for any number of nodes."""
    facets = {}
    for name in by:
        if name == 'maintenance':
            number = (nodes & view.get('reason', 'maintenance')).bit_count()
            counts = [(True, number), (False, nodes.bit_count() - number)]
            facets[name] = node_index.by_frequency(each for each in counts if each[1])
        else:
            facets[name] = view.counts('trait' if name == TRAITS else name, nodes)
    return Counts(nodes.bit_count(), {name: counts[:limit] for name, counts in facets.items()})


def _number(connection: sa.Connection, conditions: Sequence[Condition]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes).where(*conditions)) or 0


def _of_fields(
    connection: sa.Connection, names: Sequence[str], conditions: Sequence[Condition], limit: int
) -> dict[str, list[tuple[Any, int]]]:
    """Return the facets of fields. One statement counts all fields, because nodes have few combinations of values."""
    counters: dict[str, Counter[Any]] = {name: Counter() for name in names}
    columns = [tables.nodes.c[name] for name in names]
    if columns:
        statement = sa.select(*columns, sa.func.count()).where(*conditions).group_by(*columns)
        for *values, nodes in connection.execute(statement):
            for name, value in zip(names, values, strict=True):
                counters[name][value] += nodes
    return {name: node_index.by_frequency(counter.items())[:limit] for name, counter in counters.items()}


# An alias, because the trait filters have subqueries on the same table.
_HOLDS = tables.node_traits.alias('holds').c
#: Condition on traits: the node is not a child. Nearly all nodes are not: it is quicker to exclude the few children.
_CHILDLESS = _HOLDS.node_id.not_in(sa.select(tables.nodes.c.id).where(tables.nodes.c.parent_node.is_not(None)))


#: The number of nodes from which SQLite finds their traits quicker in the order of the traits.
_MANY_NODES = 20_000


def _selected(connection: sa.Connection, conditions: Sequence[Condition], number: int) -> Condition:
    """Return the condition on traits that their nodes fulfil conditions.

    :param number: number of nodes that fulfil the conditions.
    """
    ids = sa.select(tables.nodes.c.id).where(*conditions)
    # For many nodes, SQLite would look up the traits of each node, and sort them. With "+ 0", it cannot use that index,
    # and reads the traits in order. MariaDB would take ten times as long with "+ 0".
    if connection.dialect.name == 'sqlite' and number > _MANY_NODES:
        return (_HOLDS.node_id + 0).in_(ids)
    return _HOLDS.node_id.in_(ids)


def _traits(condition: Condition) -> sa.Select:
    """Return the SELECT of the traits with the number of nodes of each."""
    number = sa.func.count()
    statement = sa.select(_HOLDS.trait, number).where(condition).group_by(_HOLDS.trait)
    return statement.order_by(number.desc(), _HOLDS.trait)
