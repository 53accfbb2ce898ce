"""Which nodes are eligible, that is, can be reserved now, and why other nodes are not: one table of clauses.

Matches, reservations, explanations, capacity, the index of nodes and Placement derive their conditions from it.

A reservation is live until its ``expires_at``, by the database's clock. After that it no longer holds its node.
"""

import datetime
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import no_row, statement_clock
from ironic_traits.db.statements.unhealthy import unhealthy
from ironic_traits.deploy import states
from ironic_traits.inventory.core import mismatches, node_consumers

#: Conditions on reservations: the reservation is live (LIVE); it has expired (EXPIRED); it is live and holds the node
#: of the surrounding SELECT (OF_NODE).
LIVE = sa.or_(tables.reservations.c.expires_at.is_(None), tables.reservations.c.expires_at > statement_clock())
EXPIRED = tables.reservations.c.expires_at <= statement_clock()
OF_NODE = sa.and_(tables.reservations.c.node_uuid == tables.nodes.c.uuid, LIVE)
#: Condition on nodes: the node has a live reservation.
RESERVED = sa.exists().where(OF_NODE).correlate(tables.nodes)
#: Condition on nodes: the node has an instance, is reserved, or is allocated in Placement.
HELD = sa.or_(tables.nodes.c.instance_uuid.is_not(None), RESERVED, node_consumers.ALLOCATED)
NOT_HELD = sa.and_(tables.nodes.c.instance_uuid.is_(None), no_row(RESERVED), no_row(node_consumers.ALLOCATED))

#: Why a node cannot be reserved: {'reason': …, 'message': …, …}.
Refusal = dict[str, Any]


class Clause(NamedTuple):
    """A condition that a node must fulfil to be reserved.

    A function of an instance gets its uuid, or None: a node that is allocated to the instance in Placement fulfils the
    clause "allocated". With None, no allocated node does.

    :ivar name: the reason of a refusal. Explanations call the clause ``eligible:NAME``. For expectations of inspection
        rules, they have a clause for each rule instead.
    :ivar columns: the columns of nodes that it depends on, besides those of other tables, and what it derives of them.
    :ivar met: function of an instance: the condition on nodes that a node fulfils the clause.
    :ivar failed: function of an instance: the condition on nodes that a node does not fulfil it.
    :ivar met_by_set: function of an instance: as ``met``, but the condition reads all holders once, instead of some
        rows for each node. None if ``met`` reads nodes only, or if no statement needs it.
    :ivar is_failed: function of a row of the index of nodes (``search.node_sets``): whether the node does not fulfil
        it. The index has all nodes with a reservation, live or expired, and all allocated nodes.
    :ivar refusal: function of a row with the columns of STATE, and of an instance: why the node is refused, without
        ``reason``; None if it fulfils the clause.
    """

    name: str
    columns: tuple[sa.sql.elements.NamedColumn, ...]
    met: Callable[[str | None], Condition]
    failed: Callable[[str | None], Condition]
    met_by_set: Callable[[str | None], Condition] | None
    is_failed: Callable[[Any], bool]
    refusal: Callable[[sa.Row, str | None], Refusal | None]


def _of_state(
    name: str, column: sa.Column, met: Condition, is_failed: Callable[[Any], bool], refused: Callable[[sa.Row], Refusal]
) -> Clause:
    """Return a clause about a column of nodes.

    :param is_failed: function of the value of the column.
    :param refused: function of a row: why the node is refused.
    """

    def fails(row: Any) -> bool:
        return is_failed(getattr(row, column.name))

    def refusal(row: sa.Row, instance: str | None) -> Refusal | None:
        return refused(row) if fails(row) else None

    return Clause(name, (column,), lambda _: met, lambda _: ~met, None, fails, refusal)


def _of_holder(
    name: str,
    failed: Callable[[str | None], Condition],
    met_by_set: Callable[[str | None], Condition] | None,
    refusal: Callable[[sa.Row, str | None], Refusal | None],
) -> Clause:
    """Return a clause about rows of other tables.

    :param failed: the condition is an EXISTS. The index of nodes has a column with the name of the clause.
    """
    return Clause(name, (), lambda instance: no_row(failed(instance)), failed, met_by_set, attrgetter(name), refusal)


def _reserved(node: sa.Row, instance: str | None) -> Refusal | None:
    if not node.reservation_uuid:
        return None
    until = f'until {moment_text(node.expires_at)}' if node.expires_at else 'without an expiry'
    return {'reserved_until': node.expires_at, 'message': f'It is reserved {until}.'}


def _allocated(node: sa.Row, instance: str | None) -> Refusal | None:
    is_free = node.consumer_uuid in (None, instance)
    return None if is_free else {'message': 'It is allocated to a consumer in Placement.'}


def _mismatched(node: sa.Row, instance: str | None) -> Refusal | None:
    if not node.mismatch_rule:
        return None
    text = mismatches.text(node.mismatch_rule, node.mismatch_message)
    return {'rule': node.mismatch_rule, 'message': f'It is {text}.'}


def _unhealthy(node: sa.Row, instance: str | None) -> Refusal | None:
    return {'message': f'Its health is {node.health}.'} if node.unhealthy else None


_NODES = tables.nodes.c
#: The name of the clause about the health of a node, which only services with [matching] exclude_unhealthy have.
_HEALTH = 'health'
_IS_UNHEALTHY = unhealthy(_NODES.health)
#: The clauses about the state of a node. Nova uses the same rule for free nodes.
_STATES = (
    _of_state(
        'provision state',
        _NODES.provision_state,
        # A literal, because SQLite does not use ``nodes_free_idx`` with a parameter.
        _NODES.provision_state == sa.literal_column(f"'{states.AVAILABLE}'"),
        lambda state: state != states.AVAILABLE,
        lambda node: {
            'provision_state': node.provision_state,
            'message': f'It is in provision state "{node.provision_state}", not "{states.AVAILABLE}".',
        },
    ),
    _of_state(
        'maintenance',
        _NODES.maintenance,
        _NODES.maintenance.is_(sa.false()),
        bool,
        lambda node: {'message': 'It is in maintenance.'},
    ),
    _of_state(
        'instance',
        _NODES.instance_uuid,
        _NODES.instance_uuid.is_(None),
        lambda instance: instance is not None,
        lambda node: {'message': 'It has an instance.'},
    ),
    _of_state(
        'power state',
        _NODES.power_state,
        sa.and_(_NODES.power_state.is_not(None), _NODES.power_state != states.POWER_ERROR),
        lambda state: state in (None, states.POWER_ERROR),
        lambda node: {'message': f'Its power state is {node.power_state or "not known"}.'},
    ),
    Clause(
        _HEALTH,
        (_NODES.health, _IS_UNHEALTHY.label('unhealthy')),
        lambda _: ~_IS_UNHEALTHY,
        lambda _: _IS_UNHEALTHY,
        None,
        attrgetter('unhealthy'),
        _unhealthy,
    ),
)
EXPECTATION = 'expectation'
#: All clauses, in the order in which ``refusal`` looks at them.
CLAUSES = (
    *_STATES,
    _of_holder(
        'reserved',
        lambda _: RESERVED,
        lambda _: _NODES.uuid.not_in(sa.select(tables.reservations.c.node_uuid).where(LIVE)),
        _reserved,
    ),
    _of_holder(
        'allocated',
        lambda instance: node_consumers.allocated_to_others(instance) if instance else node_consumers.ALLOCATED,
        lambda instance: _NODES.id.not_in(node_consumers.allocated_nodes(instance)),
        _allocated,
    ),
    _of_holder(EXPECTATION, lambda _: mismatches.MISMATCHED, None, _mismatched),
)
#: The columns of nodes that the clauses about their state depend on.
STATE_COLUMNS = tuple(column for clause in _STATES for column in clause.columns)
#: Condition on nodes: the node's state allows an instance.
OFFERED = sa.and_(*(clause.met(None) for clause in _STATES))
#: The columns that ``refusal`` needs, of a SELECT from nodes with an outer join of reservations on OF_NODE.
STATE = (
    *STATE_COLUMNS,
    tables.reservations.c.uuid.label('reservation_uuid'),
    tables.reservations.c.expires_at,
    node_consumers.CONSUMER,
    *mismatches.FIRST,
)


def eligible_for(instance: str | None = None) -> Condition:
    """Return the condition on nodes that a node can be reserved for an instance.

    :param instance: as for Clause.
    """
    return sa.and_(*(clause.met(instance) for clause in CLAUSES))


def only(instances: Sequence[str]) -> str | None:
    """Return the only instance; None if there are several: a node that is allocated to one could go to another one."""
    return instances[0] if len(instances) == 1 else None


def explained(conf: cfg.ConfigOpts) -> list[Clause]:
    """Return the clauses that explanations have for each request. Those of expectations depend on the rules."""
    left_out = (EXPECTATION,) if conf.matching.exclude_unhealthy else (EXPECTATION, _HEALTH)
    return [clause for clause in CLAUSES if clause.name not in left_out]


def refusal(node: sa.Row | None, instance: str | None = None) -> Refusal | None:
    """Return why a node cannot be reserved.

    :param node: a row with the columns of STATE; None when the node does not exist.
    :param instance: as for Clause.
    :returns: {'reason': name of a clause, or 'not found', 'message': a sentence}, with ``provision_state``,
        ``reserved_until`` or ``rule`` where they are the reason; None when the node can be reserved.
    """
    if node is None:
        return {'reason': 'not found', 'message': 'There is no such node.'}
    found = ((clause.name, clause.refusal(node, instance)) for clause in CLAUSES)
    return next(({'reason': name, **why} for name, why in found if why is not None), None)


def has_reservation(connection: sa.Connection, instances: Collection[str]) -> bool | None:
    """Whether one of the instances has a live reservation; None if none of them has a reservation, live or expired.

    :param instances: uuids.
    """
    if not instances:
        return None
    is_live = sa.select(sa.func.max(sa.case((LIVE, 1), else_=0)))
    found = connection.scalar(is_live.where(tables.reservations.c.instance_uuid.in_(instances)))
    return None if found is None else bool(found)


def count_expired(connection: sa.Connection) -> int:
    """Return the number of reservations that have expired and are not deleted yet."""
    return connection.scalar(sa.select(sa.func.count()).select_from(tables.reservations).where(EXPIRED)) or 0


def moment_text(moment: datetime.datetime) -> str:
    """Return a time for messages: ISO 8601, in seconds, with +00:00."""
    return f'{moment.isoformat(timespec="seconds")}+00:00'


#: Condition on nodes: the node can be reserved for any instance.
ELIGIBLE = eligible_for()
