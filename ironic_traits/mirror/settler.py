"""Ends claims in their cloud: removes an ``instance_uuid`` that this service has set there.

It is removed only if it is still the instance of the claim, and no instance is deployed on the node. See
``ironic_traits/inventory/mirrored/mirror_settlements.py``.
"""

import logging

from ironic_traits.deploy import states
from ironic_traits.inventory.core.mirror_claim_states import LOST, TAKEN, TAKING, WATCHED
from ironic_traits.inventory.mirrored import mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.mirror.cloud import NotThere, Unreadable, message

LOG = logging.getLogger(__name__)

#: Provision states in which no instance is on a node, and none is being deployed.
_EMPTY = frozenset(
    {states.AVAILABLE, states.MANAGEABLE, 'enroll', 'verifying'}
    | {'inspecting', 'inspect wait', 'inspect failed'}
    | {'cleaning', 'clean wait', 'clean hold', 'clean failed'}
)


class Settler:
    """Settles claims of one cloud.

    :param context: ironic_traits.context.Context.
    :param cloud: ironic_traits.mirror.cloud.Cloud, connected.
    """

    def __init__(self, context, cloud):
        self._context = context
        self._cloud = cloud

    def settle_due(self, name):
        """Settle the claims of a cloud that are due.

        :param name: name of the cloud.
        """
        due = mirror_settlements.due(self._context, name)
        if any(claim.state in (WATCHED, LOST) for claim in due):
            mirror_settlements.forget(self._context, name)
        for claim in due:
            if claim.state == LOST and not claim.is_held:
                continue
            try:
                self.settle(claim)
            except Unreadable as error:
                # The mirror continues its other work: perhaps its user lacks only the role for claims.
                LOG.warning('Claims of cloud %s cannot be settled: %s', name, error)
                return

    def settle(self, claim, reason=None):
        """Settle a claim, unless another process settles it.

        :param claim: row of ``mirror_settlements.due``.
        :param reason: why the caller gives up a claim that it has begun; None for other claims.
        :returns: whether it is settled.
        :raises Unreadable: the cloud did not respond. The mirror tries again.
        """
        if claim.state in (TAKEN, LOST) and claim.is_held:
            return self._inspect(claim)
        begun = mirror_settlements.begin(self._context, claim.uuid, is_mine=bool(reason))
        if begun is None:
            return False
        finding = None
        try:
            finding = self._remove(begun)
        finally:
            if finding is None:
                mirror_settlements.postpone(self._context, claim.uuid)
        if finding is None:
            return False
        if finding.is_deployed and begun.is_held:
            mirror_settlements.confirm(self._context, begun)
            return True
        if begun.state == TAKING and not reason:
            LOG.warning('The claim of node %s for instance %s is undone', claim.node_uuid, claim.instance_uuid)
        reason = reason or f'cloud {claim.cloud} did not confirm it in time'
        mirror_settlements.end(self._context, begun, finding, reason)
        return True

    def _inspect(self, claim):
        """Compare a claim that holds its node here with the node there."""
        instance = self._node(claim)['instance_uuid']
        if instance == claim.instance_uuid:
            mirror_settlements.confirm(self._context, claim)
        elif claim.state == TAKEN:
            reason = f'instance {claim.instance_uuid} was removed from the node in cloud {claim.cloud}'
            if mirror_settlements.end(self._context, claim, Finding(instance), reason):
                LOG.warning('Instance %s is no longer on node %s there', claim.instance_uuid, claim.node_uuid)
        return True

    def _remove(self, claim):
        """Remove the instance of a claim from its node there. Return the Finding; None if the node is busy there."""
        node = self._node(claim)
        if node['instance_uuid'] != claim.instance_uuid:
            return Finding(node['instance_uuid'])
        if node['provision_state'] not in _EMPTY:
            return Finding(claim.instance_uuid, is_deployed=True)
        return Finding(None) if remove(self._cloud, claim) else None

    def _node(self, claim):
        """Return the node of a claim as it is there."""
        try:
            return self._cloud.get(f'/nodes/{claim.node_uuid}', fields='instance_uuid,provision_state')
        except NotThere:
            return {'instance_uuid': None, 'provision_state': None}


def remove(cloud, claim):
    """Remove the instance of a claim from its node there. Return whether it was removed.

    The caller has just read that the node has this instance. The PATCH cannot check it again, because Ironic does not
    support "test" operations. If a deploy has begun since, Ironic refuses the PATCH.

    :raises Unreadable: the cloud did not respond, or not as expected.
    """
    path = f'/nodes/{claim.node_uuid}'
    response = cloud.request('PATCH', path, json=[{'op': 'remove', 'path': '/instance_uuid'}])
    # 409: the node is locked, or is being deployed.
    if response.status_code not in (200, 404, 409):
        raise Unreadable(f'The response to PATCH {path} is {response.status_code}: {message(response)}')
    return response.status_code == 200
