"""Why nodes do not match a request: the figures for all nodes in one query.

The database encodes each node as a few integers: one bit for each trait of the request that the node carries, and one
for each other clause that the node fails. It groups the nodes by these integers and counts each group.
``matching.explanations`` computes the figures from the counts.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory import eligibility, mismatches, node_classes
from ironic_traits.inventory.matches import NodeRequest, among
from ironic_traits.matching.explanations import MAX_LISTED, Explanation, TraitClauses

#: Most bits used in one integer: a signed 64-bit integer has 63, and one is left unused.
_MAX_BITS = 62
#: Most rules that have a clause of their own; the others share one.
_MAX_RULES = 20
#: Fewest ids of nodes that are read at once to find near misses, and the factor by which each further read is larger.
_MIN_RANGE, _GROWTH = 1000, 4
#: The integers of a node, in the order of ``_Facts.numbers``.
_Numbers = tuple[int, ...]


def explain(
    context: Context, node_request: NodeRequest, instance: str | None = None, needed: int = 1
) -> dict[str, Any]:
    """Explain how many nodes match a request, and which clauses reject the others.

    :param instance: uuid of the instance to reserve a node for: a node that is allocated to it is not rejected for
        that. None for no instance.
    :param needed: how many nodes are to match.
    :returns: {'considered': number of nodes, 'matched': number of nodes, 'clauses': [{'clause', 'rejected',
        'rejected_only'}, …], 'relaxations': [{'drop': [clause, …], 'nodes': number of nodes}, …], 'near_misses':
        [{'node': uuid, 'name': name, 'rejected_by': [clause, …]}, …]}.
    """
    with context.read() as connection:
        facts = _Facts(context, connection, node_request, instance)
        groups: dict[int, list[_Group]] = {}
        failing: Counter[int] = Counter()
        for group in facts.counted(connection):
            mask = facts.mask(group.numbers)
            failing[mask] += group.size
            groups.setdefault(mask, []).append(group)
        explanation = Explanation(facts.clauses, failing)
        misses = _near_misses(connection, facts, [groups[mask] for mask in explanation.near_misses()])
    return {
        'considered': explanation.considered,
        'matched': explanation.matched,
        'clauses': explanation.rejected(),
        'relaxations': explanation.relaxations(needed),
        'near_misses': [
            {'node': uuid, 'name': name, 'rejected_by': explanation.names(facts.mask(tuple(numbers)))}
            for uuid, name, *numbers in misses
        ],
    }


def rejections(context: Context, node_request: NodeRequest, instance: str | None = None) -> dict[str, list[str]]:
    """Return which clauses reject each node that the caller may see (of the list, if the request has one).

    :param instance: as for ``explain``.
    :returns: {uuid of a node: [clause, …]}.
    """
    with context.read() as connection:
        facts = _Facts(context, connection, node_request, instance)
        rows = connection.execute(sa.select(facts.inner.c.uuid, *facts.numbers)).all()
    explanation = Explanation(facts.clauses, Counter())
    return {uuid: explanation.names(facts.mask(tuple(numbers))) for uuid, *numbers in rows}


class _Group(NamedTuple):
    """Nodes with the same numbers.

    :ivar numbers: their numbers.
    :ivar size: how many they are.
    :ivar first_id: id of the first of them.
    :ivar last_id: id of the last of them.
    """

    numbers: _Numbers
    size: int
    first_id: int
    last_id: int


def _near_misses(connection: sa.Connection, facts: '_Facts', nearest: Sequence[Sequence[_Group]]) -> Sequence[sa.Row]:
    """Return the nodes that fail the fewest clauses: MAX_LISTED rows at most, as of ``_Facts.nodes_with``.

    :param nearest: [[_Group, …], …]: the groups that fail the same clauses, the fewest clauses first.
    """
    if not nearest:
        return []
    first = nearest[0]
    count = sum(group.size for group in first)
    if count < MAX_LISTED:
        ranking = [group.numbers for groups in nearest for group in groups]
        return connection.execute(facts.nodes_with(ranking)).all()
    # Mostly, nodes that fail the same clauses are many. Then some of the nodes contain MAX_LISTED of them.
    begin, last = min(group.first_id for group in first), max(group.last_id for group in first)
    size = max(_MIN_RANGE, 2 * MAX_LISTED * (last - begin) // count)
    rows: list[sa.Row] = []
    while begin <= last and len(rows) < MAX_LISTED:
        rows += connection.execute(facts.nodes_with([group.numbers for group in first], range(begin, begin + size)))
        begin, size = begin + size, size * _GROWTH
    return rows[:MAX_LISTED]


class _Facts:
    """The SELECT that encodes each node as integers, and what their bits mean.

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
        self._words = [names[begin : begin + _MAX_BITS] for begin in range(0, len(names), _MAX_BITS)]
        flags = node_request.flags() | {
            f'eligible:{reason}': ~condition for reason, condition in eligibility.reasons(instance).items()
        }
        conditions = node_request.considered(context)
        flags |= _expectations(connection, conditions)
        flags |= _as_sets(connection, node_request)
        self.clauses = [*self._of_traits.names, *flags]
        self._columns = [
            tables.nodes.c.id,
            tables.nodes.c.uuid,
            tables.nodes.c.name,
            _number(flags.values()).label('failed'),
        ]
        self._conditions = [*conditions, *([] if node_request.idents is None else [among(node_request.idents)])]
        self.inner = self._nodes()
        self.numbers = self._numbers(self.inner)
        self._failed = functools.cache(self._of_traits.failed)

    def _nodes(self, node_ids: range | None = None) -> sa.Subquery:
        """Return the subquery.

        :param node_ids: range of the ids of nodes; None for all nodes.
        """
        columns, source = list(self._columns), cast(sa.FromClause, tables.nodes)
        if self._words:
            carried = _carried(self._words, node_ids)
            source = tables.nodes.outerjoin(carried, carried.c.node_id == tables.nodes.c.id)
            names = map(_word, range(len(self._words)))
            columns += [sa.func.coalesce(carried.c[name], 0).label(name) for name in names]
        statement = sa.select(*columns).select_from(source).where(*self._conditions)
        if node_ids is not None:
            statement = statement.where(_is_within(tables.nodes.c.id, node_ids))
        # This LIMIT cuts nothing. It makes the databases evaluate the subquery once: without it they inline the
        # expressions of its columns wherever one is used, and evaluate them each time.
        return statement.limit(2**31 - 1).subquery()

    def _numbers(self, inner: sa.Subquery) -> list[sa.ColumnElement[int]]:
        return [inner.c.failed, *(inner.c[_word(number)] for number in range(len(self._words)))]

    def counted(self, connection: sa.Connection) -> Iterator[_Group]:
        """Yield the groups of nodes with the same numbers.

        ::

            SELECT failed, traits_0, count(*), min(id), max(id) FROM (…) GROUP BY failed, traits_0
        """
        figures = sa.func.count(), sa.func.min(self.inner.c.id), sa.func.max(self.inner.c.id)
        flags = len(self.clauses) - len(self._of_traits.names)
        if len(self._words) == 1 and flags + len(self._words[0]) <= _MAX_BITS:
            # Both numbers in one: for two, PostgreSQL expects so many groups that it sorts all nodes.
            failed, traits = self.numbers
            number = (failed + traits * sa.literal(1 << flags, sa.BigInteger)).label('number')
            for both, *rest in connection.execute(sa.select(number, *figures).group_by(number)):
                yield _Group((both & (1 << flags) - 1, both >> flags), *rest)
            return
        for row in connection.execute(sa.select(*self.numbers, *figures).group_by(*self.numbers)):
            yield _Group(tuple(row[:-3]), *row[-3:])

    def nodes_with(self, ranking: Sequence[_Numbers], node_ids: range | None = None) -> sa.Select:
        """Return the SELECT of the uuid, the name and the numbers of the first MAX_LISTED nodes of a ranking.

        :param ranking: [numbers, …]: nodes with the first of them come first; those with one of them in order of the
            ids, if there is a range.
        :param node_ids: range of the ids of the nodes; None for all nodes.
        """
        inner = self.inner if node_ids is None else self._nodes(node_ids)
        columns = self._numbers(inner)
        alike = [
            sa.and_(*(column == number for column, number in zip(columns, numbers, strict=True)))
            for numbers in ranking[:MAX_LISTED]
        ]
        places = () if node_ids else (sa.case(*((condition, place) for place, condition in enumerate(alike))),)
        statement = sa.select(inner.c.uuid, inner.c.name, *columns).where(sa.or_(*alike))
        return statement.order_by(*places, inner.c.id).limit(MAX_LISTED)

    def mask(self, numbers: _Numbers) -> int:
        """Return the mask of the clauses that nodes with these numbers fail."""
        failed, *words = numbers
        carried = sum(word << number * _MAX_BITS for number, word in enumerate(words))
        return self._failed(carried) | failed << len(self._of_traits.names)


def _as_sets(connection: sa.Connection, node_request: NodeRequest) -> dict[str, Condition]:
    """Return clauses with conditions that read a set of rows once, and not some rows for each node.

    :returns: {name of the clause: condition on nodes}.
    """
    reserved = sa.select(tables.reservations.c.node_uuid).where(eligibility.LIVE)
    clauses: dict[str, Condition] = {'eligible:reserved': tables.nodes.c.uuid.not_in(reserved)}
    name = node_request.request.resource_class
    classes = node_classes.read(connection, name) if name else None
    if classes is None:
        return clauses
    of_class = sa.and_(tables.nodes.c.resource_class.is_not(None), tables.nodes.c.resource_class.in_(classes))
    return clauses | {f'resource_class:{name}': of_class}


def _expectations(connection: sa.Connection, conditions: Sequence[Condition]) -> dict[str, Condition]:
    """Return the clauses of the rules whose expectations are not met now: {name of the clause: condition on nodes}.

    :param conditions: on the nodes that the request is about.
    """
    rules = mismatches.rules(connection, conditions, _MAX_RULES + 1)
    named, more = rules[:_MAX_RULES], rules[_MAX_RULES:]
    clauses = {f'expect:{rule}': ~mismatches.of_rule(rule) for rule in named}
    return clauses | ({'expect': ~mismatches.of_other_rules(named)} if more else {})


def _is_within(column: sa.ColumnElement[int], node_ids: range) -> Condition:
    return sa.and_(column >= node_ids.start, column < node_ids.stop)


def _carried(words: Sequence[Sequence[str]], node_ids: range | None) -> sa.Subquery:
    """Return the subquery of which traits the nodes carry, as integers: one column for each list of names.

    Nodes that carry none of the traits have no row.

    :param words: [[trait, …], …]; bit n of a column stands for name n of its list.
    :param node_ids: range of the ids of nodes; None for all nodes.
    """
    numbers = [
        sa.cast(sa.func.sum(sa.case(_bits(names), value=tables.node_traits.c.trait, else_=0)), sa.BigInteger).label(
            _word(number)
        )
        for number, names in enumerate(words)
    ]
    named = tables.node_traits.c.trait.in_([name for names in words for name in names])
    statement = sa.select(tables.node_traits.c.node_id, *numbers).where(named).group_by(tables.node_traits.c.node_id)
    if node_ids is not None:
        statement = statement.where(_is_within(tables.node_traits.c.node_id, node_ids))
    return statement.subquery()


def _bits(names: Iterable[str]) -> dict[str, sa.ColumnElement[int]]:
    return {name: sa.literal(1 << bit, sa.BigInteger) for bit, name in enumerate(names)}


def _number(conditions: Iterable[Condition]) -> sa.ColumnElement[int]:
    """Return the SQL expression of an integer in which bit n is set if condition n does not hold."""
    number: sa.ColumnElement = sa.literal(0)
    for bit, condition in enumerate(conditions):
        number += sa.case((condition, 0), else_=1 << bit)
    return number


def _word(number: int) -> str:
    return f'traits_{number}'
