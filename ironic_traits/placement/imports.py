"""Writes of an import, which makes providers and consumers equal to those of another Placement.

Each function is one transaction, and compares under its locks: it writes only what differs. The provider of a
node gets foreign traits, aggregates and allocations only. Generations are copied, but never lowered.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import names, tables
from ironic_traits.db.engine import Writer, referring, retried
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.holds import promise_claims
from ironic_traits.placement import (
    failures,
    import_checks,
    inventories,
    resource_classes,
    resource_providers,
    snapshots,
    traits,
)
from ironic_traits.placement.allocations import used_of_nodes
from ironic_traits.placement.node_claims import NeedsClaim, never
from ironic_traits.placement.single_provider import bump, take_all
from ironic_traits.placement.snapshot_differences import Scope, consumer_differences, in_order, provider_differences
from ironic_traits.placement.snapshots import Consumer, Provider

#: {uuid: why it was not written, a sentence without a subject}.
Problems = dict[str, str]

_OVERTAKEN = 'it was changed here in the meantime: import again'


@retried
def rename(service: Writer, new_names: Mapping[str, str]) -> None:
    """Rename providers that are not nodes'. They may exchange their names.

    :param new_names: {uuid: name}.
    """
    with service.write() as connection:
        rows = [row for row in take_all(connection, new_names).values() if not row.node_id]
        for row in rows:
            _update(connection, row, name=f'{row.uuid} is renamed')
        for row in rows:
            _update(connection, row, name=new_names[row.uuid])


@retried
def write(
    service: Writer,
    providers: Collection[Provider],
    consumers: Sequence[Consumer],
    scope: Scope,
    needs_claim: NeedsClaim = never,
) -> Problems:
    """Write trees of providers, and consumers, in one transaction. Inventories are added and changed, but not deleted.

    :param providers: whole trees of the source; their resource classes and traits exist.
    :param consumers: those of them whose providers are written, now or before.
    :param needs_claim: as for ``import_checks.consumer_problem``.
    :returns: Problems of consumers.
    """
    with service.write() as connection:
        _write_providers(connection, in_order(providers), scope)
        return _write_consumers(connection, consumers, scope, needs_claim)


@retried
def drop_inventories(service: Writer, kept: Mapping[str, Collection[str]]) -> Problems:
    """Delete inventories of providers that are not nodes'.

    :param kept: {uuid of a provider: names of the resource classes whose inventories stay}.
    :returns: Problems of providers.
    """
    problems = {}
    with service.write() as connection:
        for uuid, row in take_all(connection, kept).items():
            ids = names.ids(connection, tables.resource_classes, kept[uuid])
            try:
                inventories.keep(connection, row, set(ids.values()))
            except failures.InventoryInUse as failure:
                problems[uuid] = str(failure)
            else:
                bump(connection, row)
    return problems


def reachable(provider: Provider, here: Provider | None) -> Provider:
    """Return what an import can make of a provider: of a node's, all but foreign traits and aggregates is derived."""
    if here is None or here.node is None:
        return provider
    foreign = {name for name in provider.traits if not name.startswith(names.PREFIX)}
    return dataclasses.replace(
        provider,
        name=here.name,
        parent=here.parent,
        inventories=here.inventories,
        traits=here.node.own_traits | foreign,
    )


def _write_providers(connection: sa.Connection, providers: Sequence[Provider], scope: Scope) -> None:
    uuids = [provider.uuid for provider in providers]
    before = snapshots.providers(connection, uuids)
    changed = [each for each in providers if _differs(each, before.get(each.uuid), scope)]
    if not changed:
        return
    parents = [each.parent for each in changed if each.parent]
    rows = take_all(connection, {*(each.uuid for each in changed), *parents})
    roots = resource_providers.lock_trees(connection, sorted(rows))
    present = snapshots.providers(connection, list(rows))
    ids = _Ids(connection, changed)
    _insert(connection, [each for each in changed if each.uuid not in rows], roots, ids)
    for each in changed:
        if each.uuid in rows:
            _change(connection, rows[each.uuid], each, present[each.uuid], ids)


def _differs(provider: Provider, here: Provider | None, scope: Scope) -> bool:
    return any(provider_differences(reachable(provider, here), here, scope))


class _Ids:
    """The ids of the resource classes and traits of providers, {name: id}.

    :raises failures.ResourceClassNotFound: a class was deleted in the meantime.
    :raises failures.TraitNotFound: traits were deleted in the meantime.
    """

    def __init__(self, connection: sa.Connection, providers: Iterable[Provider]) -> None:
        providers = list(providers)
        class_names = {name for each in providers for name in each.inventories}
        self.classes = resource_classes.check(connection, class_names)
        self.traits = traits.check(connection, {name for each in providers for name in each.traits})


def _insert(connection: sa.Connection, new: Sequence[Provider], roots: Mapping[str, str], ids: _Ids) -> None:
    """Insert providers, parents before their children.

    :param roots: {uuid of a provider that exists: uuid of its root}.
    """
    if not new:
        return
    moment = now()
    roots = dict(roots)
    rows = []
    for each in new:
        roots[each.uuid] = roots[each.parent] if each.parent else each.uuid
        rows.append(
            {
                'uuid': each.uuid,
                'name': each.name,
                'generation': each.generation,
                'parent_provider_uuid': each.parent,
                'root_provider_uuid': roots[each.uuid],
                'created_at': moment,
            }
        )
    with referring():
        connection.execute(sa.insert(tables.resource_providers), rows)
    columns = tables.resource_providers.c
    statement = sa.select(columns.uuid, columns.id).where(columns.uuid.in_([each.uuid for each in new]))
    keys = {row.uuid: row.id for row in connection.execute(statement)}
    _insert_rows(
        connection,
        tables.inventories,
        [
            {
                'resource_provider_id': keys[each.uuid],
                'resource_class_id': ids.classes[name],
                'created_at': moment,
                **fields,
            }
            for each in new
            for name, fields in each.inventories.items()
        ],
    )
    _insert_traits(connection, [(keys[each.uuid], name) for each in new for name in each.traits], ids)
    _insert_aggregates(connection, [(keys[each.uuid], uuid) for each in new for uuid in each.aggregates])


def _insert_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        with referring():
            connection.execute(sa.insert(table), rows)


def _insert_traits(connection: sa.Connection, pairs: Iterable[tuple[int, str]], ids: _Ids) -> None:
    rows = [{'resource_provider_id': key, 'trait_id': ids.traits[name]} for key, name in sorted(pairs)]
    _insert_rows(connection, tables.resource_provider_traits, rows)


def _insert_aggregates(connection: sa.Connection, pairs: Iterable[tuple[int, str]]) -> None:
    rows = [{'resource_provider_id': key, 'aggregate_uuid': uuid} for key, uuid in sorted(pairs)]
    _insert_rows(connection, tables.resource_provider_aggregates, rows)


def _change(connection: sa.Connection, row: sa.Row, provider: Provider, here: Provider, ids: _Ids) -> None:
    """Change a provider that exists.

    :param row: of the provider, locked.
    :param here: its present state.
    """
    provider = reachable(provider, here)
    changes = {each.field for each in provider_differences(provider, here, Scope(generations=False, types=False))}
    if 'parent' in changes:
        roots = resource_providers.roots_of(connection, [provider.parent])
        resource_providers.move(connection, row, provider.parent, roots, may_move=True)
    if 'inventories' in changes:
        new = {name: fields for name, fields in provider.inventories.items() if here.inventories.get(name) != fields}
        inventories.put(connection, row, {ids.classes[name]: fields for name, fields in new.items()})
    if 'traits' in changes:
        _delete_traits(connection, row, here.traits - provider.traits)
        _insert_traits(connection, [(row.id, name) for name in provider.traits - here.traits], ids)
    if 'aggregates' in changes:
        table = tables.resource_provider_aggregates
        gone = table.c.aggregate_uuid.in_(here.aggregates - provider.aggregates)
        connection.execute(sa.delete(table).where(table.c.resource_provider_id == row.id, gone))
        _insert_aggregates(connection, [(row.id, uuid) for uuid in provider.aggregates - here.aggregates])
    if not row.node_id:
        generation = max(provider.generation, row.generation + bool(changes))
        _update(connection, row, name=provider.name, generation=generation)
    elif changes:
        bump(connection, row)


def _delete_traits(connection: sa.Connection, row: sa.Row, gone: Collection[str]) -> None:
    table = tables.resource_provider_traits
    ids = names.ids(connection, tables.traits, gone)
    if ids:
        statement = sa.delete(table).where(table.c.resource_provider_id == row.id, table.c.trait_id.in_(ids.values()))
        connection.execute(statement)


def _update(connection: sa.Connection, row: sa.Row, **values: Any) -> None:
    same = tables.resource_providers.c.id == row.id
    connection.execute(sa.update(tables.resource_providers).where(same).values(updated_at=now(), **values))


def _write_consumers(
    connection: sa.Connection, consumers: Sequence[Consumer], scope: Scope, needs_claim: NeedsClaim
) -> Problems:
    """Write consumers. Those that exist have the allocations already, and get the other fields only."""
    before = snapshots.consumers(connection, [each.uuid for each in consumers])
    changed = [each for each in consumers if any(consumer_differences(each, before.get(each.uuid), scope))]
    if not changed:
        return {}
    rows = take_all(connection, {uuid for each in changed for uuid in each.resources})
    used = used_of_nodes(connection, rows)
    present = snapshots.providers(connection, list(rows))
    columns = tables.consumers.c
    statement = sa.select(tables.consumers).where(columns.uuid.in_([each.uuid for each in changed]))
    existing = {row.uuid: row for row in connection.execute(statement.order_by(columns.id).with_for_update())}
    new, problems = [], Problems()
    for each in changed:
        if each.uuid in existing:
            if each.uuid not in before or before[each.uuid].resources != each.resources:
                problems[each.uuid] = _OVERTAKEN
            else:
                _update_consumer(connection, existing[each.uuid], each, scope)
                if existing[each.uuid].project_id != each.project_id:
                    nodes = [rows[uuid].node_id for uuid in each.resources if rows[uuid].newest_promise]
                    promise_claims.forget_moved(connection, each.project_id, *filter(None, nodes))
        elif problem := import_checks.consumer_problem(each, present, (), needs_claim):
            problems[each.uuid] = problem
        else:
            new.append(each)
            _take(present, each)
    taken = [rows[uuid] for each in new for uuid in each.resources]
    promise_claims.forget(connection, *(row.node_id for row in taken if row.node_id and row.newest_promise))
    _insert_consumers(connection, new, rows)
    _bump_nodes(connection, rows, used)
    return problems


def _take(present: dict[str, Provider], consumer: Consumer) -> None:
    """Note that a consumer gets the nodes that it uses, for the checks of the next consumers."""
    for uuid in consumer.resources:
        provider = present[uuid]
        if provider.node:
            node = dataclasses.replace(provider.node, consumers=provider.node.consumers | {consumer.uuid})
            present[uuid] = dataclasses.replace(provider, node=node)


def _update_consumer(connection: sa.Connection, row: sa.Row, consumer: Consumer, scope: Scope) -> None:
    values: dict[str, Any] = {'project_id': consumer.project_id, 'user_id': consumer.user_id}
    if scope.types:
        values['consumer_type'] = consumer.consumer_type
    changes = any(getattr(row, name) != value for name, value in values.items())
    values |= {'generation': max(consumer.generation, row.generation + changes), 'updated_at': now()}
    connection.execute(sa.update(tables.consumers).where(tables.consumers.c.id == row.id).values(values))


def _insert_consumers(connection: sa.Connection, new: Sequence[Consumer], rows: Mapping[str, sa.Row]) -> None:
    if not new:
        return
    moment = now()
    fields = ('uuid', 'project_id', 'user_id', 'consumer_type', 'generation')
    values = [{**{field: getattr(each, field) for field in fields}, 'created_at': moment} for each in new]
    try:
        connection.execute(sa.insert(tables.consumers), values)
    except db_exception.DBDuplicateEntry as error:
        # Another transaction has inserted one of them.
        raise db_exception.RetryRequest(error) from error
    columns = tables.consumers.c
    statement = sa.select(columns.uuid, columns.id).where(columns.uuid.in_([each.uuid for each in new]))
    keys = {row.uuid: row.id for row in connection.execute(statement)}
    classes = {name for each in new for resources in each.resources.values() for name in resources}
    ids = resource_classes.check(connection, classes)
    allocations = [
        {
            'consumer_id': keys[each.uuid],
            'resource_provider_id': rows[uuid].id,
            'resource_class_id': ids[name],
            'used': amount,
            'created_at': moment,
        }
        for each in new
        for uuid, resources in each.resources.items()
        for name, amount in resources.items()
    ]
    _insert_rows(connection, tables.allocations, allocations)


def _bump_nodes(connection: sa.Connection, rows: Mapping[str, sa.Row], used: Mapping[int, int]) -> None:
    """Raise the generations of the nodes' providers whose usage has changed.

    :param rows: {uuid: row}, locked; of a provider whose generation was not raised since.
    :param used: the result of ``used_of_nodes`` before the change.
    """
    after = used_of_nodes(connection, rows)
    for row in rows.values():
        if row.node_id and used[row.id] != after[row.id]:
            bump(connection, row)
