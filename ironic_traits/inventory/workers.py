"""The workers that are alive, and the transitions that wait for one."""

import datetime
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.types import clock, read_clock
from ironic_traits.service import Service

#: How long the row of a worker without heartbeats is kept. (A worker that stops deletes its own row.)
REMEMBERED = datetime.timedelta(days=1)


@retried
def beat(service: Writer, uuid: str, **facts: Any) -> None:
    """Store a worker's heartbeat, and delete workers whose last heartbeat is older than REMEMBERED.

    :param uuid: of the worker.
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
    """Delete a worker that stops.

    :param uuid: of the worker.
    """
    with service.write() as connection:
        connection.execute(sa.delete(tables.workers).where(tables.workers.c.uuid == uuid))


def alive(service: Service) -> int:
    """Return the number of workers with a heartbeat within ``[deploy] heartbeat_timeout``."""
    with service.read() as connection:
        moment = read_clock(connection)
        oldest = moment - datetime.timedelta(seconds=service.conf.deploy.heartbeat_timeout)
        return connection.execute(
            sa.select(sa.func.count()).select_from(tables.workers).where(tables.workers.c.heartbeat_at > oldest)
        ).scalar_one()


def longest_wait(service: Reader) -> float:
    """Return how long the longest-waiting transition has been due without a claim.

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


def summary(service: Service) -> str:
    """Return a sentence about the number of workers and the longest wait."""
    number, seconds = alive(service), longest_wait(service)
    sentence = f'{number} workers are alive' if number != 1 else '1 worker is alive'
    return f'{sentence}; ' + (f'work has waited for {seconds:.0f} seconds' if seconds else 'no work waits')
