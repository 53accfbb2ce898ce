"""Records the requests that write traits to nodes of a cloud, before they are sent and after they have ended.

Therefore a process may be killed at any time. The next process sees which requests may have been sent, and repeats
them. A repeated request has no further effect.
"""

import contextlib
import datetime
from collections.abc import Collection, Mapping
from typing import NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.changes import change_feed
from ironic_traits.conf.mirror import write_of
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Writer, retried
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.inventory.core import history, origins
from ironic_traits.inventory.core.single_node import read
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_written_traits, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirror_written_traits import Pending
from ironic_traits.matching import written_traits
from ironic_traits.matching.written_traits import ALL, REMOVED, REMOVING, WRITING, WRITTEN, Record

_CLOUDS, _NODES = tables.mirror_clouds, tables.nodes


class Operation(NamedTuple):
    """A request that writes a trait.

    :ivar node_id: primary key of the node.
    :ivar uuid: uuid of the node.
    :ivar state: WRITING, or REMOVING.
    :ivar before: Record of the trait before it; None if there was none.
    """

    node_id: int
    uuid: str
    state: str
    trait: str
    before: Record | None


class Outcome(NamedTuple):
    """What is known about the end of a request.

    :ivar is_done: whether the cloud has executed the request.
    :ivar is_refused: whether the cloud has certainly not executed it.
    :ivar reason: why it is not executed, as a sentence; None if it is.
    """

    is_done: bool
    is_refused: bool = False
    reason: str | None = None


def pending(
    context: Context, cloud: str, seconds: float = 0, uuids: Collection[str] | None = None
) -> dict[str, Pending]:
    """Return the pending writes to the nodes of a cloud, as ``mirror_written_traits.pending`` does.

    Without [mirror] write, these are the writes with the value "traits".

    :param seconds: maximum number of seconds that a request takes.
    :param uuids: uuids of the nodes to check; None for all.
    """
    with context.read() as connection:
        return _pending(context, connection, cloud, seconds, uuids)


def _pending(
    context: Context, connection: sa.Connection, cloud: str, seconds: float, uuids: Collection[str] | None
) -> dict[str, Pending]:
    scope = write_of(context.conf, cloud) or ALL
    return mirror_written_traits.pending(connection, cloud, scope, _ago(connection, seconds), uuids)


def _ago(connection: sa.Connection, seconds: float) -> datetime.datetime:
    return read_clock(connection) - datetime.timedelta(seconds=seconds)


@retried
def begin(
    context: Context, turn: Turn, uuid: str, seconds: float, tried: Collection[tuple[str, str]]
) -> Operation | None:
    """Record the next request to send for a node, and return it; None if there is none.

    :param seconds: maximum number of seconds that a request takes.
    :param tried: (state, trait) of requests that are not repeated.
    """
    with context.write() as connection:
        moment = mirror_clouds.renew(connection, turn)
        node = _pending(context, connection, turn.cloud, seconds, [uuid]).get(uuid)
        if node is None:
            return None
        mirror_written_traits.write(connection, turn.cloud, node.node_id, dict.fromkeys(node.forget))
        for state, trait in node.operations:
            if (state, trait) not in tried:
                before = mirror_written_traits.find(connection, [node.node_id]).get(node.node_id, {}).get(trait)
                # Why the last request was refused. The reason is shown until a request succeeds.
                reason = before.reason if before and before.state != REMOVED else None
                changes = {trait: Record(state, moment, reason)}
                mirror_written_traits.write(connection, turn.cloud, node.node_id, changes)
                return Operation(node.node_id, uuid, state, trait, before)
        return None


def end(context: Writer, turn: Turn, operation: Operation, outcome: Outcome, error: str | None = None) -> None:
    """Record how a request has ended.

    :param error: why no traits can be written to the cloud now, as a sentence; None if they can.
    """
    # DBReferenceError: the node was deleted in this service during the request.
    with contextlib.suppress(db_exception.DBReferenceError):
        _end(context, turn, operation, outcome, error)


@retried
def _end(context: Writer, turn: Turn, operation: Operation, outcome: Outcome, error: str | None) -> None:
    since = sa.func.coalesce(_CLOUDS.c.write_failing_since, clock()) if error else None
    with context.write() as connection:
        count = _CLOUDS.c.trait_writes + int(outcome.is_done)
        values = {'write_error': error, 'write_failing_since': since, 'trait_writes': count}
        moment = mirror_clouds.renew(connection, turn, **values)
        record = _after(operation, outcome, moment)
        is_mirrored = sa.select(_NODES.c.id).where(_NODES.c.id == operation.node_id, _NODES.c.origin == turn.cloud)
        if connection.execute(is_mirrored).first():
            mirror_written_traits.write(connection, turn.cloud, operation.node_id, {operation.trait: record})


def _after(operation: Operation, outcome: Outcome, moment: datetime.datetime) -> Record | None:
    """Return the record of a trait after a request; None if the record is to be deleted."""
    if outcome.is_done:
        return Record(WRITTEN, moment) if operation.state == WRITING else None
    if operation.state == WRITING and outcome.is_refused:
        return written_traits.after_refusal(operation.before, moment, outcome.reason) if outcome.reason else None
    return Record(operation.state, moment, outcome.reason)


@retried
def note(context: Context, turn: Turn, uuid: str, traits: Mapping[str, Collection[str]]) -> None:
    """Add an entry about written traits to the history of a node.

    :param traits: {WRITING or REMOVING: traits}.
    """
    verbs = {WRITING: 'added', REMOVING: 'removed'}
    parts = [f'{verbs[state]} {", ".join(sorted(names))}' for state, names in traits.items() if names]
    with context.write() as connection:
        moment = mirror_clouds.renew(connection, turn)
        if parts and mirrored_nodes.take_many(connection, [uuid]):
            event = f'Traits were written to cloud {turn.cloud}: {"; ".join(parts)}.'
            history.record(connection, history.entry(context, uuid, moment, history.NODE, event))


@retried
def save_queue(service: Writer, turn: Turn, length: int | None) -> None:
    """Store how many nodes of a cloud wait for their traits to be written.

    :param length: the number of nodes; None if traits are not written to this cloud.
    """
    healthy = {'write_error': None, 'write_failing_since': None}
    with service.write() as connection:
        mirror_clouds.renew(connection, turn, write_queue=length, **({} if length else healthy))


@retried
def rewrite(context: Context, ident: str) -> list[str]:
    """Let the mirror write the traits of a node again that another client has removed in its cloud.

    :returns: the traits, sorted.
    :raises failures.InvalidState: the node is not mirrored.
    """
    with context.write() as connection:
        node = read(connection, ident, (_NODES.c.id, _NODES.c.uuid, _NODES.c.origin))
        origins.check_mirrored(node)
        mirror_clouds.lock(connection, node.origin)
        records = mirror_written_traits.find(connection, [node.id]).get(node.id, {})
        traits = sorted(trait for trait, record in records.items() if record.state == REMOVED)
        if traits:
            # Makes the mirror check the node.
            change_feed.record(connection, change_feed.NODE, [node.uuid])
            mirror_written_traits.write(connection, node.origin, node.id, dict.fromkeys(traits))
        return traits


def changed_since(context: change_feed.Database, token: change_feed.Token) -> tuple[set[str], change_feed.Token]:
    """Return the uuids of nodes that were changed or deleted since a place in the change feed, and the next place.

    :raises failures.TokenOutdated: some of these changes may be forgotten.
    """
    uuids, has_more = set[str](), True
    while has_more:
        page = change_feed.since(context, token, [change_feed.NODE], 1000)
        uuids.update(change.uuid for change in page.changes)
        token, has_more = page.token, page.has_more
    return uuids, token
