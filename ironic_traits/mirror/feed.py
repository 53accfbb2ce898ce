"""The changes in a cloud, read from the lists of an unmodified Ironic, in the order of their stamps (``updated_at``).

A list begins after an item that is read already, the *anchor*. The item after it, the *follower*, shows whether the
anchor has changed. doc/source/contributor/decisions/mirror_feed.rst says how no change is missed.
"""

import collections
import dataclasses
import datetime
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oslo_utils import uuidutils

from ironic_traits.mirror.cloud import Cloud, NotInCloud, Unreadable
from ironic_traits.mirror.documents import CloudItem, moment

LOG = logging.getLogger(__name__)

#: The minor version that hides the children of nodes in lists, unless a request asks for them.
_CHILDREN_SINCE = 83
#: Number of newest items that are read at first. More are read if all of them are new.
NEWEST = 10
#: Maximum number of items that are tried as the anchor. After that, everything is read again.
_ANCHORS = 5
#: Maximum number of items that a list may lack although they exist.
_STRAY = 10
#: [uuid, stamp] of an item, as JSON.
Place = list[str | None]
#: Items, and whether there are more.
Page = tuple[list[CloudItem], bool]
#: Function from a time to uuids of items that changed before it, the latest first, with their stamps.
Alternatives = Callable[[datetime.datetime], Sequence[tuple[str, datetime.datetime]]]
#: Function that is called between two pages of a long list.
Meanwhile = Callable[[], object]


class AnchorLost(Exception):
    """No anchor is left: everything must be read again."""


@dataclasses.dataclass
class Feed:
    """The list of one resource of a cloud.

    :ivar resource: its name: ``nodes``, ``ports``, ``portgroups``, ``chassis`` or ``allocations``.
    :ivar page_size: maximum number of items of a page.
    :ivar overlap: seconds for which changes are read again.
    :ivar state: where to continue, as JSON: {'anchor': Place, 'follower': Place, 'pass': …}; {} at first.
    :ivar all_fields: what the path of a list with all fields ends with.
    """

    cloud: Cloud
    resource: str
    page_size: int
    overlap: float
    state: dict[str, Any]
    all_fields: str = '/detail'
    #: When the list of changes was read, and its last two items.
    _begin: float = 0.0
    _end: tuple[Place, Place] | None = None
    #: (when it was read, anchor, follower), …: the ends of the lists so far.
    _ends: collections.deque[tuple[float, Place, Place]] = dataclasses.field(default_factory=collections.deque)

    @property
    def is_passing(self) -> bool:
        """Whether a pass over all items is in progress, or has never begun."""
        return 'pass' in self.state or 'anchor' not in self.state

    def restart(self, is_lost: bool = False) -> None:
        """Begin a pass over all items.

        :param is_lost: whether the changes cannot be read in the meantime.
        """
        self.state = (
            {} if is_lost else {name: self.state[name] for name in ('anchor', 'follower') if name in self.state}
        )
        self.state['pass'] = {'marker': None, 'best': [], 'bound': None, 'count': 0}
        self._ends.clear()

    def read_page(self) -> tuple[list[CloudItem], Callable[[], None]]:
        """Return the next page of the pass over all items.

        :returns: (items, function to call when they are stored).
        """
        if 'pass' not in self.state:
            self.restart()
        step = dict(self.state['pass'])
        if step['marker'] is None:
            step['bound'] = self._bound() or ''
        try:
            items, has_more = self._page(sort_key='id', sort_dir='asc', marker=step['marker'])
        except NotInCloud:
            # The marker was deleted.
            self.restart()
            raise
        bound = step['bound']
        stamped = [[each.changed, each.uuid] for each in items if each.changed and each.changed <= bound]
        best = self._best([*step['best'], *stamped], bound)
        count = step['count'] + len(items)

        def advance() -> None:
            if has_more:
                marker = items[-1].uuid
                self.state['pass'] = {'marker': marker, 'best': best, 'bound': bound, 'count': count}
                return
            self.state = {'anchor': _reversed(best[-2:-1] or best[-1:])}
            if len(best) == 2:
                self.state['follower'] = _reversed(best[-1:])

        return items, advance

    def changes(self, alternatives: Alternatives) -> Iterator[list[CloudItem]]:
        """Yield pages with all items that have changed, and with items that changed shortly before.

        After the last page, call ``advance`` if all items were stored.

        :raises AnchorLost: everything must be read again.
        """
        self._begin, self._end = time.monotonic(), None
        if self.state['anchor'] is None:
            if self._bound():
                raise AnchorLost
            return
        for page in self._after_anchor(alternatives):
            for item in page:
                self._end = (self._end[1] if self._end else self.state['anchor']), [item.uuid, item.changed]
            yield page

    def advance(self) -> None:
        """Move the anchor to the end of a list that was read long enough ago. Call it after all changes are stored."""
        if self._end and (not self._ends or self._ends[-1][1:] != self._end):
            self._ends.append((self._begin, *self._end))
        while self._ends and self._ends[0][0] <= self._begin - self.overlap:
            _, self.state['anchor'], self.state['follower'] = self._ends.popleft()

    def hold(self) -> None:
        """Keep the anchor. Call this if some changes could not be stored."""
        self._ends.clear()

    def newest(self) -> list[CloudItem]:
        """Return the newest items, with all fields: Ironic does not show ``created_at`` otherwise."""
        return self._list(self.all_fields, sort_key='id', sort_dir='desc', limit=NEWEST)[0]

    def newest_pages(self) -> Iterator[list[CloudItem]]:
        """Yield pages of the newest items, the latest first."""
        marker = None
        while True:
            items, has_more = self._page(sort_key='id', sort_dir='desc', marker=marker)
            yield items
            if not has_more:
                return
            marker = items[-1].uuid

    def uuids(self, meanwhile: Meanwhile = lambda: None) -> set[str]:
        """Return the uuids of all items."""
        return {each.uuid for each in self.items('uuid', meanwhile)}

    def items(self, fields: str, meanwhile: Meanwhile = lambda: None) -> Iterator[CloudItem]:
        """Yield all items with some fields.

        :param fields: their names, separated by commas.
        """
        marker = None
        while True:
            more: dict[str, str] = {} if marker is None else {'marker': marker}
            items, has_more = self._list('', fields=fields, sort_key='id', sort_dir='asc', limit=1000, **more)
            yield from items
            if not has_more:
                return
            meanwhile()
            marker = items[-1].uuid

    def get(self, uuid: str) -> CloudItem | None:
        """Return one item; None if the cloud does not have it."""
        try:
            return CloudItem.read(uuid, {**self.cloud.get(f'/{self.resource}/{uuid}'), 'uuid': uuid})
        except NotInCloud:
            return None

    def gone(self, uuids: Sequence[str]) -> list[str]:
        """Return those of the items that the cloud really does not have.

        Each item is requested, because the list may have been read while the order of its pages changed.

        :raises Unreadable: many of the items exist.
        """
        gone = []
        for number, uuid in enumerate(uuids, 1):
            if self.get(uuid) is None:
                gone.append(uuid)
            if number - len(gone) > _STRAY:
                raise Unreadable(f'The list of {self.resource} lacks items that exist, such as {uuid}.')
        return gone

    def _best(self, pairs: list[list[str]], bound: str) -> list[list[str]]:
        """Return the items to continue from: the last two that changed before the overlap, or else the first two.

        Hosts with slow clocks may write earlier stamps than the newest one, also after they were read.

        :param pairs: [[stamp, uuid], …], in the order of creation.
        """
        # Stable: of equal stamps, the last item in the order of creation is the last in the list of changes, too.
        pairs = sorted(pairs, key=lambda pair: pair[0])
        overlap = datetime.timedelta(seconds=self.overlap)
        return [pair for pair in pairs if _moment(pair[0]) <= _moment(bound) - overlap][-2:] or pairs[:2]

    def _after_anchor(self, alternatives: Alternatives) -> Iterator[list[CloudItem]]:
        """Yield the pages after the anchor."""
        result = self._list_after(self.state['anchor'], self.state.get('follower'))
        page, has_more = result or self._after_another(alternatives)
        yield page
        while has_more:
            page, has_more = self._following(page)
            yield page

    def _list_after(self, anchor: Place, follower: Place | None = None) -> Page | None:
        """Return the first page after an item, with whether there are more; None if the item was changed or deleted."""
        try:
            page, has_more = self._page(sort_key='updated_at', sort_dir='asc', marker=anchor[0])
        except NotInCloud:
            return None
        is_sure = follower and page and [page[0].uuid, page[0].changed] == follower
        return (page, has_more) if is_sure or self._is_unchanged(anchor) else None

    def _after_another(self, alternatives: Alternatives) -> Page:
        """Return the first page after another anchor, with whether there are more."""
        for uuid, written_at in alternatives(_moment(self.state['anchor'][1]))[:_ANCHORS]:
            item = self.get(uuid)
            if item is None or moment(item.changed) != written_at:
                continue
            anchor: Place = [uuid, item.changed]
            result = self._list_after(anchor)
            if result:
                self.state['anchor'] = anchor
                self.state.pop('follower', None)
                return result
        raise AnchorLost

    def _following(self, page: list[CloudItem]) -> Page:
        """Return the page after a page, with whether there are more. Its first items may be those of the page again."""
        items: list[Place] = [[each.uuid, each.changed] for each in page[-_ANCHORS - 1 :]]
        for anchor, follower in itertools.pairwise(reversed(items)):
            result = self._list_after(follower, anchor)
            if result:
                return result
        raise NotInCloud('The items at the end of a page have changed.')

    def _is_unchanged(self, anchor: Place) -> bool:
        item = self.get(str(anchor[0]))
        return item is not None and item.changed == anchor[1]

    def _bound(self) -> str | None:
        """Return a stamp that all later changes exceed; None if no item has a stamp.

        It is the newest one, if the cloud's database sorts items without a stamp last. PostgreSQL sorts them first: if
        there is one, this is the oldest stamp, and the first list of changes has all items.
        """
        for direction in ('desc', 'asc'):
            items, _ = self._list(self.all_fields, sort_key='updated_at', sort_dir=direction, limit=1)
            if items and items[0].changed:
                return items[0].changed
        return None

    def _page(self, marker: str | None = None, **query: str | int) -> Page:
        more: dict[str, str] = {} if marker is None else {'marker': marker}
        return self._list(self.all_fields, limit=self.page_size, **more, **query)

    def _list(self, below: str, **query: str | int) -> Page:
        """Return the items of a list, with whether there are more."""
        if self.resource == 'nodes' and self.cloud.minor >= _CHILDREN_SINCE:
            # On each page: the link to the next page of Ironic leaves it out.
            query['include_children'] = 'true'
        document = self.cloud.get(f'/{self.resource}{below}', **query)
        items = document.get(self.resource)
        if not isinstance(items, list):
            raise Unreadable(f'The response to GET /{self.resource}{below} has no list of {self.resource}.')
        named = [
            CloudItem.read(each['uuid'], each)
            for each in items
            if isinstance(each, dict) and uuidutils.is_uuid_like(each.get('uuid'))
        ]
        if items and not named:
            raise Unreadable(f'The list of {self.resource} has no uuids.')
        if len(named) < len(items):
            LOG.warning('%d %s of a list have no uuid, and are left out', len(items) - len(named), self.resource)
        return named, bool(items) and bool(document.get('next'))


def _moment(stamp: str) -> datetime.datetime:
    """Return the time of a stamp of an item, which is known to be one."""
    parsed = moment(stamp)
    assert parsed is not None
    return parsed


def _reversed(pairs: list[list[str]]) -> list[str] | None:
    """Return [uuid, stamp] of a list with one pair of stamp and uuid; None for an empty list."""
    return pairs[0][::-1] if pairs else None
