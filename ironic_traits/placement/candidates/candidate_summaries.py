"""Summaries of the providers of allocation candidates."""

import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.names import PREFIX
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import names_in
from ironic_traits.placement import inventory_usage

#: Maximum number of values in one IN list of a statement.
_MAX_VALUES = 1000
#: The first text after all custom names.
_AFTER_PREFIX = PREFIX[:-1] + chr(ord(PREFIX[-1]) + 1)


class Summary(NamedTuple):
    """A provider of a tree from which a candidate takes resources.

    :ivar parent: uuid of its parent; None without a parent.
    :ivar root: uuid of the root of its tree.
    :ivar resources: {resource class: (capacity in whole units, amount in use)}.
    :ivar traits: [name, …], standard traits first, sorted.
    """

    parent: str | None
    root: str
    resources: dict[str, tuple[int, int]]
    traits: Sequence[str]


def summarize_trees(connection: sa.Connection, roots: Collection[str]) -> dict[str, Summary]:
    """Return the summaries of the providers of trees.

    :param roots: uuids of the roots.
    :returns: {uuid of a provider: Summary}.
    """
    ordered = sorted(roots)
    summaries: dict[str, Summary] = {}
    for begin in range(0, len(ordered), _MAX_VALUES):
        of_some = tables.resource_providers.c.root_provider_uuid.in_(ordered[begin : begin + _MAX_VALUES])
        summaries |= _read(connection, of_some)
    return summaries


def _read(connection: sa.Connection, condition: Condition) -> dict[str, Summary]:
    resources: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for row in inventory_usage.rows(connection, condition):
        resources[row.provider_id][row.resource_class] = (inventory_usage.units(row), int(row.used))
    names = defaultdict(list)
    statement = _FOREIGN.where(condition).union_all(_OWN.where(condition))
    for provider_id, traits in connection.execute(statement):
        names[provider_id].extend(traits)
    columns = tables.resource_providers.c
    rows = connection.execute(
        sa.select(columns.id, columns.uuid, columns.parent_provider_uuid, columns.root_provider_uuid).where(condition)
    )
    return {
        uuid: Summary(parent, root, resources[provider_id], standard_first(names[provider_id]))
        for provider_id, uuid, parent, root in rows
    }


def standard_first(names: Iterable[str]) -> list[str]:
    """Return names of traits sorted, but the standard ones before the custom ones."""
    ordered = sorted(names)
    # The custom ones are in one place of the sorted list.
    begin, end = bisect.bisect_left(ordered, PREFIX), bisect.bisect_left(ordered, _AFTER_PREFIX)
    return ordered[:begin] + ordered[end:] + ordered[begin:end]


#: SELECT the traits of providers: _FOREIGN those that clients have set, _OWN those of nodes.
_FOREIGN = (
    sa.select(tables.resource_providers.c.id, names_in(tables.traits.c.name).label('traits'))
    .join(
        tables.resource_provider_traits,
        tables.resource_provider_traits.c.resource_provider_id == tables.resource_providers.c.id,
    )
    .join(tables.traits, tables.traits.c.id == tables.resource_provider_traits.c.trait_id)
    .group_by(tables.resource_providers.c.id)
)
_OWN = (
    sa.select(tables.resource_providers.c.id, names_in(tables.node_traits.c.trait).label('traits'))
    .join(tables.node_traits, tables.node_traits.c.node_id == tables.resource_providers.c.node_id)
    .group_by(tables.resource_providers.c.id)
)
