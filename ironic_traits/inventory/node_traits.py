"""The traits of nodes: list, replace, add, remove; and the conditions of the list filters."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import names, tables
from ironic_traits.db.annotations import Condition
from ironic_traits.db.engine import retried
from ironic_traits.db.types import names_in
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.lock_wait import waiting_for_lock
from ironic_traits.inventory.single_node import read, take
from ironic_traits.matching.traits import Filter

_Result = TypeVar('_Result')

#: A column of a SELECT from nodes: the node's traits, which are read as a sorted list.
JOINED = (
    sa.select(names_in(tables.node_traits.c.trait))
    .where(tables.node_traits.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('traits')
)

#: Up to this number of required traits, each has a subquery of its own, which is quick when one of the traits is rare.
#: More are counted in one subquery, because the planners' work grows at least with the square of the subqueries.
MAX_SUBQUERIES = 5


def list_all(context: Context, grant: Grant) -> list[str]:
    """Return the traits of a node.

    :param grant: of the node.
    :returns: [name, …], sorted.
    :raises failures.NodeNotFound: there is no such node.
    """
    with context.read() as connection:
        return read(connection, grant.ident, (JOINED,)).traits


def _adding_names(
    write: Callable[[Context, str, Sequence[str]], _Result],
) -> Callable[[Context, str, Sequence[str]], _Result]:
    """Decorate a writer of node traits: add the traits that are missing in the table ``traits``, then run it again.

    They are added only after the foreign key has failed. Nearly always none is missing, and to look for missing ones
    first would take as long as the write.
    """

    @functools.wraps(write)
    def write_with_names(context: Context, ident: str, requested_traits: Sequence[str]) -> _Result:
        while True:
            try:
                return write(context, ident, requested_traits)
            except db_exception.DBReferenceError:
                names.add(context, tables.traits, requested_traits)

    return write_with_names


@_adding_names
@waiting_for_lock
@retried
def replace(context: Context, ident: str, requested_traits: Sequence[str]) -> list[str]:
    """Set the traits of a node.

    :param ident: uuid or name of the node.
    :param requested_traits: [valid trait, …] in any order; duplicates are ignored.
    :returns: [name, …], sorted.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TooManyTraits: there are more than ``[inventory] max_traits_per_node``; nothing is changed.
    """
    requested = list(dict.fromkeys(requested_traits))
    with context.write() as connection:
        node = _take(connection, ident)
        _check_limit(context, node, len(requested), requested)
        own, foreign = _present(connection, node)
        gone = own.difference(requested)
        if gone:
            connection.execute(_DELETE, {'of_node': node.id, 'gone': list(gone)})
        new = [name for name in requested if name not in own]
        _insert(connection, node, new)
        node_providers.follow_traits(connection, node, foreign, new, lost=bool(gone))
    return sorted(requested)


@_adding_names
@waiting_for_lock
@retried
def add(context: Context, ident: str, requested_traits: Sequence[str]) -> None:
    """Add a trait to a node. Change nothing if the node has it already.

    :param ident: uuid or name of the node.
    :param requested_traits: [one valid trait].
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TooManyTraits: the node has ``[inventory] max_traits_per_node`` traits; nothing is changed.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        own, foreign = _present(connection, node)
        if own.isdisjoint(requested_traits):
            _check_limit(context, node, len(own) + 1, [*own, *requested_traits])
            _insert(connection, node, requested_traits)
            node_providers.follow_traits(connection, node, foreign, requested_traits, lost=False)


@waiting_for_lock
@retried
def remove(context: Context, ident: str, name: str) -> None:
    """Remove a trait from a node.

    :param ident: uuid or name of the node.
    :param name: any string, a valid trait or not.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TraitNotFound: the node does not have the trait.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        own, foreign = _present(connection, node)
        # Compared here, not in SQL: the databases cannot compare the column with every string that a client may send.
        if name not in own:
            raise failures.TraitNotFound(node=node.uuid, trait=name)
        connection.execute(_DELETE, {'of_node': node.id, 'gone': [name]})
        node_providers.follow_traits(connection, node, foreign, [], lost=True)


@waiting_for_lock
@retried
def remove_all(context: Context, ident: str) -> None:
    """Remove all traits of a node, if it has any.

    :param ident: uuid or name of the node.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: a worker holds the node's lock.
    """
    with context.write() as connection:
        node = _take(connection, ident)
        count = connection.execute(sa.delete(tables.node_traits).where(_of(node))).rowcount
        node_providers.follow_traits(connection, node, set(), [], lost=bool(count))


def where(trait_filter: Filter) -> Iterator[Condition]:
    """Yield the conditions on nodes that implement a trait filter."""
    # IN, not EXISTS: then a rare trait drives the statement from the index on traits on SQLite, too.
    if len(trait_filter.all_of) > MAX_SUBQUERIES:
        # nodes.id IN (SELECT node_id FROM node_traits WHERE trait IN ('A', 'B', 'C', 'D', 'E', 'F')
        #              GROUP BY node_id HAVING count(*) = 6)
        carried = sa.select(tables.node_traits.c.node_id).where(
            tables.node_traits.c.trait.in_(sorted(trait_filter.all_of))
        )
        counted = carried.group_by(tables.node_traits.c.node_id).having(sa.func.count() == len(trait_filter.all_of))
        yield tables.nodes.c.id.in_(counted)
    else:
        # nodes.id IN (SELECT node_id FROM node_traits WHERE trait = 'A')
        for name in sorted(trait_filter.all_of):
            yield tables.nodes.c.id.in_(
                sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait == name)
            )
    # nodes.id IN (SELECT node_id FROM node_traits WHERE trait IN ('B', 'C'))
    for one_of in trait_filter.any_of:
        yield tables.nodes.c.id.in_(
            sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait.in_(sorted(one_of)))
        )
    # (NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'D')
    #  OR NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait = 'E'))
    for all_of in trait_filter.not_all_of:
        yield sa.or_(*(~_has(tables.node_traits.c.trait == name) for name in sorted(all_of)))
    # NOT EXISTS (SELECT * FROM node_traits WHERE node_id = nodes.id AND trait IN ('F', 'G'))
    if trait_filter.none_of:
        yield ~_has(tables.node_traits.c.trait.in_(sorted(trait_filter.none_of)))


# Built once: to build a statement for each call takes as long as to execute it.
_INSERT = sa.insert(tables.node_traits)
_DELETE = sa.delete(tables.node_traits).where(
    tables.node_traits.c.node_id == sa.bindparam('of_node'),
    tables.node_traits.c.trait.in_(sa.bindparam('gone', expanding=True)),
)


def _take(connection: sa.Connection, ident: str) -> sa.Row:
    """Lock a node until the end of the transaction, and return its row.

    The traits of a node must not change while a worker deploys or cleans it.

    :param ident: uuid or name of the node.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: a worker holds the node's lock.
    """
    node = take(connection, ident, tables.nodes.c.reservation)
    if node.reservation:
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)
    return node


def _insert(connection: sa.Connection, node: sa.Row, new: Sequence[str]) -> None:
    if new:
        connection.execute(_INSERT, [{'node_id': node.id, 'trait': name} for name in new])


def _has(condition: Condition) -> Condition:
    return sa.exists().where(tables.node_traits.c.node_id == tables.nodes.c.id, condition).correlate(tables.nodes)


def _of(node: sa.Row) -> Condition:
    return tables.node_traits.c.node_id == node.id


#: SELECT the traits of a node (with 0) and the foreign traits of its provider (with 1).
_PRESENT = (
    sa.select(tables.node_traits.c.trait, sa.literal(0))
    .where(tables.node_traits.c.node_id == sa.bindparam('node_id'))
    .union_all(
        sa.select(tables.traits.c.name, sa.literal(1))
        .join(tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
        .join(
            tables.resource_providers,
            tables.resource_providers.c.id == tables.resource_provider_traits.c.resource_provider_id,
        )
        .where(tables.resource_providers.c.node_id == sa.bindparam('node_id'))
    )
)


class _Traits(NamedTuple):
    """Traits that a node's provider shows, as names.

    :ivar own: those of the node.
    :ivar foreign: those that Placement clients have set.
    """

    own: set[str]
    foreign: set[str]


def _present(connection: sa.Connection, node: sa.Row) -> _Traits:
    """Return the traits of a node and the foreign traits of its provider."""
    present = _Traits(set(), set())
    for name, is_foreign in connection.execute(_PRESENT, {'node_id': node.id}):
        (present.foreign if is_foreign else present.own).add(name)
    return present


def _check_limit(context: Context, node: sa.Row, count: int, trait_filter: Sequence[str]) -> None:
    limit = context.conf.inventory.max_traits_per_node
    if count > limit:
        raise failures.TooManyTraits(node=node.uuid, count=count, limit=limit, trait=trait_filter[limit])
