"""The catalogue of traits: what each name means, how many nodes have it, which are retired, and which exclusive.

The descriptions of standard traits come from os-traits (``matching.trait_descriptions``). The table ``trait_notes`` has
the notes of operators, with a row only for traits with a note.
"""

import dataclasses
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_filters
from ironic_traits.inventory.core.paging import Page
from ironic_traits.matching import trait_descriptions, traits
from ironic_traits.matching.sources import PLACEMENT

#: Maximum number of names that ``warnings`` lists: they become a header, whose length servers limit.
_MAX_WARNINGS = 10
_NOTES = tables.trait_notes.c
_STORED = (_NOTES.description, _NOTES.retired, _NOTES.replaced_by, _NOTES.exclusive)
_COLUMNS = (tables.traits.c.name, *_STORED)
#: Maximum number of exclusive traits: each is a condition of every search.
MAX_EXCLUSIVE = 100


class CatalogueTrait(NamedTuple):
    """A trait in the catalogue.

    :ivar description: text; None if there is none.
    :ivar custom: whether the name begins with CUSTOM_.
    :ivar nodes: number of nodes with the trait, without foreign traits of their providers.
    :ivar sources: {source: number of nodes with the trait from it}, sorted by name. The source ``placement`` is for the
        foreign traits of the nodes' providers.
    :ivar replaced_by: the trait to use instead of a retired one; None if there is none.
    :ivar exclusive: whether a node with the trait only matches requests that require it.
    """

    name: str
    description: str | None
    custom: bool
    nodes: int
    sources: dict[str, int]
    retired: bool
    replaced_by: str | None
    exclusive: bool


@dataclasses.dataclass(frozen=True)
class CatalogueFilter:
    """Conditions on the traits of a list. All of them must hold. None means no condition.

    :ivar names: the trait is one of these.
    :ivar prefix: its name begins with this text.
    :ivar custom: whether it is a custom trait.
    :ivar retired: whether it is retired.
    :ivar exclusive: whether it is exclusive.
    :ivar in_use: whether a node, or its provider, has it.
    :ivar noted_or_in_use: whether to leave out traits without a note that no node has.
    """

    names: Collection[str] | None = None
    prefix: str | None = None
    custom: bool | None = None
    retired: bool | None = None
    exclusive: bool | None = None
    in_use: bool | None = None
    noted_or_in_use: bool = False


def find(
    context: Context, grant: Grant, trait_filter: CatalogueFilter, page: Page
) -> tuple[list[CatalogueTrait], bool]:
    """List traits, sorted by name.

    :param page: the page. Its marker is the name of the last trait of the previous page.
    :returns: ([CatalogueTrait, …], whether there are more). Only the nodes that the caller may see count.
    """
    visible = node_filters.visible(context, grant)
    reclaim_trait = context.conf.deploy.reclaim_trait
    statement = _select().where(*_conditions(trait_filter, visible, reclaim_trait)).order_by(tables.traits.c.name)
    if page.marker:
        statement = statement.where(tables.traits.c.name > page.marker)
    with context.read() as connection:
        rows = connection.execute(statement.limit(page.limit + 1)).all()
        return _traits(context, connection, rows[: page.limit], visible), len(rows) > page.limit


def get(context: Context, grant: Grant, name: str) -> CatalogueTrait:
    """Return a trait. Only the nodes that the caller may see count.

    :param name: any string.
    :raises failures.TraitUnknown: there is no such trait.
    """
    visible = node_filters.visible(context, grant)
    if not traits.is_well_formed(name):
        raise failures.TraitUnknown(trait=name)
    with context.read() as connection:
        return _get(context, connection, name, visible)


def update(context: Context, grant: Grant, name: str, changes: Mapping[str, Any]) -> CatalogueTrait:
    """Change the note of a trait in the catalogue, and return the trait. Add the name if it is new.

    If ``exclusive`` changes, this returns when all processes use the change.

    :param name: a valid trait.
    :param changes: {'description': text or None, 'retired': whether it is, 'replaced_by': valid trait or None,
        'exclusive': whether it is}, all optional.
    :raises failures.InvalidInput: the change is a description of a standard trait, a replacement of a trait that is not
        retired, a replacement of a trait by itself, one exclusive trait too many, or the end of
        ``exclusive`` for [deploy] reclaim_trait.
    """
    if changes.get('description') is not None and not name.startswith(names.PREFIX):
        raise failures.InvalidInput(
            reason=f'{name} is a standard trait: its description is that of os-traits, and cannot be changed.'
        )
    _check_reclaim(context, name, changes)
    if changes.get('replaced_by') == name:
        raise failures.InvalidInput(reason=f"{name} cannot be replaced by itself: 'replaced_by' must be another trait.")
    # Called before the write, because it may raise Forbidden.
    visible = node_filters.visible(context, grant)
    written = _write(context, name, changes, visible)
    context.service.noted_traits.forget()
    if 'exclusive' in changes:
        # Also if nothing has changed: a client that asks again may have lost the first response.
        time.sleep(context.service.noted_traits.seconds)
    return written


def preview(context: Context, grant: Grant, name: str, exclusive: bool) -> CatalogueTrait:
    """Return a trait as it would be after an update of ``exclusive``. Write nothing.

    :param name: a valid trait. It need not be in the catalogue.
    :raises failures.InvalidInput: as ``update``.
    """
    _check_reclaim(context, name, {'exclusive': exclusive})
    try:
        trait = get(context, grant, name)
    except failures.TraitUnknown:
        trait = CatalogueTrait(name, None, True, 0, {}, False, None, False)
    if exclusive and not trait.exclusive:
        with context.read() as connection:
            _check_exclusive(connection)
    return trait._replace(exclusive=exclusive)


def warnings(context: Context, trait_names: Collection[str]) -> list[str]:
    """Return a sentence for each retired trait among the traits that a request names.

    :param trait_names: names of the traits.
    """
    if not context.service.noted_traits.retired(context, trait_names):
        return []
    statement = sa.select(_NOTES.trait, _NOTES.replaced_by).where(
        _NOTES.trait.in_(sorted(trait_names)), _NOTES.retired.is_(sa.true())
    )
    with context.read() as connection:
        rows = connection.execute(statement.order_by(_NOTES.trait)).all()
    sentences = [_warning(row.trait, row.replaced_by) for row in rows[:_MAX_WARNINGS]]
    if rows[_MAX_WARNINGS:]:
        sentences.append(f'{len(rows) - _MAX_WARNINGS} more of the traits are retired.')
    return sentences


def _warning(name: str, replacement: str | None) -> str:
    return f'The trait {name} is retired{f"; use {replacement}" if replacement else ""}.'


@retried
def _write(context: Context, name: str, changes: Mapping[str, Any], visible: Sequence[Condition]) -> CatalogueTrait:
    with context.write() as connection:
        names.ensure(connection, tables.traits, [name])
        # Serializes requests that change the same trait. The lock does not block writers of nodes' traits.
        lock = sa.select(tables.traits.c.id).where(tables.traits.c.name == name).with_for_update(key_share=True)
        if connection.scalar(lock) is None:
            # A Placement client has deleted the trait after ``ensure``.
            raise db_exception.RetryRequest(failures.TraitUnknown(trait=name))
        of_name = _NOTES.trait == name
        row = connection.execute(sa.select(*_STORED).where(of_name)).first()
        note = _changed(name, dict(row._mapping) if row else {}, changes)
        if note['exclusive'] and not (row and row.exclusive):
            _check_exclusive(connection)
        if not any(note.values()):
            connection.execute(sa.delete(tables.trait_notes).where(of_name))
        elif row:
            connection.execute(sa.update(tables.trait_notes).where(of_name).values(**note, updated_at=now()))
        else:
            connection.execute(sa.insert(tables.trait_notes).values(trait=name, **note, updated_at=now()))
        # Before the commit: afterwards, another request may have deleted the trait.
        return _get(context, connection, name, visible)


def _get(context: Context, connection: sa.Connection, name: str, visible: Sequence[Condition]) -> CatalogueTrait:
    row = connection.execute(_select().where(tables.traits.c.name == name)).first()
    if row is None:
        raise failures.TraitUnknown(trait=name)
    return _traits(context, connection, [row], visible)[0]


def _changed(name: str, note: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a note after changes.

    :param note: {column: value}; {} if there is none.
    :raises failures.InvalidInput: the change is a replacement of a trait that is not retired.
    """
    empty = {'description': None, 'retired': False, 'replaced_by': None, 'exclusive': False}
    changed = empty | dict(note) | dict(changes)
    if not changed['retired']:
        if changes.get('replaced_by'):
            raise failures.InvalidInput(reason=f"{name} is not retired: 'replaced_by' needs 'retired' to be true.")
        changed['replaced_by'] = None
    return changed


def _check_reclaim(context: Context, name: str, changes: Mapping[str, Any]) -> None:
    if name == context.conf.deploy.reclaim_trait and not changes.get('exclusive', True):
        raise failures.InvalidInput(reason=f'{name} is [deploy] reclaim_trait, and so it is exclusive.')


def _check_exclusive(connection: sa.Connection) -> None:
    number = connection.scalar(sa.select(sa.func.count()).where(_NOTES.exclusive))
    if (number or 0) >= MAX_EXCLUSIVE:
        raise failures.InvalidInput(reason=f'At most {MAX_EXCLUSIVE} traits can be exclusive.')


def _select() -> sa.Select:
    return sa.select(*_COLUMNS).outerjoin(tables.trait_notes, _NOTES.trait == tables.traits.c.name)


def _conditions(
    trait_filter: CatalogueFilter, visible: Sequence[Condition], reclaim_trait: str | None
) -> Iterator[Condition]:
    name = tables.traits.c.name
    if trait_filter.names is not None:
        yield name.in_(sorted(trait_filter.names))
    if trait_filter.prefix is not None:
        yield _begins(trait_filter.prefix)
    if trait_filter.custom is not None:
        yield _begins(names.PREFIX) if trait_filter.custom else ~_begins(names.PREFIX)
    if trait_filter.retired is not None:
        is_retired = sa.func.coalesce(_NOTES.retired, sa.false())
        yield is_retired if trait_filter.retired else ~is_retired
    if trait_filter.exclusive is not None:
        is_exclusive = sa.or_(sa.func.coalesce(_NOTES.exclusive, sa.false()), name == (reclaim_trait or ''))
        yield is_exclusive if trait_filter.exclusive else ~is_exclusive
    if trait_filter.in_use is not None:
        yield _is_in_use(visible) if trait_filter.in_use else ~_is_in_use(visible)
    if trait_filter.noted_or_in_use:
        yield sa.or_(_NOTES.trait.is_not(None), _is_in_use(visible))


def _begins(prefix: str) -> Condition:
    # Not LIKE, because SQLite's ignores case.
    return sa.func.substr(tables.traits.c.name, 1, len(prefix)) == prefix


def _is_in_use(visible: Sequence[Condition]) -> Condition:
    """Return the condition on traits that a node that the caller may see, or its provider, has the trait.

    :param visible: the result of ``node_filters.visible``.
    """
    own, foreign = tables.node_traits.c, tables.resource_provider_traits.c
    if visible:
        # This reads the traits of all these nodes once. EXISTS would read all nodes for each trait. Without DISTINCT,
        # PostgreSQL expects too many rows for a hash table, and reads them for each trait.
        own_names = sa.select(own.trait).where(*_of(own.node_id, visible)).distinct()
        foreign_ids = _foreign(foreign.trait_id).where(*_of(_PROVIDERS.node_id, visible)).distinct()
        return sa.or_(tables.traits.c.name.in_(own_names), tables.traits.c.id.in_(foreign_ids))
    return sa.or_(
        sa.exists().where(own.trait == tables.traits.c.name),
        _foreign(foreign.trait_id).where(foreign.trait_id == tables.traits.c.id).correlate(tables.traits).exists(),
    )


_PROVIDERS = tables.resource_providers.c


def _foreign(*columns: sa.ColumnElement[Any]) -> sa.Select:
    """Return the SELECT of columns of the traits that Placement clients have set on the providers of nodes."""
    table = tables.resource_provider_traits
    return (
        sa.select(*columns)
        .select_from(table)
        .join(tables.resource_providers, _PROVIDERS.id == table.c.resource_provider_id)
        .where(_PROVIDERS.node_id.is_not(None))
    )


def _of(node_id: sa.Column, visible: Sequence[Condition]) -> list[Condition]:
    """Return the conditions that a column has the id of a node that the caller may see; [] if the caller sees all."""
    return [node_id.in_(sa.select(tables.nodes.c.id).where(*visible))] if visible else []


def _traits(
    context: Context, connection: sa.Connection, rows: Sequence[sa.Row], visible: Sequence[Condition]
) -> list[CatalogueTrait]:
    """Return the traits of rows with _COLUMNS, with their numbers of nodes."""
    trait_names = [row.name for row in rows]
    # node_traits has one row for each trait of a node. node_trait_sources has one row for each further source.
    first = _by_writer(context, connection, tables.node_traits, trait_names, visible)
    further = _by_writer(context, connection, tables.node_trait_sources, trait_names, visible)
    nodes: Counter[str] = Counter()
    for (name, _), count in first.items():
        nodes[name] += count
    sources: dict[str, dict[str, int]] = {name: {} for name in trait_names}
    for (name, source), count in sorted((first + further + _foreign_traits(connection, trait_names, visible)).items()):
        sources[name][source] = count
    return [
        CatalogueTrait(
            row.name,
            row.description or trait_descriptions.standard().get(row.name),
            row.name.startswith(names.PREFIX),
            nodes[row.name],
            sources[row.name],
            bool(row.retired),
            row.replaced_by,
            bool(row.exclusive) or row.name == context.conf.deploy.reclaim_trait,
        )
        for row in rows
    ]


def _by_writer(
    context: Context,
    connection: sa.Connection,
    table: sa.Table,
    trait_names: Collection[str],
    visible: Sequence[Condition],
) -> Counter[tuple[str, str]]:
    """Return the numbers of rows of a table of holds, {(trait, source): number}."""
    of_names = table.c.trait.in_(trait_names), *_of(table.c.node_id, visible)
    columns = table.c.trait, table.c.writer_id
    counts: Counter[tuple[str, str]] = Counter()
    statement = sa.select(*columns, sa.func.count()).where(*of_names).group_by(*columns)
    for name, writer_id, count in connection.execute(statement):
        counts[name, context.service.writers.source(connection, writer_id)] += count
    return counts


def _foreign_traits(
    connection: sa.Connection, trait_names: Collection[str], visible: Sequence[Condition]
) -> Counter[tuple[str, str]]:
    """Return the numbers of nodes whose providers have foreign traits, {(trait, PLACEMENT): number}."""
    name = tables.traits.c.name
    statement = (
        _foreign(name, sa.func.count())
        .join(tables.traits, tables.traits.c.id == tables.resource_provider_traits.c.trait_id)
        .where(name.in_(trait_names), *_of(_PROVIDERS.node_id, visible))
    )
    return Counter({(name, PLACEMENT): count for name, count in connection.execute(statement.group_by(name))})
