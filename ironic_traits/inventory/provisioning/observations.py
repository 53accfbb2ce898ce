"""The power state and the health of nodes, as their BMCs show them."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits.context import Context, Parts
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.deploy import base, states
from ironic_traits.inventory.core import history, origins
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.provisioning import workers

_NODES = tables.nodes.c
_COLUMNS = (_NODES.power_state, _NODES.health, _NODES.provision_state, _NODES.maintenance, _NODES.fault)
#: The columns that say which BMC a node has.
BMC = (_NODES.driver, _NODES.driver_info, _NODES.inspect_interface)
#: The fault of a node whose BMC does not answer, as in Ironic.
FAULT = 'power failure'


def watched(service: Parts, worker: str) -> Sequence[sa.Row]:
    """Return the nodes whose BMC a worker watches: its share of the nodes without work.

    :param worker: uuid of the worker.
    :returns: rows with ``uuid``, ``power_state``, ``health``, ``maintenance`` and ``fault``.
    """
    drivers = [name for name, driver in service.drivers.items() if driver.watches]
    with service.read() as connection:
        alive = workers.rows(connection, service.conf.deploy, only_alive=True)
        uuids = sorted(row.uuid for row in alive if row.conductor_group == workers.group(service))
        if not drivers or worker not in uuids:
            return []
        is_ours = (_NODES.id % len(uuids) == uuids.index(worker)) & (_NODES.conductor_group == workers.group(service))
        idle = _NODES.reservation.is_(None) & _NODES.provision_state.not_in((states.ENROLL, *states.WAITING))
        statement = sa.select(_NODES.uuid, *_COLUMNS).where(is_ours, idle, origins.OWN, _NODES.driver.in_(drivers))
        return connection.execute(statement.order_by(_NODES.id)).all()


def differs(node: sa.Row, observed: base.Observed) -> bool:
    """Whether what a BMC shows is not what is stored.

    :param node: row of ``watched``.
    """
    return bool(_changes(node, observed))


def has_other_bmc(node: sa.Row, asked: Mapping[str, Any]) -> bool:
    """Whether a node has got another BMC, or other credentials, since its BMC was asked.

    :param node: row with BMC.
    :param asked: the node as it was then.
    """
    return any(name in asked and asked[name] != getattr(node, name) for name in (column.name for column in BMC))


@retried
def store(context: Context, before: sa.Row, observed: base.Observed, asked: Mapping[str, Any]) -> None:
    """Store what a BMC shows, and end the maintenance that began because it did not answer.

    :param before: row of ``watched``. If the node has changed since then, nothing is stored.
    :param asked: the node as it was when its BMC was asked.
    """
    uuid = before.uuid
    with context.write() as connection:
        node = take(connection, uuid, *_COLUMNS, *BMC, _NODES.reservation, _NODES.target_power_state)
        changes = _changes(node, observed)
        # While a worker has or had the node, it knows more than an observation from before.
        is_outdated = node.reservation or node.power_state != before.power_state or has_other_bmc(node, asked)
        is_outdated = is_outdated or node.provision_state in states.WAITING
        if is_outdated or not changes:
            return
        moment = read_clock(connection)
        change(connection, node, changes)
        author = functools.partial(history.entry, None, conductor=context.conf.host)
        if 'power_state' in changes:
            event = f'The BMC shows the power state "{observed.power_state}".'
            history.record(connection, history.power(author, node, moment, event, changes))
        if 'health' in changes:
            event = f'The BMC shows the health {observed.health or "unknown"}, before {node.health or "unknown"}.'
            severity = history.INFO if observed.health in ('OK', None) else history.WARNING
            history.record(connection, author(uuid, moment, history.POWER, event, severity=severity))


@retried
def give_up(context: Context, uuid: str, reason: str) -> None:
    """Put a node whose BMC does not answer into maintenance, with the power state "error", as Ironic does."""
    with context.write() as connection:
        node = take(connection, uuid, *_COLUMNS, _NODES.reservation, _NODES.target_power_state)
        # A machine that boots for a deploy may have a BMC that does not answer for a while.
        if node.reservation or node.maintenance or node.provision_state in states.WAITING:
            return
        moment = read_clock(connection)
        changes: Values = {
            'power_state': states.POWER_ERROR,
            'maintenance': True,
            'maintenance_reason': reason,
            'fault': FAULT,
            'last_error': reason,
        }
        change(connection, node, changes)
        author = functools.partial(history.entry, None, conductor=context.conf.host)
        history.record(connection, history.power(author, node, moment, reason, changes))


def _changes(node: sa.Row, observed: base.Observed) -> Values:
    changes: Values = {}
    if observed.power_state and observed.power_state != node.power_state:
        changes['power_state'] = observed.power_state
    if observed.health != node.health:
        changes['health'] = observed.health
    if observed.power_state and node.maintenance and node.fault == FAULT:
        changes |= {'maintenance': False, 'maintenance_reason': None, 'fault': None, 'last_error': None}
    return changes
