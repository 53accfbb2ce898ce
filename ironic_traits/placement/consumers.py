"""Consumers of allocations: their claims and their generations."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.placement import failures

#: The generation of a claim in versions without consumer generations: it is not checked.
ANY = object()
# Built once: to build it for each call takes as long as to execute it.
_LOCK = prepared(
    sa.select(tables.consumers)
    .where(tables.consumers.c.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(tables.consumers.c.id)
    .with_for_update()
)


@dataclasses.dataclass(frozen=True)
class Claim:
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


def check_generations(connection: sa.Connection, claims: Sequence[Claim]) -> dict[str, sa.Row]:
    """Lock the consumers that exist, and check their generations.

    :returns: {uuid: row}.
    :raises failures.ConcurrentUpdate: a consumer has another generation than its claim. A consumer that does not exist
        has the generation None.
    """
    uuids = [claim.consumer for claim in claims]
    existing = {row.uuid: row for row in connection.execute(_LOCK, {'uuids': uuids})}
    for claim in claims:
        consumer = existing.get(claim.consumer)
        expected = consumer.generation if consumer else None
        if claim.generation is not ANY and claim.generation != expected:
            raise failures.ConcurrentUpdate(
                reason=f'consumer generation conflict - expected {"null" if expected is None else expected} '
                f'but got {claim.generation}'
            )
    return existing


def write(connection: sa.Connection, claims: Sequence[Claim], existing: Mapping[str, sa.Row]) -> dict[str, int]:
    """Insert the new consumers, and update the existing ones.

    :param existing: the result of ``check_generations``.
    :returns: {uuid: id}.
    """
    ids = {}
    for claim in claims:
        consumer = existing.get(claim.consumer)
        values: dict[str, Any] = {'project_id': claim.project_id, 'user_id': claim.user_id}
        if claim.consumer_type:
            values['consumer_type'] = claim.consumer_type
        if consumer is None and claim.resources:
            values |= {'uuid': claim.consumer, 'generation': 1, 'created_at': now()}
            try:
                result = connection.execute(sa.insert(tables.consumers).values(values))
            except db_exception.DBDuplicateEntry as error:
                # Another transaction has inserted it since ``check_generations``: check again.
                raise db_exception.RetryRequest(lost()) from error
            key: Any = result.inserted_primary_key
            ids[claim.consumer] = key.id
        elif consumer is not None:
            ids[claim.consumer] = consumer.id
            values |= {'generation': consumer.generation + 1, 'updated_at': now()}
            same = (tables.consumers.c.id == consumer.id, tables.consumers.c.generation == consumer.generation)
            if not connection.execute(sa.update(tables.consumers).where(*same).values(values)).rowcount:
                raise db_exception.RetryRequest(lost())
    return ids


def lost() -> failures.ConcurrentUpdate:
    """Return the failure for a lost race, in case all retries fail."""
    return failures.ConcurrentUpdate(reason='Another thread concurrently updated the data. Please retry your update')
