"""Conditions on providers that they have traits: required ones, and no forbidden ones."""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.matching.traits import FORBIDDEN, REQUIRED_ANY, TraitTerm
from ironic_traits.placement.traits import refuse_unknown

#: Up to this number of sets of required traits, the databases may begin with the providers that have one of them. For
#: more, the planners' work grows too much.
_MAX_JOINS = 4
#: (column of providers, the same in a table of traits, SELECT of that).
_Kind = tuple[sa.Column, sa.Column, sa.Select]


class Holders(NamedTuple):
    """Who has a trait.

    :ivar id: id of the trait.
    :ivar nodes: whether it is a node's own trait.
    :ivar clients: whether a client has set it on a provider.
    """

    id: int
    nodes: bool
    clients: bool


def holders(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, Holders]:
    """Return who has traits, all of which must exist.

    :returns: {name: Holders}.
    :raises failures.TraitNotFound: some of them do not exist; the message names all of these.
    """
    existing = existing_holders(connection, trait_names)
    refuse_unknown(trait_names, existing)
    return existing


def existing_holders(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, Holders]:
    """Return who has those of some traits that exist; parameters and result as for ``holders``."""
    if not trait_names:
        return {}
    statement = select_holders(connection.dialect.name)
    rows = connection.execute(statement.where(tables.traits.c.name.in_(sorted(trait_names))))
    return {name: Holders(*values) for name, *values in rows}


def _is_any(statement: sa.Select) -> Condition:
    """Return the condition that a correlated SELECT has a row.

    Not EXISTS: for that, databases may read all rows first. A subquery for one value runs for each row that needs it.
    """
    return statement.limit(1).scalar_subquery().is_not(None)


@functools.cache
def select_holders(dialect: str) -> sa.Select:
    """Return the SELECT of the name of a trait, and of its Holders."""

    def is_any(holder: sa.Column, condition: Condition) -> Condition:
        if dialect == 'postgresql':
            # It would read the whole table for a trait without holders: it expects to find one after a few rows.
            return sa.select(sa.func.min(holder)).where(condition).scalar_subquery().is_not(None)
        return _is_any(sa.select(holder).where(condition))

    own, foreign, traits = tables.node_traits.c, tables.resource_provider_traits.c, tables.traits.c
    return sa.select(
        traits.name,
        traits.id,
        is_any(own.node_id, own.trait == traits.name),
        is_any(foreign.resource_provider_id, foreign.trait_id == traits.id),
    )


def conditions(
    trait_holders: Mapping[str, Holders],
    required: Iterable[Collection[str]],
    forbidden: Collection[str] = (),
    few: bool = False,
    joins: bool = True,
) -> Iterator[Condition]:
    """Yield the conditions on providers that they have required traits and no forbidden ones, a node's own included.

    :param trait_holders: {name: Holders} of these traits, and perhaps of others.
    :param required: [{trait, …}, …]: one trait of each set is required.
    :param few: whether a limit leaves few providers to read.
    :param joins: whether the database may begin with the providers that have one of the traits. Without a limit,
        MariaDB takes longer for that: it reads the rows of the providers before it looks for the second trait.
    """
    for number, one_of in enumerate(required):
        yield condition(trait_holders, TraitTerm(REQUIRED_ANY, frozenset(one_of)), few, joins and number < _MAX_JOINS)
    if forbidden:
        # One subquery in each table for all of them.
        yield condition(trait_holders, TraitTerm(FORBIDDEN, frozenset(forbidden)))


def condition(
    trait_holders: Mapping[str, Holders], term: TraitTerm, few: bool = False, joins: bool = True
) -> Condition:
    """Return the condition on providers that implements a term; parameters as for ``conditions``.

    It says of providers what ``trait_filters.condition`` says of nodes.
    """
    groups = [{name} for name in sorted(term.traits)] if term.kind.is_met is all else [term.traits]
    if term.kind.wants:
        return sa.and_(*(_has_one(list(_kinds(trait_holders, group)), few, joins) for group in groups))
    return sa.or_(*(_has_none(_kinds(trait_holders, group)) for group in groups))


def roots(trait_holders: Mapping[str, Holders], trait_names: Collection[str]) -> sa.Select:
    """Return the SELECT of the uuids of the roots of the trees in which a provider has one of these traits.

    :param trait_holders: as for ``conditions``.
    """
    member = tables.resource_providers.alias()
    either = (member.c[provider.name].in_(statement) for provider, _, statement in _kinds(trait_holders, trait_names))
    return sa.select(member.c.root_provider_uuid).where(sa.or_(sa.false(), *either))


def _has_one(kinds: Sequence[_Kind], few: bool, joins: bool) -> Condition:
    if joins and len(kinds) == 1:
        ((provider, _, statement),) = kinds
        return provider.in_(statement)
    if few:
        return sa.or_(sa.false(), *(_is_any(_of_provider(*kind)) for kind in kinds))
    # The first condition is never true. With an OR, the databases run each subquery once. With one UNION, PostgreSQL
    # makes a join, estimates its result as tiny, and runs it again and again.
    either = (sa.and_(provider.is_not(None), provider.in_(statement)) for provider, _, statement in kinds)
    return sa.or_(tables.resource_providers.c.id < 0, *either)


def _has_none(kinds: Iterable[_Kind]) -> Condition:
    return sa.and_(sa.true(), *(~_of_provider(*kind).exists() for kind in kinds))


def _of_provider(provider: sa.Column, key: sa.Column, statement: sa.Select) -> sa.Select:
    return statement.where(provider == key).correlate(tables.resource_providers)


def _kinds(trait_holders: Mapping[str, Holders], trait_names: Collection[str]) -> Iterator[_Kind]:
    """Yield the columns and the SELECT of each table that has one of these traits."""
    own = sorted(name for name in trait_names if trait_holders[name].nodes)
    if own:
        table = tables.node_traits.c
        yield (
            tables.resource_providers.c.node_id,
            table.node_id,
            sa.select(table.node_id).where(_is_in(table.trait, own)),
        )
    ids = sorted(trait_holders[name].id for name in trait_names if trait_holders[name].clients)
    if ids:
        columns = tables.resource_provider_traits.c
        key = columns.resource_provider_id
        yield tables.resource_providers.c.id, key, sa.select(key).where(_is_in(columns.trait_id, ids))


def _is_in(column: sa.Column, values: Sequence[Any]) -> Condition:
    # An equality lets the databases read the providers with a trait in the order of their ids.
    return column == values[0] if len(values) == 1 else column.in_(values)
