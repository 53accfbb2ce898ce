"""Candidates that are one provider each: if there is one group, and no provider has a parent or shares anything.

Each row of a query is a candidate then, and the limit ends the query. The same requests come again and again. Their
statements are kept, because to build them takes about as long as to execute them.
"""

import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.placement import trait_conditions
from ironic_traits.placement.candidates import plain_providers
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup, RootTraits
from ironic_traits.placement.candidates.candidate_summaries import Summary
from ironic_traits.placement.candidates.plain_providers import Statements
from ironic_traits.placement.resource_providers import in_tree, is_in
from ironic_traits.placement.trait_cache import TraitCache
from ironic_traits.placement.trait_conditions import Holders


class PlainSearch(NamedTuple):
    """All that the statements of a search depend on.

    :ivar dialect: name of SQLAlchemy's dialect.
    :ivar group: the group of the request.
    :ivar root_required: traits of the root of a tree; None for no requirement.
    :ivar exclusive: traits that no provider of a tree may have.
    :ivar nested: whether any provider has a parent.
    :ivar class_ids: ((resource class, id), …) of the request.
    :ivar holders: ((trait, Holders), …) of the request.
    :ivar node_classes: (resource class, …) of nodes, as of ``node_classes.statement``.
    :ivar limit: maximum number of candidates; None for all.
    """

    dialect: str
    group: CandidateGroup
    root_required: RootTraits | None
    exclusive: frozenset[str]
    nested: bool
    class_ids: tuple[tuple[str, int], ...]
    holders: tuple[tuple[str, Holders], ...]
    node_classes: tuple[str | None, ...]
    limit: int | None


def find(connection: sa.Connection, search: PlainSearch, cache: TraitCache) -> list[tuple[str, Summary]]:
    """Return the candidates, free nodes first: [(uuid, Summary), …]. They may be more than the limit.

    :param cache: the traits of providers that this process has read.
    """
    found: list[tuple[str, Summary]] = []
    for statements in _nodes(search):
        if search.limit is None or len(found) < search.limit:
            found += plain_providers.read_nodes(connection, statements, cache, *search.group.resources)
    if search.limit is None or len(found) < search.limit:
        found += plain_providers.read_clients(connection, _clients(search))
    return found


@functools.lru_cache(maxsize=128)
def free_nodes(search: PlainSearch) -> tuple[sa.Select, ...]:
    """Return the SELECTs of the providers of free nodes that are candidates: none, unless one unit is requested."""
    if [*search.group.resources.values()] != [1]:
        return ()
    group, holders, ((name, class_id),) = search.group, dict(search.holders), search.class_ids
    own = plain_providers.traits_of_nodes(search.dialect, holders, group.required)
    others = [one_of for one_of in group.required if len(one_of) > 1 or own.isdisjoint(one_of)]
    rest = search._replace(group=dataclasses.replace(group, required=others))
    return tuple(
        plain_providers.nodes(search.dialect, own, [of_class, *_conditions(rest)], search.limit)
        for of_class in plain_providers.class_conditions(search.node_classes, name, class_id)
    )


@functools.lru_cache(maxsize=128)
def _nodes(search: PlainSearch) -> tuple[Statements, ...]:
    """Return the statements for ``plain_providers.read_nodes``."""
    return tuple(plain_providers.statements(each, search.limit) for each in free_nodes(search))


@functools.lru_cache(maxsize=128)
def _clients(search: PlainSearch) -> sa.Select:
    """Return the SELECT for ``plain_providers.read_clients``."""
    amounts = {class_id: search.group.resources[name] for name, class_id in search.class_ids}
    return plain_providers.with_inventories(plain_providers.clients(amounts, [*_conditions(search)], search.limit))


def _conditions(search: PlainSearch) -> Iterator[Condition]:
    """Yield the conditions on providers, but for the amounts."""
    holders = dict(search.holders)
    yield from requirements(holders, search.group, few=True)
    if search.root_required is not None:
        yield from root_conditions(holders, search.root_required, few=True)
    yield from exclusive_conditions(holders, search.exclusive, search.nested)


def requirements(holders: Mapping[str, Holders], group: CandidateGroup, few: bool = False) -> Iterator[Condition]:
    """Yield the conditions on providers that a provider fulfils a group alone, but for the amounts.

    :param holders: {trait: Holders}.
    :param few: whether a limit leaves few providers to read.
    """
    yield from trait_conditions.conditions(holders, group.required, group.forbidden, few)
    for one_of in group.member_of:
        yield is_in(one_of)
    if group.not_member_of:
        yield ~is_in(group.not_member_of)
    if group.in_tree:
        yield in_tree(group.in_tree)


def root_conditions(holders: Mapping[str, Holders], required: RootTraits, few: bool = False) -> list[Condition]:
    """Return the conditions on providers that a provider is a root with these traits."""
    root = tables.resource_providers.c.parent_provider_uuid.is_(None)
    return [root, *trait_conditions.conditions(holders, *required, few)]


def exclusive_conditions(holders: Mapping[str, Holders], names: Collection[str], nested: bool) -> list[Condition]:
    """Return the conditions on providers that no provider of their tree has one of some traits.

    :param nested: whether any provider has a parent.
    """
    if not names:
        return []
    if not nested:
        return [*trait_conditions.conditions(holders, (), names)]
    return [tables.resource_providers.c.root_provider_uuid.not_in(trait_conditions.roots(holders, names))]
