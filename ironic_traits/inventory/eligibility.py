"""Which nodes are eligible, that is, can be reserved now; and why the others are not.

A reservation is live until its ``expires_at``, by the clock of the database. After that it no longer holds its node.
"""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock
from ironic_traits.deploy import states
from ironic_traits.inventory import node_providers

#: Conditions on reservations: the reservation is live (LIVE); it has expired (EXPIRED); it is live and holds the node
#: of the surrounding SELECT (OF_NODE).
LIVE = sa.or_(reservations.c.expires_at.is_(None), reservations.c.expires_at > clock())
EXPIRED = reservations.c.expires_at <= clock()
OF_NODE = sa.and_(reservations.c.node_uuid == nodes.c.uuid, LIVE)
#: Condition on nodes: the node has a live reservation.
RESERVED = sa.exists().where(OF_NODE).correlate(nodes)

#: The columns that ``refusal`` needs, of a SELECT from nodes with an outer join of reservations on OF_NODE.
STATE = (
    nodes.c.provision_state,
    nodes.c.maintenance,
    nodes.c.instance_uuid,
    nodes.c.power_state,
    reservations.c.uuid.label('reservation_uuid'),
    reservations.c.expires_at,
    node_providers.CONSUMER,
)


def eligible_for(instance=None):
    """Return the condition on nodes that a node can be reserved for an instance.

    :param instance: uuid; a node that is allocated to this consumer in Placement is eligible. None for no instance:
        then no allocated node is eligible.
    """
    return sa.and_(node_providers.OFFERED, ~RESERVED, ~_allocated(instance))


def reasons(instance=None):
    """Return the conditions that each make a node ineligible.

    :param instance: as for ``eligible_for``.
    :returns: {reason, as in ``refusal``: condition on nodes}.
    """
    return {
        'provision state': nodes.c.provision_state != states.AVAILABLE,
        'maintenance': nodes.c.maintenance.is_(sa.true()),
        'instance': nodes.c.instance_uuid.is_not(None),
        'power state': sa.or_(nodes.c.power_state.is_(None), nodes.c.power_state == states.POWER_ERROR),
        'reserved': RESERVED,
        'allocated': _allocated(instance),
    }


def refusal(node, instance=None):
    """Return why a node cannot be reserved.

    :param node: a row with the columns of STATE; None when the node does not exist.
    :param instance: as for ``eligible_for``.
    :returns: {'reason': one of ``reasons`` or 'not found', 'message': a sentence}, with ``provision_state`` or
        ``reserved_until`` where they are the reason; None when the node can be reserved.
    """
    if node is None:
        return {'reason': 'not found', 'message': 'There is no such node.'}
    if node.provision_state != states.AVAILABLE:
        message = f'It is in provision state "{node.provision_state}", not "{states.AVAILABLE}".'
        return {'reason': 'provision state', 'provision_state': node.provision_state, 'message': message}
    if node.maintenance:
        return {'reason': 'maintenance', 'message': 'It is in maintenance.'}
    if node.instance_uuid:
        return {'reason': 'instance', 'message': 'It has an instance.'}
    if node.power_state in (None, states.POWER_ERROR):
        return {'reason': 'power state', 'message': f'Its power state is {node.power_state or "not known"}.'}
    if node.reservation_uuid:
        until = f'until {moment_text(node.expires_at)}' if node.expires_at else 'without an expiry'
        return {'reason': 'reserved', 'reserved_until': node.expires_at, 'message': f'It is reserved {until}.'}
    if node.consumer_uuid not in (None, instance):
        return {'reason': 'allocated', 'message': 'It is allocated to a consumer in Placement.'}
    return None


def moment_text(moment):
    """Return a time as it is written in messages: ISO 8601, in seconds, with +00:00."""
    return f'{moment.isoformat(timespec="seconds")}+00:00'


def _allocated(instance):
    return node_providers.allocated_to_others(instance) if instance else node_providers.ALLOCATED


#: Condition on nodes: the node can be reserved for any instance.
ELIGIBLE = eligible_for()
