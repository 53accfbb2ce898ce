"""The traits of nodes: list, replace, add, remove, and the conditions of the list filters."""

import functools

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import node_traits, nodes, resource_provider_traits, resource_providers, traits
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.lock_wait import waiting_for_lock
from ironic_traits.inventory.single_node import read, take

#: A column of a SELECT from nodes: the node's traits joined by commas (no trait has one), None for none.  One
#: statement for a page and its traits: a join would multiply the rows.
JOINED = (
    sa.select(sa.func.aggregate_strings(node_traits.c.trait, ','))
    .where(node_traits.c.node_id == nodes.c.id)
    .correlate(nodes)
    .scalar_subquery()
    .label('traits')
)

#: Most required traits that get a subquery each, which is quick when one of them is rare; more are counted in one.  The
#: planners' work grows with the square of the subqueries, and worse.
MAX_SUBQUERIES = 5


def split(joined):
    """Turn what JOINED gave into a sorted list."""
    return sorted(joined.split(',')) if joined else []


def list_all(context, ident):
    """Give the traits of a node.

    :param ident: uuid or name.
    :returns: a sorted list.
    :raises failures.NodeNotFound: there is no such node.
    """
    with context.read() as connection:
        return split(read(connection, ident, (JOINED,)).traits)


def _known(write):
    """Make a writer that gives a node traits: those that are in no table of names yet are put there, and it runs again.

    Nearly always all of them are known: to look each time would take as long as the writing.
    """

    @functools.wraps(write)
    def written(context, ident, given):
        while True:
            try:
                return write(context, ident, given)
            except db_exception.DBReferenceError:
                names.add(context, traits, given)

    return written


@_known
@waiting_for_lock
@retried
def replace(context, ident, given):
    """Give a node these traits and no others.

    :param ident: uuid or name.
    :param given: valid traits, a list in any order; repeated ones count once.
    :returns: the traits, a sorted list.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: work on it goes on.
    :raises failures.TooManyTraits: more than a node may carry; nothing is changed.
    """
    wanted = list(dict.fromkeys(given))
    with context.write() as connection:
        node = _take(connection, ident)
        _check_limit(context, node, len(wanted), wanted)
        own, foreign = _present(connection, node)
        gone = own.difference(wanted)
        if gone:
            connection.execute(_DELETE, {'of_node': node.id, 'gone': list(gone)})
        new = [name for name in wanted if name not in own]
        _insert(connection, node, new)
        node_providers.follow_traits(connection, node, foreign, new, lost=bool(gone))
    return sorted(wanted)


@_known
@waiting_for_lock
@retried
def add(context, ident, given):
    """Give a node one trait more.  It may have it already.

    :param ident: uuid or name.
    :param given: [a valid trait].
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: work on it goes on.
    :raises failures.TooManyTraits: the node is full; nothing is changed.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        own, foreign = _present(connection, node)
        if own.isdisjoint(given):
            _check_limit(context, node, len(own) + 1, [*own, *given])
            _insert(connection, node, given)
            node_providers.follow_traits(connection, node, foreign, given, lost=False)


@waiting_for_lock
@retried
def remove(context, ident, name):
    """Take one trait away from a node.

    :param ident: uuid or name.
    :param name: any string.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: work on it goes on.
    :raises failures.TraitNotFound: the node does not carry it.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        own, foreign = _present(connection, node)
        # Compared here and not in SQL: what is no trait may be a string that a column of traits cannot be compared
        # with.
        if name not in own:
            raise failures.TraitNotFound(node=node.uuid, trait=name)
        connection.execute(_DELETE, {'of_node': node.id, 'gone': [name]})
        node_providers.follow_traits(connection, node, foreign, [], lost=True)


@waiting_for_lock
@retried
def remove_all(context, ident):
    """Take all traits away from a node.  It may have none.

    :param ident: uuid or name.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: work on it goes on.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        lost = connection.execute(sa.delete(node_traits).where(_of(node))).rowcount
        node_providers.follow_traits(connection, node, set(), [], lost=bool(lost))


def where(wanted):
    """Give the conditions on nodes that stand for a filter.

    :param wanted: ironic_traits.matching.traits.Filter.
    """
    # IN and not EXISTS: a rare trait then drives the statement from the trait index on SQLite too.
    if len(wanted.all_of) > MAX_SUBQUERIES:
        carried = sa.select(node_traits.c.node_id).where(node_traits.c.trait.in_(sorted(wanted.all_of)))
        counted = carried.group_by(node_traits.c.node_id).having(sa.func.count() == len(wanted.all_of))
        yield nodes.c.id.in_(counted)
    else:
        for name in sorted(wanted.all_of):
            yield nodes.c.id.in_(sa.select(node_traits.c.node_id).where(node_traits.c.trait == name))
    for one_of in wanted.any_of:
        yield nodes.c.id.in_(sa.select(node_traits.c.node_id).where(node_traits.c.trait.in_(sorted(one_of))))
    for all_of in wanted.not_all_of:
        yield sa.or_(*(~_has(node_traits.c.trait == name) for name in sorted(all_of)))
    if wanted.none_of:
        yield ~_has(node_traits.c.trait.in_(sorted(wanted.none_of)))


# Made once and kept: to make one anew takes as long as the database does.
_INSERT = sa.insert(node_traits)
_DELETE = sa.delete(node_traits).where(
    node_traits.c.node_id == sa.bindparam('of_node'), node_traits.c.trait.in_(sa.bindparam('gone', expanding=True))
)


def _take(connection, ident):
    """Lock a node until the end of the transaction, and return its row.

    While a worker deploys the node, or works on it otherwise, its traits stay what the work began with.

    :raises failures.NodeNotFound: there is none.
    :raises failures.NodeLocked: work on it goes on.
    """
    node = take(connection, ident, nodes.c.reservation)
    if node.reservation:
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)
    return node


def _insert(connection, node, new):
    if new:
        connection.execute(_INSERT, [{'node_id': node.id, 'trait': name} for name in new])


def _has(condition):
    return sa.exists().where(node_traits.c.node_id == nodes.c.id, condition).correlate(nodes)


def _of(node):
    return node_traits.c.node_id == node.id


#: The traits of a node, and those that others have given to its provider: (name, whether it is one of those).
_PRESENT = (
    sa.select(node_traits.c.trait, sa.literal(0))
    .where(node_traits.c.node_id == sa.bindparam('node_id'))
    .union_all(
        sa.select(traits.c.name, sa.literal(1))
        .join(resource_provider_traits, resource_provider_traits.c.trait_id == traits.c.id)
        .join(resource_providers, resource_providers.c.id == resource_provider_traits.c.resource_provider_id)
        .where(resource_providers.c.node_id == sa.bindparam('node_id'))
    )
)


def _present(connection, node):
    """Give (the traits of a node, those that others have given to its provider), as sets."""
    own: set[str] = set()
    foreign: set[str] = set()
    for name, is_foreign in connection.execute(_PRESENT, {'node_id': node.id}):
        (foreign if is_foreign else own).add(name)
    return own, foreign


def _check_limit(context, node, count, wanted):
    limit = context.conf.inventory.max_traits_per_node
    if count > limit:
        raise failures.TooManyTraits(node=node.uuid, count=count, limit=limit, trait=wanted[limit])
