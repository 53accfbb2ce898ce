"""Locks of nodes for requests that let a BMC change what a deploy changes, too.

The lock is that of work on a node: the node's ``reservation`` with a transition, which the request performs itself. If
its process is killed, a worker releases the lock after ``[deploy] lease_seconds``. Requests of drivers take less time.
"""

import dataclasses
import datetime
import logging

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.failover import outage
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.deploy import states
from ironic_traits.inventory.core import origins
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.provisioning import transitions

LOG = logging.getLogger(__name__)

_NODES = tables.nodes.c


@dataclasses.dataclass(frozen=True)
class RequestLock:
    """A lock that a request holds.

    :ivar node: uuid of the node.
    :ivar uuid: of the lock.
    """

    node: str
    uuid: str


@waiting_for_lock
@retried
def acquire(context: Context, ident: str) -> RequestLock:
    """Lock a node of this service, whose provision state changes only on request.

    :raises failures.NodeMirrored: the node is mirrored.
    :raises failures.InvalidState: it is changing.
    :raises failures.NodeLocked: a worker or another request holds its lock.
    """
    with context.write() as connection:
        node = take(connection, ident, _NODES.provision_state, _NODES.reservation)
        origins.check_own(connection, node)
        check_state(node.uuid, node.provision_state)
        if node.reservation:
            raise failures.NodeLocked(node=node.uuid, host=node.reservation)
        lock = RequestLock(node.uuid, uuidutils.generate_uuid())
        end = read_clock(connection) + datetime.timedelta(seconds=context.conf.deploy.lease_seconds)
        transitions.replace(connection, node.id, transitions.REQUEST, {'lock': lock.uuid}, end)
        change(connection, node, {'reservation': context.conf.host})
        return lock


@retried
def release(context: Context, lock: RequestLock, kept: Values | None = None, columns: Values | None = None) -> None:
    """Release a lock, and store what has changed.

    :param kept: as ``deploy.management.Kept``.
    :param columns: columns of the node.
    :raises failures.NodeChanged: the lock has expired, or was broken.
    """
    with context.write() as connection:
        node = take(connection, lock.node, _NODES.driver_internal_info)
        arguments = sa.select(tables.transitions.c.arguments).where(tables.transitions.c.node_id == node.id)
        if (connection.scalar(arguments) or {}).get('lock') != lock.uuid:
            result = 'The lock of the request has expired or was broken. Its change may have been made.'
            raise failures.NodeChanged(node=node.uuid, since='in the meantime', result=result)
        transitions.replace(connection, node.id, None, {}, transitions.NEVER)
        change(connection, node, {'reservation': None, **changes(node, kept, columns)})


def abandon(context: Context, lock: RequestLock) -> None:
    """Release a lock after another failure, which the client is to see."""
    try:
        release(context, lock)
    except failures.Failure as failure:
        LOG.warning('Node %s: %s', lock.node, failure)
    except Exception as error:
        outage.log(LOG, error, 'Node %s: the lock of a request is released later', lock.node)


def check_state(uuid: str, state: str) -> None:
    """Raise InvalidState if a provision state changes without a request."""
    if state in states.WORKING | states.WAITING | states.HELD:
        raise failures.InvalidState(reason=f'Node {uuid} is in the state "{state}". Try again after it.')


def changes(node: sa.Row, kept: Values | None, columns: Values | None) -> Values:
    """Return the columns of a node after a driver has changed it: {column: value}. The parameters are as above."""
    if not kept:
        return columns or {}
    info = node.driver_internal_info | kept
    info = {key: value for key, value in info.items() if value is not None or key not in kept}
    return {'driver_internal_info': info, **(columns or {})}
