"""Mirrored nodes: nodes that another Ironic manages, as ironic-traits-mirror has read them.

Their columns have the values of the cloud, even if the drivers or interfaces are not enabled in this service. The
source ``mirror:CLOUD`` holds their traits, in addition to other sources. Nodes that violate an invariant of the
inventory, such as a second node with the same name, are reported as conflicts (``mirror_clouds.report``).
"""

import datetime
import functools
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.conf.mirror import claims_nodes
from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import now, read_clock
from ironic_traits.deploy import states
from ironic_traits.inventory.core import history, node_providers
from ironic_traits.inventory.core.secrets import is_mask
from ironic_traits.inventory.core.single_node import MOMENT, read, write
from ironic_traits.inventory.holds import promise_claims, reservations
from ironic_traits.inventory.mirrored import (
    mirror_clouds,
    mirror_deletions,
    mirror_kept_nodes,
    mirror_uniqueness,
    mirror_written_traits,
)
from ironic_traits.inventory.mirrored.mirror_admission import MirroredNode, NodeCheck, overlaid
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirror_uniqueness import StoreResult, total
from ironic_traits.inventory.nodes import new_nodes, nodes
from ironic_traits.inventory.traits import node_traits, trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching import sources, written_traits
from ironic_traits.resources.values import differ

LOG = logging.getLogger(__name__)

RESOURCE = 'nodes'
_NODES = tables.nodes
#: The columns that a mirror writes.
COLUMNS = tuple(
    column.name
    for column in _NODES.c
    if column.name not in ('id', 'uuid', 'generation', 'configdrive', 'origin') and not is_mask(column)
)
_READ = tuple(_NODES.c[name] for name in ('id', 'uuid', 'origin', *COLUMNS))
#: Maximum number of nodes that one transaction writes.
BATCH = 100


def store(
    context: Context,
    turn: Turn,
    mirrored: Sequence[MirroredNode],
    is_current: bool = False,
    is_final: bool = False,
) -> StoreResult:
    """Store new and changed nodes of a cloud.

    :param mirrored: nodes, each once.
    :param is_current: whether they were read just now, each on its own. Otherwise, a claim in this service may have
        changed their instances since, so nodes with another instance are deferred.
    :param is_final: whether to defer none of them, and to store them in one transaction.
    """
    context.service.writers.id_of(context, turn.source)
    is_current = is_current or not claims_nodes(context.conf, turn.cloud)
    results = []
    differing = _differing(context, turn, mirrored)
    size = len(differing) or 1 if is_final else BATCH
    for batch in (differing[start : start + size] for start in range(0, len(differing), size)):
        try:
            results.append(_store(context, turn, batch, is_current, is_final))
        except (db_exception.DBDuplicateEntry, new_nodes.Unusual, failures.Failure):
            results += [_store_alone(context, turn, node, is_current, is_final) for node in batch]
    return total(results)


def _store_alone(context: Context, turn: Turn, node: MirroredNode, is_current: bool, is_final: bool) -> StoreResult:
    """Store a node in its own transaction. If it cannot be stored, report it."""
    uuid = node.row['uuid']
    try:
        return _store(context, turn, [node], is_current, is_final)
    except (db_exception.DBDuplicateEntry, new_nodes.Unusual):
        return StoreResult(0, {uuid: (RESOURCE, uuid)})
    except failures.Failure as failure:
        LOG.warning('Node %s of cloud %s cannot be stored: %s', uuid, turn.cloud, failure)
        report(context, turn, RESOURCE, {uuid: str(failure)})
        return StoreResult(0, {})


@retried
def report(context: Context, turn: Turn, resource: str, reasons: Mapping[str, str]) -> None:
    """Report conflicts of items of a cloud, in a separate transaction.

    :param reasons: {uuid: reason as a sentence; '' without a conflict}.
    """
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        stated = {uuid: reason for uuid, reason in reasons.items() if reason}
        mirror_clouds.report(connection, turn, resource, list(reasons), stated)


def _differing(context: Context, turn: Turn, mirrored: Sequence[MirroredNode]) -> list[MirroredNode]:
    """Return the new and changed nodes, and those with conflicts, which may have ended."""
    uuids = [node.row['uuid'] for node in mirrored]
    with context.read() as connection:
        mirrored = overlaid(connection, mirrored)
        rows = {row.uuid: row for row in connection.execute(sa.select(*_READ).where(_NODES.c.uuid.in_(uuids)))}
        stored = trait_store.read_many(connection, context.service.writers, [row.id for row in rows.values()])
        records = mirror_written_traits.find(connection, [row.id for row in rows.values()])
        moment = read_clock(connection)
        conflicts = mirror_clouds.reported(connection, turn.cloud, uuids)

    def is_same(node: MirroredNode) -> bool:
        row = rows.get(node.row['uuid'])
        if row is None or row.origin != turn.cloud or _changes(row, node.row):
            return False
        traits, known = stored[row.id].traits, records.get(row.id, {})
        if known and mirror_written_traits.after_read(context, moment, (known, node.traits, traits)):
            return False
        return not sources.replace(traits, None, node.traits - written_traits.ours(known), turn.source).changes

    return [node for node in mirrored if node.row['uuid'] in conflicts or node.problem or not is_same(node)]


def _changes(row: sa.Row, new: Values) -> Values:
    return {name: new[name] for name in COLUMNS if differ(new[name], getattr(row, name))}


@retried
def _store(
    context: Context, turn: Turn, batch: Sequence[MirroredNode], is_current: bool, is_final: bool
) -> StoreResult:
    """Store nodes in one transaction.

    :raises db_exception.DBDuplicateEntry: another node has a unique value.
    :raises new_nodes.Unusual: a new node cannot be created in bulk.
    :raises failures.Failure: a provider prevents the change.
    """
    with context.write() as connection:
        moment = mirror_clouds.renew(connection, turn)
        present = take_many(connection, [node.row['uuid'] for node in batch])
        # After the locks, so that no entry in a history is earlier than the one before it.
        moment = max((row.moment for row in present.values()), default=moment)
        created = {node.row['uuid']: node.row['created_at'] for node in batch}
        held = mirror_deletions.end_replaced(context, connection, turn, moment, (created, present))
        admission = NodeCheck(connection, turn, present, context.conf.inventory.max_traits_per_node, held)
        admitted = admission.admit(overlaid(connection, batch), is_current, is_final)
        names.ensure(connection, tables.traits, {name for node in admitted for name in node.traits})
        _ensure_chassis(connection, admitted)
        new = [node for node in admitted if node.row['uuid'] not in present]
        if alone := _insert(context, connection, turn, [admission.limited(node) for node in new]):
            present |= take_many(connection, alone)
        changed = [(present[node.row['uuid']], node) for node in admitted if node.row['uuid'] in present]
        changed_ids = _update(context, connection, turn, moment, changed)
        edits = [each for each in _edits(context, connection, turn, moment, changed, admission) if each.edit.changes]
        node_traits.store(connection, edits, node_traits.entries(context, turn.source, moment, edits))
        written = len(new) + len(changed_ids.union(each.node.id for each in edits))
        _end_reservations(context, connection, changed_ids, moment)
        uuids = [node.row['uuid'] for node in batch if node.row['uuid'] not in admission.deferred]
        admission.check_holders(uuids)
        mirror_clouds.report(connection, turn, RESOURCE, uuids, admission.reasons)
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + written)
        return StoreResult(written, {uuid: (RESOURCE, other) for uuid, other in admission.deferred.items()})


def take_many(connection: sa.Connection, uuids: Collection[str]) -> dict[str, sa.Row]:
    """Lock nodes until the end of the transaction, in the order of their ids, and read them.

    :returns: {uuid: row with ``id``, ``uuid``, ``origin``, COLUMNS and ``node_providers.BEFORE``} of those that exist.
    """
    rows = connection.execute(_IN_ORDER, {'uuids': list(uuids)}).all()
    if not rows:
        return {}
    ids = [row.id for row in rows]
    connection.execute(_RAISE_GENERATIONS, {'ids': ids})
    change_feed.record_nodes(connection, ids)
    return {row.uuid: row for row in connection.execute(_TAKEN, {'ids': ids})}


#: As in ``node_selection``, but without a change of ``updated_at``, which has the value of the cloud.
_IN_ORDER = (
    sa.select(_NODES.c.id)
    .where(_NODES.c.uuid.in_(sa.bindparam('uuids')))
    .order_by(_NODES.c.id)
    .with_for_update(key_share=True)
)
_RAISE_GENERATIONS = (
    sa.update(_NODES).where(_NODES.c.id.in_(sa.bindparam('ids'))).values(generation=_NODES.c.generation + 1)
)
_TAKEN = sa.select(*_READ, *node_providers.BEFORE, MOMENT).where(_NODES.c.id.in_(sa.bindparam('ids')))


def _ensure_chassis(connection: sa.Connection, admitted: Iterable[MirroredNode]) -> None:
    """Insert missing chassis of nodes. ``mirrored_records`` stores their fields later."""
    uuids = sorted({node.row['chassis_uuid'] for node in admitted} - {None})
    insert_missing(connection, tables.chassis, [{'uuid': uuid, 'extra': {}, 'created_at': now()} for uuid in uuids])


def _insert(context: Context, connection: sa.Connection, turn: Turn, new: Sequence[MirroredNode]) -> set[str]:
    """Insert new nodes. A node that returns gets back what was done to it in this service.

    :returns: uuids of those without their traits yet: a node that returns, or has a provider already.
    :raises new_nodes.Unusual: the nodes cannot be created together.
    """
    rows = {node.row['uuid']: node.row | {'origin': turn.cloud} for node in new}
    if not rows:
        return set()
    kept = mirror_kept_nodes.find(connection, rows.values())
    alone = kept.keys() | node_providers.existing_providers(connection, rows)
    for uuid in sorted(alone):
        nodes.insert(context, connection, rows[uuid])
        if uuid in kept:
            node = read(connection, uuid, (_NODES.c.id, _NODES.c.uuid, MOMENT))
            mirror_kept_nodes.put_back(context, connection, node, kept[uuid])
    others = [node for node in new if node.row['uuid'] not in alone]
    traits = [{turn.source: sorted(node.traits)} if node.traits else {} for node in others]
    if others:
        pairs = zip(others, traits, strict=True)
        together = [new_nodes.NewNode(rows[node.row['uuid']], held) for node, held in pairs]
        new_nodes.create(context, connection, together)
    return alone


def _update(
    context: Context,
    connection: sa.Connection,
    turn: Turn,
    moment: datetime.datetime,
    changed: Sequence[tuple[sa.Row, MirroredNode]],
) -> set[int]:
    """Write the columns of nodes that differ, and return the ids of these nodes."""
    differing = [(row, changes) for row, node in changed if (changes := _changes(row, node.row))]
    for name in mirror_uniqueness.columns(_NODES):
        # Two nodes may have exchanged their values.
        ids = [row.id for row, changes in differing if name in changes and getattr(row, name) is not None]
        if ids:
            connection.execute(sa.update(_NODES).where(_NODES.c.id.in_(ids)).values({name: None}))
    for row, changes in differing:
        if changes.get('instance_uuid'):
            promise_claims.forget(connection, row.id)
        write(connection, row, changes)
        if 'allocation_uuid' in changes:
            # See ``mirrored_allocations``.
            connection.execute(_DELETE_ALLOCATION, {'of_node': row.uuid})
        history.record(connection, *_events(context, turn, row, moment, changes))
    return {row.id for row, _ in differing}


_DELETE_ALLOCATION = sa.delete(tables.node_allocations).where(
    tables.node_allocations.c.node_uuid == sa.bindparam('of_node'), tables.node_allocations.c.origin.is_not(None)
)


def _events(context: Context, turn: Turn, row: sa.Row, moment: datetime.datetime, changes: Values) -> Iterator[Values]:
    """Yield the entries in the history for what has changed in the cloud.

    :param row: the node before the change.
    :param changes: {column: new value}.
    """
    author = functools.partial(history.entry, context, source=turn.source)
    if 'provision_state' in changes:
        target = changes.get('target_provision_state', row.target_provision_state)
        entry = history.transition(author, row, moment, {**changes, 'target_provision_state': target})
        yield entry | {'duration_seconds': _seconds(row.provision_updated_at, changes.get('provision_updated_at'))}
    elif 'power_state' in changes:
        event = f'The power state changed to "{changes["power_state"]}".'
        yield history.power(author, row, moment, event, changes)
    if 'maintenance' in changes:
        yield history.maintenance(author, row, changes['maintenance'], changes.get('maintenance_reason'))
    if 'instance_uuid' in changes:
        instance = changes['instance_uuid']
        event = f'Instance {instance} was set.' if instance else f'Instance {row.instance_uuid} was removed.'
        yield author(row.uuid, moment, history.NODE, event)


def _seconds(begin: datetime.datetime | None, end: datetime.datetime | None) -> int | None:
    """Return the whole seconds between two times by the cloud's clock; None if one of them is not known."""
    return max(int((end - begin).total_seconds()), 0) if begin and end else None


def _edits(
    context: Context,
    connection: sa.Connection,
    turn: Turn,
    moment: datetime.datetime,
    changed: Sequence[tuple[sa.Row, MirroredNode]],
    admission: NodeCheck,
) -> Iterator[NodeEdit]:
    """Yield the edits by which nodes get the traits that they have in the cloud."""
    stored = trait_store.read_many(connection, context.service.writers, [row.id for row, _ in changed])
    records = mirror_written_traits.find(connection, [row.id for row, _ in changed])
    hold = Hold(context.service.writers.id_of(context, turn.source), moment)
    for row, node in changed:
        before, known = stored[row.id].traits, records.get(row.id, {})
        if known:
            mirror_written_traits.follow(context, connection, row, moment, (known, node.traits, before))
        others = {name for name, holds in before.holders.items() if holds.keys() - {turn.source}}
        theirs = node.traits - before.vetoes.keys() - written_traits.ours(known)
        fitting = admission.limited(node._replace(traits=theirs), others)
        edit = sources.replace(before, hold, fitting.traits, turn.source)
        yield NodeEdit(row, stored[row.id], edit)


def _end_reservations(
    context: Context, connection: sa.Connection, node_ids: Collection[int], moment: datetime.datetime
) -> None:
    """Delete the reservations of nodes on which their instances are deployed in the cloud."""
    held = tables.reservations
    statement = (
        sa.select(held.c.uuid, held.c.node_uuid, _NODES.c.id.label('node_id'))
        .join(_NODES, _NODES.c.uuid == held.c.node_uuid)
        .where(_NODES.c.id.in_(list(node_ids)), _NODES.c.provision_state != states.AVAILABLE)
        .where(_NODES.c.instance_uuid == held.c.instance_uuid)
    )
    for row in connection.execute(statement).all():
        event = f'Reservation {row.uuid} was used: its instance is deployed on the node.'
        entry = history.entry(context, row.node_uuid, moment, history.RESERVATION, event)
        reservations.end(connection, row.node_id, row.uuid, entry)


@retried
def delete(context: Context, turn: Turn, uuid: str) -> bool:
    """Delete a node that a cloud no longer has. If it is held in this service, put it into maintenance instead.

    :returns: whether it was deleted.
    """
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        row = take_many(connection, [uuid]).get(uuid)
        if row is None or row.origin != turn.cloud:
            return False
        reason = mirror_deletions.end(context, connection, row, row.moment, 'The cloud no longer has the node')
        mirror_clouds.report(connection, turn, RESOURCE, [uuid], {uuid: reason} if reason else {})
        if not reason:
            mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + 1)
        return not reason
