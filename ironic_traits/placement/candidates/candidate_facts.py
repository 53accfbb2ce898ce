"""What a search for allocation candidates has to know before it begins, read in one statement."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.search import node_classes
from ironic_traits.placement import failures, trait_conditions, traits
from ironic_traits.placement.trait_conditions import Holders

_NODE_CLASS, _CLASS, _TRAIT = range(3)
_CHILDREN = sa.exists().where(tables.resource_providers.c.parent_provider_uuid.is_not(None))
_MEMBERS = sa.exists(sa.select(tables.resource_provider_aggregates.c.aggregate_uuid))


class CandidateFacts(NamedTuple):
    """The result of ``read``.

    :ivar nested: whether any provider has a parent.
    :ivar aggregated: whether any provider is in an aggregate.
    :ivar node_classes: the resource classes of nodes, as of ``node_classes.statement``.
    :ivar class_ids: {resource class: id} of the request.
    :ivar holders: {trait: Holders} of the request, and of those exclusive traits that exist.
    """

    nested: bool
    aggregated: bool
    node_classes: Sequence[str | None]
    class_ids: Mapping[str, int]
    holders: Mapping[str, Holders]


def read(
    connection: sa.Connection, class_names: Collection[str], trait_names: Collection[str], exclusive: Collection[str]
) -> CandidateFacts:
    """Read the CandidateFacts.

    :param class_names: resource classes, all of which must exist.
    :param trait_names: traits, all of which must exist.
    :param exclusive: further traits.
    :raises failures.TraitNotFound: traits do not exist; the message names all of these.
    """
    # MariaDB refuses to compare an ascii column with non-ASCII text.
    all_traits = sorted({*trait_names, *exclusive})
    parameters = {'classes': sorted(class_names)} | ({'traits': all_traits} if all_traits else {})
    rows: dict[int, list[Any]] = {_NODE_CLASS: [], _CLASS: [], _TRAIT: []}
    for name, kind, *values in connection.execute(_statement(connection.dialect.name, bool(all_traits)), parameters):
        rows[kind].append((name, *values))
    class_ids = {name: class_id for name, class_id, _, _ in rows[_CLASS]}
    for name in class_names:
        if name not in class_ids:
            raise failures.ResourceClassNotFound(name=name)
    holders = {name: Holders(trait_id, bool(nodes), bool(clients)) for name, trait_id, nodes, clients in rows[_TRAIT]}
    traits.refuse_unknown(trait_names, holders)
    _, _, nested, aggregated = rows[_NODE_CLASS][0]
    return CandidateFacts(bool(nested), bool(aggregated), [name for name, *_ in rows[_NODE_CLASS]], class_ids, holders)


# Built once: to build it for each call takes as long as to execute it.
@functools.cache
def _statement(dialect: str, has_traits: bool) -> sa.CompoundSelect:
    """Return the SELECT of (name, kind of the name, id, a fact, another fact).

    :param has_traits: whether the request names traits.
    """
    class_ = tables.resource_classes.c
    no, of_class = sa.literal_column('NULL', sa.Boolean), class_.name.in_(sa.bindparam('classes'))
    parts: list[sa.Select] = [
        node_classes.statement(dialect, _kind(_NODE_CLASS), sa.literal_column('NULL', sa.Integer), _CHILDREN, _MEMBERS),
        sa.select(class_.name, _kind(_CLASS), class_.id, no, no).where(of_class),
    ]
    if has_traits:
        of_trait = tables.traits.c.name.in_(sa.bindparam('traits'))
        holders = trait_conditions.select_holders(dialect)
        name, *rest = holders.selected_columns
        parts.append(holders.with_only_columns(name, _kind(_TRAIT), *rest).where(of_trait))
    return sa.union_all(*parts)


def _kind(number: int) -> sa.ColumnElement[int]:
    return sa.literal_column(str(number), sa.Integer).label('kind')
