"""Holding nodes: a reservation for each of some instances, of a list of nodes, or of those that match a request.

Found and held in one transaction.  What is decided is decided again under the nodes' locks; whoever loses a race goes
on to the next node.
"""

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock
from ironic_traits.inventory import eligibility, explanations, matches, node_filters, node_providers
from ironic_traits.inventory.eligibility import OF_NODE
from ironic_traits.inventory.reservations import FIELDS, held_elsewhere, settle
from ironic_traits.inventory.single_node import take
from ironic_traits.matching.explanations import MOST

_COLUMNS = tuple(reservations.c[name] for name in FIELDS)
#: How many nodes more than are wanted are looked at, of which others may be holding some at the same time.
_SPARE = 32
#: All that somebody learns of a node who may not see it.
_HIDDEN = {'reason': 'not available', 'message': 'It is not available.'}


def reserve(context, instances, wanted, expiry):
    """Hold a node for each of some instances: all of them, or none.

    :param instances: uuids of the instances that they are held for, no one twice.
    :param wanted: ironic_traits.inventory.matches.NodeRequest.
    :param expiry: Expiry.
    :returns: (a row of FIELDS for each instance, whether one of them is new): an instance may hold such a node already.
    :raises failures.InstanceReserved: an instance holds another node.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: an instance holds, or is on, a node that the caller may not see.
    :raises failures.NothingToReserve: not so many nodes of the list can be held.
    :raises failures.NoMatch: not so many nodes match.
    :raises failures.InvalidInput: the time is over, or too far away.
    """
    # The first of a list is waited for, if it is being written to; otherwise one node will do as well as another.
    patient = wait = wanted.idents is not None
    while True:
        try:
            return _hold(context, instances, wanted, expiry, wait)
        except _TooFew as few:
            _refuse(context, few.instances, wanted)
            # There are enough by now.
        except _Lost:
            wait = patient or not wait
        except db_exception.DBDuplicateEntry:
            # Another request for the same instance was quicker: look what it got.
            continue


class _Lost(Exception):
    """Somebody was quicker, or is about to be."""


class _TooFew(Exception):
    """There are not as many nodes as are wanted.

    :param instances: those that still want one.
    """

    def __init__(self, instances):
        super().__init__()
        self.instances = instances


@retried
def _hold(context, instances, wanted, expiry, wait):
    """Find nodes and hold them, in one transaction; as ``reserve``.

    :param wait: whether to wait for those that somebody is writing to, or to pass over them.
    """
    with context.write() as connection:
        expiry.check(context, connection)
        held = _held_by(context, connection, instances)
        _check_held(context, connection, wanted, held.values())
        rest = [instance for instance in instances if instance not in held]
        if rest:
            found = _take_free(context, connection, wanted, rest, wait)
            held |= _insert(context, connection, dict(zip(rest, found, strict=True)), expiry)
        return [held[instance] for instance in instances], bool(rest)


def _held_by(context, connection, instances):
    """Return the live reservations of instances, {instance: row}, and whether the caller may see the node of each.

    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: an instance is on a node that the caller may not see.
    """
    seen = node_filters.seen(context)
    on_node = sa.select(nodes.c.uuid, nodes.c.instance_uuid, seen).where(nodes.c.instance_uuid.in_(instances)).limit(1)
    found = connection.execute(on_node).first()
    if found and not found.seen:
        raise failures.InstanceUnavailable(instance=found.instance_uuid)
    if found:
        raise failures.InstanceOnNode(instance=found.instance_uuid, node=f'node {found.uuid}')
    statement = sa.select(*_COLUMNS, seen).join(nodes, OF_NODE)
    return {
        row.instance_uuid: row
        for row in connection.execute(statement.where(reservations.c.instance_uuid.in_(instances)))
    }


def _check_held(context, connection, wanted, held):
    """Raise unless the nodes that instances hold already are such as are wanted.

    :param held: rows of ``_held_by``.
    :raises failures.InstanceReserved: one is not.
    :raises failures.InstanceUnavailable: one is not, and the caller may not see it.
    """
    if held:
        fine = matches.matching(context, connection, wanted, [row.node_uuid for row in held])
        why = 'is not in the list' if wanted.is_a_list else 'does not match'
        for row in held:
            if row.node_uuid not in fine:
                raise held_elsewhere(row.instance_uuid, row.node_uuid, row.seen, why)


def _take_free(context, connection, wanted, instances, wait):
    """Lock as many nodes as there are instances, and be sure that they are still free.

    :returns: what ``take`` gave, in the order of the nodes' preference.
    """
    count, alone = len(instances), _alone(instances)
    free = eligibility.eligible_for(alone)
    found = []
    if alone and wanted.idents is None and connection.scalar(node_providers.has_allocations(alone)):
        # What it has been given in Placement is what it is to have.
        given = sa.and_(free, node_providers.allocated_to(alone))
        found = matches.candidates(context, connection, wanted, given, count)
    found = found or matches.candidates(context, connection, wanted, free, count if wait else count + _SPARE)
    if len(found) < count:
        raise _TooFew(instances)
    chosen = found if wait else _not_locked(connection, found, count)
    taken = {}
    # In the order of their ids, as everybody does who locks several.
    for node in sorted(chosen, key=lambda node: node.id):
        try:
            taken[node.id] = take(connection, node.uuid)
        except failures.NodeNotFound:
            raise _Lost from None
    still = sa.select(sa.func.count()).where(nodes.c.id.in_(taken), *wanted.conditions(context), free)
    if connection.scalar(still) < count:
        raise _Lost
    return [taken[node.id] for node in chosen]


def _not_locked(connection, found, count):
    """Lock as many nodes as are wanted, of those that nobody else has locked: the best ones, or what comes after."""
    chosen = _lock(connection, found[:count], count)
    if len(chosen) < count:
        chosen += _lock(connection, found[count:], count - len(chosen))
    if len(chosen) < count:
        raise _Lost
    return chosen


def _lock(connection, found, count):
    # By the key, and no further than the limit: what is looked at is locked, and what is sorted has been looked at.
    ids = sa.select(nodes.c.id).where(nodes.c.id.in_([node.id for node in found])).order_by(nodes.c.id).limit(count)
    locked = set(connection.scalars(ids.with_for_update(skip_locked=True)))
    return [node for node in found if node.id in locked]


def _insert(context, connection, held, expiry):
    """Make reservations.

    :param held: {instance: node that is locked}.
    :returns: {instance: row}.
    :raises _Lost: one of the instances has been put on a node since.
    """
    uuids = [node.uuid for node in held.values()]
    key = sa.or_(reservations.c.node_uuid.in_(uuids), reservations.c.instance_uuid.in_(held))
    settle(connection, key)
    moment = connection.scalar(sa.select(clock()))
    same = {'created_at': moment, 'expires_at': expiry.at(context, moment)}
    rows = [
        {'uuid': uuidutils.generate_uuid(), 'node_uuid': node.uuid, 'instance_uuid': instance, **same}
        for instance, node in held.items()
    ]
    connection.execute(sa.insert(reservations), rows)
    for node in held.values():
        node_providers.bump_for_reservation(connection, node.id)
    # Looked at again now that the reservations' keys are written (``reservations.claim``).
    on_node = sa.exists().where(nodes.c.instance_uuid == reservations.c.instance_uuid).label('on_node')
    made = sa.select(*_COLUMNS, on_node).where(reservations.c.instance_uuid.in_(held))
    rows = connection.execute(made).all()
    if any(row.on_node for row in rows):
        raise _Lost
    return {row.instance_uuid: row for row in rows}


def _refuse(context, instances, wanted):
    """Say why there are not as many nodes as are wanted; nothing when there are by now.

    :param instances: those that still want one.
    """
    needed, explanation = len(instances), None
    if not wanted.is_a_list:
        explanation = explanations.explain(context, wanted, _alone(instances), needed=needed)
        if explanation['matched'] >= needed:
            return
    if wanted.idents is None:
        raise failures.NoMatch(needed, explanation)
    refusals = _refusals(context, instances, wanted)
    if sum(refusal is None for _, refusal in refusals) < needed:
        raise failures.NothingToReserve(needed, [told for told in refusals if told[1]], explanation)


def _refusals(context, instances, wanted):
    """Give [(ident, why the node cannot be held, None when it can), …], each node once."""
    columns = (nodes.c.uuid, nodes.c.name, node_filters.seen(context), *eligibility.STATE)
    statement = sa.select(*columns).outerjoin(reservations, OF_NODE).where(matches.among(wanted.idents))
    with context.read() as connection:
        rows = connection.execute(statement).all()
    instance = _alone(instances)
    rejected = {} if wanted.is_a_list else explanations.rejections(context, wanted, instance)
    found = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, tuple] = {}
    for ident in wanted.idents:
        node = found.get(ident)
        refusal = eligibility.refusal(node, instance)
        if node and not node.seen:
            refusal = _HIDDEN
        elif node and rejected.get(node.uuid):
            clauses = rejected[node.uuid]
            refusal = refusal or {'reason': 'rejected', 'message': f'It does not match: rejected by {clauses[0]}.'}
            # There may be a thousand of these; the nearest ones are told in full by the explanation.
            refusal = refusal | {'rejected_by': clauses[:MOST]}
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values())


def _alone(instances):
    """Give the instance that is the only one, None for several: what one of them has allocated is not for another."""
    return instances[0] if len(instances) == 1 else None
