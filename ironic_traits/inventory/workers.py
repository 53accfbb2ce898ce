"""The workers that are alive, and the transitions that wait for one."""

import datetime

import sqlalchemy as sa

from ironic_traits.db.engine import retried
from ironic_traits.db.models import transitions, workers
from ironic_traits.db.types import clock

#: How long the row of a worker without heartbeats is kept. (A worker that stops deletes its own row.)
REMEMBERED = datetime.timedelta(days=1)


@retried
def beat(service, uuid, **facts):
    """Store a worker's heartbeat, and delete workers whose last heartbeat is older than REMEMBERED.

    :param service: ironic_traits.service.Service.
    :param uuid: of the worker.
    :param facts: {column of workers: value}: ``hostname``, ``pid``, ``drivers`` and so on.
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
    :param uuid: of the worker.
    """
    with service.write() as connection:
        connection.execute(sa.delete(workers).where(workers.c.uuid == uuid))


def alive(service):
    """Return the number of workers with a heartbeat within ``[deploy] heartbeat_timeout``.

    :param service: an object with ``read`` and ``conf``: ironic_traits.service.Service, for example.
    """
    with service.read() as connection:
        moment = connection.scalar(sa.select(clock()))
        oldest = moment - datetime.timedelta(seconds=service.conf.deploy.heartbeat_timeout)
        return connection.scalar(sa.select(sa.func.count()).select_from(workers).where(workers.c.heartbeat_at > oldest))


def longest_wait(service):
    """Return how long the longest-waiting transition has been due without a claim.

    :param service: an object with ``read``: ironic_traits.service.Service, for example.
    :returns: seconds; 0 if none waits.
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
    """Return a sentence about the number of workers and the longest wait.

    :param service: an object with ``read`` and ``conf``: ironic_traits.service.Service, for example.
    """
    number, seconds = alive(service), longest_wait(service)
    sentence = f'{number} workers are alive' if number != 1 else '1 worker is alive'
    return f'{sentence}; ' + (f'work has waited for {seconds:.0f} seconds' if seconds else 'no work waits')
