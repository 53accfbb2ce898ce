"""Reservations and allocations that hold mirrored nodes in their clouds, too (``[mirror] claims``).

First, one transaction holds the node in this service, and stores a claim. Then the ``instance_uuid`` of the node is set
in its cloud. If another client of the cloud has taken the node, the hold in this service ends, and the next node is
tried. A request for several nodes holds all of them, or none.

A consumer that allocates a node in Placement first gets a reservation of the node, which takes the node in its cloud.
After the allocation is written, the reservation is deleted, and the allocation holds the claim. If the process is
killed in between, the reservation expires. The mirror then gives the node back unless the allocation was written.
"""

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.conf.mirror import claims_nodes
from ironic_traits.context import Context, Grant
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.inventory.core import mirror_exclusions
from ironic_traits.inventory.core.mirror_claim_states import TAKEN, TAKING
from ironic_traits.inventory.holds import allocate as node_allocations
from ironic_traits.inventory.holds import mirror_claims, reservations
from ironic_traits.inventory.holds import reserve as node_reservations
from ironic_traits.inventory.holds.reservations import Expiry
from ironic_traits.inventory.holds.reserve import Reservations
from ironic_traits.inventory.mirrored import mirror_moves
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.mirror import settler
from ironic_traits.mirror.claim_attempts import CloudAttempt, unconfirmed
from ironic_traits.mirror.cloud import Unreadable, connected
from ironic_traits.placement import allocations, node_claims
from ironic_traits.placement import failures as placement_failures
from ironic_traits.placement.allocations import Reshapes
from ironic_traits.placement.consumers import Demand

_Result = TypeVar('_Result')
#: Seconds between two checks of a claim that another process settles.
_PAUSE = 0.05
#: Why a node cannot be reserved for a consumer.
_REFUSALS = (
    failures.CapacityPromised,
    failures.NothingToReserve,
    failures.InstanceReserved,
    failures.InstanceOnNode,
    failures.InstanceUnavailable,
)


class _OneNode(NodeRequest):
    """A request for one node, whether or not the caller may see nodes: it may allocate all providers."""

    def considered(self, context: Context, by_set: bool = False) -> list[Condition]:
        return []


def reserve(context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry) -> Reservations:
    """Reserve a node for each instance, as ``inventory.holds.reserve.reserve`` does.

    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """

    def hold(request: NodeRequest) -> tuple[Reservations, list[str]]:
        result = node_reservations.reserve(context, instances, request, expiry)
        return result, [row.uuid for row in result.rows]

    return _hold(context, node_request, hold)


def allocate(context: Context, values: Values, node_request: NodeRequest, fields: tuple[str, ...]) -> sa.Row:
    """Create an allocation, as ``inventory.holds.allocate.create`` does.

    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """

    def hold(request: NodeRequest) -> tuple[sa.Row, list[str]]:
        row = node_allocations.create(context, values, request, fields)
        return row, [row.uuid]

    row = _hold(context, node_request, hold, is_claim_needed=True)
    return node_allocations.read(context, row.uuid, fields) if row.node_uuid else row


def release(context: Context, holder: str) -> None:
    """Remove an instance from its nodes in their clouds, after its reservation or allocation has ended in this service.

    :param holder: uuid of the reservation or of the allocation.
    """
    _settle(context, mirror_claims.claims_of_holders(context, [holder]))


def replace(context: Context, demands: Sequence[Demand]) -> None:
    """Replace the allocations of consumers, as ``placement.allocations.replace`` does.

    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """
    needs_claim = functools.partial(claims_nodes, context.conf)
    with context.read() as connection:
        missing = node_claims.missing(connection, demands, needs_claim)
    with _released(context, demands), contextlib.ExitStack() as held:
        for consumer, node in missing:
            project = next(demand.project_id for demand in demands if demand.consumer == consumer)
            _reserve_for(context, consumer, project, node, held)
        allocations.replace(context, demands, needs_claim)


def reshape(context: Context, reshapes: Reshapes, demands: Sequence[Demand]) -> None:
    """Replace inventories and allocations. Nodes that are new to a consumer must already be held in their clouds."""
    with _released(context, demands):
        allocations.reshape(context, reshapes, demands, functools.partial(claims_nodes, context.conf))


def delete(context: Context, consumer: str) -> None:
    """Delete all allocations of a consumer, and give its nodes back to their clouds."""
    allocations.delete(context, consumer)
    _settle(context, mirror_claims.claims_without_holders(context, [consumer]))


def _hold(
    context: Context,
    node_request: NodeRequest,
    hold: Callable[[NodeRequest], tuple[_Result, list[str]]],
    is_claim_needed: bool = False,
) -> _Result:
    """Call a function that holds nodes in this service, hold them in their clouds, too, and return its result.

    :param hold: function that returns (result, uuids of the reservations or of the allocation).
    :param is_claim_needed: as for ``mirror_exclusions.current``.
    """
    excluded = mirror_exclusions.current(context, is_claim_needed)
    until = time.monotonic() + mirror_claims.seconds(context.conf)['taking']
    while True:
        result, holders = hold(dataclasses.replace(node_request, excluded=excluded))
        claims = [claim for claim in mirror_claims.claims_of_holders(context, holders) if claim.state != TAKEN]
        if not claims:
            return result
        if any(claim.state != TAKING for claim in claims):
            raise unconfirmed(context, claims, 'a previous attempt is being undone')
        lost = CloudAttempt(context, claims).take()
        if lost.is_empty:
            return result
        if time.monotonic() > until:
            raise unconfirmed(context, claims, 'other clients of the cloud have taken the nodes that were tried')
        excluded = excluded.plus(lost)


def _reserve_for(context: Context, consumer: str, project: str, node: sa.Row, held: contextlib.ExitStack) -> None:
    """Reserve a node for a consumer, which takes the node in its cloud.

    :param held: a callback is added to it that deletes the reservation.
    :raises placement.failures.NodeNotHeld: the node cannot be held in its cloud.
    """
    longest = context.conf.reservations.max_lifetime or float('inf')
    expiry = Expiry(seconds=int(min(context.conf.mirror.claim_seconds, longest)))
    try:
        result = reserve(context, [consumer], _OneNode(Grant(()), idents=(node.uuid,), project=project), expiry)
    except _REFUSALS as failure:
        reason = ' '.join(each['message'] for each in failure.beside.get('reasons', ())) or str(failure)
        raise placement_failures.NodeNotHeld(node=node.uuid, cloud=node.origin, reason=reason) from failure
    if result.new:
        held.callback(_delete_reservation, context, result.rows[0].uuid)


def _delete_reservation(context: Context, uuid: str) -> None:
    with contextlib.suppress(failures.ReservationNotFound):
        reservations.delete(context, uuid)


@contextlib.contextmanager
def _released(context: Context, demands: Sequence[Demand]) -> Iterator[None]:
    """End the claims of consumers that nothing holds any more when the block ends, or fails."""
    try:
        yield
    finally:
        _settle(context, mirror_claims.claims_without_holders(context, [demand.consumer for demand in demands]))


def _settle(context: Context, claims: Sequence[sa.Row]) -> None:
    """Remove instances whose holders have ended from their nodes in the clouds.

    If that fails, the mirror does it later. Until then, this service does not offer the nodes.

    :param claims: [row of ``mirror_claims`` with ``is_held``, …].
    """
    unreadable = mirror_exclusions.unreadable(context) if claims else set()
    for claim in claims:
        if claim.cloud not in unreadable and settler.give_back(context, claim):
            _await(context, claim.holder_uuid)


def _await(context: Context, holder: str) -> None:
    """Wait for the end of claims that another process settles, but not longer than a request to a cloud may take."""
    until = time.monotonic() + mirror_claims.seconds(context.conf)['request']
    while mirror_claims.claims_of_holders(context, [holder]) and time.monotonic() < until:
        time.sleep(_PAUSE)


def forget(context: Context, ident: str) -> str:
    """Remove a mirrored node, and return its uuid. If a hold has ended only in this service, end it in the cloud first.

    :raises failures.InvalidState: the node is not mirrored, it is held, or its instance cannot be removed in the cloud.
    """
    for claim in mirror_claims.claims_of_node(context, ident):
        try:
            if not claim.is_held:
                settler.settle(context, connected(context, claim.cloud), claim)
        except Unreadable as error:
            reason = (
                f'Node {claim.node_uuid} cannot be removed: instance {claim.instance_uuid} was not removed from it in '
                f'cloud {claim.cloud}: {error}'
            )
            raise failures.InvalidState(reason=reason) from error
    return mirror_moves.forget(context, ident)
