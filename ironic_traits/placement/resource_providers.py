"""Resource providers: list, show, add, rename, move, delete.

A node's provider is created, named and deleted by ``inventory.core.node_providers``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Writer, referring, retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import now
from ironic_traits.placement import failures, inventory_usage, resource_classes, trait_conditions
from ironic_traits.placement.single_provider import LISTED, read, take

#: Rows of a list that are read at once.
_BATCH = 1000


def get(context: Context, uuid: str) -> sa.Row:
    """Return a provider.

    :returns: row with ``single_provider.COLUMNS``.
    """
    with context.read() as connection:
        return read(connection, uuid)


def find(context: Context, filters: Mapping[str, Any]) -> Iterator[Sequence[sa.Row]]:
    """List providers: yield them in batches, because all rows of a large inventory at once would take much memory.

    :param filters: {'name': name, 'uuid': uuid, 'in_tree': uuid of a provider, 'resources': {resource class: amount},
        'required': [{trait, …}, …], 'forbidden': {trait, …}, 'member_of': [{uuid of an aggregate, …}, …],
        'not_member_of': {uuid of an aggregate, …}}, all optional. Providers must fulfil all of them.
    :returns: [row with ``single_provider.LISTED``, …] of each batch, in the order of their creation.
    :raises failures.TraitNotFound: traits do not exist.
    """
    with context.read() as connection:
        statement = sa.select(*LISTED).where(*_where(connection, filters)).order_by(tables.resource_providers.c.id)
        yield from connection.execute(statement).partitions(_BATCH)


@retried
def create(context: Context, name: str, uuid: str | None = None, parent_uuid: str | None = None) -> sa.Row:
    """Create a provider.

    :param name: of the provider.
    :param uuid: of the provider; None to generate one.
    :param parent_uuid: of the parent; None for no parent.
    :returns: row of the provider.
    :raises failures.DuplicateProvider: another provider has the uuid or the name.
    :raises failures.BadRequest: the parent does not exist, or is the provider itself.
    :raises failures.Conflict: a node has the uuid; its provider is created and deleted with the node's resource class.
    """
    uuid = uuid or uuidutils.generate_uuid()
    message = f'Unable to create resource provider "{name}", {uuid}: Object action create failed because: '
    values = {'uuid': uuid, 'name': name, 'parent_provider_uuid': parent_uuid, 'created_at': now()}
    try:
        with context.write() as connection:
            if parent_uuid == uuid:
                raise failures.BadRequest(reason=f'{message}parent provider UUID cannot be same as UUID.')
            root = lock_trees(connection, [parent_uuid]).get(parent_uuid) if parent_uuid else uuid
            if root is None:
                raise failures.BadRequest(reason=f'{message}parent provider UUID does not exist.')
            if connection.scalar(sa.select(sa.exists().where(tables.nodes.c.uuid == uuid))):
                raise failures.Conflict(
                    reason=f'{message}the UUID is that of a node, which has a resource provider while it has a '
                    'resource class.'
                )
            with referring():
                connection.execute(sa.insert(tables.resource_providers).values(root_provider_uuid=root, **values))
            return read(connection, uuid)
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, values) from error


@retried
def update(context: Context, uuid: str, name: str, parent: Sequence[str | None], may_move: bool) -> sa.Row:
    """Rename a provider, or move it to another parent.

    :param name: its new name, or the present one.
    :param parent: [uuid of the new parent], [None] for no parent, or [] to keep the parent.
    :param may_move: whether a provider that has a parent may be moved (1.37).
    :returns: row of the provider.
    :raises failures.DuplicateProvider: another provider has the name.
    :raises failures.BadRequest: the new parent does not exist or is below the provider, or the provider may not move.
    :raises failures.Conflict: the provider is a node's.
    """
    try:
        with context.write() as connection:
            roots = lock_trees(connection, [uuid, *parent]) if parent else {}
            provider = take(connection, uuid)
            if provider.node_id and (name != provider.name or parent not in ([], [None])):
                raise failures.Conflict(
                    reason=f'Resource provider {uuid} is a node: its name is the UUID of the node, and it has no '
                    'parent.'
                )
            if parent and parent[0] != provider.parent_provider_uuid:
                move(connection, provider, parent[0], roots, may_move)
            _set(connection, provider, name=name)
            return read(connection, uuid)
    except db_exception.DBDuplicateEntry as error:
        raise failures.DuplicateProvider(what=name) from error


@retried
def delete(context: Writer, uuid: str) -> None:
    """Delete a provider with its inventories, traits and aggregates.

    :raises failures.ProviderHasChildren: it is the parent of others.
    :raises failures.ProviderInUse: it is a node's, or has allocations.
    """
    try:
        with context.write() as connection:
            provider = take(connection, uuid)
            children = sa.exists().where(tables.resource_providers.c.parent_provider_uuid == uuid)
            if connection.scalar(sa.select(children)):
                raise failures.ProviderHasChildren(uuid=uuid)
            if provider.node_id:
                raise failures.ProviderInUse(uuid=uuid, reason='it is a node, and is deleted with the node.')
            allocations = sa.exists().where(tables.allocations.c.resource_provider_id == provider.id)
            if connection.scalar(sa.select(allocations)):
                raise failures.ProviderInUse(uuid=uuid, reason='Resource provider has allocations.')
            same = tables.resource_providers.c.id == provider.id
            connection.execute(sa.delete(tables.resource_providers).where(same))
    except db_exception.DBReferenceError as error:
        raise failures.ProviderHasChildren(uuid=uuid) from error


def _where(connection: sa.Connection, filters: Mapping[str, Any]) -> Iterator[Condition]:
    for column in ('name', 'uuid'):
        if column in filters:
            yield tables.resource_providers.c[column] == filters[column]
    if 'in_tree' in filters:
        yield in_tree(filters['in_tree'])
    required, forbidden = filters.get('required', []), filters.get('forbidden', frozenset())
    holders = trait_conditions.holders(connection, forbidden.union(*required))
    joins = connection.dialect.name not in ('mysql', 'mariadb')
    yield from trait_conditions.conditions(holders, required, forbidden, joins=joins)
    for one_of in filters.get('member_of', []):
        yield is_in(one_of)
    if filters.get('not_member_of'):
        yield ~is_in(filters['not_member_of'])
    resources = filters.get('resources', {})
    class_ids = resource_classes.check(connection, resources)
    for name, amount in resources.items():
        yield inventory_usage.has_room(class_ids[name], amount)


def in_tree(uuid: str) -> Condition:
    """Return the condition on providers that a provider is in the tree of the one with this uuid."""
    member = tables.resource_providers.alias()
    root = sa.select(member.c.root_provider_uuid).where(member.c.uuid == uuid).scalar_subquery()
    return tables.resource_providers.c.root_provider_uuid == root


def is_in(aggregates: Iterable[str]) -> Condition:
    """Return the condition on providers that a provider is a member of at least one of these aggregates.

    :param aggregates: uuids.
    """
    table = tables.resource_provider_aggregates
    members = sa.select(table.c.resource_provider_id).where(table.c.aggregate_uuid.in_(sorted(aggregates)))
    # The second condition is never true. With an OR, PostgreSQL runs each subquery once. Without it, PostgreSQL turns
    # them into joins, and with many joins its planner takes practically forever.
    return sa.or_(tables.resource_providers.c.id.in_(members), tables.resource_providers.c.id < 0)


def _set(connection: sa.Connection, provider: sa.Row, **values: Any) -> None:
    statement = sa.update(tables.resource_providers).where(tables.resource_providers.c.id == provider.id)
    connection.execute(statement.values(updated_at=now(), **values))


def lock_trees(connection: sa.Connection, uuids: Sequence[str | None]) -> dict[str, str]:
    """Lock the trees of providers against moves.

    :param uuids: uuids of providers; None among them is ignored.
    :returns: {uuid of a provider that exists: uuid of its root}.
    """
    roots = roots_of(connection, uuids)
    moved = failures.ConcurrentUpdate(reason='The tree of the resource provider has changed. Please retry your update')
    # In a fixed order, so that two moves cannot deadlock. If a root is no longer a root, the transaction is retried,
    # without the lock. The lock is an UPDATE, not SELECT … FOR UPDATE, because a Galera cluster does not replicate the
    # locks of the latter to its other machines.
    for root in sorted(set(roots.values())):
        still_root = (tables.resource_providers.c.uuid == root, tables.resource_providers.c.root_provider_uuid == root)
        lock = sa.update(tables.resource_providers).where(*still_root).values(updated_at=now())
        if not connection.execute(lock).rowcount:
            raise db_exception.RetryRequest(moved)
    if roots_of(connection, uuids) != roots:
        raise db_exception.RetryRequest(moved)
    return roots


def roots_of(connection: sa.Connection, uuids: Sequence[str | None]) -> dict[str, str]:
    """Return {uuid of a provider that exists: uuid of its root}. None among the uuids is ignored."""
    columns = (tables.resource_providers.c.uuid, tables.resource_providers.c.root_provider_uuid)
    rows = connection.execute(sa.select(*columns).where(tables.resource_providers.c.uuid.in_(uuids)))
    return {row.uuid: row.root_provider_uuid for row in rows}


def move(
    connection: sa.Connection, provider: sa.Row, parent_uuid: str | None, roots: Mapping[str, str], may_move: bool
) -> None:
    """Move a provider with all that is below it. The trees are locked.

    :param parent_uuid: of the new parent; None for no parent.
    :param roots: {uuid of the new parent: uuid of its root}.
    :param may_move: whether a provider that has a parent may be moved.
    :raises failures.BadRequest: it may not, or the parent does not exist or is below the provider.
    """
    message = f'Unable to save resource provider {provider.uuid}: Object action update failed because: '
    old_parent = provider.parent_provider_uuid
    if old_parent and not may_move:
        what = 're-parenting' if parent_uuid else 'un-parenting'
        raise failures.BadRequest(reason=f'{message}{what} a provider is not currently allowed.')
    new_root = roots.get(parent_uuid) if parent_uuid else provider.uuid
    if new_root is None:
        raise failures.BadRequest(reason=f'{message}parent provider UUID does not exist.')
    subtree = _subtree(connection, provider.uuid)
    if parent_uuid in subtree:
        raise failures.BadRequest(reason=f'{message}creating loop in the provider tree is not allowed.')
    with referring():
        _set(connection, provider, parent_provider_uuid=parent_uuid)
    below = sa.update(tables.resource_providers).where(tables.resource_providers.c.uuid.in_(subtree))
    connection.execute(below.values(root_provider_uuid=new_root))


def _subtree(connection: sa.Connection, uuid: str) -> set[str]:
    """Return the uuids of a provider and all its descendants, a set."""
    columns = tables.resource_providers.c
    tree = sa.select(columns.uuid).where(columns.uuid == uuid).cte(recursive=True)
    below = sa.select(columns.uuid).join(tree, columns.parent_provider_uuid == tree.c.uuid)
    return set(connection.scalars(sa.select(tree.union_all(below).c.uuid)))


def _duplicate(error: db_exception.DBDuplicateEntry, values: Mapping[str, Any]) -> failures.DuplicateProvider:
    # Each database names the columns, or the constraint, in its own way. Our constraints contain the columns' names.
    key = ' '.join(error.columns)
    column = 'uuid' if 'uuid' in key else 'name'
    return failures.DuplicateProvider(what=f'{column}: {values[column]}')
