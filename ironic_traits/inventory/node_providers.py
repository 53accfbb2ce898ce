"""The providers that nodes are: what every change of a node does to them, in the node's transaction.

A node with a resource class is a provider of the same uuid.  Its inventory and its own traits are read from the node
whenever somebody asks; what is written here is that the provider is there, of which class it is, and that its
generation moves when something of it does, and only then (DESIGN: invariant 6).  All of it under the node's lock.
"""

import contextlib

import os_resource_classes
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db import names
from ironic_traits.db.engine import referring
from ironic_traits.db.models import (
    allocations,
    consumers,
    inventories,
    nodes,
    resource_classes,
    resource_provider_traits,
    resource_providers,
    traits,
)
from ironic_traits.db.types import now
from ironic_traits.deploy import states

#: The condition on nodes that one could be had: nova's own rule for what it takes as free.
OFFERED = sa.and_(
    nodes.c.provision_state == states.AVAILABLE,
    nodes.c.instance_uuid.is_(None),
    nodes.c.maintenance.is_(sa.false()),
    nodes.c.power_state.is_not(None),
    nodes.c.power_state != states.POWER_ERROR,
)
# An alias: the statements that these conditions stand in may be about providers, too.
_provider = resource_providers.alias('provider_of_node')
_ALLOCATIONS = (
    sa.select(consumers.c.uuid)
    .join(allocations, allocations.c.consumer_id == consumers.c.id)
    .join(_provider, _provider.c.id == allocations.c.resource_provider_id)
    .where(_provider.c.node_id == nodes.c.id)
    .correlate(nodes)
)
#: The condition on nodes that they are allocated to a consumer; and a column of a SELECT from nodes: to which.
ALLOCATED = _ALLOCATIONS.exists()
CONSUMER = _ALLOCATIONS.limit(1).scalar_subquery().label('consumer_uuid')
#: What ``follow`` compares: read when the node is locked, before anything is changed.
BEFORE = (nodes.c.resource_class.label('class_before'), OFFERED.label('offered_before'))
#: The columns that it depends on.
_DECIDING = frozenset({'resource_class', 'provision_state', 'instance_uuid', 'maintenance', 'power_state'})


def create(connection, node_id):
    """Make the provider of a new node, if it has a class.

    :raises failures.ProviderTaken: another provider has its uuid as a name, stands below others, or is allocated.
    """
    node = connection.execute(
        sa.select(nodes.c.id, nodes.c.uuid, nodes.c.resource_class).where(nodes.c.id == node_id)
    ).one()
    if node.resource_class:
        _insert(connection, node, node.resource_class)


def create_all(connection, made):
    """Make the providers of new nodes that have a class.

    :param made: [(id, row), …]: no provider has the uuid of one of them (``of_uuids``).
    """
    made = [(node_id, row) for node_id, row in made if row['resource_class']]
    if not made:
        return
    of_class = {row['resource_class']: row['uuid'] for _, row in made}
    class_ids = {name: _class_id(connection, of_class[name], name) for name in sorted(of_class)}
    providers = [_row(node_id, row['uuid'], class_ids[row['resource_class']]) for node_id, row in made]
    with referring():
        connection.execute(sa.insert(resource_providers), providers)


def of_uuids(connection, uuids):
    """Return which of these uuids a provider has as its uuid or its name, a set."""
    columns = (resource_providers.c.uuid, resource_providers.c.name)
    found = connection.execute(sa.select(*columns).where(sa.or_(*(column.in_(uuids) for column in columns))))
    return {value for row in found for value in row}.intersection(uuids)


def follow(connection, node, changes):
    """Let the provider follow what has been changed of a node.

    :param node: a row with BEFORE.
    :param changes: {column: value}, as written.
    :raises failures.ProviderTaken: as ``create``.
    :raises failures.ProviderInUse: the node has lost its class, and its provider cannot go.
    """
    if _DECIDING.isdisjoint(changes):
        return
    after = connection.execute(sa.select(nodes.c.resource_class, OFFERED.label('offered')).where(_is(node))).one()
    if after.resource_class != node.class_before:
        _reclass(connection, node, after.resource_class)
    elif after.resource_class and after.offered != node.offered_before:
        bump(connection, node.id)


def follow_traits(connection, node, foreign, added, lost):
    """Let the provider follow what has been changed of a node's traits.

    :param node: a row with BEFORE.
    :param foreign: names of the traits that others have given it.
    :param added: names that the node has got.
    :param lost: whether it has lost any.
    """
    own_now = foreign.intersection(added)
    if own_now:
        _forget(connection, node, own_now)
    # The provider has had those before.
    if lost or len(own_now) < len(added):
        bump(connection, node.id)


# Made once and kept: to make it anew takes as long as the database does.
_BUMP = (
    sa.update(resource_providers)
    .where(resource_providers.c.node_id == sa.bindparam('of_node'))
    .values(generation=resource_providers.c.generation + 1, updated_at=sa.bindparam('now'))
)


def allocated_to_others(consumer):
    """Give the condition on nodes that they are allocated to another consumer."""
    return _ALLOCATIONS.where(consumers.c.uuid != consumer).exists()


def has_allocations(consumer):
    """Give the SELECT of whether a consumer has any allocations; those that have none are no consumers."""
    return sa.select(sa.exists().where(consumers.c.uuid == consumer))


def allocated_to(consumer):
    """Give the condition on nodes that they are allocated to a consumer."""
    provider_ids = sa.select(allocations.c.resource_provider_id).join(
        consumers, consumers.c.id == allocations.c.consumer_id
    )
    return nodes.c.id.in_(
        sa.select(resource_providers.c.node_id).where(
            resource_providers.c.id.in_(provider_ids.where(consumers.c.uuid == consumer)),
            resource_providers.c.node_id.is_not(None),
        )
    )


def check_allocation(connection, node, consumer=None):
    """Do nothing when a node is allocated to nobody, or to this consumer.

    :param node: a row with ``id`` and ``uuid``.
    :raises failures.NodeAllocated: it is another's.
    """
    holder = connection.scalar(sa.select(CONSUMER).select_from(nodes).where(_is(node)))
    if holder not in (None, consumer):
        raise failures.NodeAllocated(node=node.uuid, consumer=holder)


#: The condition on providers that nothing of them is allocated.
UNALLOCATED = ~sa.exists().where(allocations.c.resource_provider_id == resource_providers.c.id).correlate(
    resource_providers
)
_BUMP_UNALLOCATED = _BUMP.where(UNALLOCATED)
_BUMP_EXPIRED = (
    sa.update(resource_providers)
    .where(
        resource_providers.c.uuid.in_(sa.bindparam('uuids', expanding=True)),
        resource_providers.c.node_id.is_not(None),
        UNALLOCATED,
    )
    .values(generation=resource_providers.c.generation + 1, updated_at=sa.bindparam('now'))
)


def bump(connection, node_id):
    """Raise the generation of a node's provider, if it has one."""
    connection.execute(_BUMP, {'of_node': node_id, 'now': now()})


def bump_for_reservation(connection, node_id):
    """Raise the generation of a node's provider that a reservation has come to, or gone from.

    Not when it is allocated: it can be so to the reservation's instance alone, and is used by that already.
    """
    connection.execute(_BUMP_UNALLOCATED, {'of_node': node_id, 'now': now()})


def bump_for_expired(connection, uuids):
    """Raise the generations of the providers of nodes whose expired reservations are deleted; as for a single one.

    :param uuids: of the nodes.
    """
    connection.execute(_BUMP_EXPIRED, {'uuids': list(uuids), 'now': now()})


def delete(connection, node):
    """Delete the provider of a node that goes, or has lost its class.

    :param node: a row with ``id`` and ``uuid``.
    :raises failures.ProviderInUse: other providers are below it.
    """
    mine = resource_providers.c.node_id == node.id
    # The provider is the root of its tree: whoever puts another provider below it writes to this row first.
    connection.execute(sa.update(resource_providers).where(mine).values(updated_at=now()))
    below = sa.exists().where(resource_providers.c.parent_provider_uuid == node.uuid)
    if connection.scalar(sa.select(below)):
        raise failures.ProviderInUse(node=node.uuid, reason='other resource providers are below it')
    with referring():
        connection.execute(sa.delete(resource_providers).where(mine))


def _forget(connection, node, own_now):
    """Let traits that are a node's own now be no foreign ones any more."""
    provider = sa.select(resource_providers.c.id).where(resource_providers.c.node_id == node.id).scalar_subquery()
    ids = sa.select(traits.c.id).where(traits.c.name.in_(own_now))
    mine = resource_provider_traits.c.resource_provider_id == provider
    connection.execute(sa.delete(resource_provider_traits).where(mine, resource_provider_traits.c.trait_id.in_(ids)))


def _is(node):
    return nodes.c.id == node.id


def _reclass(connection, node, name):
    if not name:
        delete(connection, node)
    elif not node.class_before:
        _insert(connection, node, name)
    else:
        # Two classes of nodes may be one of providers.
        class_id = _class_id(connection, node.uuid, name)
        statement = _BUMP.where(resource_providers.c.resource_class_id != class_id).values(resource_class_id=class_id)
        with referring():
            connection.execute(statement, {'of_node': node.id, 'now': now()})


def _insert(connection, node, name):
    """Insert the provider of a node, or make the provider that has its uuid the node's."""
    values = _row(node.id, node.uuid, _class_id(connection, node.uuid, name))
    same = sa.or_(resource_providers.c.uuid == node.uuid, resource_providers.c.name == node.uuid)
    # Locked, so that what is decided about them stays true.
    statement = sa.select(resource_providers).where(same).order_by(resource_providers.c.id).with_for_update()
    present = connection.execute(statement).all()
    with referring(), _unless_overtaken():
        if not present:
            connection.execute(sa.insert(resource_providers).values(values))
        # Somebody who knew of the node before this service did has made its provider: it is the node's from now on.
        for provider in present:
            used = sa.exists().where(allocations.c.resource_provider_id == provider.id)
            if provider.uuid != node.uuid or provider.parent_provider_uuid or connection.scalar(sa.select(used)):
                raise failures.ProviderTaken(node=node.uuid, provider=provider.uuid)
            _adopt(connection, provider, {key: values[key] for key in ('name', 'node_id', 'resource_class_id')})


@contextlib.contextmanager
def _unless_overtaken():
    """Have the writer run again when another provider has got the node's uuid, or its name, in the meantime."""
    try:
        yield
    except db_exception.DBDuplicateEntry as error:
        raise db_exception.RetryRequest(error) from error


def _row(node_id, uuid, class_id):
    """Return the columns of a node's provider that is new."""
    return {
        **{'uuid': uuid, 'name': uuid, 'root_provider_uuid': uuid},
        **{'node_id': node_id, 'resource_class_id': class_id, 'created_at': now()},
    }


def _adopt(connection, provider, values):
    """Make a provider that is locked the node's.

    :param values: {column: value} that it gets.
    """
    connection.execute(sa.delete(inventories).where(inventories.c.resource_provider_id == provider.id))
    custom = sa.select(traits.c.id).where(traits.c.name.startswith(names.PREFIX, autoescape=True))
    connection.execute(
        sa.delete(resource_provider_traits).where(
            resource_provider_traits.c.resource_provider_id == provider.id,
            resource_provider_traits.c.trait_id.in_(custom),
        )
    )
    values |= {'generation': provider.generation + 1, 'updated_at': now()}
    connection.execute(sa.update(resource_providers).where(resource_providers.c.id == provider.id).values(values))


def _class_id(connection, node_uuid, name):
    """Return the id of the resource class that stands for a node's; add the class if it is missing.

    The class keeps its name until the end of the transaction.
    """
    normalized = os_resource_classes.normalize_name(name)
    class_ = sa.select(resource_classes.c.id).where(resource_classes.c.name == normalized)
    locked = class_.with_for_update(read=True, key_share=True)
    class_id = connection.scalar(locked)
    if class_id is None:
        names.ensure(connection, resource_classes, [normalized])
        class_id = connection.scalar(locked)
    if class_id is None:
        # Somebody has deleted or renamed it since.
        reason = f'its resource class, {normalized}, is being deleted or renamed'
        raise db_exception.RetryRequest(failures.ProviderInUse(node=node_uuid, reason=reason))
    return class_id
