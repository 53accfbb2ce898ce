"""The providers of plain candidates, which are one provider each: nodes, or providers of clients without trees.

The limit ends the queries. They read the nodes of a resource class that are free from an index of them.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import joined
from ironic_traits.inventory.search import node_classes
from ironic_traits.placement import inventory_usage
from ironic_traits.placement.candidates.candidate_summaries import Summary, standard_first
from ironic_traits.placement.trait_cache import CachedTraits, TraitCache
from ironic_traits.placement.trait_conditions import Holders

#: Up to this limit, PostgreSQL takes less time to look up for each node whether something holds it. For more nodes, it
#: takes less time with joins, although it takes longer to plan them.
_FEW = 100
#: Rows that are read at once.
_BATCH = 1000
#: Up to this limit, the traits of nodes are cached. It is the limit of nova's requests.
_MAX_CACHED = 1000


def class_conditions(classes: Sequence[str | None], name: str, class_id: int) -> list[Condition]:
    """Return the conditions on nodes and their providers that a node has a class, each for a part of the nodes.

    :param classes: as of ``candidate_facts.CandidateFacts``.
    :param name: of the class, normalized.
    :param class_id: id of the class.
    """
    if len(classes) >= node_classes.MAX_CLASSES:
        return [tables.resource_providers.c.resource_class_id == class_id]
    # A class that nodes have cannot be renamed, so its name is still that of the nodes.
    return [tables.nodes.c.resource_class == each for each in node_classes.same(classes, name)]


def nodes(dialect: str, own_traits: Collection[str], conditions: Collection[Condition], limit: int | None) -> sa.Select:
    """Return the SELECT of the providers of free nodes, in the order of the nodes.

    :param own_traits: as of ``traits_of_nodes``.
    :param conditions: on nodes and resource_providers.
    :param limit: maximum number of providers; None for all.
    :returns: SELECT of ``id``, ``uuid`` and ``root_provider_uuid``.
    """
    few = limit is not None and limit <= _FEW
    statement = (
        inventory_usage.select_node_providers(dialect, own_traits, few)
        .where(*conditions)
        .order_by(tables.nodes.c.id)
        .limit(limit)
    )
    if limit and dialect in ('mysql', 'mariadb'):
        # Because of the limit, MariaDB would read all nodes in their order.
        return statement.with_hint(tables.nodes, 'FORCE INDEX (nodes_free_idx)', dialect)
    return statement


def traits_of_nodes(dialect: str, holders: Mapping[str, Holders], required: Iterable[Collection[str]]) -> set[str]:
    """Return the required traits with which a search for nodes begins, if any (``trait_filters.begin_with``).

    These are traits that only nodes have.

    :param holders: of the traits.
    :param required: [{trait, …}, …]: one trait of each set is required.
    """
    if dialect not in ('mysql', 'mariadb'):
        return set()
    names = {name for one_of in required if len(one_of) == 1 for name in one_of}
    own = {name for name in names if holders[name].nodes and not holders[name].clients}
    return own if len(own) > 1 else set()


class Statements(NamedTuple):
    """The SELECTs with which ``read_nodes`` reads the providers of free nodes.

    :ivar plain: of ``id``, ``uuid`` and ``generation``; None if the traits of so many nodes are not cached.
    :ivar with_traits: of these, the node's own traits, and those that clients have set.
    """

    plain: sa.Select | None
    with_traits: sa.Select


def statements(statement: sa.Select, limit: int | None) -> Statements:
    """Return the Statements for ``read_nodes``.

    :param statement: as of ``nodes``.
    :param limit: as of ``nodes``.
    """
    columns = tables.resource_providers.c
    found = statement.add_columns(columns.generation, columns.node_id).subquery()
    plain = statement.with_only_columns(columns.id, columns.uuid, columns.generation)
    return Statements(plain if limit and limit <= _MAX_CACHED else None, _with_traits(found))


def read_nodes(
    connection: sa.Connection, statements: Statements, cache: TraitCache, name: str
) -> list[tuple[str, Summary]]:
    """Return [(uuid, Summary), …] of providers of free nodes.

    :param cache: the traits of providers that this process has read.
    :param name: of the resource class of the nodes.
    """
    # A free node has its one unit, and nothing of it is used.
    resources = {name: (1, 0)}
    if statements.plain is None:
        uuids, traits = _read(connection, statements.with_traits)
    else:
        uuids, traits = _read_cached(connection, statements.plain, cache)
    return [
        (uuid, Summary(None, uuid, resources, traits[provider_id].names))
        for provider_id, uuid in uuids.items()
        if provider_id in traits
    ]


def _read_cached(
    connection: sa.Connection, statement: sa.Select, cache: TraitCache
) -> tuple[dict[int, str], dict[int, CachedTraits]]:
    """Return the result of ``_read``, with traits from the cache. Read those that are not in it.

    A provider that is deleted in the meantime has no traits.
    """
    rows = connection.execute(statement).all()
    uuids = {provider_id: uuid for provider_id, uuid, _ in rows}
    traits = cache.get({provider_id: generation for provider_id, _, generation in rows})
    if missing := [provider_id for provider_id in uuids if provider_id not in traits]:
        _, more = _read(connection, _OF_IDS, {'provider_ids': missing})
        cache.add(more)
        traits |= more
    return uuids, traits


def _read(
    connection: sa.Connection, statement: sa.Select, parameters: Mapping[str, Any] | None = None
) -> tuple[dict[int, str], dict[int, CachedTraits]]:
    """Return ({provider id: uuid}, {provider id: CachedTraits}) of providers, in the order of the rows."""
    uuids, traits = {}, {}
    for rows in connection.execute(statement, parameters).partitions(_BATCH):
        for provider_id, uuid, generation, own, foreign in rows:
            uuids[provider_id] = uuid
            traits[provider_id] = CachedTraits(
                generation, _names(f'{own},{foreign}' if own and foreign else own or foreign)
            )
    return uuids, traits


def _names(names: str | None) -> tuple[str, ...]:
    """Return the names in a text with commas. Equal names of all providers are one object."""
    return tuple(map(sys.intern, standard_first(names.split(',')))) if names else ()


def clients(amounts: Mapping[int, int], conditions: Collection[Condition], limit: int | None) -> sa.Select:
    """Return the SELECT of the providers that clients have created and that have room, in the order of their ids.

    :param amounts: {class id: amount}.
    :param conditions: on resource_providers.
    :param limit: maximum number of providers; None for all.
    :returns: SELECT of ``id``, ``uuid`` and ``root_provider_uuid``.
    """
    return (
        inventory_usage.select_client_providers(amounts)
        .where(*conditions)
        .order_by(tables.resource_providers.c.id)
        .limit(limit)
    )


def with_inventories(statement: sa.Select) -> sa.Select:
    """Return the SELECT for ``read_clients``: a row for each inventory.

    :param statement: as of ``clients``.
    """
    found = statement.subquery()
    classes, inventory = tables.resource_classes.c, tables.inventories.c
    used = sa.select(sa.func.coalesce(sa.func.sum(tables.allocations.c.used), 0)).where(
        tables.allocations.c.resource_provider_id == found.c.id,
        tables.allocations.c.resource_class_id == inventory.resource_class_id,
    )
    fields = (inventory.total, inventory.reserved, inventory.allocation_ratio)
    return (
        sa.select(found.c.id, found.c.uuid, _foreign(found), classes.name, *fields, used.scalar_subquery())
        .join(tables.inventories, inventory.resource_provider_id == found.c.id)
        .join(tables.resource_classes, classes.id == inventory.resource_class_id)
        .order_by(found.c.id, inventory.resource_class_id)
    )


def read_clients(connection: sa.Connection, statement: sa.Select) -> Iterator[tuple[str, Summary]]:
    """Yield (uuid, Summary) of providers that clients have created.

    :param statement: as of ``with_inventories``.
    """
    last: Any = None
    resources: dict[str, tuple[int, int]] = {}
    for provider_id, uuid, foreign, name, *amounts, in_use in connection.execute(statement).all():
        if provider_id != last:
            last, resources = provider_id, {}
            yield uuid, Summary(None, uuid, resources, _names(foreign))
        resources[name] = (inventory_usage.whole_units(*amounts), int(in_use))


def _foreign(found: sa.FromClause) -> sa.ScalarSelect[str]:
    """Return the traits that clients have set on providers, as a column of a SELECT from them.

    Without a join: most nodes have no such traits, and then PostgreSQL reads none, and not all.
    """
    table = tables.resource_provider_traits.c
    name = sa.select(tables.traits.c.name).where(tables.traits.c.id == table.trait_id).scalar_subquery()
    return sa.select(joined(name)).where(table.resource_provider_id == found.c.id).scalar_subquery()


def _with_traits(found: sa.FromClause) -> sa.Select:
    """Return the SELECT of providers of nodes with the node's own traits, and those that clients have set.

    :param found: providers, with ``id``, ``uuid``, ``generation`` and ``node_id``.
    """
    own = sa.select(joined(tables.node_traits.c.trait)).where(tables.node_traits.c.node_id == found.c.node_id)
    return sa.select(found.c.id, found.c.uuid, found.c.generation, own.scalar_subquery(), _foreign(found))


#: Built once: to build it for each call takes as long as to execute it.
_OF_IDS = _with_traits(tables.resource_providers).where(
    tables.resource_providers.c.id.in_(sa.bindparam('provider_ids'))
)
