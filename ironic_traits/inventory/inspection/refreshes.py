"""Refreshes: BMCs that are read again, in any state of their nodes.

A refresh changes facts, traits and mismatches only. It takes the node's lock only if it changes something, so that
nodes on which nothing has changed do not appear in the change feed. A worker claims a refresh for a limited time.
"""

import datetime
import functools
import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context, Parts
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.deploy import base, inspection_hooks, merged_facts, states
from ironic_traits.inventory.core import history, origins
from ironic_traits.inventory.core.single_node import change, read, take
from ironic_traits.inventory.inspection import inspections, node_inventories, rule_runs
from ironic_traits.inventory.provisioning import workers
from ironic_traits.inventory.provisioning.observations import BMC, has_other_bmc
from ironic_traits.inventory.records import inspection_rules

LOG = logging.getLogger(__name__)

_TABLE = tables.inventory_refreshes
_NODES = tables.nodes.c
#: Seconds that a refresh waits while other work has locked the node, and before a BMC that has changed is read.
_LOCKED, _AT_ONCE = 10, 0.001
#: How ``last_error`` begins after a refresh has failed. The next one that succeeds removes it.
_FAILED = 'The BMC could not be read: '
#: Maximum number of nodes that are scheduled in one transaction.
_BATCH = 1000


class Claim(NamedTuple):
    """A refresh that a worker has claimed.

    :ivar node: uuid of the node.
    :ivar due_at: when it was due. A request in the meantime makes it due again.
    """

    node_id: int
    node: str
    lease: str
    due_at: datetime.datetime


@retried
def request(context: Context, ident: str) -> None:
    """Let a worker read the BMC of a node now.

    :raises failures.NodeMirrored: the node is mirrored.
    :raises failures.InvalidInput: the inspect interface of the node reads no BMC.
    :raises failures.NoValidHost: workers are alive, but none has the driver of the node.
    """
    columns = (_NODES.id, _NODES.uuid, _NODES.origin, _NODES.driver, _NODES.inspect_interface, _NODES.conductor_group)
    with context.write() as connection:
        node = read(connection, ident, columns)
        origins.check_own(connection, node)
        driver = context.service.drivers.get(node.driver)
        if driver is None or node.inspect_interface not in driver.refreshable:
            raise failures.InvalidInput(
                reason=f"The inspect interface '{node.inspect_interface}' of driver '{node.driver}' reads no BMC."
            )
        workers.check_host(connection, context.conf.deploy, dict(node._mapping))
        moment = read_clock(connection)
        if not insert_missing(connection, _TABLE, [{'node_id': node.id, 'due_at': moment}]):
            # Also while a worker reads the BMC: what it has read may be older than the request.
            connection.execute(sa.update(_TABLE).where(_TABLE.c.node_id == node.id).values(due_at=moment))


@retried
def schedule(service: Parts) -> int:
    """Let workers read each BMC that has no refresh yet, for regular refreshes. Return the number of nodes."""
    statement = (
        sa.select(_NODES.id)
        .outerjoin(_TABLE, _TABLE.c.node_id == _NODES.id)
        .where(_TABLE.c.node_id.is_(None), origins.OWN, _NODES.provision_state != states.ENROLL, _readable(service))
        .limit(_BATCH)
    )
    with service.write() as connection:
        moment = read_clock(connection)
        rows = [{'node_id': node_id, 'due_at': moment} for node_id in connection.scalars(statement)]
        return insert_missing(connection, _TABLE, rows)


def due(service: Parts, limit: int) -> Sequence[sa.Row]:
    """Return the nodes whose refresh is due and not claimed: rows with ``id``, ``uuid`` and ``due_at``."""
    statement = (
        sa.select(_NODES.id, _NODES.uuid, _TABLE.c.due_at)
        .join(_TABLE, _TABLE.c.node_id == _NODES.id)
        .where(_TABLE.c.due_at <= clock(), _free(clock()), _readable(service))
        .order_by(_TABLE.c.due_at)
        .limit(limit)
    )
    with service.read() as connection:
        return connection.execute(statement).all()


@retried
def claim(service: Parts, node: sa.Row) -> Claim | None:
    """Claim the refresh of a node.

    :param node: row of ``due``.
    :returns: None if another worker has it.
    """
    lease = uuidutils.generate_uuid()
    with service.write() as connection:
        moment = read_clock(connection)
        until = moment + datetime.timedelta(seconds=service.conf.deploy.lease_seconds)
        claimed = (
            sa.update(_TABLE)
            .where(_TABLE.c.node_id == node.id, _TABLE.c.due_at == node.due_at, _free(moment))
            .values(lease=lease, leased_until=until)
        )
        return Claim(node.id, node.uuid, lease, node.due_at) if connection.execute(claimed).rowcount else None


def settle(
    context: Context, claim: Claim, outcome: base.Facts | base.WorkFailed, asked: Mapping[str, Any] | None = None
) -> None:
    """Store what a BMC has shown, or why it could not be read. Do nothing if the claim is not valid any more.

    :param asked: the node as it was when its BMC was asked. If it has another BMC now, nothing is stored.
    """
    if _is_changing(context, claim, outcome):
        _store(context, claim, outcome, asked or {})
    else:
        _keep(context, claim)


@retried
def _keep(context: Context, claim: Claim) -> None:
    with context.write() as connection:
        _end(context, connection, claim)


def _is_changing(context: Context, claim: Claim, outcome: base.Facts | base.WorkFailed) -> bool:
    """Whether the claim is valid, and its outcome changes the node. This is found out without the node's lock."""
    with context.read() as connection:
        if not connection.scalar(sa.select(_TABLE.c.node_id).where(*_mine(claim))):
            return False
        node = read(connection, claim.node, (_NODES.id, _NODES.uuid, _NODES.last_error))
        if isinstance(outcome, base.WorkFailed):
            # The error of a deploy or a clean says more.
            is_ours = not node.last_error or node.last_error.startswith(_FAILED)
            return is_ours and node.last_error != f'{_FAILED}{outcome}'
        before = node_inventories.document(connection, node.id)
        document = merged_facts.merge(before, outcome)
        if document != before or (node.last_error or '').startswith(_FAILED):
            return True
        return _run(context, connection, node, document, rule_runs.preview).is_changing


@retried
def _store(context: Context, claim: Claim, outcome: base.Facts | base.WorkFailed, asked: Mapping[str, Any]) -> None:
    with context.write() as connection:
        node = take(connection, claim.node, _NODES.reservation, _NODES.last_error, *BMC)
        if has_other_bmc(node, asked):
            _end(context, connection, claim, _AT_ONCE)
            return
        if node.reservation:
            # The traits of a node must not change while a worker deploys or cleans it.
            _end(context, connection, claim, _LOCKED)
            return
        if not _end(context, connection, claim):
            return
        moment = read_clock(connection)
        author = functools.partial(history.entry, None, conductor=context.conf.host)
        if isinstance(outcome, base.WorkFailed):
            reason = f'{_FAILED}{outcome}'
            change(connection, node, {'last_error': reason})
            history.record(connection, author(node.uuid, moment, history.INSPECTION, reason, severity=history.ERROR))
            return
        before = node_inventories.document(connection, node.id)
        document = merged_facts.merge(before, outcome)
        inspections.record_unread(connection, node, before, outcome, author)
        node_inventories.store(connection, node.id, document, moment)
        _run(context, connection, node, document, functools.partial(rule_runs.run, whole=False))
        if (node.last_error or '').startswith(_FAILED):
            change(connection, node, {'last_error': None})


def _run(context: Context, connection: sa.Connection, node: sa.Row, document: Mapping[str, Any], run: Any) -> Any:
    """Run the rules in force on the document of a node."""
    rules = inspection_rules.in_force(context.service, connection)
    return run(context, connection, node, inspection_hooks.read(context.conf.inspection, document), rules)


def _end(context: Context, connection: sa.Connection, claim: Claim, seconds: float = 0) -> bool:
    """End a claim. Return whether it was valid.

    :param seconds: when the BMC is to be read again; 0 for the regular interval.
    """
    # Spread, so that nodes that were added together are not always read together.
    seconds = seconds or context.conf.inspection.refresh_interval * random.uniform(0.9, 1.1)  # noqa: S311
    if not seconds:
        asked_once = sa.delete(_TABLE).where(*_mine(claim), _TABLE.c.due_at == claim.due_at)
        if connection.execute(asked_once).rowcount:
            return True
    due_at = read_clock(connection) + datetime.timedelta(seconds=seconds)
    ended = sa.update(_TABLE).where(*_mine(claim)).values(lease=None, leased_until=None)
    later = sa.case((_TABLE.c.due_at == claim.due_at, due_at), else_=_TABLE.c.due_at)
    return bool(connection.execute(ended.values(due_at=later)).rowcount)


def _mine(claim: Claim) -> tuple[Condition, ...]:
    return (_TABLE.c.node_id == claim.node_id, _TABLE.c.lease == claim.lease)


def _readable(service: Parts) -> Condition:
    """Return the condition on nodes whose BMC the workers of this process read."""
    interfaces = [
        sa.and_(_NODES.driver == name, _NODES.inspect_interface.in_(driver.refreshable))
        for name, driver in service.drivers.items()
    ]
    return sa.and_(_NODES.conductor_group == workers.group(service), sa.or_(*interfaces))


def _free(moment: datetime.datetime | clock) -> Condition:
    return sa.or_(_TABLE.c.lease.is_(None), _TABLE.c.leased_until <= moment)
