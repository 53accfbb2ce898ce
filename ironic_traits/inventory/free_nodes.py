"""Choose free nodes that match a request, and lock them: for reservations and for allocations.

One transaction finds the nodes and holds them. It checks them again under their locks. If another transaction has
changed one of them in the meantime, the search begins again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Columns, Condition
from ironic_traits.inventory import eligibility, explanations, matches, node_filters, node_providers
from ironic_traits.inventory.eligibility import OF_NODE, Refusal
from ironic_traits.inventory.matches import NodeRequest
from ironic_traits.inventory.single_node import take
from ironic_traits.matching.explanations import MAX_LISTED

_Result = TypeVar('_Result')

#: How many nodes are read in addition to the needed ones, because other transactions may have locked some of them.
_SPARE = 32
_NAMED = (tables.nodes.c.uuid, tables.nodes.c.name, tables.nodes.c.origin)
#: The refusal for a node that the caller may not see.
_HIDDEN = {'reason': 'not available', 'message': 'It is not available.'}


class Lost(Exception):
    """Another transaction has taken one of the chosen nodes, or has locked it."""


class Again(Exception):
    """Another transaction has written the same key: what it wrote has to be read."""


class TooFew(Exception):
    """Too few nodes match and can be held.

    :param instances: uuids of the instances without a node.
    """

    def __init__(self, instances: Sequence[str]) -> None:
        super().__init__()
        self.instances = instances


def search(context: Context, node_request: NodeRequest, attempt: Callable[[bool], _Result]) -> _Result:
    """Return the result of the first attempt to hold nodes that is not overtaken by another transaction.

    :param attempt: function that holds nodes in one transaction, with ``take_free``. Its argument is whether to wait
        for nodes that other transactions have locked; if not, they are skipped.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    """
    # The order of a list counts, so a node of it that another transaction has locked is waited for. Without a list, a
    # locked node is skipped at first.
    patient = wait = node_request.idents is not None
    while True:
        try:
            return attempt(wait)
        except TooFew as few:
            _refuse(context, few.instances, node_request)
            # ``_refuse`` has not raised: by now there are enough nodes. Try again.
        except Lost:
            wait = patient or not wait
        except Again:
            continue


def take_free(  # noqa: PLR0913, as the callers have one transaction for all of it
    context: Context,
    connection: sa.Connection,
    node_request: NodeRequest,
    instances: Sequence[str],
    wait: bool,
    *,
    first: Iterable[Condition] = (),
    columns: Columns = (),
) -> list[sa.Row]:
    """Lock one node for each instance, and check under the locks that the nodes match and can be held.

    :param instances: [uuid, …] of the instances that the nodes are for.
    :param wait: as for ``attempt`` of ``search``.
    :param first: conditions on nodes; a node that fulfils one of them comes before all others.
    :param columns: further columns of nodes to read under the lock.
    :returns: [result of ``single_node.take``, …], the best node first.
    :raises TooFew: too few nodes match and can be held.
    :raises Lost: another transaction has taken or locked one of the nodes.
    """
    count, alone = len(instances), _alone(instances)
    free = eligibility.eligible_for(alone)
    best = list(first)
    if alone and node_request.idents is None and connection.scalar(node_providers.has_allocations(alone)):
        # A node that is allocated to the instance in Placement comes before all others.
        best.insert(0, node_providers.allocated_to(alone))
    candidates: Sequence[sa.Row] = []
    for condition in best:
        candidates = candidates or matches.candidates(
            context, connection, node_request, sa.and_(free, condition), count
        )
    candidates = candidates or matches.candidates(
        context, connection, node_request, free, count if wait else count + _SPARE
    )
    if len(candidates) < count:
        raise TooFew(instances)
    chosen = candidates if wait else _not_locked(connection, candidates, count)
    locked = {}
    # In the order of their ids, as all transactions that lock several nodes, to avoid deadlocks.
    for node in sorted(chosen, key=lambda node: node.id):
        try:
            locked[node.id] = take(connection, node.uuid, *columns)
        except failures.NodeNotFound:
            raise Lost from None
    still_free = sa.select(sa.func.count()).where(
        tables.nodes.c.id.in_(locked), *node_request.conditions(context), free
    )
    if connection.execute(still_free).scalar_one() < count:
        raise Lost
    return [locked[node.id] for node in chosen]


def _not_locked(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Lock ``count`` nodes that no other transaction has locked, the best ones if possible.

    :param candidates: rows with ``id``, the best first.
    :raises Lost: too few are not locked.
    """
    chosen = _lock(connection, candidates[:count], count)
    if len(chosen) < count:
        chosen += _lock(connection, candidates[count:], count - len(chosen))
    if len(chosen) < count:
        raise Lost
    return chosen


def _lock(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Lock up to ``count`` candidates, skip those that are locked already, and return the locked ones."""
    # SELECT id FROM nodes WHERE id IN (1, 2) ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED
    # The databases lock every row that they read, even rows that a sort or a limit drops later. So this reads by
    # primary key, in its order, and stops at the limit. (SQLite has no row locks: SQLAlchemy omits FOR UPDATE there.)
    node_ids = [node.id for node in candidates]
    statement = (
        sa.select(tables.nodes.c.id).where(tables.nodes.c.id.in_(node_ids)).order_by(tables.nodes.c.id).limit(count)
    )
    locked = set(connection.scalars(statement.with_for_update(skip_locked=True)))
    return [node for node in candidates if node.id in locked]


def _refuse(context: Context, instances: Sequence[str], node_request: NodeRequest) -> None:
    """Raise the failure that explains why there are too few nodes; return if by now there are enough.

    :param instances: uuids of the instances without a node.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    """
    needed, explanation = len(instances), None
    if not node_request.is_a_list:
        explanation = explanations.explain(context, node_request, _alone(instances), needed=needed)
        if explanation['matched'] >= needed:
            return
    if node_request.idents is None:
        raise failures.NoMatch(needed, explanation)
    refusals = _refusals(context, instances, node_request)
    if sum(refusal is None for _, refusal in refusals) < needed:
        raise failures.NothingToReserve(needed, [each for each in refusals if each[1]], explanation)


def _refusals(
    context: Context, instances: Sequence[str], node_request: NodeRequest
) -> list[tuple[str, Refusal | None]]:
    """Return why the nodes of the list cannot be reserved.

    :returns: [(ident, refusal as of ``eligibility.refusal`` or None), …], each node once.
    """
    idents = node_request.idents or ()
    columns = (*_NAMED, node_filters.seen(context), *eligibility.STATE)
    statement = sa.select(*columns).outerjoin(tables.reservations, OF_NODE).where(matches.among(idents))
    with context.read() as connection:
        rows = connection.execute(statement).all()
    instance = _alone(instances)
    rejected = {} if node_request.is_a_list else explanations.rejections(context, node_request, instance)
    by_ident = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, tuple[str, Refusal | None]] = {}
    for ident in idents:
        node = by_ident.get(ident)
        refusal = eligibility.refusal(node, instance)
        if node and not node.seen:
            refusal = _HIDDEN
        elif node and not refusal and node_request.excluded and (reason := node_request.excluded.reason(node)):
            refusal = {'reason': 'cloud', 'message': reason}
        elif node and rejected.get(node.uuid):
            clauses = rejected[node.uuid]
            refusal = refusal or {'reason': 'rejected', 'message': f'It does not match: rejected by {clauses[0]}.'}
            # Shortened, because there may be a thousand nodes. The explanation has all clauses of the near misses.
            refusal = refusal | {'rejected_by': clauses[:MAX_LISTED]}
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values())


def _alone(instances: Sequence[str]) -> str | None:
    """Return the only instance; None if there are several, for then a node allocated to one could go to another."""
    return instances[0] if len(instances) == 1 else None
