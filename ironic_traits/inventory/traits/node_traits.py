"""The traits of nodes: list, replace, add, remove.

Every write is an edit by a source (``matching.sources``). A write without a source is *plain*: after it, the node has
exactly the traits that it sets, for any sources.
"""

import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.core import history, node_providers
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import MOMENT, lock, read
from ironic_traits.inventory.core.trait_filters import JOINED
from ironic_traits.inventory.core.trait_writers import TraitAuthor
from ironic_traits.inventory.traits import trait_store
from ironic_traits.inventory.traits.trait_store import Hold, StoredTraits
from ironic_traits.matching import sources
from ironic_traits.matching.sources import OPERATOR, Edit, Traits

_P = ParamSpec('_P')
_Result = TypeVar('_Result')


class Written(NamedTuple):
    """The result of a write.

    :ivar traits: the traits that the node has now, sorted.
    :ivar refused: requested traits that the node does not get from the source, because they are vetoed; sorted.
    :ivar retired: requested traits that are retired in the catalogue; sorted.
    """

    traits: list[str]
    refused: list[str]
    retired: list[str]


class NodeEdit(NamedTuple):
    """A node, and an edit of its traits.

    :ivar node: row with ``id`` and ``uuid``.
    :ivar stored: the stored traits before the edit.
    :ivar edit: the changes.
    """

    node: sa.Row
    stored: StoredTraits
    edit: Edit


class ShownHold(NamedTuple):
    """A source's hold on a trait, or a veto.

    :ivar writer: the TraitAuthor who stored it.
    :ivar since: datetime by the database's clock; None if it is unknown.
    """

    writer: TraitAuthor
    since: datetime.datetime | None


class Details(NamedTuple):
    """The traits of a node with their sources.

    :ivar traits: {trait: [ShownHold, …]}, sorted by name. The source that has held the trait the longest comes first.
        The hold of Placement clients comes last.
    :ivar vetoes: {trait: ShownHold}, sorted by name.
    """

    traits: dict[str, list[ShownHold]]
    vetoes: dict[str, ShownHold]


def list_all(context: Context, grant: Grant) -> list[str]:
    """Return the traits of a node.

    :returns: [name, …], sorted.
    """
    with context.read() as connection:
        return read(connection, grant.ident, (JOINED,)).traits


def details(context: Context, grant: Grant) -> Details:
    """Return the traits of a node with their sources, the foreign traits of its provider, and its vetoes."""
    with context.read() as connection:
        node = read(connection, grant.ident, (tables.nodes.c.id,))
        return details_of(context, connection, [node.id])[node.id]


def details_of(context: Context, connection: sa.Connection, node_ids: Collection[int]) -> dict[int, Details]:
    """Return the traits of nodes with their sources, as ``details`` does.

    :returns: {node id: Details}.
    """
    stored = trait_store.read_many(connection, context.service.writers, node_ids)
    return {node_id: _details(context, connection, one) for node_id, one in stored.items()}


def _details(context: Context, connection: sa.Connection, stored: StoredTraits) -> Details:
    def shown(hold: Hold) -> ShownHold:
        return ShownHold(context.service.writers.writer(connection, hold.writer_id), hold.since)

    traits = {name: [shown(hold) for hold in holds.values()] for name, holds in stored.traits.holders.items()}
    for name in stored.foreign:
        traits.setdefault(name, []).append(ShownHold(TraitAuthor(sources.PLACEMENT), None))
    vetoes = {name: shown(hold) for name, hold in sorted(stored.traits.vetoes.items())}
    return Details(dict(sorted(traits.items())), vetoes)


def adding_names(
    write: Callable[Concatenate[Context, Collection[str], _P], _Result],
) -> Callable[Concatenate[Context, Collection[str], _P], _Result]:
    """Decorate a writer of traits: add traits that are missing in the table ``traits``, and repeat the write.

    They are added only after the write has failed. Traits are rarely missing, and a check before the write would take
    as long as the write.
    """

    @functools.wraps(write)
    def write_with_names(
        context: Context, requested_traits: Collection[str], *arguments: _P.args, **options: _P.kwargs
    ) -> _Result:
        while True:
            try:
                return write(context, requested_traits, *arguments, **options)
            except (joined.MissingRows, db_exception.DBReferenceError):
                names.add(context, tables.traits, requested_traits)

    return write_with_names


def replace(context: Context, ident: str, requested_traits: Collection[str], source: str | None = None) -> Written:
    """Set the traits of a node, or the traits that a source holds on it.

    :param requested_traits: valid traits in any order; duplicates are ignored.
    :param source: name of the source; None for a plain write.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TooManyTraits: the node would have more than ``[inventory] max_traits_per_node`` traits. Nothing
        is changed.
    """
    requested = frozenset(requested_traits)

    def decide(node: sa.Row, before: Traits, hold: Hold) -> Edit:
        return sources.replace(before, hold, requested, source)

    return _write(context, requested_traits, ident, source, decide)


def add(context: Context, ident: str, name: str, source: str | None = None) -> Written:
    """Add a trait to a node, unless the source holds it already.

    :param name: a valid trait.
    :param source: name of the source; None for a plain write.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TooManyTraits: the node has ``[inventory] max_traits_per_node`` traits; nothing is changed.
    :raises failures.TraitVetoed: the trait is vetoed, and the source is not the operator.
    """

    def decide(node: sa.Row, before: Traits, hold: Hold) -> Edit:
        edit = sources.edit(before, hold, add={name}, source=source)
        if edit.refused:
            raise failures.TraitVetoed(node=node.uuid, trait=name, source=source)
        return edit

    return _write(context, [name], ident, source, decide)


def remove(context: Context, ident: str, name: str, source: str | None = None) -> Written:
    """Remove a trait from a node, or a source's hold on it.

    :param name: any string, a valid trait or not.
    :param source: name of the source; None for a plain write.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.TraitNotFound: the node does not have the trait.
    :raises failures.TraitNotHeld: the node has the trait, but not from the source.
    """

    def decide(node: sa.Row, before: Traits, hold: Hold) -> Edit:
        # Compared here, not in SQL: the databases cannot compare the column with every string that a client may send.
        if name not in before.holders:
            raise failures.TraitNotFound(node=node.uuid, trait=name)
        holders = before.holders[name]
        if source is not None and source not in holders:
            raise failures.TraitNotHeld(node=node.uuid, trait=name, source=source, holders=', '.join(sorted(holders)))
        return sources.edit(before, hold, remove={name}, source=source)

    return _write(context, [], ident, source, decide)


def remove_all(context: Context, ident: str, source: str | None = None) -> Written:
    """Remove all traits of a node, or all traits that a source holds on it.

    :param source: name of the source; None for a plain write.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.SourceNotFound: the source holds none of the node's traits.
    """

    def decide(node: sa.Row, before: Traits, hold: Hold) -> Edit:
        if source is not None and not before.of(source):
            raise failures.SourceNotFound(node=node.uuid, source=source, sources=', '.join(before.sources) or 'none')
        return sources.replace(before, hold, frozenset(), source)

    return _write(context, [], ident, source, decide)


def lift_veto(context: Context, ident: str, name: str) -> Written:
    """Lift the veto of a trait, without adding the trait.

    :param name: any string, a valid trait or not.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.VetoNotFound: the trait is not vetoed.
    """

    def decide(node: sa.Row, before: Traits, hold: Hold) -> Edit:
        if name not in before.vetoes:
            raise failures.VetoNotFound(node=node.uuid, trait=name)
        vetoes = {trait: veto for trait, veto in before.vetoes.items() if trait != name}
        return Edit(before, Traits(before.holders, vetoes))

    return _write(context, [], ident, None, decide)


def store(connection: sa.Connection, edits: Sequence[NodeEdit], entries: Iterable[Values]) -> None:
    """Store edits of the traits of nodes, and update the nodes' providers.

    :param connection: connection of a writer that has taken the nodes' locks.
    :param edits: edits that change something.
    :param entries: the rows of the history: one for each edit.
    :raises joined.MissingRows: traits are not in the table ``traits``.
    :raises oslo_db.exception.DBReferenceError: the same.
    """
    changes = [(each.node.id, each.stored.foreign, each.edit.added, bool(each.edit.removed)) for each in edits]
    joined.execute(
        connection,
        [
            *trait_store.writes((each.node.id, each.edit) for each in edits),
            *node_providers.follow_traits(connection, changes),
            *history.writes(*entries),
        ],
    )


def entries(
    context: Context, source: str | None, moment: datetime.datetime, edits: Iterable[NodeEdit]
) -> Iterator[Values]:
    """Yield the rows of the history for edits by one source.

    :param source: name of the source; None for a plain write.
    :param moment: time of the edits, by the database's clock.
    """
    author = functools.partial(history.entry, context)
    for node, _, edit in edits:
        yield history.trait_edit(author, node.uuid, moment, source or OPERATOR, edit.added, edit.removed)


@adding_names
@waiting_for_lock
@retried
def _write(
    context: Context,
    requested_traits: Collection[str],
    ident: str,
    source: str | None,
    decide: Callable[[sa.Row, Traits, Hold], Edit],
) -> Written:
    """Write an edit of a node's traits, with its history entry, and update the node's provider.

    :param requested_traits: names that the client adds to the node.
    :param source: name of the source; None for a plain write.
    :param decide: function (node, its traits, hold of new traits) that returns the Edit. It is called under the node's
        lock, and again if the transaction is retried.
    """
    writer_id = context.service.writers.id_of(context, source or OPERATOR)
    with context.write() as connection:
        # Custom traits of a node's provider are never foreign.
        adds = not all(name.startswith(names.PREFIX) for name in requested_traits)
        node = _take(connection, ident, adds)
        stored = trait_store.read(connection, context.service.writers, node, adds)
        edit = decide(node, stored.traits, Hold(writer_id, node.moment))
        if edit.changes:
            _check_limit(context, node.uuid, edit, source)
            edits = [NodeEdit(node, stored, edit)]
            store(connection, edits, entries(context, source, node.moment, edits))
    retired = context.service.noted_traits.retired(context, requested_traits)
    return Written(sorted(edit.after.holders), sorted(edit.refused), sorted(retired))


def _check_limit(context: Context, node_uuid: str, edit: Edit, source: str | None) -> None:
    """Raise TooManyTraits if an edit exceeds the limit."""
    limit, count = context.conf.inventory.max_traits_per_node, len(edit.after.holders)
    if edit.exceeds(limit):
        raise failures.TooManyTraits(
            node=node_uuid, count=count, limit=limit, source=source or OPERATOR, names=', '.join(sorted(edit.added))
        )


def _take(connection: sa.Connection, ident: str, adds: bool) -> sa.Row:
    """Lock a node until the end of the transaction, and return its row with the time and its traits.

    The traits of a node must not change while a worker deploys or cleans it.

    :param adds: whether standard traits may be added to the node.
    :returns: a row for ``trait_store.read``.
    :raises failures.NodeLocked: a worker holds the node's lock.
    """
    node = lock(connection, ident, tables.nodes.c.reservation, MOMENT, *trait_store.columns(connection, adds))
    if node.reservation:
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)
    return node
