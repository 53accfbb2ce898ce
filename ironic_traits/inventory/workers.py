"""The workers that are alive, and the work that waits for one."""

import datetime

import sqlalchemy as sa

from ironic_traits.db.engine import retried
from ironic_traits.db.models import transitions, workers
from ironic_traits.db.types import clock

#: How long a worker that has stopped without saying so is remembered.
REMEMBERED = datetime.timedelta(days=1)


@retried
def beat(service, uuid, **facts):
    """Write down that a worker is alive, and forget those that ended long ago without saying so.

    :param service: ironic_traits.service.Service.
    :param uuid: of the worker.
    :param facts: its ``hostname``, ``pid`` and ``drivers``.
    """
    with service.write() as connection:
        moment = connection.scalar(sa.select(clock()))
        connection.execute(sa.delete(workers).where(workers.c.heartbeat_at < moment - REMEMBERED))
        alive = sa.update(workers).where(workers.c.uuid == uuid).values(heartbeat_at=moment)
        if not connection.execute(alive).rowcount:
            row = {'uuid': uuid, 'started_at': moment, 'heartbeat_at': moment, **facts}
            connection.execute(sa.insert(workers).values(row))


@retried
def forget(service, uuid):
    """Delete a worker that stops.

    :param service: ironic_traits.service.Service.
    """
    with service.write() as connection:
        connection.execute(sa.delete(workers).where(workers.c.uuid == uuid))


def alive(service):
    """Count the workers that are alive.

    :param service: what has ``read`` and ``conf``.
    """
    with service.read() as connection:
        moment = connection.scalar(sa.select(clock()))
        oldest = moment - datetime.timedelta(seconds=service.conf.deploy.heartbeat_timeout)
        return connection.scalar(sa.select(sa.func.count()).select_from(workers).where(workers.c.heartbeat_at > oldest))


def longest_wait(service):
    """Return for how many seconds the oldest work has been due that no worker carries; 0 when there is none.

    :param service: what has ``read``.
    """
    since = sa.case(
        (transitions.c.leased_until > transitions.c.due_at, transitions.c.leased_until), else_=transitions.c.due_at
    )
    free = sa.or_(transitions.c.lease.is_(None), transitions.c.leased_until <= clock())
    statement = sa.select(clock().label('now'), sa.func.min(since).label('since')).where(
        transitions.c.due_at <= clock(), free
    )
    with service.read() as connection:
        row = connection.execute(statement).one()
    return max((row.now - row.since).total_seconds(), 0) if row.since else 0


def summary(service):
    """Return a sentence about the workers and the work that waits.

    :param service: what has ``read`` and ``conf``.
    """
    number, seconds = alive(service), longest_wait(service)
    sentence = f'{number} workers are alive' if number != 1 else '1 worker is alive'
    return f'{sentence}; ' + (f'work has waited for {seconds:.0f} seconds' if seconds else 'no work waits')
