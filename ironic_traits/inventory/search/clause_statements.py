"""The statements that encode each node as a few integers, for explanations.

There is one bit for each trait of a request that the node carries, and one for each other clause that the node fails.
"""

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements import masks
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.masks import MAX_BITS
from ironic_traits.inventory.core import eligibility, mismatches
from ironic_traits.inventory.core.node_filters import among
from ironic_traits.inventory.search import node_classes, node_groups
from ironic_traits.inventory.search.index_explanations import MAX_RULES
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.explanations import MAX_LISTED, TraitClauses
from ironic_traits.matching.group_limits import Cell

#: Maximum number of traits that a search for near misses looks up before it reads the nodes.
_MAX_IMPLIED = 3
#: The integers of a node, in the order of ``Facts.numbers``.
Numbers = tuple[int, ...]


class Node(NamedTuple):
    """A node.

    :ivar mask: mask of the clauses that it fails.
    :ivar cell: its group for each policy of a topology.
    """

    uuid: str
    name: str | None
    mask: int
    cell: Cell


class NodeGroup(NamedTuple):
    """Nodes with the same numbers.

    :ivar numbers: their numbers.
    :ivar size: number of nodes.
    :ivar first_id: lowest id.
    :ivar last_id: highest id.
    """

    numbers: Numbers
    size: int
    first_id: int
    last_id: int


class Facts:
    """The SELECT that encodes each node as integers, and the meaning of the bits.

    :ivar clauses: names of the clauses: those about traits first.
    :ivar inner: the SELECT as a subquery, with the node's ``id``, ``uuid`` and ``name``.
    :ivar numbers: its integer columns: ``failed``, ``traits_0``, ``traits_1``, …

    The subquery, for two required traits (simplified)::

        SELECT nodes.id, nodes.uuid, nodes.name,
               CASE WHEN (CLAUSE 0) THEN 0 ELSE 1 END + CASE WHEN (CLAUSE 1) THEN 0 ELSE 2 END + … AS failed,
               coalesce(carried.traits_0, 0) AS traits_0
        FROM nodes LEFT JOIN (
            SELECT node_id, sum(CASE trait WHEN 'CUSTOM_A' THEN 1 WHEN 'CUSTOM_B' THEN 2 ELSE 0 END) AS traits_0
            FROM node_traits WHERE trait IN ('CUSTOM_A', 'CUSTOM_B') GROUP BY node_id
        ) AS carried ON carried.node_id = nodes.id
        LIMIT 2147483647
    """

    def __init__(
        self, context: Context, connection: sa.Connection, node_request: NodeRequest, instance: str | None
    ) -> None:
        self._of_traits = TraitClauses(node_request.request)
        names = self._of_traits.traits
        self._words = [names[begin : begin + MAX_BITS] for begin in range(0, len(names), MAX_BITS)]
        flags = node_request.conditions_by_clause() | {
            f'eligible:{clause.name}': ~clause.failed(instance) for clause in eligibility.explained(context.conf)
        }
        by_set = connection.dialect.name in ('mysql', 'mariadb')
        conditions = node_request.considered(context, by_set)
        flags |= _expectations(connection, conditions)
        flags |= _of_class(connection, node_request)
        self._policies = node_request.topology
        self._places = {policy.clause: place for place, policy in enumerate(self._policies)}
        self.clauses = [*self._of_traits.names, *flags, *self._places]
        # The first list is for statements about all nodes, the second one for statements about few nodes.
        self._flags = list((flags | _as_sets(instance)).values())
        self._flags_of_few = list(flags.values())
        self._conditions = [*conditions, *([] if node_request.idents is None else [among(node_request.idents)])]
        self.inner = self._nodes()
        self.numbers = self._numbers(self.inner)
        self._failed = functools.cache(self._of_traits.failed)

    def _encoded(self) -> tuple[sa.FromClause, list[sa.ColumnElement[int]]]:
        """Return all nodes with the traits that they carry, and the expressions of their integers."""
        numbers, source = [masks.number(self._flags)], cast(sa.FromClause, tables.nodes)
        if self._words:
            table = tables.node_traits.c
            columns = (_sum(names).label(_word(number)) for number, names in enumerate(self._words))
            named = table.trait.in_([name for names in self._words for name in names])
            carried = sa.select(table.node_id, *columns).where(named).group_by(table.node_id).subquery()
            source = tables.nodes.outerjoin(carried, carried.c.node_id == tables.nodes.c.id)
            numbers += [sa.func.coalesce(carried.c[_word(number)], 0) for number in range(len(self._words))]
        return source, numbers

    def _nodes(self) -> sa.Subquery:
        """Return the subquery."""
        source, numbers = self._encoded()
        return self._labelled(numbers, source)

    def _few_nodes(self, *conditions: Condition) -> sa.Subquery:
        """Return the subquery for the few nodes that fulfil further conditions. It reads the traits of each node."""
        numbers = [masks.number(self._flags_of_few)]
        for names in self._words:
            same = tables.node_traits.c.node_id == tables.nodes.c.id, tables.node_traits.c.trait.in_(names)
            carried = sa.select(_sum(names)).where(*same).correlate(tables.nodes)
            numbers.append(sa.func.coalesce(carried.scalar_subquery(), 0))
        return self._labelled(numbers, tables.nodes, *conditions)

    def _labelled(
        self, numbers: Sequence[sa.ColumnElement[int]], source: sa.FromClause, *conditions: Condition
    ) -> sa.Subquery:
        columns = (tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.name)
        labels = ('failed', *map(_word, range(len(self._words))))
        named = (number.label(label) for number, label in zip(numbers, labels, strict=True))
        return masks.once(sa.select(*columns, *named).select_from(source).where(*self._conditions, *conditions))

    def _numbers(self, inner: sa.Subquery) -> list[sa.ColumnElement[int]]:
        return [inner.c.failed, *(inner.c[_word(number)] for number in range(len(self._words)))]

    def counted(self, connection: sa.Connection) -> Iterator[NodeGroup]:
        """Yield the groups of nodes with the same numbers.

        ::

            SELECT number_0, count(*), min(id), max(id)
            FROM (SELECT nodes.id, failed + traits_0 * 128 AS number_0 FROM nodes LEFT JOIN … LIMIT 2147483647)
            GROUP BY number_0
        """
        source, numbers = self._encoded()
        flags = len(self._flags)
        in_one = len(self._words) == 1 and flags + len(self._words[0]) <= MAX_BITS
        if in_one:
            # Combine both numbers. For two numbers, PostgreSQL expects so many groups that it sorts all nodes.
            failed, traits = numbers
            numbers = [failed + traits * sa.literal(1 << flags, sa.BigInteger)]
        labels = [number.label(f'number_{place}') for place, number in enumerate(numbers)]
        # Grouped outside: PostgreSQL expects as many groups of an expression as its columns have combinations.
        inner = masks.once(sa.select(tables.nodes.c.id, *labels).select_from(source).where(*self._conditions))
        columns = [inner.c[label.name] for label in labels]
        figures = sa.func.count(), sa.func.min(inner.c.id), sa.func.max(inner.c.id)
        for row in connection.execute(sa.select(*columns, *figures).group_by(*columns)):
            both = row[0]
            found = (both & (1 << flags) - 1, both >> flags) if in_one else tuple(row[:-3])
            yield NodeGroup(found, *row[-3:])

    def read(self, connection: sa.Connection) -> Iterator[Node]:
        """Yield all nodes, in the order of their ids."""
        columns = (self.inner.c.uuid, self.inner.c.name, *node_groups.columns(self._policies), *self.numbers)
        statement = sa.select(*columns).join_from(self.inner, tables.nodes, tables.nodes.c.id == self.inner.c.id)
        first_bit = len(self.clauses) - len(self._places)
        for row in connection.execute(statement.order_by(self.inner.c.id)):
            cell = node_groups.cell(self._policies, row)
            mask = self.mask(tuple(row[2 + len(cell) :]))
            for bit, place in enumerate(self._places.values(), first_bit):
                mask |= (cell[place] is None) << bit
            yield Node(row.uuid, row.name, mask, cell)

    def nodes_with(self, ranking: Sequence[Numbers], node_ids: range) -> sa.Select:
        """Return the SELECT of the id, uuid, name and numbers of the first MAX_LISTED nodes with some numbers.

        :param ranking: [numbers, …] of the nodes to find.
        :param node_ids: range of the ids of the nodes.
        """
        inner = self._few_nodes(_is_within(tables.nodes.c.id, node_ids), *self._implied(ranking, node_ids))
        columns = self._numbers(inner)
        alike = [
            sa.and_(*(column == number for column, number in zip(columns, numbers, strict=True))) for numbers in ranking
        ]
        statement = sa.select(inner.c.id, inner.c.uuid, inner.c.name, *columns).where(sa.or_(*alike))
        return statement.order_by(inner.c.id).limit(MAX_LISTED)

    def nodes_of(self, node_ids: Collection[int]) -> sa.Select:
        """Return the SELECT of the id, uuid, name and numbers of nodes."""
        inner = self._few_nodes(tables.nodes.c.id.in_(node_ids))
        return sa.select(inner.c.id, inner.c.uuid, inner.c.name, *self._numbers(inner))

    def _implied(self, ranking: Sequence[Numbers], node_ids: range) -> Iterator[Condition]:
        """Yield conditions that all nodes with these numbers fulfil, so that fewer nodes are encoded."""
        failed = functools.reduce(operator.or_, (numbers[0] for numbers in ranking))
        yield from (condition for bit, condition in enumerate(self._flags_of_few) if not failed >> bit & 1)
        names = []
        for place, words in enumerate(self._words, 1):
            common = functools.reduce(operator.and_, (numbers[place] for numbers in ranking))
            names += [name for bit, name in enumerate(words) if common >> bit & 1]
        for name in names[:_MAX_IMPLIED]:
            table = tables.node_traits.c
            of_range = sa.select(table.node_id).where(table.trait == name, _is_within(table.node_id, node_ids))
            yield tables.nodes.c.id.in_(of_range)

    @staticmethod
    def numbers_of(row: sa.Row) -> Numbers:
        """Return the numbers of a row of ``nodes_with`` or ``nodes_of``."""
        return tuple(row[3:])

    def mask(self, numbers: Numbers) -> int:
        """Return the mask of the clauses that nodes with these numbers fail."""
        failed, *words = numbers
        carried = sum(word << number * MAX_BITS for number, word in enumerate(words))
        return self._failed(carried) | failed << len(self._of_traits.names)


def _as_sets(instance: str | None) -> dict[str, Condition]:
    """Return clauses with conditions that read a set of rows once, instead of some rows for each node.

    They do not use EXISTS: PostgreSQL's planner adds its cost for each node. The sum is so large that the planner
    ignores the cost of sorting all nodes.

    :param instance: as for ``eligibility.Clause``.
    :returns: {name of the clause: condition on nodes}.
    """
    return {
        f'eligible:{clause.name}': clause.met_by_set(instance) for clause in eligibility.CLAUSES if clause.met_by_set
    }


def _of_class(connection: sa.Connection, node_request: NodeRequest) -> dict[str, Condition]:
    """Return the clause of the resource class, if nodes have few classes: {name of the clause: condition on nodes}."""
    name = node_request.request.resource_class
    classes = node_classes.read(connection, name) if name else None
    if classes is None:
        return {}
    of_class = sa.and_(tables.nodes.c.resource_class.is_not(None), tables.nodes.c.resource_class.in_(classes))
    return {f'resource_class:{name}': of_class}


def _expectations(connection: sa.Connection, conditions: Sequence[Condition]) -> dict[str, Condition]:
    """Return the clauses of the rules whose expectations are not met now: {name of the clause: condition on nodes}.

    :param conditions: conditions on the nodes that the request is about.
    """
    rules = mismatches.rules(connection, conditions, MAX_RULES + 1)
    named, more = rules[:MAX_RULES], rules[MAX_RULES:]
    clauses = {f'expect:{rule}': ~mismatches.fails_rule(rule) for rule in named}
    return clauses | ({'expect': ~mismatches.fails_other_rule(named)} if more else {})


def _is_within(column: sa.ColumnElement[int], node_ids: range) -> Condition:
    return sa.and_(column >= node_ids.start, column < node_ids.stop)


def _sum(names: Iterable[str]) -> sa.ColumnElement[int]:
    """Return the SQL expression of the traits that a node carries: a sum in which bit n stands for name n."""
    bits = sa.case(_bits(names), value=tables.node_traits.c.trait, else_=0)
    return sa.cast(sa.func.sum(bits), sa.BigInteger)


def _bits(names: Iterable[str]) -> dict[str, sa.ColumnElement[int]]:
    return {name: sa.literal(1 << bit, sa.BigInteger) for bit, name in enumerate(names)}


def _word(number: int) -> str:
    return f'traits_{number}'
