"""Takes nodes in their clouds, for reservations and allocations that hold the nodes in this service already.

If it is not known what a cloud did, the response is 503, and the claim is undone (``ironic_traits/mirror/settler.py``).
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import re
from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.deploy import states
from ironic_traits.inventory.core.mirror_exclusions import Exclusions
from ironic_traits.inventory.holds import mirror_claims
from ironic_traits.inventory.mirrored import mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.mirror import settler
from ironic_traits.mirror.cloud import Answer, Cloud, Unreadable, Unsent, connected
from ironic_traits.mirror.documents import Occupation

#: Maximum number of concurrent requests to clouds for one request of a client.
_AT_ONCE = 8
#: Why a hold in this service ends if the nodes of a request cannot be taken.
_REASON = 'the nodes of the request could not be held in their clouds'
#: Messages of Ironic when the node has another instance, and when the instance is on another node.
_TAKEN = re.compile(r'is associated with instance ([0-9a-f-]{36})')
_ELSEWHERE = re.compile(r'already associated with a node')


@dataclasses.dataclass(frozen=True)
class TakeOutcome:
    """The outcome of a request to a cloud to take a node.

    :ivar lost: the node or cloud that cannot be taken. It is empty if the node is taken.
    :ivar has_instance: whether the node has the instance of the claim in the cloud; None if unknown.
    :ivar other: the other instance that the node has; None if unknown.
    :ivar failure: the failure for the client if another node would not help; None otherwise.
    """

    lost: Exclusions = dataclasses.field(default_factory=Exclusions)
    has_instance: bool | None = False
    other: str | None = None
    failure: failures.Failure | None = None


class CloudAttempt:
    """An attempt to take nodes in their clouds, all of them or none.

    :param claims: [row of ``mirror_claims``, …] in the state ``taking``.
    """

    def __init__(self, context: Context, claims: Sequence[sa.Row]) -> None:
        self._context, self._claims = context, claims
        #: {uuid of a claim: outcome}, without those for which no request was sent.
        self._outcomes: dict[str, TakeOutcome] = {}

    def take(self) -> Exclusions:
        """Take the nodes.

        :returns: the nodes and clouds that cannot be taken. If they are empty, all nodes are taken, otherwise none.
        :raises failures.ClaimUnconfirmed: it is not known whether a cloud holds its node.
        :raises failures.InstanceOnNode: an instance is on another node of a cloud.
        """
        is_taken = False
        try:
            lost = self._take()
            is_taken = lost.is_empty
            return lost
        finally:
            if not is_taken:
                self._undo()

    def _take(self) -> Exclusions:
        lost = Exclusions()
        uuids = [claim.uuid for claim in self._claims]
        for start in range(0, len(uuids), _AT_ONCE):
            lost = self._send(self._claims[start : start + _AT_ONCE])
            if not lost.is_empty:
                break
            is_last = start + _AT_ONCE >= len(uuids)
            if not (mirror_claims.finish if is_last else mirror_claims.extend)(self._context, uuids):
                raise unconfirmed(self._context, self._claims, 'it took too long')
        return lost

    def _send(self, claims: Sequence[sa.Row]) -> Exclusions:
        """Send the requests for some claims at once. Return what cannot be taken."""
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

    def _request(self, claim: sa.Row, is_repeated: bool = False) -> TakeOutcome:
        """Set the instance of a claim on its node in the cloud. A repeated request has no further effect."""
        patch = [{'op': 'add', 'path': '/instance_uuid', 'value': claim.instance_uuid}]
        try:
            cloud = connected(self._context, claim.cloud)
            answer = cloud.send('PATCH', f'/nodes/{claim.node_uuid}', patch=patch)
            if answer.is_done:
                return _taken(claim, cloud, Occupation.read(answer.document))
        except Unsent as error:
            self._context.service.clouds.pop(claim.cloud, None)
            return TakeOutcome(_whole(claim, f'cannot be reached: {error}'))
        except Unreadable as error:
            answer = Answer(None, str(error))
        if answer.status in (401, 403):
            # ``connected`` reads clouds.yaml again: the password may be another one by now.
            self._context.service.clouds.pop(claim.cloud, None)
        if answer.status == 401 and not is_repeated:
            return self._request(claim, is_repeated=True)
        return _not_taken(self._context, claim, answer)

    def _undo(self) -> None:
        """End the claims, and the reservations or allocations that hold the nodes in this service."""
        for claim in self._claims:
            outcome = self._outcomes.get(claim.uuid, TakeOutcome())
            if outcome.has_instance:
                settler.give_back(self._context, claim, _REASON)
            elif outcome.has_instance is None:
                # The mirror will read from the cloud whether the node has the instance.
                mirror_settlements.begin(self._context, claim.uuid, is_mine=True)
                mirror_settlements.postpone(self._context, claim.uuid)
            else:
                mirror_settlements.end(self._context, claim, Finding(outcome.other), _REASON)


def _taken(claim: sa.Row, cloud: Cloud, node: Occupation) -> TakeOutcome:
    """Return the outcome of a request that has set the instance. It depends on the state of the node in the cloud."""
    is_other = len({node.created, claim.node_created_at} - {None}) > 1
    if node.provision_state == states.AVAILABLE and not node.maintenance and not is_other:
        return TakeOutcome(has_instance=True)
    # The data of the node in this service was outdated.
    reason = 'is in maintenance' if node.maintenance else f'is in provision state "{node.provision_state}"'
    # Its traits in this service are those of another machine.
    reason = 'was deleted and created again' if is_other else reason
    has_instance = True
    with contextlib.suppress(Unreadable):
        has_instance = not settler.remove(cloud, claim)
    return TakeOutcome(_single(claim, f'It {reason} in its cloud {claim.cloud}.'), has_instance)


def _not_taken(context: Context, claim: sa.Row, answer: Answer) -> TakeOutcome:
    """Return the outcome of a request that the cloud did not fulfil, or perhaps not."""
    if not answer.is_refused:
        reason = answer.text if answer.status is None else f'the response was {answer.status}: {answer.text}'
        return TakeOutcome(has_instance=None, failure=unconfirmed(context, [claim], reason))
    if answer.status in (401, 403):
        return TakeOutcome(_whole(claim, f'refuses to hold nodes: {answer.text}'))
    if _ELSEWHERE.search(answer.text):
        node = f'another node of cloud {claim.cloud}'
        return TakeOutcome(failure=failures.InstanceOnNode(instance=claim.instance_uuid, node=node))
    other = _TAKEN.search(answer.text)
    lost = _single(claim, f'Its cloud {claim.cloud} refuses to hold it: {answer.text}')
    return TakeOutcome(lost, other=other and other[1])


def _single(claim: sa.Row, reason: str) -> Exclusions:
    return Exclusions(nodes={claim.node_uuid: reason})


def _whole(claim: sa.Row, reason: str) -> Exclusions:
    return Exclusions(clouds={claim.cloud: f'Its cloud {claim.cloud} {reason}'})


def unconfirmed(context: Context, claims: Sequence[sa.Row], reason: str) -> failures.ClaimUnconfirmed:
    """Return the failure of a request if it is not known whether clouds hold its nodes."""
    clouds = ' and '.join(sorted({claim.cloud for claim in claims}))
    return failures.ClaimUnconfirmed(cloud=clouds, reason=reason, seconds=context.conf.mirror.claim_seconds)
