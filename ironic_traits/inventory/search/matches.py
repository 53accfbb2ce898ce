"""Matches: the nodes that fulfil a request.

Nodes are ordered by their score, which is the sum of the weights of the preferred traits that they carry; then by the
client's list, or without a list in the order of their creation.
"""

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import sqlalchemy as sa

from ironic_traits.context import Context, Grant, Parts
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.inventory.core import node_filters, trait_filters
from ironic_traits.inventory.core.eligibility import ELIGIBLE
from ironic_traits.inventory.core.mirror_exclusions import Exclusions
from ironic_traits.inventory.search import node_groups
from ironic_traits.matching.requests import Request
from ironic_traits.matching.topology import Policy

#: How many nodes of the client's list are read first, and the factor by which each further read is larger.
_FIRST, _GROWTH = 16, 4
#: Maximum number of characters of a filter's value in the name of a clause.
_MAX_VALUE_LENGTH = 80
_COLUMNS = (tables.nodes.c.id, tables.nodes.c.uuid)
_SHOWN = (tables.nodes.c.uuid, tables.nodes.c.name, tables.nodes.c.resource_class, trait_filters.JOINED)


@dataclasses.dataclass(frozen=True)
class NodeRequest:
    """The nodes that a client requests.

    :ivar grant: ironic_traits.context.Grant of the request.
    :ivar request: ironic_traits.matching.requests.Request: traits and resource class.
    :ivar filters: {filter: value}, as for ``node_filters.conditions``.
    :ivar idents: (uuid or name, …) of the nodes to choose from, the best first; None for all nodes.
    :ivar excluded: the mirrored nodes that cannot be held in their cloud; None if the request ignores this.
    :ivar topology: policies about the groups of the nodes (``matching.topology``).
    :ivar project: the project that the nodes are for; None for that of the caller.
    :ivar capacity_reservation: uuid of the capacity reservation that the nodes are taken for; None for any of the
        project.
    """

    grant: Grant
    request: Request = dataclasses.field(default_factory=Request)
    filters: dict[str, Any] = dataclasses.field(default_factory=dict)
    idents: tuple[str, ...] | None = None
    excluded: Exclusions | None = None
    topology: tuple[Policy, ...] = ()
    project: str | None = None
    capacity_reservation: str | None = None

    @property
    def is_a_list(self) -> bool:
        """Whether the request is a list of nodes and nothing else."""
        return self.idents is not None and not (self.filters or self.topology) and self.request.is_empty

    def without_exclusive(self, service: Parts) -> Self:
        """Return the request, such that nodes with an exclusive trait do not match unless it asks for the trait.

        A request that lists nodes means them, so it stays as it is. Call this before a transaction begins.
        """
        names = service.noted_traits.exclusive(service)
        if not names or self.idents is not None:
            return self
        return dataclasses.replace(self, request=self.request.without_exclusive(names))

    def with_exclusive(self) -> Self:
        """Return the request, such that nodes match whether or not it asks for their exclusive traits."""
        return dataclasses.replace(self, request=self.request.without_exclusive(frozenset()))

    def conditions_by_clause(self) -> dict[str, Condition]:
        """Return the conditions that are not about traits: {name of the clause: condition on nodes}."""
        clauses = {}
        if self.request.resource_class:
            clauses[f'resource_class:{self.request.resource_class}'] = _is_of_class(self.request.resource_class)
        if self.excluded:
            clauses['eligible:cloud'] = self.excluded.condition()
        conditions = node_filters.conditions(self.filters)
        return clauses | {
            f'{name}:{_text(value)}': conditions[name]
            for name, value in self.filters.items()
            if name != 'include_children'
        }

    def considered(self, context: Context, by_set: bool = False) -> list[Condition]:
        """Return the conditions on nodes that the request is about: the caller may see them; they are not children.

        A request that names nodes, or has a filter for children, is also about children.

        :param by_set: as for ``node_filters.without_children``.
        """
        hiding = node_filters.without_children(self.filters, by_set) if self.idents is None else []
        return [*node_filters.visible(context, self.grant), *hiding]

    def conditions(self, context: Context) -> list[Condition]:
        """Return the conditions on nodes that match and that the caller may see.

        They ignore ``idents``, and whether a node is eligible.
        """
        return [*trait_filters.where(self.request.filter), *self._other_conditions(context)]

    def select(self, context: Context, dialect: str, columns: Columns) -> sa.Select:
        """Return the SELECT of the nodes that fulfil ``conditions``."""
        statement = trait_filters.begin_with(sa.select(*columns), dialect, self.request.filter)
        return statement.where(*self._other_conditions(context))

    def _other_conditions(self, context: Context) -> list[Condition]:
        return [*self.conditions_by_clause().values(), *self.considered(context)]


def find(context: Context, node_request: NodeRequest, limit: int) -> Sequence[sa.Row]:
    """Find the nodes that match a request and can be reserved.

    :param node_request: NodeRequest without ``idents``.
    :param limit: maximum number of nodes.
    :returns: [row with ``uuid``, ``name``, ``resource_class`` and ``traits`` (a sorted list), …]: by score, then in
        the order of creation.
    """
    with context.read() as connection:
        statement = node_request.select(context, connection.dialect.name, _SHOWN).where(ELIGIBLE)
        return connection.execute(statement.order_by(*_order(node_request.request)).limit(limit)).all()


def of_uuids(context: Context, uuids: Collection[str]) -> Sequence[sa.Row]:
    """Return the nodes with some uuids: [row as from ``find``, …]."""
    with context.read() as connection:
        return connection.execute(sa.select(*_SHOWN).where(tables.nodes.c.uuid.in_(uuids))).all()


def absent_traits(context: Context, node_request: NodeRequest) -> list[list[str]]:
    """Return the required traits that no node has. Only nodes that the caller may see count.

    :returns: sorted [[trait, …], …]: one trait for ``required``; all traits of a set of ``required_any`` if no node has
        one of them.
    """
    request = node_request.request
    groups = [sorted(names) for names in (*([name] for name in request.required), *request.required_any)]
    names = sorted({name for group in groups for name in group})
    if not names:
        return []
    visible = node_filters.visible(context, node_request.grant)
    has = sa.exists().where(tables.node_traits.c.trait == tables.traits.c.name)
    if visible:
        has = has.where(tables.node_traits.c.node_id == tables.nodes.c.id, *visible)
    with context.read() as connection:
        present = set(connection.scalars(sa.select(tables.traits.c.name).where(tables.traits.c.name.in_(names), has)))
    return sorted(group for group in groups if present.isdisjoint(group))


def candidates(
    context: Context, connection: sa.Connection, node_request: NodeRequest, free: Condition, count: int
) -> Sequence[sa.Row]:
    """Return the best nodes that match a request and can be reserved.

    :param free: condition on nodes: the node can be reserved (``eligibility.eligible_for``).
    :param count: maximum number of nodes.
    :returns: [row with ``id`` and ``uuid``, …]: by score, then in the order of the list if there is one, else in the
        order of creation.
    """
    if node_request.idents is None:
        statement = node_request.select(context, connection.dialect.name, _COLUMNS).where(free)
        return connection.execute(statement.order_by(*_order(node_request.request)).limit(count)).all()
    statement = sa.select(*_COLUMNS).where(*node_request.conditions(context), free)
    if node_request.request.preferred:
        # The last node of the list may have the highest score, so all of them are read.
        return _of_list(connection, statement, node_request.idents, node_request.request.preferred)[:count]
    # By id, because the list may name a node twice: by name and by uuid.
    rows: dict[int, sa.Row] = {}
    begin, size = 0, max(_FIRST, count)
    while begin < len(node_request.idents) and len(rows) < count:
        for row in _of_list(connection, statement, node_request.idents[begin : begin + size]):
            rows.setdefault(row.id, row)
        begin, size = begin + size, size * _GROWTH
    return list(rows.values())[:count]


def matching(
    context: Context, connection: sa.Connection, node_request: NodeRequest, uuids: Collection[str]
) -> set[str]:
    """Return the nodes that match a request, whether or not they are eligible, or have an exclusive trait.

    :param uuids: uuids of the nodes to check.
    :returns: {uuid, …}.
    """
    # A reservation stays when a trait of its node becomes exclusive.
    request = dataclasses.replace(node_request.request, exclusive=frozenset())
    node_request = dataclasses.replace(node_request, excluded=None, request=request)
    statement = sa.select(tables.nodes.c.uuid).where(tables.nodes.c.uuid.in_(uuids), *node_request.conditions(context))
    if node_request.idents is not None:
        statement = statement.where(node_filters.among(node_request.idents))
    return set(connection.scalars(statement))


def grouped(context: Context, connection: sa.Connection, node_request: NodeRequest, free: Condition) -> list[sa.Row]:
    """Return all nodes that match a request with a topology, as ``candidates`` does.

    :returns: [row with ``id``, ``uuid``, ``score`` and ``node_groups.columns``, …].
    """
    columns = (*_COLUMNS, *node_groups.columns(node_request.topology))
    preferred, idents = node_request.request.preferred, node_request.idents
    statement = node_request.select(context, connection.dialect.name, columns).where(free).order_by(tables.nodes.c.id)
    if idents is None:
        rows = connection.execute(statement.add_columns(_score(preferred).label('score'))).all()
        return sorted(rows, key=lambda row: -row.score)
    # By id, because the list may name a node twice: by name and by uuid.
    return list({row.id: row for row in _of_list(connection, statement, idents, preferred)}.values())


def _of_list(
    connection: sa.Connection, statement: sa.Select, idents: Sequence[str], preferred: Mapping[str, int] | None = None
) -> list[sa.Row]:
    """Return the rows of a statement that are in a list of nodes: by score, then in the order of the list."""
    rows = connection.execute(
        statement.add_columns(tables.nodes.c.name, _score(preferred or {}).label('score')).where(
            node_filters.among(idents)
        )
    ).all()
    # Reversed, so that the first position of an ident counts.
    positions = {ident: number for number, ident in reversed(list(enumerate(idents)))}

    def rank(row: sa.Row) -> tuple[int, int]:
        return -row.score, min(positions[ident] for ident in (row.uuid, row.name) if ident in positions)

    return sorted(rows, key=rank)


def _order(request: Request) -> Columns:
    return (_score(request.preferred).desc(), tables.nodes.c.id) if request.preferred else (tables.nodes.c.id,)


def _score(preferred: Mapping[str, int]) -> sa.ColumnElement[int]:
    """Return the SQL expression of a node's score: the sum of the weights of the preferred traits that it carries."""
    if not preferred:
        return sa.literal(0)
    weight = sa.case(preferred, value=tables.node_traits.c.trait, else_=0)
    total = sa.select(sa.func.sum(weight)).where(
        tables.node_traits.c.node_id == tables.nodes.c.id, tables.node_traits.c.trait.in_(sorted(preferred))
    )
    return sa.func.coalesce(total.correlate(tables.nodes).scalar_subquery(), 0)


@functools.lru_cache(maxsize=256)
def _is_of_class(name: str) -> Condition:
    """Return the condition on nodes that a node has a resource class, named as in Placement (CUSTOM_…)."""
    same = sa.select(tables.resource_classes.c.id).where(tables.resource_classes.c.name == name).scalar_subquery()
    return tables.nodes.c.id.in_(
        sa.select(tables.resource_providers.c.node_id).where(
            tables.resource_providers.c.resource_class_id == same, tables.resource_providers.c.node_id.is_not(None)
        )
    )


def _text(value: str | bool | list[str]) -> str:
    """Return the value of a filter for the name of its clause. It is shortened, because explanations may repeat it."""
    if isinstance(value, bool):
        return str(value).lower()
    text = ','.join(value) if isinstance(value, list) else value
    return text if len(text) <= _MAX_VALUE_LENGTH else f'{text[:_MAX_VALUE_LENGTH]}…'
