"""Stores the items of a cloud, and reads further items again where that is necessary.

An item cannot be stored as long as another item has its name, instance or MAC address here, or before its node. Then
both are read again, and stored together. A node with another instance is read again, too, if claims here may have
changed it since.
"""

import contextlib
import functools
import logging

from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_allocations, mirrored_nodes, mirrored_records
from ironic_traits.mirror import documents
from ironic_traits.mirror.cloud import NotAllowed
from ironic_traits.mirror.deletions import DELETED, TABLES

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
    """The items of one cloud here.

    :param context: Context of the mirror.
    :param turn: ironic_traits.inventory.mirrored.mirror_clouds.Turn.
    :param feeds: function that returns {resource: ironic_traits.mirror.feed.Feed}.
    :param deletions: ironic_traits.mirror.deletions.Deletions.
    """

    def __init__(self, context, turn, feeds, deletions):
        self._context, self._turn, self._feeds, self._deletions = context, turn, feeds, deletions
        self._is_resolving = False
        #: The uuid of the item whose conflict was looked at last.
        self._last_conflict = ''

    @contextlib.contextmanager
    def if_allowed(self, feed):
        """Leave out an optional resource until the mirror begins again, if its user may not list it."""
        try:
            yield
        except NotAllowed as error:
            if feed.resource not in _OPTIONAL:
                raise
            LOG.warning('The %s of cloud %s are not read: %s', feed.resource, self._turn.cloud, error)
            self._feeds().pop(feed.resource, None)

    def store(self, feed, page):
        """Store items, and return whether all of them could be stored."""
        # An item may occur twice, if it has changed while the list was read.
        items = {each['uuid']: each for each in page}
        deferred = self._write(feed, items.values(), is_current=self._is_resolving)
        if not deferred or self._is_resolving:
            return not deferred
        self._is_resolving = True
        try:
            return not self._resolve(feed, items, deferred)
        finally:
            self._is_resolving = False

    def _resolve(self, feed, items, deferred):
        """Store deferred items with those whose data here is outdated, and return those that are still deferred.

        :param items: {uuid: document} of the page.
        :param deferred: as ``Stored.deferred``.
        """
        known: set[tuple[str, str]] = set()
        while deferred:
            others = {*deferred.values(), *((feed.resource, uuid) for uuid in deferred)} - known
            if len(known | others) > _FEW:
                self._deletions.compare(feed)
            if not others or len(known | others) > _FEW:
                return self._write(feed, [items[uuid] for uuid in deferred], is_current=True, is_final=True)
            known |= others
            current = self._read(feed, others)
            items |= current
            again = [items[uuid] for uuid in {**deferred, **current} if items[uuid]]
            deferred = self._write(feed, again, is_current=True)
        return deferred

    def _read(self, feed, others):
        """Read items again. Store those of other resources, and delete those that no longer exist.

        :param others: {(resource, uuid), …}.
        :returns: {uuid: document} of the resource of the feed; None instead of a document if it no longer exists.
        """
        current = {}
        for resource, uuid in sorted(others):
            other = feed if resource == feed.resource else self._feeds().get(resource)
            document = other and other.get(uuid)
            if other is feed:
                current[uuid] = document
            elif document:
                self.store(other, [document])
        self._end(feed, {uuid for uuid, document in current.items() if not document})
        return current

    def _end(self, feed, gone):
        """Delete items that the cloud no longer has, and end the conflicts of those that are not here either.

        :param gone: uuids.
        """
        if not gone:
            return
        if feed.resource == NODES:
            # Perhaps an operator has to confirm it, which depends on how many are gone.
            self._deletions.compare(feed)
        elif feed.resource in DELETED:
            self._deletions.delete(feed, sorted(gone), 0)
        ended = gone - mirrored_records.uuids(self._context, TABLES[feed.resource], self._turn.cloud)
        mirrored_nodes.report(self._context, self._turn, feed.resource, dict.fromkeys(ended, ''))

    def _write(self, feed, page, is_current, is_final=False):
        """Store items, and return those that could not be stored yet, as ``Stored.deferred``."""
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
            stored = mirrored_records.store(self._context, self._turn, kind, rows, is_final)
        return stored.deferred

    def _converted(self, feed, page, convert):
        """Return the rows of items. Those with values that cannot be stored are reported, and stay as they are here."""
        rows, reasons = [], {}
        for each in page:
            try:
                rows.append(convert(each))
            except documents.Odd as odd:
                reasons[each['uuid']] = f'It is left as it is here: {odd}'
        if reasons:
            mirrored_nodes.report(self._context, self._turn, feed.resource, reasons)
        return rows

    def _store_allocations_of(self, page):
        """Read the allocations of nodes that are not stored here. Do not wait until allocations are due."""
        feed = self._feeds().get(ALLOCATIONS)
        if feed is None or feed.is_passing:
            return
        uuids = {each.get('allocation_uuid') for each in page} - {None}
        absent = mirrored_allocations.absent(self._context, uuids) if uuids else ()
        with self.if_allowed(feed):
            self.store(feed, [document for uuid in sorted(absent) if (document := feed.get(uuid))])

    def look_at_conflicts(self):
        """Read some items with conflicts again. Return whether any of these conflicts has ended."""
        some = self._context, self._turn.cloud, self._last_conflict, _CONFLICTS
        items = mirror_clouds.conflicting(*some)
        self._last_conflict = items[-1].uuid if len(items) == _CONFLICTS else ''
        for feed in list(self._feeds().values()):
            with self.if_allowed(feed):
                self._read_again(feed, [each.uuid for each in items if each.resource == feed.resource])
        return mirror_clouds.conflicting(*some) != items

    def _read_again(self, feed, uuids):
        found = {uuid: feed.get(uuid) for uuid in uuids}
        self.store(feed, [document for document in found.values() if document])
        self._end(feed, {uuid for uuid, document in found.items() if not document})
