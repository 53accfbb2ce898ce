"""Estimates of the promises and the free nodes, which take one statement each.

A process keeps the promises and the free nodes that it has read last (``promised_nodes.read``). An estimate leaves out
the nodes that have changed since. So there may be more free nodes than it says, but not fewer, and the promises may ask
for fewer nodes, but not for more. More nodes and fewer promises make each node less needed (Shapley 1962, "Complements
and substitutes in the optimal assignment problem"). So if a node is not needed by the estimate, it is not needed. If it
is, the request reads the promises and the nodes.
"""

import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.context import Parts
from ironic_traits.db import tables
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.inventory.holds.promised_nodes import LIVE, PromisedNodes, Reading

#: Maximum number of changes since the last reading. With more, it is better to read the nodes again.
_MANY = 100
_PROMISES, _NOTES, _NUMBERS = tables.capacity_reservations, tables.trait_notes, tables.change_numbers
_NONE, _NO_NAME = sa.literal_column('0', sa.BigInteger), sa.literal_column("''", sa.String)


def estimate(service: Parts, connection: sa.Connection) -> PromisedNodes | None:
    """Return an estimate as of now; None if it needs another reading.

    :param connection: for the statement. If it is of a transaction that has changed nodes, these nodes are left out.
    """
    reading: Reading | None = service.promise_reading
    if reading is None:
        return None
    parameters = {'feed': reading.token.feed, 'number': reading.token.number}
    found: dict[str, list[sa.Row]] = {'feed': [], 'promise': [], 'exclusive': [], 'node': []}
    for row in connection.execute(_STATEMENT, parameters):
        found[row.what].append(row)
    generations = {row.id: row.number for row in found['promise']}
    exclusive = service.noted_traits.and_reclaim(row.name for row in found['exclusive'])
    before = reading.promised
    positions = [before.position_of(row.id) for row in found['node'] if row.id is not None]
    if (
        not found['feed']
        or generations.keys() != before.by_id.keys()
        or exclusive != reading.exclusive
        # A node that is deleted has no id any more. (A new one has no position: no set of the reading has it.)
        or len(positions) < len(found['node'])
        or len(positions) > _MANY
    ):
        return None
    changed = 0
    for position in positions:
        changed |= 0 if position is None else 1 << position
    promises = [
        promise._replace(
            generation=generations[promise.id],
            left=max(promise.number - _minus(promise.lasting, changed).bit_count(), 0),
            free=_minus(promise.free, changed),
        )
        for promise in before.by_id.values()
    ]
    return PromisedNodes(promises, _minus(before.free, changed), before.position_of, before=before)


def _minus(nodes: int, others: int) -> int:
    # Quicker than ``nodes & ~others``.
    return nodes ^ (nodes & others)


def _changed(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> sa.Select:
    """Return the SELECT of the nodes with a change in a table."""
    some = sa.select(table.c.uuid).where(table.c.kind == change_feed.NODE, *conditions).limit(_MANY + 1).subquery()
    # Not a join, for which PostgreSQL may read all nodes.
    node_id = sa.select(tables.nodes.c.id).where(tables.nodes.c.uuid == some.c.uuid).scalar_subquery()
    return sa.select(sa.literal_column("'node'"), node_id, _NONE, _NO_NAME).select_from(some)


#: The promises, the exclusive traits, and the nodes that have changed since a place in the change feed, at one moment;
#: no row of the feed if it does not go back to that place.
_STATEMENT = prepared(
    sa.select(
        sa.literal_column("'promise'", sa.String).label('what'),
        _PROMISES.c.id,
        _PROMISES.c.generation.label('number'),
        _NO_NAME.label('name'),
    )
    .where(LIVE)
    .union_all(
        sa.select(sa.literal_column("'exclusive'"), _NONE, _NONE, _NOTES.c.trait).where(_NOTES.c.exclusive),
        sa.select(sa.literal_column("'feed'"), _NUMBERS.c.id, _NUMBERS.c.last, _NO_NAME).where(
            _NUMBERS.c.feed == sa.bindparam('feed'),
            _NUMBERS.c.forgotten <= sa.bindparam('number'),
            _NUMBERS.c.last >= sa.bindparam('number'),
        ),
        _changed(tables.change_log),
        _changed(tables.changes, tables.changes.c.number > sa.bindparam('number')),
    )
)
