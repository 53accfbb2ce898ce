"""All providers and consumers at a time: the content of a transfer between two Placements, and how it is read from the
database.

A snapshot may also come from another Placement (``ironic_traits.placement_transfer.reading``).
"""

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core import node_providers
from ironic_traits.inventory.core.eligibility import OF_NODE
from ironic_traits.placement.inventory_usage import FIELDS
from ironic_traits.placement.single_provider import COLUMNS

#: {resource class: amount}.
Resources = Mapping[str, int]
#: {resource class: {field: value, of all ``inventory_usage.FIELDS``}}.
Inventories = Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class NodeProvider:
    """What the provider of a node is derived from.

    :ivar own_traits: of the node.
    :ivar instance_uuid: of the node; None without an instance.
    :ivar is_offered: whether its state allows an instance (``node_providers.SCHEDULABLE``).
    :ivar reserved_for: uuid of the instance that has a live reservation of the node; None without a live reservation.
    :ivar consumers: uuids of the consumers that have an allocation of the node.
    :ivar origin: the cloud that it is mirrored from; None for an own node.
    """

    own_traits: frozenset[str]
    instance_uuid: str | None
    is_offered: bool
    reserved_for: str | None
    consumers: frozenset[str]
    origin: str | None = None


@dataclasses.dataclass(frozen=True)
class Provider:
    """A provider with its inventories, traits and aggregates.

    :ivar parent: uuid; None for a root.
    :ivar node: None unless it is the provider of a node.
    """

    uuid: str
    name: str
    parent: str | None
    generation: int
    inventories: Inventories
    traits: frozenset[str]
    aggregates: frozenset[str]
    node: NodeProvider | None = None


@dataclasses.dataclass(frozen=True)
class Consumer:
    """A consumer with its allocations.

    :ivar consumer_type: name of its type; None if it has no type.
    :ivar resources: {uuid of a provider: {resource class: amount}}.
    """

    uuid: str
    project_id: str
    user_id: str
    consumer_type: str | None
    generation: int
    resources: Mapping[str, Resources]


@dataclasses.dataclass
class Snapshot:
    """All providers and consumers.

    :ivar resource_classes: names of all resource classes, with or without providers; so are ``traits``.
    :ivar providers: {uuid: Provider}.
    :ivar consumers: {uuid: Consumer}.
    :ivar bare_nodes: uuids of the nodes that have no provider, because they have no resource class.
    """

    resource_classes: Collection[str]
    traits: Collection[str]
    providers: dict[str, Provider]
    consumers: dict[str, Consumer]
    bare_nodes: Collection[str] = ()


def read(connection: sa.Connection) -> Snapshot:
    """Return everything.

    :param connection: of a snapshot of the database, or of a writer.
    """
    nodes = tables.nodes.c
    bare = sa.select(nodes.uuid).where(~sa.exists().where(tables.resource_providers.c.node_id == nodes.id))
    return Snapshot(
        set(connection.scalars(sa.select(tables.resource_classes.c.name))),
        set(connection.scalars(sa.select(tables.traits.c.name))),
        providers(connection),
        consumers(connection),
        set(connection.scalars(bare)),
    )


def providers(connection: sa.Connection, uuids: Collection[str] | None = None) -> dict[str, Provider]:
    """Return providers.

    :param uuids: of the providers; None for all.
    :returns: {uuid: Provider}, in the order of their creation, of those that exist.
    """
    some = sa.true() if uuids is None else tables.resource_providers.c.uuid.in_(uuids)
    inventories = _inventories(connection, some)
    stored, own = _names(connection, _STORED_TRAITS.where(some)), _names(connection, _OWN_TRAITS.where(some))
    aggregates, holders = _names(connection, _AGGREGATES.where(some)), _names(connection, _HOLDERS.where(some))
    found = {}
    for row in connection.execute(_PROVIDERS.where(some).order_by(tables.resource_providers.c.id)):
        node = None
        if row.node_id:
            state = row.instance_uuid, bool(row.is_offered), row.reserved_for
            node = NodeProvider(own[row.id], *state, holders[row.id], row.origin)
            inventories[row.id] = {row.resource_class: _one(reserved=int(not row.is_offered))}
        found[row.uuid] = Provider(
            row.uuid,
            row.name,
            row.parent_provider_uuid,
            row.generation,
            inventories[row.id],
            stored[row.id] | own[row.id],
            aggregates[row.id],
            node,
        )
    return found


def consumers(connection: sa.Connection, uuids: Collection[str] | None = None) -> dict[str, Consumer]:
    """Return consumers.

    :param uuids: of the consumers; None for all.
    :returns: {uuid: Consumer}, of those that exist.
    """
    some = sa.true() if uuids is None else tables.consumers.c.uuid.in_(uuids)
    resources: dict[str, dict[str, dict[str, int]]] = {}
    rows = {}
    for row in connection.execute(_ALLOCATIONS.where(some)):
        rows[row.uuid] = row
        resources.setdefault(row.uuid, {}).setdefault(row.provider, {})[row.resource_class] = row.used
    return {
        uuid: Consumer(uuid, row.project_id, row.user_id, row.consumer_type, row.generation, resources[uuid])
        for uuid, row in rows.items()
    }


def _one(reserved: int) -> dict[str, Any]:
    """Return the inventory of a node's provider, as ``inventory_usage.DERIVED``."""
    return {field: 1.0 if field == 'allocation_ratio' else 1 for field in FIELDS} | {'reserved': reserved}


_PROVIDER_ID = tables.resource_providers.c.id.label('provider_id')
_PROVIDERS = (
    sa.select(
        *COLUMNS,
        tables.nodes.c.instance_uuid,
        tables.nodes.c.origin,
        node_providers.SCHEDULABLE.label('is_offered'),
        sa.select(tables.reservations.c.instance_uuid)
        .where(OF_NODE)
        .correlate(tables.nodes)
        .limit(1)
        .scalar_subquery()
        .label('reserved_for'),
        tables.resource_classes.c.name.label('resource_class'),
    )
    .select_from(tables.resource_providers)
    .outerjoin(tables.nodes, tables.nodes.c.id == tables.resource_providers.c.node_id)
    .outerjoin(tables.resource_classes, tables.resource_classes.c.id == tables.resource_providers.c.resource_class_id)
)
_STORED_TRAITS = (
    sa.select(_PROVIDER_ID, tables.traits.c.name)
    .select_from(tables.resource_provider_traits)
    .join(
        tables.resource_providers,
        tables.resource_providers.c.id == tables.resource_provider_traits.c.resource_provider_id,
    )
    .join(tables.traits, tables.traits.c.id == tables.resource_provider_traits.c.trait_id)
)
_OWN_TRAITS = (
    sa.select(_PROVIDER_ID, tables.node_traits.c.trait.label('name'))
    .select_from(tables.node_traits)
    .join(tables.resource_providers, tables.resource_providers.c.node_id == tables.node_traits.c.node_id)
)
_AGGREGATES = (
    sa.select(_PROVIDER_ID, tables.resource_provider_aggregates.c.aggregate_uuid.label('name'))
    .select_from(tables.resource_provider_aggregates)
    .join(
        tables.resource_providers,
        tables.resource_providers.c.id == tables.resource_provider_aggregates.c.resource_provider_id,
    )
)
_HOLDERS = (
    sa.select(_PROVIDER_ID, tables.consumers.c.uuid.label('name'))
    .select_from(tables.allocations)
    .join(tables.resource_providers, tables.resource_providers.c.id == tables.allocations.c.resource_provider_id)
    .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
    .where(tables.resource_providers.c.node_id.is_not(None))
)
_ALLOCATIONS = (
    sa.select(
        tables.consumers.c.uuid,
        tables.consumers.c.project_id,
        tables.consumers.c.user_id,
        tables.consumers.c.consumer_type,
        tables.consumers.c.generation,
        tables.resource_providers.c.uuid.label('provider'),
        tables.resource_classes.c.name.label('resource_class'),
        tables.allocations.c.used,
    )
    .select_from(tables.allocations)
    .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
    .join(tables.resource_providers, tables.resource_providers.c.id == tables.allocations.c.resource_provider_id)
    .join(tables.resource_classes, tables.resource_classes.c.id == tables.allocations.c.resource_class_id)
    .order_by(tables.consumers.c.id)
)


def _names(connection: sa.Connection, statement: sa.Select) -> defaultdict[int, frozenset[str]]:
    """Return {provider id: names} of a SELECT of ``provider_id`` and ``name``."""
    names: defaultdict[int, set[str]] = defaultdict(set)
    for provider_id, name in connection.execute(statement):
        names[provider_id].add(name)
    return defaultdict(frozenset, {key: frozenset(value) for key, value in names.items()})


def _inventories(connection: sa.Connection, some: Condition) -> defaultdict[int, dict[str, dict[str, Any]]]:
    """Return the stored inventories of providers, {provider id: {resource class: {field: value}}}."""
    columns = [tables.inventories.c[field] for field in FIELDS]
    statement = (
        sa.select(_PROVIDER_ID, tables.resource_classes.c.name, *columns)
        .select_from(tables.inventories)
        .join(tables.resource_providers, tables.resource_providers.c.id == tables.inventories.c.resource_provider_id)
        .join(tables.resource_classes, tables.resource_classes.c.id == tables.inventories.c.resource_class_id)
        .where(some)
    )
    inventories: defaultdict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    for provider_id, name, *values in connection.execute(statement):
        inventories[provider_id][name] = dict(zip(FIELDS, values, strict=True))
    return inventories
