"""Which nodes could be held, and why the others could not.

A reservation is live until its ``expires_at``, by the clock of the database, and holds nothing from then on.
"""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock
from ironic_traits.deploy import states
from ironic_traits.inventory import node_providers

#: The conditions on reservations that they are live, or not any more; and that they are of the node of a SELECT from
#: nodes, and live.
LIVE = sa.or_(reservations.c.expires_at.is_(None), reservations.c.expires_at > clock())
EXPIRED = reservations.c.expires_at <= clock()
OF_NODE = sa.and_(reservations.c.node_uuid == nodes.c.uuid, LIVE)
#: The condition on nodes that there is a live reservation.
RESERVED = sa.exists().where(OF_NODE).correlate(nodes)

#: Columns of a SELECT from nodes, outer join reservations on OF_NODE, from which ``refusal`` tells.
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
    """Give the condition on nodes that one could be held for an instance.

    :param instance: what is allocated to it is no hindrance; None for what nobody has.
    """
    return sa.and_(node_providers.OFFERED, ~RESERVED, ~_allocated(instance))


def reasons(instance=None):
    """Give the conditions on nodes, any of which makes one not eligible, by the words of ``refusal``.

    :param instance: as for ``eligible_for``.
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
    """Say why a node cannot be held.

    :param node: a row with the columns of STATE; None for a node that is not there.
    :param instance: as for ``eligible_for``.
    :returns: {'reason': …, 'message': …, and what belongs to it}; None when it can be held.
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
        until = f'until {moment_text(node.expires_at)}' if node.expires_at else 'without end'
        return {'reason': 'reserved', 'reserved_until': node.expires_at, 'message': f'It is reserved {until}.'}
    if node.consumer_uuid not in (None, instance):
        return {'reason': 'allocated', 'message': 'It is allocated to a consumer in Placement.'}
    return None


def moment_text(moment):
    """Give a moment as sentences name it."""
    return f'{moment.isoformat(timespec="seconds")}+00:00'


def _allocated(instance):
    return node_providers.allocated_to_others(instance) if instance else node_providers.ALLOCATED


#: The condition on nodes that nobody has them, and anybody could.
ELIGIBLE = eligible_for()
