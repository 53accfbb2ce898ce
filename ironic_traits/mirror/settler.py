"""Ends claims in their cloud: removes an ``instance_uuid`` that this service has set in the cloud.

It is removed only if it is still the instance of the claim, and no instance is deployed on the node. See
``ironic_traits/inventory/mirrored/mirror_settlements.py``.
"""

import logging

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.deploy import states
from ironic_traits.inventory.core.mirror_claim_states import LOST, TAKEN, TAKING, WATCHED
from ironic_traits.inventory.mirrored import mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.mirror.cloud import Cloud, NotInCloud, Unreadable, connected
from ironic_traits.mirror.documents import Occupation, Odd

LOG = logging.getLogger(__name__)

#: Provision states in which no instance is on a node, and none is being deployed.
_EMPTY = frozenset(
    {states.AVAILABLE, states.MANAGEABLE, 'enroll', 'verifying'}
    | {'inspecting', 'inspect wait', 'inspect failed'}
    | {'cleaning', 'clean wait', 'clean hold', 'clean failed'}
)


def settle_due(context: Context, cloud: Cloud) -> None:
    """Settle the claims of a cloud that are due."""
    due = mirror_settlements.due(context, cloud.name)
    if any(claim.state in (WATCHED, LOST) for claim in due):
        mirror_settlements.forget(context, cloud.name)
    for claim in due:
        if claim.state == LOST and not claim.is_held:
            continue
        try:
            settle(context, cloud, claim)
        except Unreadable as error:
            LOG.warning('Node %s of cloud %s cannot be settled: %s', claim.node_uuid, cloud.name, error)
            if not isinstance(error, Odd):
                # The mirror continues its other work: perhaps its user lacks only the role for claims.
                return


def settle(context: Context, cloud: Cloud, claim: sa.Row, reason: str | None = None) -> bool:
    """Settle a claim, unless another process settles it. Return whether it is settled.

    :param claim: row of ``mirror_settlements.due``.
    :param reason: why the caller gives up a claim that it has begun; None for other claims.
    :raises Unreadable: the cloud did not respond, or not as expected. The mirror tries again.
    """
    if claim.state in (TAKEN, LOST) and claim.is_held:
        _compare(context, cloud, claim)
        return True
    begun = mirror_settlements.begin(context, claim.uuid, is_mine=bool(reason))
    if begun is None:
        return False
    finding = None
    try:
        finding = _free(cloud, begun)
    finally:
        if finding is None:
            mirror_settlements.postpone(context, claim.uuid)
    if finding is None:
        return False
    if finding.is_deployed and begun.is_held:
        mirror_settlements.confirm(context, begun)
        return True
    if begun.state == TAKING and not reason:
        LOG.warning('The claim of node %s for instance %s is undone', claim.node_uuid, claim.instance_uuid)
    mirror_settlements.end(context, begun, finding, reason or f'cloud {claim.cloud} did not confirm it in time')
    return True


def give_back(context: Context, claim: sa.Row, reason: str | None = None) -> bool:
    """Settle a claim, as ``settle`` does. If the cloud does not respond, the mirror does it later.

    :returns: whether another process settles it now.
    """
    try:
        return not settle(context, connected(context, claim.cloud), claim, reason)
    except Unreadable as error:
        LOG.warning('Node %s is not given back to cloud %s yet: %s', claim.node_uuid, claim.cloud, error)
        return False


def _compare(context: Context, cloud: Cloud, claim: sa.Row) -> None:
    """Compare a claim that holds its node in this service with the node in the cloud."""
    instance = _read(cloud, claim).instance
    if instance == claim.instance_uuid:
        mirror_settlements.confirm(context, claim)
    elif claim.state == TAKEN:
        reason = f'instance {claim.instance_uuid} was removed from the node in cloud {claim.cloud}'
        if mirror_settlements.end(context, claim, Finding(instance), reason):
            LOG.warning(
                'Instance %s is no longer on node %s in cloud %s', claim.instance_uuid, claim.node_uuid, cloud.name
            )


def _free(cloud: Cloud, claim: sa.Row) -> Finding | None:
    """Remove the instance of a claim from its node in the cloud. Return None if the node is busy."""
    node = _read(cloud, claim)
    if node.instance != claim.instance_uuid:
        return Finding(node.instance)
    if node.provision_state not in _EMPTY:
        return Finding(claim.instance_uuid, is_deployed=True)
    return Finding(None) if remove(cloud, claim) else None


def _read(cloud: Cloud, claim: sa.Row) -> Occupation:
    try:
        document = cloud.get(f'/nodes/{claim.node_uuid}', fields='instance_uuid,provision_state')
    except NotInCloud:
        document = {}
    return Occupation.read(document)


def remove(cloud: Cloud, claim: sa.Row) -> bool:
    """Remove the instance of a claim from its node in the cloud. Return whether it was removed.

    The caller has just read that the node has this instance. The PATCH cannot check it again, because Ironic does not
    support "test" operations. If a deploy has begun since, Ironic refuses the PATCH.

    :raises Unreadable: the cloud did not respond, or not as expected.
    """
    answer = cloud.send('PATCH', f'/nodes/{claim.node_uuid}', patch=[{'op': 'remove', 'path': '/instance_uuid'}])
    # 409: the node is locked, or is being deployed.
    if not answer.is_done and answer.status not in (404, 409):
        raise Unreadable(answer.reason)
    return answer.is_done
