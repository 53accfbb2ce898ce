"""Reservations and allocations that hold mirrored nodes in their clouds, too (``[mirror] claims``).

First, one transaction holds the node here and stores a claim. Then the ``instance_uuid`` of the node is set in its
cloud. If another client of the cloud has taken the node, the hold here ends, and the next node is tried. A request for
several nodes holds all of them, or none. If it is not known what the cloud did, the response is 503, and the claim is
undone (``ironic_traits/mirror/settler.py``).
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import logging
import re
import time

from ironic_traits import failures
from ironic_traits.conf.mirror import claims_any_nodes
from ironic_traits.deploy import states
from ironic_traits.inventory.core import exclusions
from ironic_traits.inventory.core.exclusions import Exclusions
from ironic_traits.inventory.core.mirror_claim_states import TAKEN, TAKING
from ironic_traits.inventory.holds import allocate as node_allocations
from ironic_traits.inventory.holds import mirror_claims
from ironic_traits.inventory.holds import reserve as node_reservations
from ironic_traits.inventory.mirrored import mirror_moves, mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.mirror.cloud import Cloud, Unreadable, Unsent, message
from ironic_traits.mirror.settler import Settler, remove

LOG = logging.getLogger(__name__)

#: Maximum number of concurrent requests to clouds for one request here.
_AT_ONCE = 8
#: Why a hold here ends if the nodes of a request cannot be taken.
_REASON = 'the nodes of the request could not be held in their clouds'
#: Seconds between two checks of a claim that another process settles.
_PAUSE = 0.05
#: Messages of Ironic when the node has another instance, and when the instance is on another node.
_TAKEN = re.compile(r'is associated with instance ([0-9a-f-]{36})')
_ELSEWHERE = re.compile(r'already associated with a node')


def reserve(context, instances, node_request, expiry):
    """Reserve a node for each instance, here and in the cloud of the node.

    The arguments, the result and the failures are those of ``inventory.holds.reserve.reserve``.

    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """

    def hold(request):
        result = node_reservations.reserve(context, instances, request, expiry)
        return result, [row.uuid for row in result.rows]

    return _hold(context, node_request, hold)


def allocate(context, values, node_request, fields):
    """Create an allocation, here and in the cloud of the node.

    The arguments, the result and the failures are those of ``inventory.holds.allocate.create``.

    :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
    """

    def hold(request):
        row = node_allocations.create(context, values, request, fields)
        return row, [row.uuid]

    row = _hold(context, node_request, hold, is_claim_needed=True)
    is_taken = claims_any_nodes(context.conf) and row.node_uuid
    return node_allocations.read(context, row.uuid, fields) if is_taken else row


def release(context, holder):
    """Remove an instance from its nodes in their clouds, after its reservation or allocation has ended here.

    If that fails, the mirror does it later. Until then, this service does not offer the nodes.

    :param holder: uuid of the reservation or of the allocation.
    """
    if claims_any_nodes(context.conf):
        give_back(context, mirror_claims.of_holders(context, [holder]))


def give_back(context, claims):
    """Settle claims whose holders have ended, as ``release`` does.

    :param claims: [row of ``mirror_claims`` with ``is_held``, …].
    """
    unreadable = exclusions.unreadable(context) if claims else set()
    for claim in claims:
        try:
            if claim.cloud not in unreadable and not Settler(context, connected(context, claim.cloud)).settle(claim):
                _await(context, claim.holder_uuid)
        except Unreadable as error:
            LOG.warning('Node %s is not given back to cloud %s yet: %s', claim.node_uuid, claim.cloud, error)


def forget(context, ident):
    """Remove a mirrored node here, and return its uuid. If a hold has ended only here, end it in the cloud before.

    :param ident: uuid or name of the node.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.InvalidState: the node is not mirrored, it is held here, or its instance cannot be removed there.
    """
    for claim in mirror_claims.of_node(context, ident):
        try:
            if not claim.is_held:
                Settler(context, connected(context, claim.cloud)).settle(claim)
        except Unreadable as error:
            reason = (
                f'Node {claim.node_uuid} cannot be removed: instance {claim.instance_uuid} was not removed from it in '
                f'cloud {claim.cloud}: {error}'
            )
            raise failures.InvalidState(reason=reason) from error
    return mirror_moves.forget(context, ident)


def _await(context, holder):
    """Wait for the end of claims that another process settles, but not longer than a request to a cloud may take."""
    until = time.monotonic() + mirror_claims.seconds(context.conf)['request']
    while mirror_claims.of_holders(context, [holder]) and time.monotonic() < until:
        time.sleep(_PAUSE)


def _hold(context, node_request, hold, is_claim_needed=False):
    """Call a function that holds nodes here, hold the nodes in their clouds, too, and return the function's result.

    :param hold: function of a NodeRequest that returns (result, uuids of the reservations or of the allocation).
    :param is_claim_needed: as for ``exclusions.current``.
    """
    if not claims_any_nodes(context.conf):
        return hold(node_request)[0]
    excluded = exclusions.current(context, is_claim_needed)
    until = time.monotonic() + mirror_claims.seconds(context.conf)['taking']
    while True:
        result, holders = hold(dataclasses.replace(node_request, excluded=excluded))
        claims = [claim for claim in mirror_claims.of_holders(context, holders) if claim.state != TAKEN]
        if not claims:
            return result
        if any(claim.state != TAKING for claim in claims):
            raise _unconfirmed(context, claims, 'a previous attempt is being undone')
        lost = _Attempt(context, claims).take()
        if lost.is_empty:
            return result
        if time.monotonic() > until:
            raise _unconfirmed(context, claims, 'other clients of the cloud have taken the nodes that were tried')
        excluded = excluded.plus(lost)


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """The outcome of a request to a cloud to take a node.

    :ivar lost: the node or cloud that cannot be taken, as Exclusions. They are empty if the node is taken.
    :ivar has_instance: whether the node has the instance of the claim there; None if unknown.
    :ivar other: the other instance that the node has; None if unknown.
    :ivar failure: the failure for the client if another node would not help; None otherwise.
    """

    lost: Exclusions = dataclasses.field(default_factory=Exclusions)
    has_instance: bool | None = False
    other: str | None = None
    failure: failures.Failure | None = None


class _Attempt:
    """An attempt to take nodes in their clouds, all of them or none.

    :param claims: [row of ``mirror_claims``, …] in the state ``taking``.
    """

    def __init__(self, context, claims):
        self._context = context
        self._claims = claims
        #: {uuid of a claim: _Outcome}, without those for which no request was sent.
        self._outcomes = {}

    def take(self):
        """Take the nodes.

        :returns: the nodes and clouds that cannot be taken, as Exclusions. If they are empty, all nodes are taken,
            otherwise none.
        :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
        :raises failures.InstanceOnNode: an instance is on another node of a cloud.
        """
        lost = Exclusions()
        is_taken = False
        try:
            for start in range(0, len(self._claims), _AT_ONCE):
                lost = self._send(self._claims[start : start + _AT_ONCE])
                if not lost.is_empty:
                    return lost
                uuids = [claim.uuid for claim in self._claims]
                is_last = start + _AT_ONCE >= len(self._claims)
                if not (mirror_claims.finish if is_last else mirror_claims.extend)(self._context, uuids):
                    raise _unconfirmed(self._context, self._claims, 'it took too long')
            is_taken = True
            return lost
        finally:
            if not is_taken:
                self._undo()

    def _send(self, claims):
        """Send the requests for some claims at once. Return what cannot be taken, as Exclusions."""
        if len(claims) == 1:
            outcomes = [self._request(claims[0])]
        else:
            with concurrent.futures.ThreadPoolExecutor(len(claims)) as pool:
                outcomes = list(pool.map(self._request, claims))
        self._outcomes |= {claim.uuid: outcome for claim, outcome in zip(claims, outcomes, strict=True)}
        failed = [outcome.failure for outcome in outcomes if outcome.failure]
        if failed:
            raise failed[0]
        return functools.reduce(Exclusions.plus, (outcome.lost for outcome in outcomes))

    def _request(self, claim, is_repeated=False):
        """Set the instance of a claim on its node there. A repeated request has no further effect."""
        try:
            cloud = connected(self._context, claim.cloud)
        except Unreadable as error:
            return _Outcome(_whole(claim, f'cannot be reached: {error}'))
        operation = {'op': 'add', 'path': '/instance_uuid', 'value': claim.instance_uuid}
        try:
            response = cloud.request('PATCH', f'/nodes/{claim.node_uuid}', json=[operation])
        except Unsent as error:
            self._context.service.clouds.pop(claim.cloud, None)
            return _Outcome(_whole(claim, f'cannot be reached: {error}'))
        except Unreadable as error:
            return _Outcome(has_instance=None, failure=_unconfirmed(self._context, [claim], str(error)))
        if response.status_code == 200:
            return _of_node(claim, cloud, response)
        if response.status_code == 401 and not is_repeated:
            # The password was changed: ``connected`` reads clouds.yaml again.
            self._context.service.clouds.pop(claim.cloud, None)
            return self._request(claim, is_repeated=True)
        return _refused(self._context, claim, response)

    def _undo(self):
        """End the claims, and the reservations or allocations that hold the nodes here."""
        for claim in self._claims:
            outcome = self._outcomes.get(claim.uuid, _Outcome())
            try:
                if outcome.has_instance:
                    Settler(self._context, connected(self._context, claim.cloud)).settle(claim, _REASON)
                elif outcome.has_instance is None:
                    # The mirror will read from the cloud whether the node has the instance.
                    mirror_settlements.begin(self._context, claim.uuid, is_mine=True)
                    mirror_settlements.postpone(self._context, claim.uuid)
                else:
                    mirror_settlements.end(self._context, claim, Finding(outcome.other), _REASON)
            except Unreadable as error:
                LOG.warning('Node %s is not given back to cloud %s yet: %s', claim.node_uuid, claim.cloud, error)


def _of_node(claim, cloud, response):
    """Return the outcome of a request that has set the instance. It depends on the state of the node there."""
    node = response.json()
    if node['provision_state'] == states.AVAILABLE and not node['maintenance']:
        return _Outcome(has_instance=True)
    # The data of the node here was outdated.
    word = 'in maintenance' if node['maintenance'] else f'in provision state "{node["provision_state"]}"'
    has_instance = True
    with contextlib.suppress(Unreadable):
        has_instance = not remove(cloud, claim)
    return _Outcome(_single(claim, f'It is {word} in its cloud {claim.cloud}.'), has_instance)


def _refused(context, claim, response):
    """Return the outcome of a request that the cloud did not fulfil."""
    status, text = response.status_code, message(response)
    if status >= 500:
        reason = f'the response was {status}: {text}'
        return _Outcome(has_instance=None, failure=_unconfirmed(context, [claim], reason))
    if status in (401, 403):
        # The next request reads clouds.yaml again, and authenticates.
        context.service.clouds.pop(claim.cloud, None)
        return _Outcome(_whole(claim, f'refuses to hold nodes: {text}'))
    if _ELSEWHERE.search(text):
        node = f'another node of cloud {claim.cloud}'
        return _Outcome(failure=failures.InstanceOnNode(instance=claim.instance_uuid, node=node))
    other = _TAKEN.search(text)
    return _Outcome(_single(claim, f'Its cloud {claim.cloud} refuses to hold it: {text}'), other=other and other[1])


def _single(claim, reason):
    return Exclusions(nodes={claim.node_uuid: reason})


def _whole(claim, reason):
    return Exclusions(clouds={claim.cloud: f'Its cloud {claim.cloud} {reason}'})


def _unconfirmed(context, claims, reason):
    names = sorted({claim.cloud for claim in claims})
    seconds = context.conf.mirror.claim_seconds
    return failures.ClaimUnconfirmed(cloud=' and '.join(names), reason=reason, seconds=seconds)


def connected(context, name):
    """Return a connected cloud. All requests of a process share the connection.

    :returns: ironic_traits.mirror.cloud.Cloud.
    :raises Unreadable: the cloud cannot be reached.
    """
    cloud = context.service.clouds.get(name)
    if cloud is None:
        cloud = Cloud(name, mirror_claims.seconds(context.conf)['request'])
        cloud.connect()
        context.service.clouds[name] = cloud
    return cloud
