"""Edits the traits of many nodes at once: previews an edit, and executes it in one transaction.

The digest of a preview covers the edit, the selected nodes and their traits. The execution locks the nodes, computes
the digest again, and changes nothing if the digests differ. Nodes are read and written in batches to limit the memory.
"""

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core import node_filters
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.node_selection import MAX_NAMED, Selection, batches, check_rights, lock, select
from ironic_traits.inventory.core.paging import Page
from ironic_traits.inventory.core.single_node import read
from ironic_traits.inventory.traits import trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit, adding_names, entries, store
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching.sources import OPERATOR
from ironic_traits.matching.trait_edits import BulkEdit, Digest
from ironic_traits.matching.traits import is_trait, nearest

LOG = logging.getLogger(__name__)

#: Policy rules that must allow an edit for each of the nodes: the rule for edits, and the rules for the single writes.
RULE = 'baremetal:trait:edit'
_SET_RULE, _DELETE_RULE = 'baremetal:node:traits:set', 'baremetal:node:traits:delete'
#: Number of nodes after which the log gets a line about the progress.
_LOG_EVERY = 5000


class EditEffects:
    """The changes of an edit on all selected nodes.

    :param limit: maximum number of traits of a node.
    :param most: maximum number of nodes in each of the lists.
    :ivar matched: number of nodes that are selected.
    :ivar changed: number of nodes on which the edit changes stored data.
    :ivar gains: {trait: number of nodes that get it}.
    :ivar loses: {trait: number of nodes that lose it}.
    :ivar vetoed: {trait: number of nodes that do not get it because it is vetoed there}.
    :ivar retired: requested traits that are retired in the catalogue.
    :ivar exceeding: number of nodes that would have more traits than the limit.
    :ivar exceeding_nodes: the first of these: [NodeEdit, …].
    :ivar locked: number of nodes that would change and are locked by a worker.
    :ivar locked_nodes: the first of these: [NodeEdit, …].
    """

    def __init__(self, edit: BulkEdit, limit: int, most: int) -> None:
        self._limit, self._most = limit, most
        self._digest = Digest(edit)
        self.matched = self.changed = self.exceeding = self.locked = 0
        self.gains: Counter[str] = Counter()
        self.loses: Counter[str] = Counter()
        self.vetoed: Counter[str] = Counter()
        self.retired: set[str] = set()
        self.exceeding_nodes: list[NodeEdit] = []
        self.locked_nodes: list[NodeEdit] = []

    @property
    def digest(self) -> str:
        """The digest over the edit and the nodes so far."""
        return self._digest.text()

    def add(self, each: NodeEdit) -> None:
        """Add a node. Nodes are added in the order of their ids."""
        node, stored, edit = each
        self._digest.add(node.uuid, stored.traits)
        self.matched += 1
        self.changed += edit.changes
        self.gains.update(edit.added)
        self.loses.update(edit.removed)
        self.vetoed.update(edit.refused)
        if edit.exceeds(self._limit):
            self.exceeding += 1
            self.exceeding_nodes += [each] if self.exceeding <= self._most else []
        if edit.changes and node.reservation:
            self.locked += 1
            self.locked_nodes += [each] if self.locked <= self._most else []


class EditPreview(NamedTuple):
    """The changes that an edit would make.

    :ivar effects: the effects on all selected nodes.
    :ivar nodes: one page of the nodes that would change, or would not get a vetoed trait: [NodeEdit, …].
    :ivar has_more: whether there are more of these nodes after the page.
    """

    effects: EditEffects
    nodes: list[NodeEdit]
    has_more: bool


def preview(context: Context, grant: Grant, edit: BulkEdit, selection: Selection, page: Page) -> EditPreview:
    """Return the changes that an edit would make. Nothing is locked: the execution checks the digest.

    :param page: the page of the nodes, which are sorted by id.
    :raises failures.InvalidTrait: the edit removes or renames a name that is not a trait.
    :raises failures.InvalidInput: it renames an exclusive trait to one that is not.
    :raises failures.NodeNotFound: the selection or the page names a node that does not exist, or that the caller may
        not see.
    :raises failures.EditForbidden: policy does not allow the edit for one of the nodes.
    """
    _check_exclusive(context, edit)
    effects, start = _effects(context, edit), 0
    effects.retired = context.service.noted_traits.retired(context, edit.requested)
    nodes: list[NodeEdit] = []
    with context.read() as connection:
        check_names(connection, edit)
        if page.marker:
            visible = node_filters.visible(context, grant)
            start = read(connection, page.marker, (tables.nodes.c.id,), visible).id
        selected = select(context, connection, grant, selection)
        _check_rights(context, edit, selected)
        for batch in batches(selected):
            for each in _edits(context, connection, edit, batch, Hold(None, None)):
                effects.add(each)
                is_shown = each.node.id > start and (each.edit.changes or each.edit.refused)
                if is_shown and len(nodes) <= page.limit:
                    nodes.append(each)
    return EditPreview(effects, nodes[: page.limit], len(nodes) > page.limit)


def execute(context: Context, grant: Grant, edit: BulkEdit, selection: Selection, digest: str) -> EditEffects:
    """Edit the traits of all selected nodes, or of none.

    :param digest: digest of a preview.
    :raises failures.EditOutdated: a preview would have another digest now.
    :raises failures.EditExceedsLimit: nodes would have more than ``[inventory] max_traits_per_node`` traits.
    :raises failures.NodeLocked: a node that would change is locked by a worker.
    :raises failures.Failure: as ``preview``.
    """
    _check_exclusive(context, edit)
    with context.read() as connection:
        check_names(connection, edit)
        if names.ids(connection, tables.traits, edit.requested).keys() != set(edit.requested):
            # A new name stays if the edit is refused later. So who may not edit these nodes adds none.
            _check_rights(context, edit, select(context, connection, grant, selection))
    names.add(context, tables.traits, edit.requested)
    effects = _execute(context, edit.requested, grant, edit, selection, digest)
    effects.retired = context.service.noted_traits.retired(context, edit.requested)
    LOG.info('The traits of %d of %d selected nodes were edited', effects.changed, effects.matched)
    return effects


@adding_names
@waiting_for_lock
@retried
def _execute(
    context: Context, requested: Collection[str], grant: Grant, edit: BulkEdit, selection: Selection, digest: str
) -> EditEffects:
    """Execute an edit as ``execute`` does. The table ``traits`` should have all names in ``requested``."""
    writer_id = context.service.writers.id_of(context, edit.source or OPERATOR)
    with context.write() as connection:
        selected = select(context, connection, grant, selection)
        _check_unlocked(context, connection, edit, selected)
        locked = {node.id for node in selected}
        lock(connection, sorted(locked))
        # Selected again: another transaction may have changed the nodes before they were locked.
        selected = select(context, connection, grant, selection)
        _check_rights(context, edit, selected)
        is_complete = locked.issuperset(node.id for node in selected)
        effects = _write_all(context, connection, edit, selected, writer_id, is_complete)
        if effects.digest != digest:
            raise failures.EditOutdated(effects.digest)
        if not is_complete:
            # The second selection has a node that is not locked, although the digest is right.
            raise db_exception.RetryRequest(failures.EditOutdated(digest))
        if effects.exceeding:
            raise exceeding(
                context,
                [
                    {'uuid': each.node.uuid, 'name': each.node.name, 'traits': len(each.edit.after.holders)}
                    for each in effects.exceeding_nodes
                ],
                effects.exceeding,
            )
        return effects


def _write_all(
    context: Context, connection: sa.Connection, edit: BulkEdit, selected: Sequence[sa.Row], writer_id: int, write: bool
) -> EditEffects:
    """Write an edit of nodes, and return its effects.

    It is written before the digest is complete. If the digest then differs, the caller rolls back the transaction.

    :param write: whether all nodes are locked. If not, nothing is written.
    :raises failures.NodeLocked: a node that would change is locked by a worker.
    """
    effects, moment = _effects(context, edit), read_clock(connection)
    for batch in batches(selected):
        edits = _edits(context, connection, edit, batch, Hold(writer_id, moment))
        for each in edits:
            effects.add(each)
        _check_work(effects)
        if write and not effects.exceeding:
            changes = [each for each in edits if each.edit.changes]
            store(connection, changes, entries(context, edit.source, moment, changes))
        if effects.matched % _LOG_EVERY < len(batch):
            LOG.info('Editing traits: %d of %d nodes', effects.matched, len(selected))
    return effects


def _edits(
    context: Context, connection: sa.Connection, edit: BulkEdit, nodes: Sequence[sa.Row], hold: Hold
) -> list[NodeEdit]:
    """Return the edit of each node."""
    stored = trait_store.read_many(connection, context.service.writers, [node.id for node in nodes])
    return [NodeEdit(node, stored[node.id], edit.of(stored[node.id].traits, hold)) for node in nodes]


def check_names(connection: sa.Connection, edit: BulkEdit) -> None:
    """Raise InvalidTrait if an edit removes or renames a name that is neither a valid nor a stored trait."""
    doubtful = sorted(name for name in edit.remove.union(edit.rename) if not is_trait(name))
    existing = names.ids(connection, tables.traits, doubtful)
    for name in doubtful:
        if name not in existing:
            raise failures.InvalidTrait(name, nearest(name))


def _check_exclusive(context: Context, edit: BulkEdit) -> None:
    """Raise InvalidInput if nodes would match more requests, because the new name of an exclusive trait is not."""
    exclusive = context.service.noted_traits.exclusive(context)
    for name, new in sorted(edit.rename.items()):
        if name in exclusive and new not in exclusive:
            raise failures.InvalidInput(
                reason=f'{name} is exclusive, and {new} is not: requests that do not ask for it would get its nodes. '
                f'Make {new} exclusive before.'
            )


def _check_rights(context: Context, edit: BulkEdit, nodes: Sequence[sa.Row]) -> None:
    """Raise EditForbidden unless policy allows the edit for each of these nodes."""
    rules = [RULE]
    rules += [_SET_RULE] if edit.requested else []
    rules += [_DELETE_RULE] if edit.remove or edit.rename else []
    check_rights(context, rules, nodes)


def _check_unlocked(context: Context, connection: sa.Connection, edit: BulkEdit, nodes: Sequence[sa.Row]) -> None:
    """Raise NodeLocked if a node that would change is locked by a worker.

    The check is repeated under the locks. The early check avoids locks on all other nodes while a request waits.
    """
    effects = _effects(context, edit)
    for batch in batches([node for node in nodes if node.reservation]):
        for each in _edits(context, connection, edit, batch, Hold(None, None)):
            effects.add(each)
        _check_work(effects)


def _check_work(effects: EditEffects) -> None:
    if effects.locked:
        node = effects.locked_nodes[0].node
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)


def _effects(context: Context, edit: BulkEdit) -> EditEffects:
    return EditEffects(edit, context.conf.inventory.max_traits_per_node, context.conf.api.max_limit)


def exceeding(context: Context, nodes: Sequence[Mapping[str, Any]], count: int) -> failures.EditExceedsLimit:
    """Return the failure of an edit after which nodes would have too many traits.

    :param nodes: the first of these nodes: [{'uuid': …, 'name': …, 'traits': number}, …].
    :param count: the number of all these nodes.
    """
    named = ', '.join(each['name'] or each['uuid'] for each in nodes[:MAX_NAMED])
    more = ', …' if count > MAX_NAMED else ''
    limit = context.conf.inventory.max_traits_per_node
    return failures.EditExceedsLimit(nodes, count=count, limit=limit, names=named + more)
