"""Chooses free nodes that match a request, and locks them, for reservations and for allocations.

One transaction finds the nodes and holds them. It checks the nodes again under their locks. If another transaction has
changed a node in the meantime, the search starts again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.clauses import requirement
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import (
    eligibility,
    node_consumers,
    node_filters,
    node_providers,
    node_selection,
    origins,
)
from ironic_traits.inventory.core.eligibility import LIVE, OF_NODE, Refusal
from ironic_traits.inventory.core.single_node import MOMENT
from ironic_traits.inventory.search import explanations, matches
from ironic_traits.inventory.search.group_search import GroupedNode
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.search_places import are_taken_in_turn
from ironic_traits.matching.explanations import MAX_LISTED

_Result = TypeVar('_Result')
#: A row with ``id`` and ``uuid``, or a GroupedNode.
_Node = TypeVar('_Node', sa.Row, GroupedNode)

#: A search also reads nodes for this many further requests of the same size. Other transactions may have locked some of
#: these nodes. The next requests take the rest without a search.
_SPARE = 32
#: Maximum number of nodes that a search reads in addition to those it needs.
_MAX_SPARE = 640
#: How often a search may find too few nodes although the explanation finds enough. Other requests can cause this: they
#: take and release nodes between the two. The limit prevents an endless loop if one of the two has a bug.
_MAX_CONTRADICTIONS = 10
_NAMED = (tables.nodes.c.uuid, tables.nodes.c.name, tables.nodes.c.origin)


class Lost(Exception):
    """Another transaction has taken a node, has locked it, or has written the same key: an attempt must start again.

    :param was_searched: whether the nodes were searched in this attempt.
    """

    def __init__(self, was_searched: bool = True) -> None:
        super().__init__()
        self.was_searched = was_searched


class TooFew(Exception):
    """Too few nodes match and can be held.

    :param instances: uuids of the instances without a node.
    """

    def __init__(self, instances: Sequence[str]) -> None:
        super().__init__()
        self.instances = instances


def search(attempt: 'NodeChoice', hold: Callable[['NodeChoice'], _Result]) -> _Result:
    """Return the result of the first attempt to hold nodes that loses no node to another transaction.

    :param attempt: the first attempt. It is changed for the next ones.
    :param hold: function that holds nodes in one transaction, with ``NodeChoice.take``.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    """
    contradictions = 0
    while True:
        try:
            return hold(attempt)
        except TooFew as few:
            _refuse(attempt, few.instances, contradictions)
            # ``_refuse`` has raised no failure: there are enough nodes by now, or the instances hold them. Try again.
            contradictions += 1
        except Lost as lost:
            if lost.was_searched:
                attempt.change()


class NodeChoice:
    """An attempt to hold nodes in one transaction.

    :ivar waits: whether to wait for nodes that other transactions have locked; if not, they are skipped.
    """

    def __init__(self, context: Context, node_request: NodeRequest) -> None:
        self.context, self.request = context, node_request
        #: For each policy of a topology, {group: number of nodes} that it counts besides those of the request.
        self.related: list[Counter[str]] | None = None
        self.waits = node_request.idents is not None

    def prepare(self, instances: Sequence[str]) -> None:
        """Do what must be done before the transaction begins.

        :raises TooFew: as ``take``.
        """

    def change(self) -> None:
        """Change what the next attempt does, after this one has lost a node to another transaction."""
        # The order of a list matters, so always wait for locked nodes. Without a list, skip them at first.
        self.waits = self.request.idents is not None or not self.waits

    def take(
        self,
        connection: sa.Connection,
        instances: Sequence[str],
        first: Sequence[Condition] = (),
        columns: Columns = (),
    ) -> list[sa.Row]:
        """Lock one node for each instance, and check under the locks that the nodes match and can be held.

        :param instances: [uuid, …] of the instances that the nodes are for.
        :param first: conditions on nodes. The nodes that fulfil the first one come first, then those of the next one.
        :param columns: further columns of nodes to read under the lock.
        :returns: [row with ``id``, ``uuid``, ``origin``, ``moment``, ``has_expired`` (whether it has an expired
            reservation), ``node_providers.BEFORE`` and these columns, …], the best node first.
        :raises TooFew: too few nodes match and can be held.
        :raises Lost: another transaction has taken or locked one of the nodes.
        """
        free = eligibility.eligible_for(eligibility.only(instances))
        conditions = [*self.request.conditions(self.context), free]
        in_turn = are_taken_in_turn(self.request) and not (self.waits or first)
        places = self.context.service.places
        if in_turn and (kept := places.take(self.context, self.request, len(instances))):
            try:
                return _take_kept(connection, kept, conditions, columns)
            except Lost:
                places.skip(self.context, self.request)
                raise Lost(was_searched=False) from None
        found = self._find(connection, instances, free, first)
        if self.waits:
            chosen = found[: len(instances)]
            _take_waiting(connection, chosen)
        else:
            chosen = _take_not_locked(connection, found, len(instances))
            if in_turn:
                places.keep(self.context, self.request, found[found.index(chosen[-1]) + 1 :])
        return read_taken(connection, chosen, conditions, columns)

    def allocated_first(self, connection: sa.Connection, instances: Sequence[str]) -> list[Condition]:
        """Return ``first`` for ``take``: a node that is allocated to the instance in Placement comes first."""
        instance = eligibility.only(instances)
        if instance and self.request.idents is None and connection.scalar(node_consumers.has_allocations(instance)):
            return [node_consumers.allocated_to(instance)]
        return []

    def finds(self, connection: sa.Connection, instance: str) -> bool:
        """Whether there is a node that can be held for an instance, which has none yet."""
        # Locked, so that what it has does not end before the allocation is visible.
        on_node = sa.select(tables.nodes.c.id).where(tables.nodes.c.instance_uuid == instance)
        reserved = sa.select(tables.reservations.c.id).where(tables.reservations.c.instance_uuid == instance, LIVE)
        if any(connection.scalar(each.with_for_update(read=True)) for each in (on_node, reserved)):
            return False
        try:
            self._find(connection, [instance], eligibility.eligible_for(instance), ())
        except TooFew:
            return False
        return True

    def _find(
        self, connection: sa.Connection, instances: Sequence[str], free: Condition, first: Sequence[Condition]
    ) -> Sequence[sa.Row]:
        """Return free nodes, the best first: one for each instance, and some more.

        :raises TooFew: there are not enough.
        """
        count = len(instances)
        found: Sequence[sa.Row] = []
        for condition in first:
            found = found or self._candidates(connection, sa.and_(free, condition), count)
        spare = 0 if self.waits else min(_SPARE * count, _MAX_SPARE)
        found = found or self._find_in_turn(connection, free, count + spare)
        if len(found) < count:
            raise TooFew(instances)
        return found

    def _find_in_turn(self, connection: sa.Connection, free: Condition, count: int) -> Sequence[sa.Row]:
        """Return free nodes. Equally good nodes begin after the place of the last search."""
        place = self.context.service.places.after(self.request) if are_taken_in_turn(self.request) else 0
        if not place:
            return self._candidates(connection, free, count)
        rows = self._candidates(connection, sa.and_(free, tables.nodes.c.id > place), count)
        if len(rows) < count:
            rows += self._candidates(connection, sa.and_(free, tables.nodes.c.id <= place), count - len(rows))
        return rows

    def _candidates(self, connection: sa.Connection, condition: Condition, count: int) -> list[sa.Row]:
        return list(matches.candidates(self.context, connection, self.request, condition, count))


def _take_kept(
    connection: sa.Connection, kept: Sequence[sa.Row], conditions: Sequence[Condition], columns: Columns
) -> list[sa.Row]:
    """Take nodes that a search has found before, and read them; the result is as for ``NodeChoice.take``.

    :raises Lost: one of them is locked, does not exist any more, or does not fulfil the conditions any more.
    """
    if len(take_some(connection, kept, len(kept))) < len(kept):
        raise Lost
    return read_taken(connection, kept, conditions, columns)


def _take_waiting(connection: sa.Connection, nodes: Sequence[sa.Row]) -> None:
    """Take nodes, in the order of their ids. Wait for those that other transactions have locked."""
    if len(nodes) > 1:
        node_selection.lock(connection, sorted(node.id for node in nodes))
    else:
        _raise_generations(connection, nodes)


def _take_not_locked(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Take ``count`` nodes that no other transaction has locked, the best ones if possible.

    :param candidates: rows with ``id`` and ``uuid``, the best first.
    :raises Lost: too few are not locked.
    """
    chosen = take_some(connection, candidates[:count], count)
    if len(chosen) < count:
        chosen += take_some(connection, candidates[count:], count - len(chosen))
    if len(chosen) < count:
        raise Lost
    return chosen


def take_some(connection: sa.Connection, candidates: Sequence[_Node], count: int) -> list[_Node]:
    """Take up to ``count`` candidates as ``single_node.take`` does, without locked ones. Return those that are taken.

    The number of statements does not depend on the number of nodes.
    """
    parameters = {'ids': [node.id for node in candidates], 'most': count}
    if connection.dialect.name == 'postgresql':
        taken = set(connection.scalars(_TAKE_UNLOCKED, parameters | {'now': now()}))
        return [node for node in candidates if node.id in taken]
    locked = set(connection.scalars(_LOCK_UNLOCKED, parameters))
    chosen = [node for node in candidates if node.id in locked]
    _raise_generations(connection, chosen)
    return chosen


def _raise_generations(connection: sa.Connection, nodes: Sequence[_Node]) -> None:
    if nodes:
        connection.execute(_RAISE, {'ids': [node.id for node in nodes], 'now': now()})
        change_feed.record(connection, change_feed.NODE, [node.uuid for node in nodes])


def _lock_unlocked(nodes: sa.FromClause) -> sa.Select:
    # SELECT id FROM nodes WHERE id IN (1, 2) ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED
    # The databases lock every row that they read, even rows that a sort or a limit drops later. So this reads by
    # primary key, in its order, and stops at the limit. (SQLite has no row locks: SQLAlchemy omits FOR UPDATE there.)
    statement = sa.select(nodes.c.id).where(nodes.c.id.in_(sa.bindparam('ids'))).order_by(nodes.c.id)
    return statement.limit(sa.bindparam('most', type_=sa.Integer)).with_for_update(skip_locked=True)


_IDS = tables.nodes.c.id.in_(sa.bindparam('ids'))
_LOCK_UNLOCKED = prepared(_lock_unlocked(tables.nodes))
_RAISE = sa.update(tables.nodes).where(_IDS).values(origins.LOCKED)
_unlocked = _lock_unlocked(tables.nodes.alias('candidates')).cte('unlocked')
#: For PostgreSQL: lock, raise the generations and record the change in one statement.
_TAKE_UNLOCKED = prepared(
    change_feed.with_record(
        sa.update(tables.nodes)
        .where(tables.nodes.c.id.in_(sa.select(_unlocked.c.id)))
        .values(origins.LOCKED)
        .returning(tables.nodes.c.id, tables.nodes.c.uuid)
        .cte('taken')
    )
)
_TAKEN = (tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.origin)
_HAS_EXPIRED = (
    sa.exists()
    .where(tables.reservations.c.node_uuid == tables.nodes.c.uuid)
    .correlate(tables.nodes)
    .label('has_expired')
)


def read_taken(
    connection: sa.Connection, nodes: Sequence[_Node], conditions: Iterable[Condition], columns: Columns
) -> list[sa.Row]:
    """Read nodes that are taken.

    :param conditions: conditions on nodes, which are checked under the locks.
    :returns: rows as from ``NodeChoice.take``.
    :raises Lost: a node does not exist any more, or does not fulfil the conditions.
    """
    # Each column once. A reservation of a node that fulfils the conditions has expired.
    all_columns = dict.fromkeys((*_TAKEN, *node_providers.BEFORE, _HAS_EXPIRED, MOMENT, *columns))
    statement = prepared(sa.select(*all_columns).where(_IDS, *conditions))
    rows = {row.id: row for row in connection.execute(statement, {'ids': [node.id for node in nodes]})}
    if len(rows) < len(nodes):
        raise Lost
    return [rows[node.id] for node in nodes]


def _refuse(attempt: NodeChoice, instances: Sequence[str], contradictions: int) -> None:
    """Raise the failure that explains why there are too few nodes. Return if another attempt may succeed.

    :param instances: uuids of the instances without a node.
    :param contradictions: how often the search has found too few nodes, and this function enough. After the first one,
        the index of nodes is not used any more. After _MAX_CONTRADICTIONS, the request is refused in any case.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    """
    context, node_request = attempt.context, attempt.request
    needed, explanation, is_possible = len(instances), None, False
    refusals: list[tuple[str, Refusal | None]] = []
    if not node_request.is_a_list:
        result = explanations.count(context, node_request, instances, by_index=not contradictions)
        explanation = explanations.document(context, node_request, result, needed, attempt.related)
        matched = explanation['topology']['largest'] if node_request.topology else explanation['matched']
        is_possible = matched >= needed or _may_have_got_one(result.reserved, contradictions)
    if node_request.idents is not None:
        refusals, reserved = _refusals(context, instances, node_request)
        is_enough = sum(refusal is None for _, refusal in refusals) >= needed and not node_request.topology
        is_possible = is_possible or is_enough or _may_have_got_one(reserved, contradictions)
    if is_possible and contradictions < _MAX_CONTRADICTIONS:
        return
    if node_request.idents is None and explanation:
        raise failures.NoMatch(needed, explanation)
    raise failures.NothingToReserve(needed, [(ident, why) for ident, why in refusals if why], explanation)


def _may_have_got_one(reserved: bool | None, contradictions: int) -> bool:
    """Whether another request for one of the instances may have reserved the last node.

    :param reserved: as from ``eligibility.has_reservation``, at the moment of the explanation or of the refusals.
    """
    # It may have expired between the two statements. The next attempt comes after that.
    return bool(reserved) or (reserved is not None and not contradictions)


def _refusals(
    context: Context, instances: Sequence[str], node_request: NodeRequest
) -> tuple[list[tuple[str, Refusal | None]], bool | None]:
    """Return why the nodes of the list cannot be reserved.

    :returns: [(ident, refusal as of ``eligibility.refusal`` or None), …], each node once, and whether one of the
        instances has a reservation at the same moment (``eligibility.has_reservation``).
    """
    idents = node_request.idents or ()
    # For the caller, a node that they may not see does not exist.
    visible = node_filters.visible(context, Grant(()))
    statement = sa.select(*_NAMED, *eligibility.STATE).outerjoin(tables.reservations, OF_NODE)
    statement = statement.where(node_filters.among(idents), *visible)
    with context.snapshot() as connection:
        rows = connection.execute(statement).all()
        reserved = eligibility.has_reservation(connection, instances)
    instance = eligibility.only(instances)
    rejected = {} if node_request.is_a_list else explanations.rejections(context, node_request, instance)
    by_ident = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, tuple[str, Refusal | None]] = {}
    for ident in idents:
        node = by_ident.get(ident)
        refusal = eligibility.refusal(node, instance)
        if node and not refusal and node_request.excluded and (reason := node_request.excluded.reason(node)):
            refusal = {'reason': 'cloud', 'message': reason}
        elif node and rejected.get(node.uuid):
            clauses = rejected[node.uuid]
            refusal = refusal or {'reason': 'rejected', 'message': f'It does not match "{requirement(clauses[0])}".'}
            # Shortened, because there may be a thousand nodes. The explanation has all clauses of the near misses.
            refusal = refusal | {'rejected_by': clauses[:MAX_LISTED]}
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values()), reserved
