"""Explains why nodes do not match a request, with figures for all nodes.

The figures come from the index of nodes, if this process has it (``inventory.search.index_explanations``). Otherwise,
one query encodes each node as a few integers (``inventory.search.clause_statements``), groups the nodes by them, and
counts each group. ``matching.explanations`` computes the figures from the counts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.inventory.core import eligibility
from ironic_traits.inventory.search import index_explanations, related_nodes
from ironic_traits.inventory.search.clause_statements import Facts, Node, NodeGroup
from ironic_traits.inventory.search.index_explanations import Miss, Result
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.explanations import MAX_LISTED, Explanation
from ironic_traits.matching.group_explanations import GroupExplanation
from ironic_traits.matching.group_limits import Cell

#: Minimum range of node ids that is read at once to find near misses, and the factor by which each further one grows.
_MIN_RANGE, _GROWTH = 1000, 4
#: Maximum size of a group of which all ids are known: only the first and the last id are read.
_KNOWN = 2


def explain(context: Context, node_request: NodeRequest, needed: int = 1) -> dict[str, Any]:
    """Return ``document`` for a request for no instance."""
    return document(context, node_request, count(context, node_request), needed)


def count(context: Context, node_request: NodeRequest, instances: Sequence[str] = (), by_index: bool = True) -> Result:
    """Count the nodes that match a request, and those that its clauses reject.

    :param instances: uuids of the instances to reserve nodes for. If there is one, a node that is allocated to it is
        not rejected as allocated.
    :param by_index: whether the index of nodes may be used.
    """
    result = index_explanations.explain(context, node_request, instances) if by_index else None
    if result is None:
        result = _counted(context, node_request, instances)
        index_explanations.prepare(context, node_request, result.explanation.considered)
    return result


def document(
    context: Context,
    node_request: NodeRequest,
    result: Result,
    needed: int = 1,
    related: Sequence[Mapping[str, int]] | None = None,
) -> dict[str, Any]:
    """Explain how many nodes match a request, and which clauses reject the others.

    :param result: the figures, from ``count``.
    :param needed: number of nodes that must match.
    :param related: for each policy of a topology, {group: number of nodes} that it counts besides those of the request;
        None to read those of ``relative_to``.
    :returns: {'considered': number of nodes, 'matched': number of nodes, 'clauses': [{'clause', 'rejected',
        'rejected_only'}, …], 'relaxations': [{'drop': [clause, …], 'nodes': number of nodes}, …], 'near_misses':
        [{'node': uuid, 'name': name, 'rejected_by': [clause, …]}, …]}. With a topology, it has ``topology``, the
        document of GroupExplanation, and the relaxations are such that the topology is fulfilled.
    """
    explanation, topology = result.explanation, {}
    if node_request.topology:
        groups = _groups(context, node_request, result, related)
        topology = {'relaxations': groups.relaxations(needed), 'topology': groups.document(needed)}
    return {
        'considered': explanation.considered,
        'matched': explanation.matched,
        'clauses': explanation.rejected(),
        'relaxations': [] if topology else explanation.relaxations(needed),
        'near_misses': [
            {'node': miss.uuid, 'name': miss.name, 'rejected_by': explanation.names(miss.mask)}
            for miss in result.misses
        ],
    } | topology


def _groups(
    context: Context, node_request: NodeRequest, result: Result, related: Sequence[Mapping[str, int]] | None
) -> GroupExplanation:
    policies = node_request.topology
    if related is None:
        with context.read() as connection:
            related = related_nodes.read(context, connection, policies).numbers(policies)
    return GroupExplanation(result.explanation.clauses, policies, result.cells, related)


def _counted(context: Context, node_request: NodeRequest, instances: Sequence[str]) -> Result:
    """Return the Result, with figures that the database counts."""
    with context.snapshot() as connection:
        facts = Facts(context, connection, node_request, eligibility.only(instances))
        reserved = eligibility.has_reservation(connection, instances)
        if node_request.topology:
            return _of_rows(facts.clauses, facts.read(connection), reserved)
        groups: dict[int, list[NodeGroup]] = {}
        failing: Counter[int] = Counter()
        for group in facts.counted(connection):
            mask = facts.mask(group.numbers)
            failing[mask] += group.size
            groups.setdefault(mask, []).append(group)
        explanation = Explanation(facts.clauses, failing)
        rows = _near_misses(connection, facts, [groups[mask] for mask in explanation.near_misses()])
    misses = [Miss(row.uuid, row.name, facts.mask(facts.numbers_of(row))) for row in rows]
    return Result(explanation, misses, {}, reserved)


def _of_rows(clauses: list[str], nodes: Iterable[Node], reserved: bool | None) -> Result:
    """Return the Result for a request with a topology. It needs the groups of each node."""
    cells: dict[int, Counter[Cell]] = defaultdict(Counter)
    misses: dict[int, list[Miss]] = defaultdict(list)
    for node in nodes:
        cells[node.mask][node.cell] += 1
        if len(misses[node.mask]) < MAX_LISTED:
            misses[node.mask].append(Miss(node.uuid, node.name, node.mask))
    explanation = Explanation(clauses, Counter({mask: numbers.total() for mask, numbers in cells.items()}))
    nearest = [miss for mask in explanation.near_misses() for miss in misses[mask]]
    return Result(explanation, nearest[:MAX_LISTED], cells, reserved)


def rejections(context: Context, node_request: NodeRequest, instance: str | None = None) -> dict[str, list[str]]:
    """Return the clauses that reject each node. If the request has a list of nodes, only these are examined.

    :param instance: as for ``eligibility.eligible_for``.
    :returns: {uuid of a node: [clause, …]}.
    """
    with context.read() as connection:
        facts = Facts(context, connection, node_request, instance)
        nodes = list(facts.read(connection))
    explanation = Explanation(facts.clauses, Counter())
    return {node.uuid: explanation.names(node.mask) for node in nodes}


def _near_misses(connection: sa.Connection, facts: Facts, nearest: Sequence[Sequence[NodeGroup]]) -> list[sa.Row]:
    """Return the nodes that fail the fewest clauses: MAX_LISTED rows at most, as from ``Facts.nodes_with``.

    :param nearest: [[NodeGroup, …], …]: the groups that fail the same clauses, the fewest clauses first.
    """
    # The ids of the nodes of small groups are known. For large groups, nodes must be searched.
    places = {group.numbers: place for place, groups in enumerate(nearest) for group in groups}
    rows: list[sa.Row] = []
    node_ids: list[int] = []
    for groups in nearest:
        small = {id for group in groups if group.size <= _KNOWN for id in (group.first_id, group.last_id)}
        node_ids += sorted(small)[:MAX_LISTED]
        large = [group for group in groups if group.size > _KNOWN]
        rows += _some(connection, facts, sorted(large, key=lambda group: -group.size)[:MAX_LISTED])
    if node_ids:
        rows += connection.execute(facts.nodes_of(node_ids[:MAX_LISTED])).all()
    # Some nodes may have changed since they were counted.
    by_id = {row.id: row for row in rows if facts.numbers_of(row) in places}
    ranked = sorted(by_id, key=lambda id: (places[facts.numbers_of(by_id[id])], id))
    return [by_id[id] for id in ranked[:MAX_LISTED]]


def _some(connection: sa.Connection, facts: Facts, groups: Sequence[NodeGroup]) -> list[sa.Row]:
    """Return the first MAX_LISTED nodes of groups that fail the same clauses."""
    if not groups:
        return []
    # Usually there are many such nodes. Then a small range of ids contains MAX_LISTED of them.
    begin, last = min(group.first_id for group in groups), max(group.last_id for group in groups)
    size = max(_MIN_RANGE, 3 * MAX_LISTED * (last - begin) // 2 // sum(group.size for group in groups))
    rows: list[sa.Row] = []
    while begin <= last and len(rows) < MAX_LISTED:
        rows += connection.execute(facts.nodes_with([group.numbers for group in groups], range(begin, begin + size)))
        begin, size = begin + size, size * _GROWTH
    return rows[:MAX_LISTED]
