"""The traits of nodes: list, replace, add, remove, and the conditions of the list filters."""

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import node_traits, nodes
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


@retried
def replace(context, ident, names):
    """Give a node these traits and no others.

    :param ident: uuid or name.
    :param names: valid traits, in any order; repeated ones count once.
    :returns: the traits, a sorted list.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.TooManyTraits: more than a node may carry; nothing is changed.
    """
    wanted = list(dict.fromkeys(names))
    with context.write() as connection:
        node = take(connection, ident)
        _check_limit(context, node, len(wanted), wanted)
        present = _present(connection, node)
        gone = present.difference(wanted)
        if gone:
            connection.execute(sa.delete(node_traits).where(_of(node), node_traits.c.trait.in_(gone)))
        new = [{'node_id': node.id, 'trait': name} for name in wanted if name not in present]
        if new:
            connection.execute(sa.insert(node_traits), new)
    return sorted(wanted)


@retried
def add(context, ident, name):
    """Give a node one trait more.  It may have it already.

    :param ident: uuid or name.
    :param name: a valid trait.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.TooManyTraits: the node is full; nothing is changed.
    """
    with context.write() as connection:
        node = take(connection, ident)
        present = _present(connection, node)
        if name not in present:
            _check_limit(context, node, len(present) + 1, [*present, name])
            connection.execute(sa.insert(node_traits).values(node_id=node.id, trait=name))


@retried
def remove(context, ident, name):
    """Take one trait away from a node.

    :param ident: uuid or name.
    :param name: any string.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.TraitNotFound: the node does not carry it.
    """
    with context.write() as connection:
        node = take(connection, ident)
        # Compared here and not in SQL: what is no trait may be a string that a column of traits cannot be compared
        # with.
        if name not in _present(connection, node):
            raise failures.TraitNotFound(node=node.uuid, trait=name)
        connection.execute(sa.delete(node_traits).where(_of(node), node_traits.c.trait == name))


@retried
def remove_all(context, ident):
    """Take all traits away from a node.  It may have none.

    :param ident: uuid or name.
    :raises failures.NodeNotFound: there is no such node.
    """
    with context.write() as connection:
        node = take(connection, ident)
        connection.execute(sa.delete(node_traits).where(_of(node)))


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
    for names in wanted.any_of:
        yield nodes.c.id.in_(sa.select(node_traits.c.node_id).where(node_traits.c.trait.in_(sorted(names))))
    for names in wanted.not_all_of:
        yield sa.or_(*(~_has(node_traits.c.trait == name) for name in sorted(names)))
    if wanted.none_of:
        yield ~_has(node_traits.c.trait.in_(sorted(wanted.none_of)))


def _has(condition):
    return sa.exists().where(node_traits.c.node_id == nodes.c.id, condition).correlate(nodes)


def _of(node):
    return node_traits.c.node_id == node.id


def _present(connection, node):
    return set(connection.scalars(sa.select(node_traits.c.trait).where(_of(node))))


def _check_limit(context, node, count, names):
    limit = context.conf.inventory.max_traits_per_node
    if count > limit:
        raise failures.TooManyTraits(node=node.uuid, count=count, limit=limit, trait=names[limit])
