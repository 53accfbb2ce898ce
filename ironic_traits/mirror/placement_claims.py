"""Allocations in Placement that hold mirrored nodes in their clouds, too (``[mirror] claims``).

A consumer first gets a reservation of the node, which takes the node in its cloud (``claims``). After the allocation is
written, the reservation is deleted, and the allocation holds the claim. If the process is killed in between, the
reservation expires. The mirror then gives the node back unless the allocation was written.
"""

import contextlib
import functools

from ironic_traits import failures
from ironic_traits.conf.mirror import claims_any_nodes, claims_nodes
from ironic_traits.context import Grant
from ironic_traits.inventory.holds import mirror_claims, reservations
from ironic_traits.inventory.holds.reservations import Expiry
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.mirror import claims as cloud_claims
from ironic_traits.placement import allocations, node_claims
from ironic_traits.placement import failures as placement_failures

#: Why a node cannot be reserved for a consumer.
_REFUSALS = (
    failures.NothingToReserve,
    failures.InstanceReserved,
    failures.InstanceOnNode,
    failures.InstanceUnavailable,
)


class _OneNode(NodeRequest):
    """A request for one node, whether or not the caller may see nodes: it may allocate all providers."""

    def considered(self, context, by_set=False):
        return []


def replace(context, claims):
    """Replace the allocations of consumers, and hold their nodes in the clouds, too.

    The arguments and the failures are those of ``placement.allocations.replace``.

    :raises placement.failures.NodeNotHeld: a node cannot be held in its cloud.
    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """
    needs_claim = _needs_claim(context)
    with _released(context, claims), contextlib.ExitStack() as held:
        for consumer, node in _missing(context, claims, needs_claim):
            _hold(context, consumer, node, held)
        allocations.replace(context, claims, needs_claim)


def reshape(context, reshapes, claims):
    """Replace inventories and allocations. Nodes that are new to a consumer must already be held in their clouds.

    The arguments and the failures are those of ``placement.allocations.reshape``.

    :raises placement.failures.NodeNotHeld: a node is not held in its cloud.
    """
    with _released(context, claims):
        allocations.reshape(context, reshapes, claims, _needs_claim(context))


def delete(context, consumer):
    """Delete all allocations of a consumer, and give its nodes back to their clouds.

    The arguments and the failures are those of ``placement.allocations.delete``.
    """
    allocations.delete(context, consumer)
    _release(context, [consumer])


def _needs_claim(context):
    return functools.partial(claims_nodes, context.conf) if claims_any_nodes(context.conf) else node_claims.never


def _missing(context, claims, needs_claim):
    if needs_claim is node_claims.never:
        return []
    with context.read() as connection:
        return node_claims.missing(connection, claims, needs_claim)


def _hold(context, consumer, node, held):
    """Reserve a node for a consumer, which takes the node in its cloud.

    :param held: ExitStack, to which a callback is added that deletes the reservation.
    """
    longest = context.conf.reservations.max_lifetime or float('inf')
    expiry = Expiry(seconds=int(min(context.conf.mirror.claim_seconds, longest)))
    try:
        result = cloud_claims.reserve(context, [consumer], _OneNode(Grant(()), idents=(node,)), expiry)
    except _REFUSALS as failure:
        reason = ' '.join(each['message'] for each in failure.beside.get('reasons', ())) or str(failure)
        cloud = mirror_claims.cloud_of(context, node)
        raise placement_failures.NodeNotHeld(node=node, cloud=cloud, reason=reason) from failure
    if result.has_new:
        held.callback(_delete_reservation, context, result.rows[0].uuid)


def _delete_reservation(context, uuid):
    with contextlib.suppress(failures.ReservationNotFound):
        reservations.delete(context, uuid)


@contextlib.contextmanager
def _released(context, claims):
    """End the claims of consumers that nothing holds any more when the block ends, or fails."""
    try:
        yield
    finally:
        _release(context, [claim.consumer for claim in claims])


def _release(context, consumers):
    if claims_any_nodes(context.conf):
        cloud_claims.give_back(context, mirror_claims.without_holders(context, consumers))
