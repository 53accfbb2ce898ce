"""Creation of reservations: one node for each instance, from a list of nodes or from all nodes that match a request.

One transaction finds the nodes and reserves them. It checks them again under their locks. If another transaction has
changed one of them in the meantime, the search begins again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.types import read_clock
from ironic_traits.inventory import eligibility, explanations, history, matches, node_filters, node_providers
from ironic_traits.inventory.eligibility import OF_NODE, Refusal
from ironic_traits.inventory.matches import NodeRequest
from ironic_traits.inventory.reservations import FIELDS, Expiry, created, held_elsewhere, settle
from ironic_traits.inventory.single_node import take
from ironic_traits.matching.explanations import MAX_LISTED

_COLUMNS = tuple(tables.reservations.c[name] for name in FIELDS)
#: How many nodes are read in addition to the needed ones, because other transactions may have locked some of them.
_SPARE = 32
#: The refusal for a node that the caller may not see.
_HIDDEN = {'reason': 'not available', 'message': 'It is not available.'}


class Reservations(NamedTuple):
    """The result of ``reserve``.

    :ivar rows: [row with FIELDS, …] in the order of the instances.
    :ivar has_new: whether one of the reservations is new.
    """

    rows: list[sa.Row]
    has_new: bool


def reserve(context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry) -> Reservations:
    """Reserve a node for each instance, for all of them or for none.

    An instance that has a live reservation of a node that fulfils the request keeps it.

    :param instances: [uuid, …], without duplicates.
    :raises failures.InstanceReserved: an instance has a reservation of a node that does not fulfil the request.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: one of these, and the caller may not see that node.
    :raises failures.NothingToReserve: too few nodes of the list can be reserved.
    :raises failures.NoMatch: too few nodes match the request and can be reserved.
    :raises failures.InvalidInput: the expiry is in the past, or too far in the future.
    """
    # The order of a list counts, so a node of it that another transaction has locked is waited for. Without a list, a
    # locked node is skipped at first.
    patient = wait = node_request.idents is not None
    while True:
        try:
            return _hold(context, instances, node_request, expiry, wait)
        except _TooFew as few:
            _refuse(context, few.instances, node_request)
            # ``_refuse`` has not raised: by now there are enough nodes. Try again.
        except _Lost:
            wait = patient or not wait
        except db_exception.DBDuplicateEntry:
            # Another request has reserved a node for the same instance. Try again, and return that reservation.
            continue


class _Lost(Exception):
    """Another transaction has taken one of the chosen nodes, or has locked it."""


class _TooFew(Exception):
    """Too few nodes match and can be reserved.

    :param instances: uuids of the instances without a reservation.
    """

    def __init__(self, instances: Sequence[str]) -> None:
        super().__init__()
        self.instances = instances


@retried
def _hold(
    context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry, wait: bool
) -> Reservations:
    """Find nodes and reserve them, in one transaction; parameters and result as for ``reserve``.

    :param wait: whether to wait for nodes that other transactions have locked; if not, they are skipped.
    """
    with context.write() as connection:
        expiry.check(context, connection)
        held = _held_by(context, connection, instances)
        _check_held(context, connection, node_request, held.values())
        rest = [instance for instance in instances if instance not in held]
        if rest:
            free_nodes = _take_free(context, connection, node_request, rest, wait)
            held |= _insert(context, connection, dict(zip(rest, free_nodes, strict=True)), expiry)
        return Reservations([held[instance] for instance in instances], bool(rest))


def _held_by(context: Context, connection: sa.Connection, instances: Sequence[str]) -> dict[str, sa.Row]:
    """Return the live reservations of instances.

    :returns: {instance: row with FIELDS and ``seen``, whether the caller may see the node}.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: an instance is on a node that the caller may not see.
    """
    seen = node_filters.seen(context)
    on_node = (
        sa.select(tables.nodes.c.uuid, tables.nodes.c.instance_uuid, seen)
        .where(tables.nodes.c.instance_uuid.in_(instances))
        .limit(1)
    )
    node = connection.execute(on_node).first()
    if node and not node.seen:
        raise failures.InstanceUnavailable(instance=node.instance_uuid)
    if node:
        raise failures.InstanceOnNode(instance=node.instance_uuid, node=f'node {node.uuid}')
    statement = sa.select(*_COLUMNS, seen).join(tables.nodes, OF_NODE)
    return {
        row.instance_uuid: row
        for row in connection.execute(statement.where(tables.reservations.c.instance_uuid.in_(instances)))
    }


def _check_held(
    context: Context, connection: sa.Connection, node_request: NodeRequest, held: Collection[sa.Row]
) -> None:
    """Raise a failure unless the nodes that the instances have reserved already fulfil the request.

    :param held: rows of ``_held_by``.
    :raises failures.InstanceReserved: one of the nodes does not.
    :raises failures.InstanceUnavailable: one of the nodes does not, and the caller may not see it.
    """
    if held:
        matching = matches.matching(context, connection, node_request, [row.node_uuid for row in held])
        why = 'is not in the list' if node_request.is_a_list else 'does not match'
        for row in held:
            if row.node_uuid not in matching:
                raise held_elsewhere(row.instance_uuid, row.node_uuid, row.seen, why)


def _take_free(
    context: Context, connection: sa.Connection, node_request: NodeRequest, instances: Sequence[str], wait: bool
) -> list[sa.Row]:
    """Lock one node for each instance, and check under the locks that the nodes match and can be reserved.

    :returns: [result of ``single_node.take``, …], the best node first.
    :raises _TooFew: too few nodes match and can be reserved.
    :raises _Lost: another transaction has taken or locked one of the nodes.
    """
    count, alone = len(instances), _alone(instances)
    free = eligibility.eligible_for(alone)
    candidates: Sequence[sa.Row] = []
    if alone and node_request.idents is None and connection.scalar(node_providers.has_allocations(alone)):
        # A node that is allocated to the instance in Placement comes before all others.
        allocated = sa.and_(free, node_providers.allocated_to(alone))
        candidates = matches.candidates(context, connection, node_request, allocated, count)
    candidates = candidates or matches.candidates(
        context, connection, node_request, free, count if wait else count + _SPARE
    )
    if len(candidates) < count:
        raise _TooFew(instances)
    chosen = candidates if wait else _not_locked(connection, candidates, count)
    locked = {}
    # In the order of their ids, as all transactions that lock several nodes, to avoid deadlocks.
    for node in sorted(chosen, key=lambda node: node.id):
        try:
            locked[node.id] = take(connection, node.uuid)
        except failures.NodeNotFound:
            raise _Lost from None
    still_free = sa.select(sa.func.count()).where(
        tables.nodes.c.id.in_(locked), *node_request.conditions(context), free
    )
    if connection.execute(still_free).scalar_one() < count:
        raise _Lost
    return [locked[node.id] for node in chosen]


def _not_locked(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Lock ``count`` nodes that no other transaction has locked, the best ones if possible.

    :param candidates: rows with ``id``, the best first.
    :raises _Lost: too few are not locked.
    """
    chosen = _lock(connection, candidates[:count], count)
    if len(chosen) < count:
        chosen += _lock(connection, candidates[count:], count - len(chosen))
    if len(chosen) < count:
        raise _Lost
    return chosen


def _lock(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Lock up to ``count`` candidates, skip those that are locked already, and return the locked ones."""
    # SELECT id FROM nodes WHERE id IN (1, 2) ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED
    # The databases lock every row that they read, even rows that a sort or a limit drops later. So this reads by
    # primary key, in its order, and stops at the limit. (SQLite has no row locks: SQLAlchemy omits FOR UPDATE there.)
    node_ids = [node.id for node in candidates]
    statement = (
        sa.select(tables.nodes.c.id).where(tables.nodes.c.id.in_(node_ids)).order_by(tables.nodes.c.id).limit(count)
    )
    locked = set(connection.scalars(statement.with_for_update(skip_locked=True)))
    return [node for node in candidates if node.id in locked]


def _insert(
    context: Context, connection: sa.Connection, chosen: Mapping[str, sa.Row], expiry: Expiry
) -> dict[str, sa.Row]:
    """Insert reservations.

    :param chosen: {instance: row of a locked node}.
    :returns: {instance: row with FIELDS}.
    :raises _Lost: one of the instances has been put on a node since the first check.
    """
    uuids = [node.uuid for node in chosen.values()]
    key = sa.or_(tables.reservations.c.node_uuid.in_(uuids), tables.reservations.c.instance_uuid.in_(chosen))
    settle(connection, key)
    moment = read_clock(connection)
    expires_at = expiry.at(context, moment)
    rows = [
        {
            'uuid': uuidutils.generate_uuid(),
            'node_uuid': node.uuid,
            'instance_uuid': instance,
            'created_at': moment,
            'expires_at': expires_at,
        }
        for instance, node in chosen.items()
    ]
    connection.execute(sa.insert(tables.reservations), rows)
    history.record(connection, *(created(context, row) for row in rows))
    for node in chosen.values():
        node_providers.bump_for_reservation(connection, node.id)
    # Checked again after the unique keys of the reservations are written (see ``reservations.claim``).
    on_node = sa.exists().where(tables.nodes.c.instance_uuid == tables.reservations.c.instance_uuid).label('on_node')
    statement = sa.select(*_COLUMNS, on_node).where(tables.reservations.c.instance_uuid.in_(chosen))
    inserted = connection.execute(statement).all()
    if any(row.on_node for row in inserted):
        raise _Lost
    return {row.instance_uuid: row for row in inserted}


def _refuse(context: Context, instances: Sequence[str], node_request: NodeRequest) -> None:
    """Raise the failure that explains why there are too few nodes; return if by now there are enough.

    :param instances: uuids of the instances without a reservation.
    :raises failures.NoMatch: too few nodes match the request and can be reserved.
    :raises failures.NothingToReserve: too few nodes of the list can be reserved.
    """
    needed, explanation = len(instances), None
    if not node_request.is_a_list:
        explanation = explanations.explain(context, node_request, _alone(instances), needed=needed)
        if explanation['matched'] >= needed:
            return
    if node_request.idents is None:
        raise failures.NoMatch(needed, explanation)
    refusals = _refusals(context, instances, node_request)
    if sum(refusal is None for _, refusal in refusals) < needed:
        raise failures.NothingToReserve(needed, [each for each in refusals if each[1]], explanation)


def _refusals(
    context: Context, instances: Sequence[str], node_request: NodeRequest
) -> list[tuple[str, Refusal | None]]:
    """Return why the nodes of the list cannot be reserved.

    :returns: [(ident, refusal as of ``eligibility.refusal`` or None), …], each node once.
    """
    idents = node_request.idents or ()
    columns = (tables.nodes.c.uuid, tables.nodes.c.name, node_filters.seen(context), *eligibility.STATE)
    statement = sa.select(*columns).outerjoin(tables.reservations, OF_NODE).where(matches.among(idents))
    with context.read() as connection:
        rows = connection.execute(statement).all()
    instance = _alone(instances)
    rejected = {} if node_request.is_a_list else explanations.rejections(context, node_request, instance)
    by_ident = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, tuple[str, Refusal | None]] = {}
    for ident in idents:
        node = by_ident.get(ident)
        refusal = eligibility.refusal(node, instance)
        if node and not node.seen:
            refusal = _HIDDEN
        elif node and rejected.get(node.uuid):
            clauses = rejected[node.uuid]
            refusal = refusal or {'reason': 'rejected', 'message': f'It does not match: rejected by {clauses[0]}.'}
            # Shortened, because there may be a thousand nodes. The explanation has all clauses of the near misses.
            refusal = refusal | {'rejected_by': clauses[:MAX_LISTED]}
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values())


def _alone(instances: Sequence[str]) -> str | None:
    """Return the only instance; None if there are several, for then a node allocated to one could go to another."""
    return instances[0] if len(instances) == 1 else None
