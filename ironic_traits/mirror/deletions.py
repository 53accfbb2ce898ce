"""Deletes in this service what a cloud no longer has."""

import logging
from collections.abc import Sequence

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.mirrored import mirror_deletions, mirrored_allocations, mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.mirror.cloud import Unreadable
from ironic_traits.mirror.feed import Feed, Meanwhile

LOG = logging.getLogger(__name__)

#: The resources whose items are deleted when the cloud has deleted them. (A chassis may be that of other nodes, too.)
DELETED = (mirrored_nodes.RESOURCE, 'portgroups', 'ports', mirrored_allocations.RESOURCE)
#: {name of the resource: its table}.
TABLES = {mirrored_nodes.RESOURCE: tables.nodes} | {name: kind.table for name, kind in mirrored_records.KINDS.items()}
#: If more than this number of records are missing, and more than this part of them, none is deleted.
_FEW, _MOST = 50, 0.5
#: Number of missing nodes that are requested one by one, to see whether the list is wrong.
_SAMPLE = 20


class Deletions:
    """The deletions of one cloud."""

    def __init__(self, context: Context, turn: Turn) -> None:
        self._context, self._turn, self._options = context, turn, context.conf.mirror

    def is_confirmed(self) -> bool:
        """Whether an operator has confirmed deletions that have waited for it."""
        return mirror_deletions.is_confirmed(self._context, self._turn.cloud)

    def compare(self, feed: Feed, meanwhile: Meanwhile = lambda: None) -> set[str]:
        """Delete the items that are not in the list of the cloud. Return the uuids that are only in the cloud."""
        # Read before the uuids in the cloud: items that are stored in the meantime are not deleted.
        stored = mirrored_records.uuids(self._context, TABLES[feed.resource], self._turn.cloud)
        listed = feed.uuids(meanwhile)
        self.delete(feed, sorted(stored - listed), len(stored))
        return listed - stored

    def delete(self, feed: Feed, gone: Sequence[str], count: int) -> None:
        """Delete items, unless this has to wait for an operator.

        :param gone: uuids of the items in this service that are not in the list of the cloud, sorted.
        :param count: number of all items in this service.
        :raises Unreadable: the list lacks items that exist, or most of them.
        """
        if feed.resource == mirrored_nodes.RESOURCE:
            self._delete_nodes(feed, gone, count)
        elif gone:
            self._delete_records(feed, gone, count)

    def _delete_nodes(self, feed: Feed, gone: Sequence[str], count: int) -> None:
        limit = max(self._options.max_deleted_nodes, count * self._options.max_deleted_percent / 100)
        if len(gone) > limit:
            # A list that lacks nodes by mistake is an error of the cloud, and nothing that an operator can decide.
            feed.gone(gone[:_SAMPLE])
        waiting = mirror_deletions.waiting(self._context, self._turn, gone, limit)
        for uuid in feed.gone([uuid for uuid in gone if uuid not in waiting]):
            mirrored_nodes.delete(self._context, self._turn, uuid)

    def _delete_records(self, feed: Feed, gone: Sequence[str], count: int) -> None:
        kind = mirrored_records.KINDS[feed.resource]
        gone = mirror_deletions.without_nodes(self._context, kind.table, gone)
        if kind.has_node and len(gone) > max(_FEW, _MOST * count):
            raise Unreadable(
                f'{len(gone)} of {count} {feed.resource} are no longer in the cloud. If they were deleted, remove '
                'their nodes with "ironic-traits-mirror forget"; otherwise, check what the user of the mirror may list.'
            )
        if gone := feed.gone(gone):
            mirrored_records.delete(self._context, self._turn, kind, gone)
            LOG.info('Deleted %d %s of cloud %s: %s', len(gone), feed.resource, self._turn.cloud, ', '.join(gone))
