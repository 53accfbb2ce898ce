"""Chooses free nodes that match a request, and locks them, for reservations and for allocations.

One transaction finds the nodes and holds them. It checks the nodes again under their locks. If another transaction has
changed a node in the meantime, the search starts again.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.clauses import requirement
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.inventory.core import (
    eligibility,
    node_consumers,
    node_filters,
)
from ironic_traits.inventory.core.eligibility import LIVE, OF_NODE, Refusal
from ironic_traits.inventory.holds import promise_claims, promised_nodes
from ironic_traits.inventory.holds.combined import NotTogether
from ironic_traits.inventory.holds.promise_claims import Claim, Stale
from ironic_traits.inventory.holds.taken_nodes import Lost, read_taken, take_kept, take_not_locked, take_waiting
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
#: Factor by which each further search is larger, if capacity reservations need too many of the nodes that were found.
_GROWTH = 4
#: How often a search may find too few nodes although the explanation finds enough. Other requests can cause this: they
#: take and release nodes between the two. The limit prevents an endless loop if one of the two has a bug.
_MAX_CONTRADICTIONS = 10
#: How often several requests may lose the nodes that they have found, until they are carried out alone.
_MAX_SEARCHES = 3
_NAMED = (tables.nodes.c.uuid, tables.nodes.c.name, tables.nodes.c.origin)


class TooFew(Exception):
    """Too few nodes match and can be held.

    :param instances: uuids of the instances without a node.
    :param refusal: the failure if capacity reservations need the nodes; None if there are too few nodes.
    """

    def __init__(self, instances: Sequence[str], refusal: failures.Failure | None = None) -> None:
        self.instances, self.refusal = instances, refusal


def kind(context: Context, node_request: NodeRequest, *more: Hashable) -> Hashable | None:
    """Return what is equal in requests of which it does not matter which one gets which node; None if it matters.

    :param more: what else must be equal.
    """
    request = node_request.request
    is_ordered = node_request.idents is not None or node_request.topology or request.preferred
    if is_ordered or node_request.excluded is not None:
        return None
    documents = context.to_policy_values(), node_request.filters
    texts = [repr(each) for each in documents]
    traits = request.required, request.required_any, request.forbidden, request.exclusive
    of_whom = node_request.grant, node_request.project, node_request.capacity_reservation
    return *texts, of_whom, request.resource_class, traits, *more


def search(attempt: 'NodeChoice', hold: Callable[['NodeChoice'], _Result]) -> _Result:
    """Return the result of the first attempt to hold nodes that loses no node to another transaction.

    :param attempt: the first attempt. It is changed for the next ones.
    :param hold: function that holds nodes in one transaction, with ``NodeChoice.take``.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    :raises failures.CapacityPromised: there are enough, but capacity reservations need them.
    :raises failures.CapacityUsedUp: the capacity reservation that the request names has no right to so many.
    :raises NotTogether: others have locked nodes that several requests need. Alone, some of the requests may get one.
    """
    context, contradictions, searches = attempt.context, 0, 0
    service, is_named = context.service, attempt.request.capacity_reservation is not None
    is_stale = is_named or (service.has_promises and service.promise_reading is None)
    while True:
        try:
            if is_stale:
                context.promised = promised_nodes.read(context, context.promised)
                is_stale = False
            return hold(attempt)
        except Stale:
            is_stale = True
        except TooFew as few:
            _refuse(attempt, few, contradictions)
            # ``_refuse`` has raised no failure: there are enough nodes by now, or the instances hold them. Try again.
            contradictions += 1
            is_stale = few.refusal is not None
        except Lost as lost:
            if lost.was_searched and not attempt.is_combined:
                attempt.change()
            elif lost.was_searched:
                # They never wait for a locked node, because only one of them needs it.
                searches += 1
                if searches > _MAX_SEARCHES:
                    raise NotTogether from None


class NodeChoice:
    """An attempt to hold nodes in one transaction.

    :ivar waits: whether to wait for nodes that other transactions have locked; if not, they are skipped.
    :ivar is_combined: whether the instances are those of several requests: some of them may get a node.
    """

    def __init__(self, context: Context, node_request: NodeRequest, is_combined: bool = False) -> None:
        self.context, self.request, self.is_combined = context, node_request, is_combined
        self._project = node_request.project or context.project_id
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
        :raises Stale: capacity reservations, or their nodes, have changed.
        :raises failures.Failure: as ``search``.
        """
        promise_claims.look(self.context, connection)
        free = eligibility.eligible_for(eligibility.only(instances))
        free = sa.and_(free, *self.promise_conditions())
        conditions = [*self.request.conditions(self.context), free]
        in_turn = are_taken_in_turn(self.request) and not (self.waits or first)
        places = self.context.service.places
        if in_turn and (kept := places.take(self.context, self.request, len(instances))):
            try:
                return self.confirmed(connection, take_kept(connection, kept, conditions, columns))
            except Lost:
                places.skip(self.context, self.request)
                raise Lost(was_searched=False) from None
        found = self._find(connection, instances, free, first)
        if not found:
            return []
        own = self._own(connection, instances)
        if self.waits:
            chosen = found[: len(instances)]
            take_waiting(connection, chosen)
        else:
            chosen = take_not_locked(connection, found, min(len(instances), len(found)))
            if in_turn:
                places.keep(self.context, self.request, found[found.index(chosen[-1]) + 1 :])
        return self.confirmed(connection, read_taken(connection, chosen, conditions, columns), own)

    def claim(self) -> Claim | None:
        """Return a claim of no nodes yet; None if there are no capacity reservations.

        :raises failures.CapacityReservationNotFound: there is not the one that the request names.
        """
        promised, named = self.context.promised, self.request.capacity_reservation
        return Claim(promised, named) if named or (promised and promised.newest) else None

    def promise_conditions(self) -> list[Condition]:
        """Return the conditions on nodes of the capacity reservation that the request names."""
        claim = self.claim()
        return claim.conditions(self.context) if claim else []

    def allowed(self, rows: Sequence[_Node], own: Collection[int] = ()) -> Sequence[_Node]:
        """Return those of some nodes that can be taken together, the first ones first. Others need the rest.

        :param own: ids of the nodes that are allocated to the instance in Placement.
        """
        claim = self.claim()
        return claim.choose(rows, self._project, own) if claim else rows

    def confirmed(self, connection: sa.Connection, rows: list[sa.Row], own: Collection[int] = ()) -> list[sa.Row]:
        """Return nodes that are taken, after capacity reservations have been checked.

        :param rows: from ``read_taken``.
        :param own: as for ``allowed``.
        :raises Stale: capacity reservations, or their nodes, have changed.
        """
        if self.context.promised and any(self.context.promised.position(row.id) is None for row in rows):
            # An estimate does not know which promises such a node matches. They must all be kept now.
            promise_claims.look(self.context, connection)
        promised, claim = self.context.promised, self.claim()
        if rows[0].newest_promise != (promised.newest if promised else None):
            raise Stale
        if claim:
            if len(claim.choose(rows, self._project, own)) < len(rows):
                raise Lost
            claim.confirm(connection)
        return rows

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
            promise_claims.look(self.context, connection)
            self._find(connection, [instance], eligibility.eligible_for(instance), ())
        except TooFew:
            return False
        except Stale:
            # The next attempt reads the capacity reservations again.
            return True
        return True

    def _find(
        self, connection: sa.Connection, instances: Sequence[str], free: Condition, first: Sequence[Condition]
    ) -> Sequence[sa.Row]:
        """Return free nodes, the best first: one for each instance, and some more. For several requests, maybe fewer.

        :raises TooFew: there are not enough.
        """
        count = len(instances)
        own = self._own(connection, instances)
        for condition in first:
            if len(found := self.allowed(self._candidates(connection, sa.and_(free, condition), count), own)) >= count:
                return found
        size = count + (0 if self.waits else min(_SPARE * count, _MAX_SPARE))
        while True:
            rows, claim = self._find_in_turn(connection, free, size), self.claim()
            found = claim.choose(rows, self._project, own) if claim else rows
            if len(found) >= count:
                return found
            if len(rows) < size:
                break
            size *= _GROWTH
        if self.is_combined and not (claim and claim.named) and (found or not rows):
            return found
        if claim and (claim.named or self.is_combined or len(rows) >= count):
            raise TooFew(instances, claim.refusal(self.context, count, len(rows)))
        raise TooFew(instances)

    def _own(self, connection: sa.Connection, instances: Sequence[str]) -> set[int]:
        """Return the ids of the nodes that are allocated to the instance in Placement."""
        instance = eligibility.only(instances)
        if not instance or not self.claim():
            return set()
        return set(connection.scalars(sa.select(tables.nodes.c.id).where(node_consumers.allocated_to(instance))))

    def _find_in_turn(self, connection: sa.Connection, free: Condition, count: int) -> Sequence[sa.Row]:
        """Return free nodes. Equally good nodes begin after the place of the last search."""
        if not are_taken_in_turn(self.request) or not (place := self.context.service.places.after(self.request)):
            return self._candidates(connection, free, count)
        rows = self._candidates(connection, sa.and_(free, tables.nodes.c.id > place), count)
        if len(rows) < count:
            rows += self._candidates(connection, sa.and_(free, tables.nodes.c.id <= place), count - len(rows))
        return rows

    def _candidates(self, connection: sa.Connection, condition: Condition, count: int) -> list[sa.Row]:
        return list(matches.candidates(self.context, connection, self.request, condition, count))


def refusal(context: Context, node_request: NodeRequest, instances: Sequence[str]) -> failures.NoMatch | None:
    """Return the failure of requests that are alike, each for one instance; None if one of them may get a node.

    :param instances: uuids of the instances without a node.
    """
    try:
        _refuse(NodeChoice(context, node_request, is_combined=True), TooFew(instances), 0)
    except failures.NoMatch as failure:
        return failure
    return None


def _refuse(attempt: NodeChoice, few: TooFew, contradictions: int) -> None:
    """Raise the failure that explains why there are too few nodes. Return if another attempt may succeed.

    :param contradictions: how often the search has found too few nodes, and this function enough. After the first one,
        the index of nodes is not used any more. After _MAX_CONTRADICTIONS, the request is refused in any case.
    :raises failures.NoMatch: too few nodes match the request and can be held.
    :raises failures.NothingToReserve: too few nodes of the list can be held.
    :raises failures.Failure: ``few.refusal``.
    """
    context, node_request, instances = attempt.context, attempt.request, few.instances
    if few.refusal:
        with context.read() as connection:
            reserved = eligibility.has_reservation(connection, instances)
        if _may_have_got_one(reserved, contradictions) and contradictions < _MAX_CONTRADICTIONS:
            return
        raise few.refusal
    needed, explanation, is_possible = 1 if attempt.is_combined else len(instances), None, False
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
