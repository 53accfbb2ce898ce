"""Stores the items of a cloud, and reads further items again where that is necessary.

An item cannot be stored as long as another item has its name, instance or MAC address in this service, or before its
node. Then both are read again, and stored together. A node with another instance is read again, too, if claims in this
service may have changed it since.
"""

import contextlib
import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_allocations, mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirrored_records import RecordCheck
from ironic_traits.mirror import documents
from ironic_traits.mirror.cloud import Document, NotAllowed
from ironic_traits.mirror.deletions import DELETED, TABLES, Deletions
from ironic_traits.mirror.documents import CloudItem
from ironic_traits.mirror.feed import Feed

#: As ``StoreResult.deferred``.
Deferred = Mapping[str, tuple[str, str]]
_Row = TypeVar('_Row')
LOG = logging.getLogger(__name__)

NODES, ALLOCATIONS = mirrored_nodes.RESOURCE, mirrored_allocations.RESOURCE
#: Those that are left out if the user of the mirror may not list them. With the default policy of Ironic, chassis are
#: for users of the system, and an application credential is for a project.
_OPTIONAL = ('chassis', ALLOCATIONS)
#: Maximum number of items that are read one by one for a page. If more are outdated, all uuids are compared.
_FEW = 50
#: Maximum number of items with conflicts that are read again at a time.
_CONFLICTS = 20


class Storage:
    """The items of one cloud in this service.

    :param feeds: function that returns {resource: Feed}.
    """

    def __init__(
        self, context: Context, turn: Turn, feeds: Callable[[], dict[str, Feed]], deletions: Deletions
    ) -> None:
        self._context, self._turn, self._feeds, self._deletions = context, turn, feeds, deletions
        self._is_resolving = False
        #: The uuid of the item whose conflict was looked at last.
        self._last_conflict = ''

    @contextlib.contextmanager
    def if_allowed(self, feed: Feed) -> Iterator[None]:
        """Leave out an optional resource until the mirror begins again, if its user may not list it."""
        try:
            yield
        except NotAllowed as error:
            if feed.resource not in _OPTIONAL:
                raise
            LOG.warning('The %s of cloud %s are not read: %s', feed.resource, self._turn.cloud, error)
            self._feeds().pop(feed.resource, None)

    def store(self, feed: Feed, page: Sequence[CloudItem]) -> bool:
        """Store items, and return whether all of them could be stored."""
        # An item may occur twice, if it has changed while the list was read.
        items: dict[str, CloudItem | None] = {each.uuid: each for each in page}
        deferred = self._write(feed, _found(items.values()), is_current=self._is_resolving)
        if not deferred or self._is_resolving:
            return not deferred
        self._is_resolving = True
        try:
            return not self._resolve(feed, items, deferred)
        finally:
            self._is_resolving = False

    def _resolve(self, feed: Feed, items: dict[str, CloudItem | None], deferred: Deferred) -> Deferred:
        """Store deferred items with those whose data is outdated, and return those that are still deferred.

        :param items: those of the page, by uuid.
        """
        known: set[tuple[str, str]] = set()
        while deferred:
            others = {*deferred.values(), *((feed.resource, uuid) for uuid in deferred)} - known
            if len(known | others) > _FEW:
                self._deletions.compare(feed)
            if not others or len(known | others) > _FEW:
                return self._write(feed, _found(items[uuid] for uuid in deferred), is_current=True, is_final=True)
            known |= others
            current = self._read(feed, others)
            items |= current
            again = _found(items[uuid] for uuid in {**deferred, **current})
            deferred = self._write(feed, again, is_current=True)
        return deferred

    def _read(self, feed: Feed, others: Collection[tuple[str, str]]) -> dict[str, CloudItem | None]:
        """Read items again. Store those of other resources, and delete those that no longer exist.

        :returns: {uuid: CloudItem} of the resource of the feed; None instead of an item if it no longer exists.
        """
        current: dict[str, CloudItem | None] = {}
        for resource, uuid in sorted(others):
            other = feed if resource == feed.resource else self._feeds().get(resource)
            item = other.get(uuid) if other else None
            if other is feed:
                current[uuid] = item
            elif other and item:
                self.store(other, [item])
        self._end(feed, {uuid for uuid, item in current.items() if not item})
        return current

    def _end(self, feed: Feed, gone: Collection[str]) -> None:
        """Delete items that the cloud no longer has, and end the conflicts of those that are not stored."""
        if not gone:
            return
        if feed.resource == NODES:
            # Perhaps an operator has to confirm it, which depends on how many are gone.
            self._deletions.compare(feed)
        elif feed.resource in DELETED:
            self._deletions.delete(feed, sorted(gone), 0)
        ended = set(gone) - mirrored_records.uuids(self._context, TABLES[feed.resource], self._turn.cloud)
        mirrored_nodes.report(self._context, self._turn, feed.resource, dict.fromkeys(ended, ''))

    def _write(self, feed: Feed, page: Sequence[CloudItem], is_current: bool, is_final: bool = False) -> Deferred:
        """Store items, and return those that could not be stored yet."""
        if not page:
            return {}
        if feed.resource == NODES:
            nodes = self._converted(feed, page, documents.node)
            stored = mirrored_nodes.store(self._context, self._turn, nodes, is_current, is_final)
            self._store_allocations_of([node.row for node in nodes])
        elif feed.resource == ALLOCATIONS:
            rows = self._converted(feed, page, documents.allocation)
            stored = mirrored_allocations.store(self._context, self._turn, rows, is_final)
        else:
            kind = mirrored_records.KINDS[feed.resource]
            rows = self._converted(feed, page, functools.partial(documents.record, kind))
            stored = mirrored_records.store(self._context, self._turn, RecordCheck, kind, rows, is_final)
        return stored.deferred

    def _converted(self, feed: Feed, page: Sequence[CloudItem], convert: Callable[[Document], _Row]) -> list[_Row]:
        """Return the rows of items. Those with values that cannot be stored are reported, and stay as they are."""
        rows: list[_Row] = []
        reasons = {}
        for each in page:
            try:
                rows.append(convert(each.document))
            except documents.Odd as odd:
                reasons[each.uuid] = f'It is left as it is in this service: {odd}'
        if reasons:
            mirrored_nodes.report(self._context, self._turn, feed.resource, reasons)
        return rows

    def _store_allocations_of(self, page: Sequence[Values]) -> None:
        """Read the allocations of nodes that are not stored in this service. Do not wait until allocations are due."""
        feed = self._feeds().get(ALLOCATIONS)
        if feed is None or feed.is_passing:
            return
        uuids = {uuid for each in page if (uuid := each.get('allocation_uuid'))}
        absent = mirrored_allocations.absent(self._context, uuids) if uuids else ()
        with self.if_allowed(feed):
            self.store(feed, _found(map(feed.get, sorted(absent))))

    def look_at_conflicts(self) -> bool:
        """Read some items with conflicts again. Return whether any of these conflicts has ended."""
        some = self._context, self._turn.cloud, self._last_conflict, _CONFLICTS
        items = mirror_clouds.conflicting(*some)
        self._last_conflict = items[-1].uuid if len(items) == _CONFLICTS else ''
        for feed in list(self._feeds().values()):
            with self.if_allowed(feed):
                self._read_again(feed, [each.uuid for each in items if each.resource == feed.resource])
        return mirror_clouds.conflicting(*some) != items

    def _read_again(self, feed: Feed, uuids: Sequence[str]) -> None:
        found = {uuid: feed.get(uuid) for uuid in uuids}
        self.store(feed, _found(found.values()))
        self._end(feed, {uuid for uuid, item in found.items() if not item})


def _found(items: Iterable[CloudItem | None]) -> list[CloudItem]:
    """Return the items that exist."""
    return [item for item in items if item]
