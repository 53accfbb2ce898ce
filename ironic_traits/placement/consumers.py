"""Consumers of allocations: their demands and their generations."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.placement import failures

#: The generation of a demand in versions without consumer generations: it is not checked.
ANY = object()
# Built once: to build it for each call takes as long as to execute it.
_LOCK = prepared(
    sa.select(tables.consumers)
    .where(tables.consumers.c.uuid.in_(sa.bindparam('uuids')))
    .order_by(tables.consumers.c.id)
    .with_for_update()
)
_KNOWN = prepared(sa.select(tables.consumers.c.uuid).where(tables.consumers.c.uuid.in_(sa.bindparam('uuids'))))


@dataclasses.dataclass(frozen=True)
class Demand:
    """The allocations that a consumer is to have instead of its present ones.

    :ivar consumer: uuid.
    :ivar resources: {uuid of a provider: {resource class: amount}}; {} to remove all allocations.
    :ivar project_id: of the consumer.
    :ivar user_id: of the consumer.
    :ivar consumer_type: None to keep the present type; a new consumer then has no type.
    :ivar generation: the consumer's generation in the request; None for a new consumer; ANY for no check.
    """

    consumer: str
    resources: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    consumer_type: str | None = None
    generation: object = ANY


def known(connection: sa.Connection, uuids: Collection[str]) -> set[str]:
    """Return the uuids of those consumers that exist."""
    return set(connection.scalars(_KNOWN, {'uuids': list(uuids)}))


def check_generations(connection: sa.Connection, demands: Sequence[Demand]) -> dict[str, sa.Row]:
    """Lock the consumers that exist, and check their generations.

    :returns: {uuid: row}.
    :raises failures.ConcurrentUpdate: a consumer has another generation than its demand. A consumer that does not exist
        has the generation None.
    """
    uuids = [demand.consumer for demand in demands]
    existing = {row.uuid: row for row in connection.execute(_LOCK, {'uuids': uuids})}
    for demand in demands:
        consumer = existing.get(demand.consumer)
        expected = consumer.generation if consumer else None
        if demand.generation is not ANY and demand.generation != expected:
            raise failures.ConcurrentUpdate(
                reason=f'consumer generation conflict - expected {"null" if expected is None else expected} '
                f'but got {demand.generation}'
            )
    return existing


def write(connection: sa.Connection, demands: Sequence[Demand], existing: Mapping[str, sa.Row]) -> dict[str, int]:
    """Insert the new consumers, and update the existing ones.

    :param existing: the result of ``check_generations``.
    :returns: {uuid: id}.
    """
    new = [demand for demand in demands if demand.resources and demand.consumer not in existing]
    ids = _insert(connection, new)
    for demand in demands:
        consumer = existing.get(demand.consumer)
        if consumer is not None:
            ids[demand.consumer] = consumer.id
            values: Values = {'project_id': demand.project_id, 'user_id': demand.user_id}
            if demand.consumer_type:
                values['consumer_type'] = demand.consumer_type
            values |= {'generation': consumer.generation + 1, 'updated_at': now()}
            same = (tables.consumers.c.id == consumer.id, tables.consumers.c.generation == consumer.generation)
            if not connection.execute(sa.update(tables.consumers).where(*same).values(values)).rowcount:
                raise db_exception.RetryRequest(lost())
    return ids


def _insert(connection: sa.Connection, demands: Sequence[Demand]) -> dict[str, int]:
    """Insert consumers, and return {uuid: id}."""
    moment = now()
    rows = [
        {
            'uuid': demand.consumer,
            'project_id': demand.project_id,
            'user_id': demand.user_id,
            'consumer_type': demand.consumer_type or None,
            'generation': 1,
            'created_at': moment,
        }
        for demand in demands
    ]
    try:
        if len(rows) == 1:
            key: Any = connection.execute(sa.insert(tables.consumers).values(rows[0])).inserted_primary_key
            return {demands[0].consumer: key.id}
        if rows:
            connection.execute(sa.insert(tables.consumers), rows)
    except db_exception.DBDuplicateEntry as error:
        # Another transaction has inserted one since ``check_generations``: check again.
        raise db_exception.RetryRequest(lost()) from error
    inserted = connection.execute(_LOCK, {'uuids': [row['uuid'] for row in rows]}) if rows else ()
    return {row.uuid: row.id for row in inserted}


def lost() -> failures.ConcurrentUpdate:
    """Return the failure for a lost race, in case all retries fail."""
    return failures.ConcurrentUpdate(reason='Another thread concurrently updated the data. Please retry your update')
