"""The number of nodes in a cloud, which shows deletions soon.

Ironic does not report deletions. From version 1.82 on, its list of shards has the numbers of nodes: one short request.
When the number is not as expected, all uuids are compared. Otherwise they are compared only once an hour.
"""

import logging
import time

from ironic_traits.db import tables
from ironic_traits.inventory.mirrored import mirrored_records
from ironic_traits.mirror.cloud import NotAllowed, NotThere

LOG = logging.getLogger(__name__)

#: The minor version that brought the list of shards.
SINCE = 82
#: The pause after a comparison, as a multiple of the time that the comparison took.
_REST = 2
#: Seconds after a comparison for which the number is trusted. (Changes of conflicts may cancel out in the number.)
_ENOUGH = 3600
#: Seconds until the next request, after a response that the mirror may not read the list.
_PAUSE = 3600


class NodeCount:
    """The number of nodes in one cloud.

    :param context: Context of the mirror.
    :param turn: ironic_traits.inventory.mirrored.mirror_clouds.Turn.
    :param cloud: ironic_traits.mirror.cloud.Cloud.
    :param compare: function that compares all uuids.
    """

    def __init__(self, context, turn, cloud, compare):
        self._context, self._turn, self._cloud, self._compare = context, turn, cloud, compare
        #: The number of nodes there minus the number here, after a comparison: the conflicts. None if unknown.
        self._surplus = None
        self._rest_until = self._refused_until = self._enough_until = 0.0

    def distrust(self):
        """Forget the number, so that ``is_enough`` is false until the next comparison."""
        self._surplus = None

    def is_enough(self):
        """Whether it is enough to check the number, without a comparison of uuids."""
        return self._surplus is not None and time.monotonic() < self._enough_until

    def is_unexpected(self):
        """Whether nodes may have been deleted there since the last comparison.

        :raises Unreadable: the cloud did not respond.
        """
        if time.monotonic() < self._rest_until:
            return False
        there = self._there()
        here = mirrored_records.count(self._context, self._turn.cloud)
        return there is not None and there - here != self._surplus

    def compare(self):
        """Compare all uuids.

        :raises Unreadable: the cloud did not respond.
        """
        begin = time.monotonic()
        self._surplus = None
        before, stored = self._there(), self._here()
        self._compare()
        after, here = self._there(), self._here()
        # Otherwise nodes were created or deleted in the meantime, and these changes may cancel out in the numbers.
        if before is not None and before == after and here <= stored:
            self._surplus = after - len(here)
        end = time.monotonic()
        self._rest_until, self._enough_until = end + _REST * (end - begin), end + _ENOUGH

    def _here(self):
        return mirrored_records.uuids(self._context, tables.nodes, self._turn.cloud)

    def _there(self):
        """Return the number of nodes there; None if the cloud does not show it."""
        if self._cloud.minor < SINCE or time.monotonic() < self._refused_until:
            return None
        try:
            shards = self._cloud.get('/shards').get('shards')
            return sum(each['count'] for each in shards)
        except (NotAllowed, NotThere, TypeError, KeyError) as error:
            LOG.warning(
                'Deletions in cloud %s are noticed late: its shards cannot be read: %s', self._turn.cloud, error
            )
            self._refused_until = time.monotonic() + _PAUSE
            return None
