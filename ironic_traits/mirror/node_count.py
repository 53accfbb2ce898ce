"""The number of nodes in a cloud, by which deletions are noticed soon.

Ironic does not report deletions. From version 1.82 on, its list of shards has the number of the nodes: a short request.
When it does not fit the number here, all uuids are compared.
"""

import logging
import time

from ironic_traits.db import tables
from ironic_traits.inventory import mirrored_records
from ironic_traits.mirror.cloud import NotAllowed, NotThere

LOG = logging.getLogger(__name__)

#: The minor version that brought the list of shards.
SINCE = 82
#: After a comparison, as many times as long as it took, no other one is begun.
_REST = 2
#: Seconds after which the list is requested again that the mirror may not read.
_PAUSE = 3600


class NodeCount:
    """The number of nodes in one cloud.

    :param context: Context of the mirror.
    :param turn: ironic_traits.inventory.mirror_clouds.Turn.
    :param cloud: ironic_traits.mirror.cloud.Cloud.
    """

    def __init__(self, context, turn, cloud):
        self._context, self._turn, self._cloud = context, turn, cloud
        #: How many nodes more there were there than here after a comparison: those in conflicts. None if not known.
        self._surplus = None
        self._rest_until = self._refused_until = 0.0

    def is_unexpected(self):
        """Whether nodes may have been deleted there since the last comparison.

        :raises Unreadable: the cloud did not respond.
        """
        if time.monotonic() < self._rest_until:
            return False
        there = self._there()
        here = mirrored_records.count(self._context, self._turn.cloud)
        return there is not None and there - here != self._surplus

    def around(self, compare):
        """Call a function that compares all uuids.

        :raises Unreadable: the cloud did not respond.
        """
        begin = time.monotonic()
        self._surplus = None
        before, known = self._there(), self._here()
        compare()
        after, here = self._there(), self._here()
        # Otherwise nodes were created or deleted in the meantime, and may have made up for each other in the numbers.
        if before is not None and before == after and here <= known:
            self._surplus = after - len(here)
        self._rest_until = time.monotonic() + _REST * (time.monotonic() - begin)

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
