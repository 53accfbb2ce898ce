"""The workers that are alive, and the transitions that wait for a worker."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.context import Process
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.statements.types import clock, read_clock

#: Time for which the row of a worker without heartbeats is kept. (A worker that stops deletes its own row.)
REMEMBERED = datetime.timedelta(days=1)


@retried
def beat(service: Writer, uuid: str, **facts: Any) -> None:
    """Store a worker's heartbeat, and delete workers whose last heartbeat is older than REMEMBERED.

    :param uuid: uuid of the worker.
    :param facts: {column of workers: value}: ``hostname``, ``pid``, ``drivers`` and so on.
    """
    with service.write() as connection:
        moment = read_clock(connection)
        connection.execute(sa.delete(tables.workers).where(tables.workers.c.heartbeat_at < moment - REMEMBERED))
        alive = sa.update(tables.workers).where(tables.workers.c.uuid == uuid).values(heartbeat_at=moment)
        if not connection.execute(alive).rowcount:
            row = {'uuid': uuid, 'started_at': moment, 'heartbeat_at': moment, **facts}
            connection.execute(sa.insert(tables.workers).values(row))


@retried
def forget(service: Writer, uuid: str) -> None:
    """Delete a worker that is stopping.

    :param uuid: uuid of the worker.
    """
    with service.write() as connection:
        connection.execute(sa.delete(tables.workers).where(tables.workers.c.uuid == uuid))


def rows(connection: sa.Connection, options: cfg.ConfigOpts.GroupAttr, only_alive: bool = False) -> Sequence[sa.Row]:
    """Return the workers.

    :param options: the [deploy] group of ConfigOpts.
    :param only_alive: whether to return only workers with a heartbeat within ``[deploy] heartbeat_timeout``.
    :returns: [row with all columns, and ``alive``, …].
    """
    oldest = read_clock(connection) - datetime.timedelta(seconds=options.heartbeat_timeout)
    is_alive = tables.workers.c.heartbeat_at > oldest
    statement = sa.select(tables.workers, is_alive.label('alive'))
    return connection.execute(statement.where(is_alive) if only_alive else statement).all()


def alive(service: Process) -> int:
    """Return the number of workers with a heartbeat within ``[deploy] heartbeat_timeout``."""
    with service.read() as connection:
        return len(rows(connection, service.conf.deploy, only_alive=True))


def group(service: Process) -> str:
    """Return the conductor group of the workers of this process, in lower case like those of nodes."""
    return service.conf.deploy.conductor_group.lower()


def check_host(connection: sa.Connection, options: cfg.ConfigOpts.GroupAttr, node: Mapping[str, Any]) -> None:
    """Raise NoValidHost if workers are alive, but none of them works on a node.

    If no worker is alive, no failure is raised, and the work waits: the first worker may start after the service.

    :param options: the [deploy] group of ConfigOpts.
    :param node: the node's columns by name.
    :raises failures.NoValidHost: no worker has the node's driver and conductor group.
    """
    alive = rows(connection, options, only_alive=True)
    if alive and not any(
        row.conductor_group == node['conductor_group'] and node['driver'] in row.drivers for row in alive
    ):
        raise failures.NoValidHost(driver=node['driver'], group=node['conductor_group'])


def longest_wait(service: Reader) -> float:
    """Return the longest time for which a transition has been due without a claim.

    :returns: seconds; 0 if none waits.
    """
    since = sa.case(
        (tables.transitions.c.leased_until > tables.transitions.c.due_at, tables.transitions.c.leased_until),
        else_=tables.transitions.c.due_at,
    )
    free = sa.or_(tables.transitions.c.lease.is_(None), tables.transitions.c.leased_until <= clock())
    statement = sa.select(clock().label('now'), sa.func.min(since).label('since')).where(
        tables.transitions.c.due_at <= clock(), free
    )
    with service.read() as connection:
        row = connection.execute(statement).one()
    return max((row.now - row.since).total_seconds(), 0) if row.since else 0


def summary(service: Process) -> str:
    """Return a sentence about the number of workers and the longest wait."""
    number, seconds = alive(service), longest_wait(service)
    sentence = f'{number} workers are alive' if number != 1 else '1 worker is alive'
    return f'{sentence}; ' + (f'work has waited for {seconds:.0f} seconds' if seconds else 'no work waits')
