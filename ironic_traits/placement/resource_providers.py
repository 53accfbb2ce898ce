"""Resource providers: list, show, add, rename, move, delete.

A provider that is a node is made, named and deleted with its node (``node_providers``).
"""

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits.db.engine import referring, retried
from ironic_traits.db.models import allocations, nodes, resource_provider_aggregates, resource_providers
from ironic_traits.db.types import now
from ironic_traits.placement import capacity, failures, resource_classes, traits
from ironic_traits.placement.single_provider import COLUMNS, read, take


def get(context, uuid):
    """Give one provider.

    :returns: a row.
    :raises failures.ProviderNotFound: there is none.
    """
    with context.read() as connection:
        return read(connection, uuid)


def find(context, wanted):
    """List providers.

    :param wanted: what the client asks for: {'name': …, 'uuid': …, 'in_tree': uuid, 'resources': {class: amount},
        'required': [{trait, …}, …], 'forbidden': {trait, …}, 'member_of': [{uuid, …}, …], 'not_member_of': {uuid, …}};
        all of it optional.
    :returns: rows, in the order in which they came to be.
    :raises failures.ResourceClassNotFound: a resource class is not there.
    :raises failures.TraitNotFound: traits are not there.
    """
    with context.read() as connection:
        statement = sa.select(*COLUMNS).where(*_where(connection, wanted)).order_by(resource_providers.c.id)
        return connection.execute(statement).all()


@retried
def create(context, name, uuid=None, parent_uuid=None):
    """Make a provider.

    :returns: its row.
    :raises failures.DuplicateProvider: another one has the uuid or the name.
    :raises failures.BadRequest: there is no such parent.
    :raises failures.Conflict: the uuid is that of a node, whose provider comes and goes with the node's class.
    """
    uuid = uuid or uuidutils.generate_uuid()
    refused = f'Unable to create resource provider "{name}", {uuid}: Object action create failed because: '
    values = {'uuid': uuid, 'name': name, 'parent_provider_uuid': parent_uuid, 'created_at': now()}
    try:
        with context.write() as connection:
            if parent_uuid == uuid:
                raise failures.BadRequest(reason=f'{refused}parent provider UUID cannot be same as UUID.')
            root = _lock_trees(connection, [parent_uuid]).get(parent_uuid) if parent_uuid else uuid
            if root is None:
                raise failures.BadRequest(reason=f'{refused}parent provider UUID does not exist.')
            if connection.scalar(sa.select(sa.exists().where(nodes.c.uuid == uuid))):
                raise failures.Conflict(reason=f'{refused}it is a node, and a provider while it has a resource class.')
            with referring():
                connection.execute(sa.insert(resource_providers).values(root_provider_uuid=root, **values))
            return read(connection, uuid)
    except db_exception.DBDuplicateEntry as error:
        raise _duplicate(error, values) from error


@retried
def update(context, uuid, name, parent, may_move):
    """Rename a provider, or put it below another one.

    :param parent: [uuid, or None for no parent]; [] to leave it where it is.
    :param may_move: whether one that has a parent may get another, or none.
    :returns: its row.
    :raises failures.ProviderNotFound: there is none.
    :raises failures.DuplicateProvider: another one has the name.
    :raises failures.BadRequest: there is no such parent, or it is below this provider, or it must not move.
    :raises failures.Conflict: the provider is a node.
    """
    try:
        with context.write() as connection:
            roots = _lock_trees(connection, [uuid, *parent]) if parent else {}
            provider = take(connection, uuid)
            if provider.node_id and (name != provider.name or parent not in ([], [None])):
                raise failures.Conflict(reason=f'Resource provider {uuid} is a node: it has its name, and no parent.')
            if parent and parent[0] != provider.parent_provider_uuid:
                _move(connection, provider, parent[0], roots, may_move)
            _set(connection, provider, name=name)
            return read(connection, uuid)
    except db_exception.DBDuplicateEntry as error:
        raise failures.DuplicateProvider(what=name) from error


@retried
def delete(context, uuid):
    """Delete a provider with all that it has.

    :raises failures.ProviderNotFound: there is none.
    :raises failures.ProviderHasChildren: others are below it.
    :raises failures.ProviderInUse: it is a node, or something is taken from it.
    """
    try:
        with context.write() as connection:
            provider = take(connection, uuid)
            if connection.scalar(sa.select(sa.exists().where(resource_providers.c.parent_provider_uuid == uuid))):
                raise failures.ProviderHasChildren(uuid=uuid)
            if provider.node_id:
                raise failures.ProviderInUse(uuid=uuid, reason='it is a node, and goes with it.')
            if connection.scalar(sa.select(sa.exists().where(allocations.c.resource_provider_id == provider.id))):
                raise failures.ProviderInUse(uuid=uuid, reason='Resource provider has allocations.')
            connection.execute(sa.delete(resource_providers).where(resource_providers.c.id == provider.id))
    except db_exception.DBReferenceError as error:
        raise failures.ProviderHasChildren(uuid=uuid) from error


def _where(connection, wanted):
    for column in ('name', 'uuid'):
        if column in wanted:
            yield resource_providers.c[column] == wanted[column]
    if 'in_tree' in wanted:
        yield in_tree(wanted['in_tree'])
    required, forbidden = wanted.get('required', []), wanted.get('forbidden', frozenset())
    known = traits.check(connection, forbidden.union(*required))
    for one_of in required:
        yield traits.has_one_of(known, one_of)
    if forbidden:
        yield ~traits.has_one_of(known, forbidden)
    for one_of in wanted.get('member_of', []):
        yield is_in(one_of)
    if wanted.get('not_member_of'):
        yield ~is_in(wanted['not_member_of'])
    resources = wanted.get('resources', {})
    classes = resource_classes.check(connection, resources)
    for name, amount in resources.items():
        yield capacity.has_room(classes[name], amount)


def in_tree(uuid):
    """Give the condition on providers that they are in the tree of one."""
    of_it = resource_providers.alias()
    root = sa.select(of_it.c.root_provider_uuid).where(of_it.c.uuid == uuid).scalar_subquery()
    return resource_providers.c.root_provider_uuid == root


def is_in(aggregates):
    """Give the condition on providers that they are members of at least one of these aggregates."""
    table = resource_provider_aggregates
    members = sa.select(table.c.resource_provider_id).where(table.c.aggregate_uuid.in_(sorted(aggregates)))
    # Beside something that is never true PostgreSQL runs each subquery once, and makes no joins of them: of many of
    # those, its planner does not come to an end.
    return sa.or_(resource_providers.c.id.in_(members), resource_providers.c.id < 0)


def _set(connection, provider, **values):
    statement = sa.update(resource_providers).where(resource_providers.c.id == provider.id)
    connection.execute(statement.values(updated_at=now(), **values))


def _lock_trees(connection, uuids):
    """Lock the trees of providers against moves.

    :param uuids: some may be None.
    :returns: {uuid of each that is there: uuid of its root}.
    """
    roots = _roots(connection, uuids)
    moved = failures.ConcurrentUpdate(reason='The tree of the resource provider has changed. Please retry your update')
    # In order, so that two moves that cross do not wait for each other; and whoever finds that a root is none any more
    # begins again, without its lock.  By a write, and not by SELECT … FOR UPDATE, which a cluster does not tell its
    # other machines of.
    for root in sorted(set(roots.values())):
        still = (resource_providers.c.uuid == root, resource_providers.c.root_provider_uuid == root)
        if not connection.execute(sa.update(resource_providers).where(*still).values(updated_at=now())).rowcount:
            raise db_exception.RetryRequest(moved)
    if _roots(connection, uuids) != roots:
        raise db_exception.RetryRequest(moved)
    return roots


def _roots(connection, uuids):
    columns = (resource_providers.c.uuid, resource_providers.c.root_provider_uuid)
    found = connection.execute(sa.select(*columns).where(resource_providers.c.uuid.in_(uuids)))
    return {row.uuid: row.root_provider_uuid for row in found}


def _move(connection, provider, parent_uuid, roots, may_move):
    refused = f'Unable to save resource provider {provider.uuid}: Object action update failed because: '
    old_parent = provider.parent_provider_uuid
    if old_parent and not may_move:
        what = 're-parenting' if parent_uuid else 'un-parenting'
        raise failures.BadRequest(reason=f'{refused}{what} a provider is not currently allowed.')
    new_root = roots.get(parent_uuid) if parent_uuid else provider.uuid
    if new_root is None:
        raise failures.BadRequest(reason=f'{refused}parent provider UUID does not exist.')
    subtree = _subtree(connection, provider.uuid)
    if parent_uuid in subtree:
        raise failures.BadRequest(reason=f'{refused}creating loop in the provider tree is not allowed.')
    with referring():
        _set(connection, provider, parent_provider_uuid=parent_uuid)
    below = sa.update(resource_providers).where(resource_providers.c.uuid.in_(subtree))
    connection.execute(below.values(root_provider_uuid=new_root))


def _subtree(connection, uuid):
    """Give the uuids of a provider and all below it."""
    tree = sa.select(resource_providers.c.uuid).where(resource_providers.c.uuid == uuid).cte(recursive=True)
    below = sa.select(resource_providers.c.uuid).join(tree, resource_providers.c.parent_provider_uuid == tree.c.uuid)
    return set(connection.scalars(sa.select(tree.union_all(below).c.uuid)))


def _duplicate(error, values):
    # The databases name the columns, or the constraint, in their own ways; our constraints carry the columns' names.
    key = ' '.join(error.columns)
    column = 'uuid' if 'uuid' in key else 'name'
    return failures.DuplicateProvider(what=f'{column}: {values[column]}')
