"""The changes in a cloud, read from the lists of an unmodified Ironic, in the order of their stamps (``updated_at``).

A list begins after an item that is read already, the *anchor*. The item after it, the *follower*, shows whether the
anchor has changed. doc/source/contributor/decisions/mirror_feed.rst says how no change is missed.
"""

import collections
import datetime
import itertools
import logging
import time

from oslo_utils import uuidutils

from ironic_traits.mirror.cloud import NotThere, Unreadable
from ironic_traits.mirror.documents import moment, stamp

LOG = logging.getLogger(__name__)

#: The minor version that hides the children of nodes in lists, unless a request asks for them.
_CHILDREN_SINCE = 83
#: Number of newest items that are read at first. More are read if all of them are new.
NEWEST = 10
#: Maximum number of items that are tried as the anchor. After that, everything is read again.
_ANCHORS = 5
#: Maximum number of items that a list may lack although they exist.
_STRAY = 10


class Lost(Exception):
    """No anchor is left: everything must be read again."""


class Feed:
    """The list of one resource of a cloud.

    :param cloud: ironic_traits.mirror.cloud.Cloud.
    :param resource: its name: ``nodes``, ``ports``, ``portgroups``, ``chassis`` or ``allocations``.
    :param page_size: maximum number of items of a page.
    :param overlap: seconds for which changes are read again.
    :param state: the last ``state`` of another process; {} at first.
    :param has_details: whether only the list at ``/detail`` has all fields. Otherwise, every list has them.
    :ivar state: {'anchor': [uuid, stamp], 'follower': [uuid, stamp], 'pass': …}: where to continue, as JSON.
    """

    def __init__(self, cloud, resource, page_size, overlap, state, has_details=True):
        self._cloud = cloud
        self._all_fields = '/detail' if has_details else ''
        self.resource = resource
        self._page_size = page_size
        self._overlap = overlap
        self.state = dict(state)
        #: (when it was read, anchor, follower), …: the ends of the lists so far.
        self._ends: collections.deque = collections.deque()

    @property
    def is_passing(self):
        """Whether a pass over all items is in progress, or has never begun."""
        return 'pass' in self.state or 'anchor' not in self.state

    def restart(self, is_lost=False):
        """Begin a pass over all items.

        :param is_lost: whether the changes cannot be read in the meantime.
        """
        self.state = (
            {} if is_lost else {name: self.state[name] for name in ('anchor', 'follower') if name in self.state}
        )
        self.state['pass'] = {'marker': None, 'best': [], 'bound': None, 'count': 0}
        self._ends.clear()

    def read_page(self):
        """Return the next page of the pass over all items.

        :returns: (documents, function to call when they are stored).
        :raises Unreadable: the cloud did not respond.
        """
        if 'pass' not in self.state:
            self.restart()
        step = dict(self.state['pass'])
        if step['marker'] is None:
            step['bound'] = self._bound() or ''
        try:
            documents, has_more = self._page(sort_key='id', sort_dir='asc', marker=step['marker'])
        except NotThere:
            # The marker was deleted.
            self.restart()
            raise
        bound = step['bound']
        stamped = [[stamp(each), each['uuid']] for each in documents if stamp(each) and stamp(each) <= bound]
        best = self._best([*step['best'], *stamped], bound)
        count = step['count'] + len(documents)

        def advance():
            if has_more:
                marker = documents[-1]['uuid']
                self.state['pass'] = {'marker': marker, 'best': best, 'bound': bound, 'count': count}
                return
            self.state = {'anchor': _reversed(best[-2:-1] or best[-1:])}
            if len(best) == 2:
                self.state['follower'] = _reversed(best[-1:])

        return documents, advance

    def changes(self, alternatives):
        """Yield pages with all items that have changed, and with items that changed shortly before.

        After the last page, call ``advance`` if all items were stored.

        :param alternatives: function that returns uuids of items that changed before a time, the latest first, with
            their stamps: [(uuid, datetime), …].
        :raises Lost: everything must be read again.
        :raises Unreadable: the cloud did not respond.
        """
        self._begin, self._end = time.monotonic(), None
        if self.state['anchor'] is None:
            if self._bound():
                raise Lost
            return
        for page in self._after_anchor(alternatives):
            for document in page:
                self._end = (self._end or (None, self.state['anchor']))[1], [document['uuid'], stamp(document)]
            yield page

    def advance(self):
        """Move the anchor to the end of a list that was read long enough ago. Call it after all changes are stored."""
        if self._end and (not self._ends or self._ends[-1][1:] != self._end):
            self._ends.append((self._begin, *self._end))
        while self._ends and self._ends[0][0] <= self._begin - self._overlap:
            _, self.state['anchor'], self.state['follower'] = self._ends.popleft()

    def hold(self):
        """Keep the anchor. Call this if some changes could not be stored."""
        self._ends.clear()

    def newest(self):
        """Return the newest items, with all fields: Ironic does not show ``created_at`` otherwise."""
        return self._list(self._all_fields, sort_key='id', sort_dir='desc', limit=NEWEST)[0]

    def newest_pages(self):
        """Yield pages of the newest items, the latest first."""
        marker = None
        while True:
            documents, has_more = self._page(sort_key='id', sort_dir='desc', marker=marker)
            yield documents
            if not has_more:
                return
            marker = documents[-1]['uuid']

    def uuids(self, meanwhile=lambda: None):
        """Return the uuids of all items, a set.

        :param meanwhile: function that is called between two pages.
        """
        return {each['uuid'] for each in self.items('uuid', meanwhile)}

    def items(self, fields, meanwhile=lambda: None):
        """Yield all items with some fields.

        :param fields: their names, separated by commas.
        :param meanwhile: as for ``uuids``.
        """
        marker = None
        while True:
            more: dict[str, str] = {} if marker is None else {'marker': marker}
            documents, has_more = self._list('', fields=fields, sort_key='id', sort_dir='asc', limit=1000, **more)
            yield from documents
            if not has_more:
                return
            meanwhile()
            marker = documents[-1]['uuid']

    def get(self, uuid):
        """Return one item; None if the cloud does not have it."""
        try:
            return self._cloud.get(f'/{self.resource}/{uuid}')
        except NotThere:
            return None

    def gone(self, uuids):
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

    def _best(self, pairs, bound):
        """Return the items to continue from: the last two that changed before the overlap, or else the first two.

        Hosts with slow clocks may write earlier stamps than the newest one, also after they were read.

        :param pairs: [(stamp, uuid), …], in the order of creation.
        """
        # Stable: of equal stamps, the last item in the order of creation is the last in the list of changes, too.
        pairs = sorted(pairs, key=lambda pair: pair[0])
        overlap = datetime.timedelta(seconds=self._overlap)
        return [pair for pair in pairs if moment(pair[0]) <= moment(bound) - overlap][-2:] or pairs[:2]

    def _after_anchor(self, alternatives):
        """Yield the pages after the anchor."""
        result = self._list_after(self.state['anchor'], self.state.get('follower'))
        page, has_more = result or self._after_another(alternatives)
        yield page
        while has_more:
            page, has_more = self._following(page)
            yield page

    def _list_after(self, anchor, follower=None):
        """Return the first page after an item, with whether there are more; None if the item was changed or deleted."""
        try:
            page, has_more = self._page(sort_key='updated_at', sort_dir='asc', marker=anchor[0])
        except NotThere:
            return None
        is_sure = follower and page and [page[0]['uuid'], stamp(page[0])] == follower
        return (page, has_more) if is_sure or self._is_unchanged(anchor) else None

    def _after_another(self, alternatives):
        """Return the first page after another anchor, with whether there are more."""
        for uuid, written_at in alternatives(moment(self.state['anchor'][1]))[:_ANCHORS]:
            document = self.get(uuid)
            if document is None or moment(stamp(document)) != written_at:
                continue
            anchor = [uuid, stamp(document)]
            result = self._list_after(anchor)
            if result:
                self.state['anchor'] = anchor
                self.state.pop('follower', None)
                return result
        raise Lost

    def _following(self, page):
        """Return the page after a page, with whether there are more. Its first items may be those of the page again."""
        items = [[each['uuid'], stamp(each)] for each in page[-_ANCHORS - 1 :]]
        for anchor, follower in itertools.pairwise(reversed(items)):
            result = self._list_after(follower, anchor)
            if result:
                return result
        raise NotThere('The items at the end of a page have changed.')

    def _is_unchanged(self, anchor):
        document = self.get(anchor[0])
        return document is not None and stamp(document) == anchor[1]

    def _bound(self):
        """Return a stamp that all later changes exceed; None if no item has a stamp.

        It is the newest one, if the cloud's database sorts items without a stamp last. PostgreSQL sorts them first: if
        there is one, this is the oldest stamp, and the first list of changes has all items.
        """
        for direction in ('desc', 'asc'):
            documents, _ = self._list(self._all_fields, sort_key='updated_at', sort_dir=direction, limit=1)
            if documents and stamp(documents[0]):
                return stamp(documents[0])
        return None

    def _page(self, marker=None, **query):
        more = {} if marker is None else {'marker': marker}
        return self._list(self._all_fields, limit=self._page_size, **more, **query)

    def _list(self, below, **query):
        """Return the items of a list, with whether there are more."""
        if self.resource == 'nodes' and self._cloud.minor >= _CHILDREN_SINCE:
            # On each page: the link to the next page of Ironic leaves it out.
            query['include_children'] = 'true'
        document = self._cloud.get(f'/{self.resource}{below}', **query)
        items = document.get(self.resource)
        if not isinstance(items, list):
            raise Unreadable(f'The response to GET /{self.resource}{below} has no list of {self.resource}.')
        named = [each for each in items if isinstance(each, dict) and uuidutils.is_uuid_like(each.get('uuid'))]
        if items and not named:
            raise Unreadable(f'The list of {self.resource} has no uuids.')
        if len(named) < len(items):
            LOG.warning('%d %s of a list have no uuid, and are left out', len(items) - len(named), self.resource)
        return named, bool(items) and bool(document.get('next'))


def _reversed(pairs):
    """Return [uuid, stamp] of a list with one pair of stamp and uuid; None for an empty list."""
    return pairs[0][::-1] if pairs else None
