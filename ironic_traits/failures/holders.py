"""Failures about who holds a node: reservations, allocations and instances."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ironic_traits import clauses
from ironic_traits.failures.base import Failure

#: Maximum number of clauses, and of groups of a topology, that a message names.
_MAX_CLAUSES, _MAX_GROUPS = 5, 3


class ReservationNotFound(Failure):
    """No such reservation, or it has expired."""

    status = 404
    code = 'baremetal.reservation.not_found'
    text = 'Reservation {reservation} could not be found.'


class InstanceNotFound(Failure):
    """The instance has no node and no allocations that the caller may see."""

    status = 404
    code = 'baremetal.instance.not_found'
    text = 'Instance {instance} has neither a node nor allocations.'


class AllocationNotFound(Failure):
    """No allocation holds the node."""

    status = 404
    code = 'baremetal.allocation.not_found'
    text = 'Allocation for node {node} was not found'


class InstanceAssociated(Failure):
    """The instance is associated with another node."""

    status = 409
    code = 'baremetal.instance.associated'
    text = 'Instance {instance} is already associated with a node, it cannot be associated with this other node {node}'


class NodeReserved(Failure):
    """The node is held for another instance."""

    status = 409
    code = 'baremetal.node.reserved'
    text = 'Node {node} is reserved for instance {instance} by reservation {reservation}{until}.'


class NodeAllocated(Failure):
    """The node is allocated to another consumer in the Placement API."""

    status = 409
    code = 'baremetal.node.allocated'
    text = 'Node {node} is allocated to consumer {consumer} in Placement.'


class ReservationUnknown(Failure):
    """The reservation in the request does not hold the node, or has expired."""

    status = 409
    code = 'baremetal.reservation.unknown'
    text = 'Node {node} is not held by reservation {reservation}.'


class InstanceReserved(Failure):
    """The instance has a reservation of a node that does not fit the request."""

    status = 409
    code = 'baremetal.instance.reserved'
    text = 'Instance {instance} already has a reservation of {node}, and that node {why}.'


class InstanceOnNode(Failure):
    """The instance is already on a node."""

    status = 409
    code = 'baremetal.instance.on_node'
    text = 'Instance {instance} is already on {node}.'


class CapacityPromised(Failure):
    """The request would take nodes that capacity reservations need.

    :param broken: [{'name': of a capacity reservation, 'left': how many nodes it still asks for, 'free': how many free
        nodes match it}, …] of those that the caller may see.
    :param moved: the uuid of a node that would no longer count for a capacity reservation of another project, and the
        name of that, if the caller may see it.
    """

    status = 409
    code = 'baremetal.capacity_reservation.promised'
    text = '{reason}.'

    def __init__(self, broken: Sequence[Mapping[str, Any]], moved: tuple[str, str | None] | None = None) -> None:
        super().__init__(reason=_moved(*moved) if moved else _promised(broken))
        self.beside = {'capacity_reservations': list(broken)}


def _promised(broken: Sequence[Mapping[str, Any]]) -> str:
    reasons = (
        f'capacity reservation {each["name"]} needs {each["left"]} of the {each["free"]} that match it'
        for each in broken
    )
    return f'The free nodes that match are promised{": " + "; ".join(reasons) if broken else " to other projects"}'


def _moved(node: str, name: str | None) -> str:
    return f'Node {node} counts for the capacity reservation{f" {name}" if name else ""} of another project'


class CapacityUsedUp(Failure):
    """The capacity reservation that the request names has no right to so many nodes, or not so many can be held."""

    status = 409
    code = 'baremetal.capacity_reservation.used_up'
    text = (
        'The request needs {needed} of the nodes of capacity reservation {name}. It has a right to {left} more. Free '
        'nodes that match it: {free}; those that also match the rest of the request: {matched}.'
    )


class CapacityInsufficient(Failure):
    """Not so many nodes can be promised."""

    status = 409
    code = 'baremetal.capacity_reservation.insufficient'
    text = (
        'Not so many nodes can be promised: {number}. Free nodes that match{where}: {free}. '
        'Other capacity reservations need {others} of them.'
    )


class CapacityReservationNotFound(Failure):
    """No such capacity reservation, or it has expired."""

    status = 404
    code = 'baremetal.capacity_reservation.not_found'
    text = 'Capacity reservation {ident} could not be found.'


class InstanceUnavailable(Failure):
    """The instance has a reservation of a node, or is on one, that the caller may not see."""

    status = 409
    code = 'baremetal.instance.unavailable'
    text = 'No node can be reserved for instance {instance}.'


class ClaimUnconfirmed(Failure):
    """It is not known whether the cloud of a mirrored node holds it, too.

    :param seconds: time limit for undoing what was done.
    """

    status = 503
    code = 'baremetal.mirror.claim_unconfirmed'
    text = (
        'Cloud {cloud} has not confirmed that it holds what was requested: {reason}. What was done so far is undone '
        'within {seconds} seconds. Then try again.'
    )

    def __init__(self, **facts: Any) -> None:
        super().__init__(**facts)
        self.retry_after = facts['seconds']


class NodeWithoutGroup(Failure):
    """A policy counts a node that has no group, or several, for the key of the policy."""

    status = 409
    code = 'baremetal.topology.no_group'
    text = 'Node {node} of instance {instance} is not in one group of {key}, so the policy cannot be decided.'


class NothingToReserve(Failure):
    """Too few nodes of a list can be reserved.

    :param needed: how many nodes the request needs.
    :param refusals: [(the node as the client named it, {'reason': …, 'message': …, …}), …], in the client's order.
    :param explanation: as for NoMatch, if the request has requirements; None if it has only the list.
    """

    status = 409
    code = 'baremetal.reservation.nothing'
    text = '{what} can be reserved: {summary}.'

    def __init__(
        self,
        needed: int,
        refusals: Collection[tuple[str, Mapping[str, Any]]],
        explanation: Mapping[str, Any] | None = None,
    ) -> None:
        counts = Counter(refusal['reason'] for _, refusal in refusals)
        what = 'None of the nodes' if needed == 1 else f'Fewer than {needed} of the nodes'
        numbers = [f'{count} {clauses.reason(code)}' for code, count in counts.items()]
        best = list(clauses.groups(_most(explanation)))[:1] if explanation else []
        reasons = [*numbers, *(sentence.removesuffix('.') for sentence in best)]
        super().__init__(what=what, summary=', '.join(reasons) or 'the list is too short')
        self.beside = {'reasons': [{'node': ident, **refusal} for ident, refusal in refusals]}
        if explanation:
            self.beside['explanation'] = explanation


class NoMatch(Failure):
    """Too few nodes match a request and can be reserved.

    :param needed: how many nodes the request needs.
    :param explanation: as ``inventory.search.explanations.explain`` returns it.
    """

    status = 409
    code = 'baremetal.reservation.no_match'
    text = '{headline}; {needed} needed. {why}'

    def __init__(self, needed: int, explanation: Mapping[str, Any]) -> None:
        super().__init__(
            headline=clauses.headline(explanation),
            needed=f'{needed} {"is" if needed == 1 else "are"}',
            why=' '.join(clauses.sentences(_most(explanation))),
        )
        self.beside = {'explanation': explanation}


def _most(explanation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of an explanation that a message names: those that say most."""
    rejected = sorted(explanation['clauses'], key=lambda clause: -clause['rejected'])
    most = {'clauses': rejected[:_MAX_CLAUSES], 'relaxations': explanation['relaxations'][:1]}
    if 'topology' in explanation:
        groups = [
            group | {'relaxations': group['relaxations'][:1]}
            for group in explanation['topology']['groups'][:_MAX_GROUPS]
        ]
        most['topology'] = explanation['topology'] | {'groups': groups}
    return most
