"""Explains why nodes do not match a request, from the index of nodes, if the process has it.

Each clause is one set of bits. Therefore the figures take only milliseconds for any number of nodes, and all of them
are of one moment. The index has no sets for lists of nodes, or for most filters. ``inventory.search.explanations`` has
a statement for those requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.core import eligibility, mismatches, node_consumers
from ironic_traits.inventory.search import node_index
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import bitsets
from ironic_traits.matching.explanations import MAX_LISTED, Explanation
from ironic_traits.matching.group_explanations import MaskedCells

#: Maximum number of rules with separate clauses. The other rules share one clause.
MAX_RULES = 20


class Miss(NamedTuple):
    """A node that fails few clauses.

    :ivar mask: mask of the clauses that it fails.
    """

    uuid: str
    name: str | None
    mask: int


class Result(NamedTuple):
    """An explanation.

    :ivar misses: the nodes that fail the fewest clauses, the nearest first: MAX_LISTED at most.
    :ivar cells: the cells of nodes by their masks, for a request with a topology.
    :ivar reserved: whether one of the instances of the request has a reservation at the moment of the figures, as from
        ``eligibility.has_reservation``.
    """

    explanation: Explanation
    misses: list[Miss]
    cells: MaskedCells
    reserved: bool | None


def explain(context: Context, node_request: NodeRequest, instances: Sequence[str]) -> Result | None:
    """Explain how many nodes match a request. Return None if the index lacks some of its clauses, or is not ready.

    :param instances: as for ``explanations.count``.
    """
    if not _has_all_clauses(node_request):
        return None
    with context.service.node_index.if_ready(context) as view:
        if view is None:
            return None
        nodes = Nodes(context, node_request.grant, view)
        considered = nodes.considered(node_request.filters)
        clauses = list(_clauses(context, nodes, node_request, eligibility.only(instances)))
        fulfilled = [members for _, members in clauses]
        failing = bitsets.failing(considered, fulfilled, view.size)
        explanation = Explanation([name for name, _ in clauses], failing)
        cells = _cells(nodes, node_request, failing, considered, fulfilled) if node_request.topology else {}
        reserved = eligibility.has_reservation(view.connection, instances)
        return Result(explanation, _misses(nodes, explanation, considered, fulfilled), cells, reserved)


def prepare(context: Context, node_request: NodeRequest, considered: int) -> None:
    """Make the index for the next request in the background, if it would have been quicker for this one.

    :param considered: number of nodes that this request considered.
    """
    if node_index.MIN_NODES <= considered <= node_index.MAX_NODES and _has_all_clauses(node_request):
        context.service.node_index.prepare(context)


def _has_all_clauses(node_request: NodeRequest) -> bool:
    return node_request.idents is None and node_request.filters.keys() <= {'include_children'}


def _clauses(
    context: Context, nodes: Nodes, node_request: NodeRequest, instance: str | None
) -> Iterator[tuple[str, int]]:
    """Yield the clauses, in the order of ``inventory.search.explanations``, with the set of the nodes that fulfil
    each."""
    request = node_request.request
    yield from nodes.clauses_of_traits(request)
    if request.resource_class:
        yield f'resource_class:{request.resource_class}', nodes.of_class(request)
    if node_request.excluded:
        elsewhere = nodes.view.select([tables.nodes.c.origin.is_not(None), ~node_request.excluded.condition()])
        yield 'eligible:cloud', nodes.all & ~elsewhere
    for clause in eligibility.explained(context.conf):
        own = _own(nodes, instance) if clause.name == 'allocated' else 0
        yield f'eligible:{clause.name}', nodes.all & ~(nodes.view.unavailable(clause.name) & ~own)
    if nodes.view.unavailable('expectation') & nodes.all:
        yield from _expectations(nodes, node_request.considered(context))
    for name, place in {policy.clause: place for place, policy in enumerate(node_request.topology)}.items():
        groups = nodes.view.groups([policy.key for policy in node_request.topology])
        yield name, nodes.all & ~bitsets.from_positions(groups.without(place), nodes.view.size)


def _own(nodes: Nodes, instance: str | None) -> int:
    """Return the set of the nodes that are allocated to an instance and to no other consumer."""
    if instance is None:
        return 0
    is_own = node_consumers.allocated_to(instance), ~node_consumers.allocated_to_others(instance)
    return nodes.view.select(is_own)


def _expectations(nodes: Nodes, conditions: Sequence[sa.ColumnElement[bool]]) -> Iterator[tuple[str, int]]:
    """Yield the clauses of the rules whose expectations are not met now.

    :param conditions: conditions on the nodes that the request is about.
    """
    view, column = nodes.view, tables.node_mismatches.c
    rules = mismatches.rules(view.connection, conditions, MAX_RULES + 1)
    named = rules[:MAX_RULES]
    of_rules = [(f'expect:{rule}', column.rule == rule) for rule in named]
    for name, condition in (*of_rules, *([('expect', column.rule.not_in(named))] if rules[MAX_RULES:] else [])):
        failing = view.of_ids(view.connection.scalars(sa.select(column.node_id).where(condition)))
        yield name, nodes.all & ~failing


def _misses(nodes: Nodes, explanation: Explanation, considered: int, fulfilled: Sequence[int]) -> list[Miss]:
    """Return the nodes that fail the fewest clauses, the fewest first."""
    masks: dict[int, int] = {}
    for mask in explanation.near_misses():
        alike = _alike(mask, considered, fulfilled)
        masks |= dict.fromkeys(nodes.view.ids(alike, MAX_LISTED - len(masks)), mask)
    columns = tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.name
    rows = nodes.view.connection.execute(sa.select(*columns).where(tables.nodes.c.id.in_(masks)))
    by_id = {row.id: Miss(row.uuid, row.name, masks[row.id]) for row in rows}
    return [by_id[node_id] for node_id in masks]


def _cells(
    nodes: Nodes, node_request: NodeRequest, masks: Iterable[int], considered: int, fulfilled: Sequence[int]
) -> MaskedCells:
    groups = nodes.view.groups([policy.key for policy in node_request.topology])
    return {mask: groups.cells_of(_alike(mask, considered, fulfilled)) for mask in masks}


def _alike(mask: int, considered: int, fulfilled: Sequence[int]) -> int:
    """Return the set of the nodes that fail the clauses in a mask, and no others."""
    alike = considered
    for bit, members in enumerate(fulfilled):
        alike &= ~members if mask >> bit & 1 else members
    return alike
