"""Transitions: the work on nodes that requests store and workers perform.

A worker claims a transition for a limited time (a lease). If it does not settle the claim within that time, for example
because it was killed, the claim expires. Another worker claims the transition and continues with the last step and
phase that the driver has begun. All times are by the database's clock.
"""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.context import Parts, Process
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.deploy import states, steps
from ironic_traits.deploy.base import DATA_RECEIVED
from ironic_traits.inventory.core import history
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.provisioning import workers

#: When the transition of a held node is due.
NEVER = datetime.datetime(9999, 1, 1)  # noqa: DTZ001, times in the database have no time zone
#: The action of a request that performs its work itself. A worker has nothing to do but to release the lock.
REQUEST = 'request'


@dataclasses.dataclass(frozen=True)
class Lease:
    """A transition that a worker has claimed.

    :ivar node: uuid of the node.
    :ivar lease: id of the claim, a uuid.
    :ivar action: one of ``states.ACTIONS``, or REQUEST.
    :ivar arguments: {name: value} for the driver.
    :ivar phase: how often the driver has postponed this step (``base.Later``).
    :ivar attempts: number of claims in this phase, including this one.
    :ivar seconds: seconds since the first claim of the transition.
    :ivar step: the next step of the action, as for ``base.Task``; None if the steps are not determined yet (``begin``),
        or if the action has no steps.
    """

    node: str
    lease: str
    action: str
    arguments: dict[str, Any]
    phase: int
    attempts: int
    seconds: float
    step: dict[str, Any] | None


def replace(
    connection: sa.Connection, node_id: int, action: str | None, arguments: Mapping[str, Any], moment: datetime.datetime
) -> None:
    """Replace the transition of a node.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param action: one of ``states.ACTIONS``, or REQUEST; None for no transition.
    :param arguments: {name: value} for the driver.
    :param moment: when it is due: datetime by the database's clock.
    """
    connection.execute(sa.delete(tables.transitions).where(tables.transitions.c.node_id == node_id))
    if action:
        row = {'node_id': node_id, 'action': action, 'arguments': arguments, 'due_at': moment}
        connection.execute(sa.insert(tables.transitions).values(row))


def held(connection: sa.Connection, node_id: int) -> Values:
    """Return the work of a held node, as an argument of the action "power". After this action, it is held again.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :returns: {'held': {column: value}}; {} for a node without work.
    """
    names = ('action', 'arguments', 'steps', 'step_index', 'phase')
    columns = (tables.transitions.c[name] for name in names)
    row = connection.execute(sa.select(*columns).where(tables.transitions.c.node_id == node_id)).first()
    return {'held': dict(zip(names, row, strict=True))} if row else {}


def release(connection: sa.Connection, node_id: int, moment: datetime.datetime) -> None:
    """Make the transition of a held node due, and restart its time limit.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param moment: datetime by the database's clock.
    """
    released = {'due_at': moment, 'begun_at': None}
    connection.execute(sa.update(tables.transitions).where(tables.transitions.c.node_id == node_id).values(released))


def receive(connection: sa.Connection, node_id: int, moment: datetime.datetime) -> Values | None:
    """Make the inspection of a node due after its data has arrived, and restart its time limit for the worker.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param moment: datetime by the database's clock.
    :returns: the arguments of the inspection before the change; None if the node is not being inspected.
    """
    same_work = (tables.transitions.c.node_id == node_id, tables.transitions.c.action == 'inspect')
    arguments = connection.scalar(sa.select(tables.transitions.c.arguments).where(*same_work))
    if arguments is None:
        return None
    received = {'due_at': moment, 'begun_at': None, 'arguments': arguments | {DATA_RECEIVED: moment.isoformat()}}
    connection.execute(sa.update(tables.transitions).where(*same_work).values(received))
    return arguments


def has_data(connection: sa.Connection, node_id: int) -> bool:
    """Whether the data of an inspection has arrived, and waits for a worker.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    """
    arguments = sa.select(tables.transitions.c.arguments).where(tables.transitions.c.node_id == node_id)
    return DATA_RECEIVED in (connection.scalar(arguments) or {})


def due(service: Parts, limit: int) -> list[str]:
    """Return the nodes whose transition is due and not claimed, and that the workers of this process work on.

    :param limit: maximum number of nodes.
    :returns: [uuid, …], the one that has waited longest first.
    """
    statement = (
        sa.select(tables.nodes.c.uuid)
        .join(tables.transitions, tables.transitions.c.node_id == tables.nodes.c.id)
        .where(tables.transitions.c.due_at <= clock(), _free(clock()))
        .where(
            sa.or_(
                sa.and_(
                    tables.nodes.c.conductor_group == workers.group(service), tables.nodes.c.driver.in_(service.drivers)
                ),
                # Any worker can release a lock.
                tables.transitions.c.action == REQUEST,
            )
        )
        .order_by(tables.transitions.c.due_at, tables.transitions.c.node_id)
        .limit(limit)
    )
    with service.read() as connection:
        return list(connection.scalars(statement))


@retried
def claim(service: Parts, uuid: str) -> Lease | None:
    """Claim the transition of a node.

    A node in a wait state moves back to the working state, and gets the lock (``reservation``) of this host.

    :param uuid: uuid of the node.
    :returns: Lease; None if there is no transition that is due and not claimed, or the workers of this process have
        another conductor group or lack the node's driver.
    """
    with service.write() as connection:
        node = take(connection, uuid, *_CLAIMED)
        is_ours = node.conductor_group == workers.group(service) and node.driver in service.drivers
        ours = [] if is_ours else [tables.transitions.c.action == REQUEST]
        moment = read_clock(connection)
        lease = uuidutils.generate_uuid()
        result = connection.execute(
            sa.update(tables.transitions)
            .where(tables.transitions.c.node_id == node.id, tables.transitions.c.due_at <= moment, _free(moment), *ours)
            .values(
                lease=lease,
                leased_until=moment + datetime.timedelta(seconds=service.conf.deploy.lease_seconds),
                attempts=tables.transitions.c.attempts + 1,
                begun_at=sa.func.coalesce(tables.transitions.c.begun_at, moment),
            )
        )
        if not result.rowcount:
            return None
        if node.provision_state in states.WAITING:
            move(connection, node, 'resume', moment, reservation=service.conf.host)
        row = connection.execute(sa.select(tables.transitions).where(tables.transitions.c.node_id == node.id)).one()
        seconds = (moment - row.begun_at).total_seconds()
        return Lease(
            node=node.uuid,
            lease=lease,
            action=row.action,
            arguments={name: value for name, value in row.arguments.items() if name != 'held'},
            phase=row.phase,
            attempts=row.attempts,
            seconds=seconds,
            step=row.steps[row.step_index] if row.steps else None,
        )


@retried
def begin(service: Process, claim: Lease, planned: Sequence[dict[str, Any]]) -> bool:
    """Store the steps of a claimed transition, and store the first one in the node.

    :param planned: the steps in their order, at least one.
    :returns: whether the claim was still valid. If not, nothing is changed.
    """
    with service.write() as connection:
        node = take(connection, claim.node)
        result = connection.execute(
            sa.update(tables.transitions)
            .where(tables.transitions.c.node_id == node.id, tables.transitions.c.lease == claim.lease)
            .values(steps=planned)
        )
        if result.rowcount:
            change(connection, node, steps.shown(claim.action, planned[0]))
        return bool(result.rowcount)


def end_claim(connection: sa.Connection, node: sa.Row, due_at: datetime.datetime, **position: int) -> None:
    """End the claim of a transition, and set the time when it is due again.

    :param position: columns with the position in the transition.
    """
    connection.execute(
        sa.update(tables.transitions)
        .where(tables.transitions.c.node_id == node.id)
        .values(lease=None, leased_until=None, attempts=0, due_at=due_at, **position)
    )


def move(
    connection: sa.Connection,
    node: sa.Row,
    event: str,
    moment: datetime.datetime,
    author: history.Author | None = None,
    **changes: Any,
) -> None:
    """Move a node to the state that follows an event.

    :param event: as for ``states.follow``.
    :param moment: time of the change, by the database's clock.
    :param author: author of the entry in the node's history; None for no entry, because a driver that waits and resumes
        many times would fill the history.
    :param changes: further columns to set.
    """
    state = states.follow(node.provision_state, event)
    values = {
        'provision_state': state,
        'target_provision_state': states.target(state, node.target_provision_state),
        'provision_updated_at': moment,
        **states.inspection_times(node.provision_state, state, moment),
        **changes,
    }
    change(connection, node, values)
    if author:
        history.record(connection, history.transition(author, node, moment, values))


_CLAIMED = (
    tables.nodes.c.provision_state,
    tables.nodes.c.target_provision_state,
    tables.nodes.c.conductor_group,
    tables.nodes.c.driver,
)


def _free(moment: datetime.datetime | clock) -> Condition:
    return sa.or_(tables.transitions.c.lease.is_(None), tables.transitions.c.leased_until <= moment)
