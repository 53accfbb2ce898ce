"""The number of nodes in a cloud, which shows deletions soon.

Ironic does not report deletions. From version 1.82 on, its list of shards has the numbers of nodes: one short request.
When the number is not as expected, all uuids are compared. Otherwise they are compared only once an hour.
"""

import logging
import time
from collections.abc import Callable
from typing import Any

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.mirrored import mirrored_records
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.mirror.cloud import Cloud, NotAllowed, NotInCloud

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

    :param compare: function that compares all uuids.
    """

    def __init__(self, context: Context, turn: Turn, cloud: Cloud, compare: Callable[[], object]) -> None:
        self._context, self._turn, self._cloud, self._compare = context, turn, cloud, compare
        #: The nodes in the cloud minus those in this service, after a comparison: the conflicts. None if unknown.
        self._surplus: int | None = None
        self._rest_until = self._refused_until = self._enough_until = 0.0

    def distrust(self) -> None:
        """Forget the number, so that ``is_enough`` is false until the next comparison."""
        self._surplus = None

    def is_enough(self) -> bool:
        """Whether it is enough to check the number, without a comparison of uuids."""
        return self._surplus is not None and time.monotonic() < self._enough_until

    def is_unexpected(self) -> bool:
        """Whether nodes may have been deleted in the cloud since the last comparison."""
        if time.monotonic() < self._rest_until:
            return False
        shown = self._shown()
        stored = mirrored_records.count(self._context, self._turn.cloud)
        return shown is not None and shown - stored != self._surplus

    def compare(self) -> None:
        """Compare all uuids."""
        begin = time.monotonic()
        self._surplus = None
        before, stored_before = self._shown(), self._stored()
        self._compare()
        after, stored = self._shown(), self._stored()
        # Otherwise nodes were created or deleted in the meantime, and these changes may cancel out in the numbers.
        if after is not None and before == after and stored <= stored_before:
            self._surplus = after - len(stored)
        end = time.monotonic()
        self._rest_until, self._enough_until = end + _REST * (end - begin), end + _ENOUGH

    def _stored(self) -> set[str]:
        return mirrored_records.uuids(self._context, tables.nodes, self._turn.cloud)

    def _shown(self) -> int | None:
        """Return the number of nodes in the cloud; None if the cloud does not show it."""
        if self._cloud.minor < SINCE or time.monotonic() < self._refused_until:
            return None
        try:
            # Any: what is odd raises one of the exceptions below.
            shards: Any = self._cloud.get('/shards').get('shards')
            return sum(each['count'] for each in shards)
        except (NotAllowed, NotInCloud, TypeError, KeyError) as error:
            LOG.warning(
                'Deletions in cloud %s are noticed late: its shards cannot be read: %s', self._turn.cloud, error
            )
            self._refused_until = time.monotonic() + _PAUSE
            return None
