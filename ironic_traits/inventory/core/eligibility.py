"""Which nodes are eligible, that is, can be reserved now, and why other nodes are not.

A reservation is live until its ``expires_at``, by the database's clock. After that it no longer holds its node.
"""

import datetime
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import no_row, statement_clock
from ironic_traits.deploy import states
from ironic_traits.inventory.core import mismatches, node_providers

#: Conditions on reservations: the reservation is live (LIVE); it has expired (EXPIRED); it is live and holds the node
#: of the surrounding SELECT (OF_NODE).
LIVE = sa.or_(tables.reservations.c.expires_at.is_(None), tables.reservations.c.expires_at > statement_clock())
EXPIRED = tables.reservations.c.expires_at <= statement_clock()
OF_NODE = sa.and_(tables.reservations.c.node_uuid == tables.nodes.c.uuid, LIVE)
#: Condition on nodes: the node has a live reservation.
RESERVED = sa.exists().where(OF_NODE).correlate(tables.nodes)

#: Why a node cannot be reserved: {'reason': …, 'message': …, …}.
Refusal = dict[str, Any]

#: The columns that ``refusal`` needs, of a SELECT from nodes with an outer join of reservations on OF_NODE.
STATE = (
    tables.nodes.c.provision_state,
    tables.nodes.c.maintenance,
    tables.nodes.c.instance_uuid,
    tables.nodes.c.power_state,
    tables.reservations.c.uuid.label('reservation_uuid'),
    tables.reservations.c.expires_at,
    node_providers.CONSUMER,
    *mismatches.FIRST,
)


def eligible_for(instance: str | None = None) -> Condition:
    """Return the condition on nodes that a node can be reserved for an instance.

    :param instance: uuid. A node that is allocated to this consumer in Placement is eligible. None for no instance:
        then no allocated node is eligible.
    """
    holds = RESERVED, _allocated(instance), mismatches.MISMATCHED
    return sa.and_(node_providers.OFFERED, *map(no_row, holds))


def reasons(instance: str | None = None) -> dict[str, Condition]:
    """Return the conditions that make a node ineligible, except mismatches, which depend on the rules.

    :param instance: as for ``eligible_for``.
    :returns: {reason, as in ``refusal``: condition on nodes}.
    """
    return {
        'provision state': tables.nodes.c.provision_state != states.AVAILABLE,
        'maintenance': tables.nodes.c.maintenance.is_(sa.true()),
        'instance': tables.nodes.c.instance_uuid.is_not(None),
        'power state': sa.or_(tables.nodes.c.power_state.is_(None), tables.nodes.c.power_state == states.POWER_ERROR),
        'reserved': RESERVED,
        'allocated': _allocated(instance),
    }


def refusal(node: sa.Row | None, instance: str | None = None) -> Refusal | None:
    """Return why a node cannot be reserved.

    :param node: a row with the columns of STATE; None when the node does not exist.
    :param instance: as for ``eligible_for``.
    :returns: {'reason': one of ``reasons``, 'expectation' or 'not found', 'message': a sentence}, with
        ``provision_state``, ``reserved_until`` or ``rule`` where they are the reason; None when the node can be
        reserved.
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
    if node.mismatch_rule:
        text = mismatches.text(node.mismatch_rule, node.mismatch_message)
        return {'reason': 'expectation', 'rule': node.mismatch_rule, 'message': f'It is {text}.'}
    return None


def count_expired(connection: sa.Connection) -> int:
    """Return the number of reservations that have expired and are not deleted yet."""
    return connection.scalar(sa.select(sa.func.count()).select_from(tables.reservations).where(EXPIRED)) or 0


def moment_text(moment: datetime.datetime) -> str:
    """Return a time for messages: ISO 8601, in seconds, with +00:00."""
    return f'{moment.isoformat(timespec="seconds")}+00:00'


def _allocated(instance: str | None) -> Condition:
    return node_providers.allocated_to_others(instance) if instance else node_providers.ALLOCATED


#: Condition on nodes: the node can be reserved for any instance.
ELIGIBLE = eligible_for()
