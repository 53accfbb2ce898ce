"""The resource providers of nodes. A change of a node updates its provider in the same transaction.

A node with a resource class has a resource provider with the same uuid (invariant 6). The provider's inventory and the
node's own traits are derived from the node at each read. All writes happen under the node's lock.
doc/source/contributor/decisions/one_uuid.rst says why.

A *foreign* trait is one that a Placement client (nova, for example) has set on a node's provider.
"""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import os_resource_classes
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db import names, tables
from ironic_traits.db.engine import referring
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import eligibility

#: Condition on nodes: the unit of the node's provider is for instances. Nova schedules to parents, not to children.
SCHEDULABLE = sa.and_(eligibility.OFFERED, tables.nodes.c.parent_node.is_(None))
#: Columns that ``follow`` compares with their values after a change. ``single_node.take`` reads them under the lock.
BEFORE = (tables.nodes.c.resource_class.label('class_before'), SCHEDULABLE.label('offered_before'))
#: The same columns after a change.
AFTER = (tables.nodes.c.resource_class, SCHEDULABLE.label('offered'))
#: The columns of nodes that BEFORE depends on.
_DECIDING = frozenset({'resource_class', 'parent_node', *(column.name for column in eligibility.STATE_COLUMNS)})


def create(connection: sa.Connection, node_id: int) -> None:
    """Create the provider of a new node, if the node has a resource class.

    :raises failures.ProviderTaken: a provider has the node's uuid, and cannot become the node's provider: it has the
        uuid only as its name, has a parent, or is allocated.
    """
    node = connection.execute(
        sa.select(tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.resource_class).where(
            tables.nodes.c.id == node_id
        )
    ).one()
    if node.resource_class:
        _insert(connection, node, node.resource_class)


def create_all(connection: sa.Connection, new_nodes: Iterable[tuple[int, Values]]) -> None:
    """Create the providers of new nodes that have a resource class.

    :param new_nodes: [(node id, {column: value}), …]. No provider has the uuid of a node (``existing_providers``).
    """
    new_nodes = [(node_id, row) for node_id, row in new_nodes if row['resource_class']]
    if not new_nodes:
        return
    # ``_class_id`` needs a node of each class for the failure that it may raise.
    uuid_of_class = {row['resource_class']: row['uuid'] for _, row in new_nodes}
    class_ids = {name: _class_id(connection, uuid_of_class[name], name) for name in sorted(uuid_of_class)}
    providers = [_row(node_id, row['uuid'], class_ids[row['resource_class']]) for node_id, row in new_nodes]
    with referring():
        connection.execute(sa.insert(tables.resource_providers), providers)


def existing_providers(connection: sa.Connection, uuids: Collection[str]) -> set[str]:
    """Return the set of those uuids that are the uuid or the name of a provider."""
    columns = (tables.resource_providers.c.uuid, tables.resource_providers.c.name)
    rows = connection.execute(sa.select(*columns).where(sa.or_(*(column.in_(uuids) for column in columns))))
    return {value for row in rows for value in row}.intersection(uuids)


def follow(connection: sa.Connection, node: sa.Row, changes: Mapping[str, Any], after: sa.Row | None = None) -> None:
    """Update a node's provider after a change of the node.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: a row with ``id``, ``uuid`` and BEFORE, read before the change.
    :param changes: {column of nodes: value}, as written.
    :param after: a row with AFTER, read after the change; None to read it.
    :raises failures.ProviderTaken: as ``create``.
    :raises failures.ProviderInUse: the node has lost its class, and its provider cannot be deleted.
    """
    if _DECIDING.isdisjoint(changes):
        return
    after = after or connection.execute(prepared(sa.select(*AFTER).where(_is(node)))).one()
    if after.resource_class != node.class_before:
        _reclass(connection, node, after.resource_class)
    elif after.resource_class and after.offered != node.offered_before:
        bump(connection, node.id)


def follow_traits(
    connection: sa.Connection, changes: Collection[tuple[int, set[str], Collection[str], bool]]
) -> Iterator[Write]:
    """Yield the writes that update the providers of nodes after changes of the nodes' traits.

    :param connection: connection of a writer that has taken the locks of the nodes.
    :param changes: [(node id, names of the provider's foreign traits, names of traits that were added to the node,
        whether traits were removed from it), …].
    """
    own_now: dict[frozenset[str], list[int]] = {}
    moved = []
    for node_id, foreign, added, lost in changes:
        own = frozenset(foreign.intersection(added))
        if own:
            own_now.setdefault(own, []).append(node_id)
        # The provider had the traits in ``own`` before: for clients, it does not change.
        if lost or len(own) < len(added):
            moved.append(node_id)
    for own, node_ids in own_now.items():
        _forget(connection, node_ids, own)
    if len(moved) == 1:
        yield Write(_BUMP, {'of_node': moved[0], 'now': now()})
    elif moved:
        yield Write(_BUMP_ALL, {'of_nodes': moved, 'now': now()})


# Built once: building the statement takes as long as executing it.
_BUMP = (
    sa.update(tables.resource_providers)
    .where(tables.resource_providers.c.node_id == sa.bindparam('of_node'))
    .values(generation=tables.resource_providers.c.generation + 1, updated_at=sa.bindparam('now'))
)

_BUMP_ALL = (
    sa.update(tables.resource_providers)
    .where(tables.resource_providers.c.node_id.in_(sa.bindparam('of_nodes')))
    .values(generation=tables.resource_providers.c.generation + 1, updated_at=sa.bindparam('now'))
)


#: Condition on providers: the provider has allocations.
HAS_ALLOCATIONS = (
    sa.exists()
    .where(tables.allocations.c.resource_provider_id == tables.resource_providers.c.id)
    .correlate(tables.resource_providers)
)
UNALLOCATED = ~HAS_ALLOCATIONS
_BUMP_UNALLOCATED = _BUMP.where(UNALLOCATED)
_BUMP_EXPIRED = (
    sa.update(tables.resource_providers)
    .where(
        tables.resource_providers.c.uuid.in_(sa.bindparam('uuids')),
        tables.resource_providers.c.node_id.is_not(None),
        UNALLOCATED,
    )
    .values(generation=tables.resource_providers.c.generation + 1, updated_at=sa.bindparam('now'))
)


def bump(connection: sa.Connection, node_id: int) -> None:
    """Raise the generation of a node's provider, if the node has one, by 1."""
    connection.execute(_BUMP, {'of_node': node_id, 'now': now()})


def bump_all(connection: sa.Connection, node_ids: Collection[int]) -> None:
    """Raise the generations of the providers of several nodes, as ``bump`` does."""
    connection.execute(_BUMP_ALL, {'of_nodes': list(node_ids), 'now': now()})


def write_bump(node_id: int) -> Write:
    """Return the write that ``bump`` executes."""
    return Write(_BUMP, {'of_node': node_id, 'now': now()})


def bump_for_reservation(connection: sa.Connection, node_id: int) -> None:
    """Raise the generation of a node's provider after a reservation of the node was created or deleted.

    If the node is allocated, it is allocated to the reservation's instance, and its usage does not change. Then the
    generation is not raised.
    """
    connection.execute(_BUMP_UNALLOCATED, {'of_node': node_id, 'now': now()})


def write_for_reservation(node_id: int) -> Write:
    """Return the write that ``bump_for_reservation`` executes."""
    return Write(_BUMP_UNALLOCATED, {'of_node': node_id, 'now': now()})


def bump_for_expired(connection: sa.Connection, uuids: Iterable[str]) -> None:
    """Raise the generations of the providers of nodes whose expired reservations are deleted.

    As in ``bump_for_reservation``, nodes that are allocated are left out.

    :param uuids: uuids of the nodes.
    """
    connection.execute(_BUMP_EXPIRED, {'uuids': list(uuids), 'now': now()})


def delete(connection: sa.Connection, node: sa.Row) -> None:
    """Delete the provider of a node that is deleted or has lost its resource class.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: a row with ``id`` and ``uuid``.
    :raises failures.ProviderInUse: the provider has children.
    """
    provider_of_node = tables.resource_providers.c.node_id == node.id
    # This locks the provider. It is the root of its tree. A writer that adds a child provider first locks the root with
    # an UPDATE, too.
    connection.execute(sa.update(tables.resource_providers).where(provider_of_node).values(updated_at=now()))
    below = sa.exists().where(tables.resource_providers.c.parent_provider_uuid == node.uuid)
    if connection.scalar(sa.select(below)):
        raise failures.ProviderInUse(node=node.uuid, reason='other resource providers are below it')
    with referring():
        connection.execute(sa.delete(tables.resource_providers).where(provider_of_node))


def _forget(connection: sa.Connection, node_ids: Collection[int], own_now: Collection[str]) -> None:
    """Delete foreign traits of nodes' providers that have become the nodes' own traits."""
    providers = sa.select(tables.resource_providers.c.id).where(tables.resource_providers.c.node_id.in_(node_ids))
    ids = sa.select(tables.traits.c.id).where(tables.traits.c.name.in_(own_now))
    connection.execute(
        sa.delete(tables.resource_provider_traits).where(
            tables.resource_provider_traits.c.resource_provider_id.in_(providers),
            tables.resource_provider_traits.c.trait_id.in_(ids),
        )
    )


def _is(node: sa.Row) -> Condition:
    return tables.nodes.c.id == node.id


def _reclass(connection: sa.Connection, node: sa.Row, name: str | None) -> None:
    if not name:
        delete(connection, node)
    elif not node.class_before:
        _insert(connection, node, name)
    else:
        # Two resource classes of nodes may have the same normalized name, which is the provider's class.
        class_id = _class_id(connection, node.uuid, name)
        statement = _BUMP.where(tables.resource_providers.c.resource_class_id != class_id).values(
            resource_class_id=class_id
        )
        with referring():
            connection.execute(statement, {'of_node': node.id, 'now': now()})


def _insert(connection: sa.Connection, node: sa.Row, name: str) -> None:
    """Insert the provider of a node, or adopt the provider that a client has created with the node's uuid."""
    values = _row(node.id, node.uuid, _class_id(connection, node.uuid, name))
    same = sa.or_(tables.resource_providers.c.uuid == node.uuid, tables.resource_providers.c.name == node.uuid)
    # Locked, so that the checks below are valid until the commit.
    statement = (
        sa.select(tables.resource_providers).where(same).order_by(tables.resource_providers.c.id).with_for_update()
    )
    present = connection.execute(statement).all()
    with referring(), _unless_overtaken():
        if not present:
            connection.execute(sa.insert(tables.resource_providers).values(values))
        # A client has created the provider before this service had the node.
        for provider in present:
            used = sa.exists().where(tables.allocations.c.resource_provider_id == provider.id)
            if provider.uuid != node.uuid or provider.parent_provider_uuid or connection.scalar(sa.select(used)):
                raise failures.ProviderTaken(node=node.uuid, provider=provider.uuid)
            _adopt(connection, provider, {key: values[key] for key in ('name', 'node_id', 'resource_class_id')})


@contextlib.contextmanager
def _unless_overtaken() -> Iterator[None]:
    """Retry the transaction if a provider with the node's uuid, as uuid or name, was inserted after the check."""
    try:
        yield
    except db_exception.DBDuplicateEntry as error:
        raise db_exception.RetryRequest(error) from error


def _row(node_id: int, uuid: str, class_id: int) -> Values:
    """Return {column: value} of the new provider of a node."""
    return {
        'uuid': uuid,
        'name': uuid,
        'root_provider_uuid': uuid,
        'node_id': node_id,
        'resource_class_id': class_id,
        'created_at': now(),
    }


def _adopt(connection: sa.Connection, provider: sa.Row, values: Values) -> None:
    """Make an existing provider the provider of a node. The caller has locked it.

    Its inventories and its custom traits are deleted, because those of a node are derived from the node. Its standard
    traits become foreign traits.

    :param values: {column: value} to set.
    """
    connection.execute(sa.delete(tables.inventories).where(tables.inventories.c.resource_provider_id == provider.id))
    custom = sa.select(tables.traits.c.id).where(tables.traits.c.name.startswith(names.PREFIX, autoescape=True))
    connection.execute(
        sa.delete(tables.resource_provider_traits).where(
            tables.resource_provider_traits.c.resource_provider_id == provider.id,
            tables.resource_provider_traits.c.trait_id.in_(custom),
        )
    )
    values |= {'generation': provider.generation + 1, 'updated_at': now()}
    connection.execute(
        sa.update(tables.resource_providers).where(tables.resource_providers.c.id == provider.id).values(values)
    )


def _class_id(connection: sa.Connection, node_uuid: str, name: str) -> int:
    """Return the id of the Placement resource class for a node's resource class. Add the class if it is missing.

    The class is locked: it cannot be renamed or deleted before the end of the transaction.

    :param name: the node's resource class, not normalized.
    """
    normalized = os_resource_classes.normalize_name(name)
    class_ = sa.select(tables.resource_classes.c.id).where(tables.resource_classes.c.name == normalized)
    locked = class_.with_for_update(read=True, key_share=True)
    class_id = connection.scalar(locked)
    if class_id is None:
        names.ensure(connection, tables.resource_classes, [normalized])
        class_id = connection.scalar(locked)
    if class_id is None:
        # Another transaction has deleted or renamed the class after ``ensure``.
        reason = f'its resource class, {normalized}, is being deleted or renamed'
        raise db_exception.RetryRequest(failures.ProviderInUse(node=node_uuid, reason=reason))
    return class_id
