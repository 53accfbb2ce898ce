"""Creates allocations: chooses a node for a request, or adds an allocation to an active node (backfill)."""

import functools
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.types import now
from ironic_traits.deploy import states
from ironic_traits.inventory.core import history, node_consumers, node_filters, origins, trait_filters
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import MOMENT, change, take
from ironic_traits.inventory.holds import free_nodes, mirror_claims, promise_claims, reservations, taken_nodes
from ironic_traits.inventory.holds.allocations import ACTIVE, ALLOCATING, ERROR, KIND, end
from ironic_traits.inventory.holds.combined import Ticket
from ironic_traits.inventory.holds.free_nodes import NodeChoice
from ironic_traits.inventory.holds.mirror_claims import Holding
from ironic_traits.inventory.records import records
from ironic_traits.inventory.search.matches import NodeRequest

#: Maximum number of nodes that ``last_error`` names.
_MAX_NAMED = 5
#: How often a search may find no node before an allocation is stored without one, although a node is free by then.
_MAX_REFUSALS = 10
#: Columns of a node that are needed to write an allocation.
_HELD = (tables.nodes.c.allocation_uuid, tables.nodes.c.instance_info, MOMENT)
#: Failures after which an allocation has the state "error": no node can be held for it.
_UNSATISFIED = (
    failures.CapacityPromised,
    failures.NoMatch,
    failures.NothingToReserve,
    failures.InstanceAssociated,
    failures.InstanceReserved,
    failures.InstanceUnavailable,
)


def candidates(context: Context, idents: Sequence[str], project: str | None) -> list[str]:
    """Return the uuids of the nodes of a list, in its order.

    :param idents: [uuid or name, …].
    :param project: the project that must own or lease the nodes; None for any.
    :raises failures.InvalidInput: some of the nodes do not exist.
    """
    statement = sa.select(tables.nodes.c.uuid, tables.nodes.c.name).where(node_filters.among(idents))
    if project:
        statement = statement.where(sa.or_(tables.nodes.c.owner == project, tables.nodes.c.lessee == project))
    with context.read() as connection:
        rows = connection.execute(statement).all()
    uuids = {row.name: row.uuid for row in rows} | {row.uuid: row.uuid for row in rows}
    missing = [ident for ident in dict.fromkeys(idents) if ident not in uuids]
    if missing:
        raise failures.InvalidInput(reason=f'Nodes cannot be found: {", ".join(missing)}')
    return [uuids[ident] for ident in idents]


def create(context: Context, values: Values, node_request: NodeRequest, fields: tuple[str, ...]) -> sa.Row:
    """Create an allocation, and hold a node for it if there is one.

    :param values: {column: value} that the client chose: ``uuid`` (None for a new one), ``name``, ``owner``,
        ``resource_class``, ``traits``, ``candidate_nodes`` and ``extra``.
    :param node_request: the nodes to choose from.
    :returns: a row with these fields. Without a node, the state is "error", and ``last_error`` has the reasons.
    :raises failures.RecordExists: another allocation has the uuid or the name.
    """
    row = _new_row(values)
    hold = functools.partial(_hold, context, row, not values['uuid'], fields)
    refusals = 0
    while True:
        attempt = NodeChoice(context, node_request)
        try:
            return free_nodes.search(attempt, hold)
        except _UNSATISFIED as failure:
            refused = row | {'state': ERROR, 'last_error': _last_error(context, row, failure)}
        refusals += 1
        try:
            return _store(context, refused, fields, attempt if refusals < _MAX_REFUSALS else None)
        except taken_nodes.Lost:
            # A node has become free since the search. Perhaps another allocation with this uuid held it, and has ended.
            continue
        except db_exception.DBDuplicateEntry as error:
            raise _duplicate(error, row) from error


def create_combined(context: Context, values: Values, node_request: NodeRequest, fields: tuple[str, ...]) -> sa.Row:
    """Create an allocation, as ``create``.

    One without a name and with a new uuid is perhaps created together with those of other requests.
    """
    alone = functools.partial(create, context, values, node_request, fields)
    kind = None if values['uuid'] or values['name'] else free_nodes.kind(context, node_request, create, fields)
    if kind is None:
        return alone()
    row = _new_row(values)
    together = functools.partial(_create_together, context, node_request, fields)
    return context.service.combined.run(kind, Ticket(row['uuid'], (context, row)), alone, together)


def _create_together(
    context: Context, node_request: NodeRequest, fields: tuple[str, ...], tickets: Sequence[Ticket[sa.Row]]
) -> dict[str, sa.Row]:
    """Create an allocation for each request: ``together`` of ``Combined.run``."""
    hold = functools.partial(_hold_each, [ticket.value for ticket in tickets], fields)
    rows = free_nodes.search(NodeChoice(context, node_request, is_combined=True), hold)
    # Those that get no node are carried out alone: they become allocations in the state "error".
    return dict(zip((ticket.name for ticket in tickets), rows, strict=False))


@retried
def _hold_each(
    requests: Sequence[tuple[Context, Values]], fields: tuple[str, ...], attempt: NodeChoice
) -> list[sa.Row]:
    """Choose a node for each request and hold it: ``hold`` of ``free_nodes.search``.

    :param requests: [(context, the result of ``_new_row``), …].
    """
    with attempt.context.write() as connection:
        nodes = attempt.take(connection, [row['uuid'] for _, row in requests], columns=_HELD)
        return [
            _associate(context, connection, row, node, fields)
            for (context, row), node in zip(requests, nodes, strict=False)
        ]


@waiting_for_lock
def backfill(context: Context, values: Values, ident: str, fields: tuple[str, ...]) -> sa.Row:
    """Create an allocation for an active node that has none.

    :param values: as for ``create``. If ``uuid`` is None, it is the node's ``instance_uuid``, or else a new one. If
        ``resource_class`` is None, it is that of the node.
    :raises failures.InvalidState: the node is not active, or does not fulfil the request.
    :raises failures.NodeAssociated: another instance is on the node.
    :raises failures.InstanceAssociated: the instance is on another node.
    :raises failures.NodeReserved: the node is reserved for another instance.
    :raises failures.NodeAllocated: the node is allocated to another consumer.
    :raises failures.InstanceReserved: the instance has a reservation of another node.
    :raises failures.InstanceUnavailable: the same, and the caller may not see that node.
    :raises failures.RecordExists: another allocation has the uuid or the name.
    """
    row = _new_row(values)
    try:
        return _backfill(context, values, row, ident, fields)
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, row) from error


def _new_row(values: Values) -> Values:
    """Return the columns of a new allocation that does not hold a node yet."""
    moment = now()
    # It is decided at once. In Ironic, the decision is the first update.
    uuid = values['uuid'] or uuidutils.generate_uuid()
    return {**values, 'uuid': uuid, 'created_at': moment, 'updated_at': moment}


def _hold(
    context: Context,
    row: Values,
    has_new_uuid: bool,
    fields: tuple[str, ...],
    attempt: NodeChoice,
) -> sa.Row:
    """Choose a node and hold it: ``hold`` of ``free_nodes.search``.

    :param has_new_uuid: whether this service has chosen the uuid, so that no other request can use it.
    """
    try:
        return _hold_once(context, row, has_new_uuid, fields, attempt)
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, row) from error


@retried
def _hold_once(
    context: Context,
    row: Values,
    has_new_uuid: bool,
    fields: tuple[str, ...],
    attempt: NodeChoice,
) -> sa.Row:
    # As in Ironic, a node that has the name of the allocation comes first.
    first = [tables.nodes.c.name == row['name']] if row['name'] else []
    with context.write() as connection:
        if not has_new_uuid:
            first = [*attempt.allocated_first(connection, [row['uuid']]), *first]
        (node,) = attempt.take(connection, [row['uuid']], first, _HELD)
        if not has_new_uuid:
            reservations.check_instance(context, connection, node.uuid, row['uuid'])
        return _associate(context, connection, row, node, fields)


@retried
def _backfill(context: Context, values: Values, row: Values, ident: str, fields: tuple[str, ...]) -> sa.Row:
    with context.write() as connection:
        node = take(connection, ident, *_HELD, *_BACKFILLED)
        origins.check_own(connection, node)
        if node.reservation:
            raise failures.NodeLocked(node=node.uuid, host=node.reservation)
        row['uuid'] = values['uuid'] or node.instance_uuid or row['uuid']
        row['resource_class'] = row['resource_class'] or node.resource_class
        errors = list(_mismatches(node, row))
        if errors:
            refusal = f'Cannot backfill an allocation for node {node.uuid}: {"; ".join(errors)}'
            raise failures.InvalidState(reason=f'Failed to process allocation {row["uuid"]}: {refusal}.')
        if node.instance_uuid is None:
            _check_unheld(context, connection, node, row['uuid'])
            promise_claims.forget(connection, node.id)
        elif node.instance_uuid != row['uuid']:
            raise failures.NodeAssociated(node=node.uuid, instance=node.instance_uuid)
        elif node.allocation_uuid:
            raise failures.RecordExists(what=KIND.what, key=f'with UUID {row["uuid"]}')
        return _associate(context, connection, row, node, fields)


_BACKFILLED = (
    tables.nodes.c.reservation,
    tables.nodes.c.instance_uuid,
    tables.nodes.c.provision_state,
    tables.nodes.c.resource_class,
    trait_filters.JOINED,
)


def _mismatches(node: sa.Row, row: Values) -> Iterable[str]:
    """Yield the reasons why an active node cannot get an allocation, in the words of Ironic."""
    if node.provision_state != states.ACTIVE:
        yield f'Node must be in the "active" state, but the current state is "{node.provision_state}"'
    if row['resource_class'] != node.resource_class:
        yield (
            f'Resource class {node.resource_class} does not match the requested resource class {row["resource_class"]}'
        )
    if not set(row['traits']).issubset(node.traits):
        yield f'List of traits {node.traits} does not match the requested traits {row["traits"]}'
    if row['candidate_nodes'] and node.uuid not in row['candidate_nodes']:
        yield f'Candidate nodes must be empty or contain the target node, but got {row["candidate_nodes"]}'


def _check_unheld(context: Context, connection: sa.Connection, node: sa.Row, instance: str) -> None:
    """Raise a failure if a reservation or a consumer holds a node for another instance, or the instance has a node."""
    reservation = reservations.node_reservation(connection, node.uuid)
    if reservation and reservation.instance_uuid != instance:
        raise reservations.reserved(node.uuid, reservation)
    node_consumers.check_allocation(connection, node, instance)
    reservations.check_instance(context, connection, node.uuid, instance)


def _associate(
    context: Context, connection: sa.Connection, row: Values, node: sa.Row, fields: tuple[str, ...]
) -> sa.Row:
    """Insert an active allocation, and put its instance on the node.

    :param node: the result of ``single_node.take``, with _HELD.
    """
    if node.allocation_uuid:
        # A process of an older release, which does not know allocations, has removed the node's instance.
        end(connection, node)
    created = {**row, 'node_uuid': node.uuid, 'state': ALLOCATING if node.origin else ACTIVE, 'last_error': None}
    event = f'Allocation {row["uuid"]} holds the node.'
    entry = history.entry(context, node.uuid, node.moment, history.RESERVATION, event)
    allocation = Write(_insert(tuple(created)), {f'new_{name}': value for name, value in created.items()})
    joined.execute(connection, [allocation, *history.writes(entry)])
    if node.origin:
        mirror_claims.begin(context, connection, [Holding(node, row['uuid'], row['uuid'])])
    else:
        # The traits of the instance are checked at each deploy.
        changes = {
            'instance_uuid': row['uuid'],
            'allocation_uuid': row['uuid'],
            'instance_info': {**node.instance_info, 'traits': row['traits']},
        }
        change(connection, node, changes)
    return _read(context, connection, row['uuid'], fields)


@functools.cache
def _insert(columns: tuple[str, ...]) -> sa.Insert:
    return sa.insert(KIND.table).values({name: sa.bindparam(f'new_{name}') for name in columns})


@retried
def _store(context: Context, row: Values, fields: tuple[str, ...], attempt: NodeChoice | None) -> sa.Row:
    """Insert an allocation that does not hold a node.

    :param attempt: the attempt that has found no node; None if it does not matter whether it finds one now.
    :raises taken_nodes.Lost: it finds one now.
    """
    with context.write() as connection:
        connection.execute(sa.insert(KIND.table).values(row))
        if attempt and attempt.finds(connection, row['uuid']):
            raise taken_nodes.Lost
        return _read(context, connection, row['uuid'], fields)


def read(context: Context, uuid: str, fields: tuple[str, ...]) -> sa.Row:
    """Return an allocation, as ``create`` does."""
    with context.read() as connection:
        return _read(context, connection, uuid, fields)


def _read(context: Context, connection: sa.Connection, uuid: str, fields: tuple[str, ...]) -> sa.Row:
    return records.read(connection, KIND, uuid, records.columns(context, KIND, fields))


def _last_error(context: Context, row: Values, failure: failures.Failure) -> str:
    """Return why an allocation has no node. The text begins like Ironic's."""
    if isinstance(failure, failures.CapacityPromised) and row['owner'] not in (None, context.project_id):
        # Its owner may see it, and perhaps not what the caller may see.
        failure = failures.CapacityPromised([])
    sentences = [f'Failed to process allocation {row["uuid"]}: {failure}']
    reasons = failure.beside.get('reasons', [])
    sentences += [f'{reason["node"]}: {reason["message"]}' for reason in reasons[:_MAX_NAMED]]
    return ' '.join(sentences)


def _duplicate(
    error: db_exception.DBDuplicateEntry, row: Values
) -> failures.InstanceAssociated | failures.RecordExists:
    key = ' '.join(error.columns)
    if 'instance_uuid' in key:
        return failures.InstanceAssociated(instance=row['uuid'], node=row.get('node_uuid') or 'of the request')
    return records.duplicate(KIND, error, row)
