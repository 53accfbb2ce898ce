"""A mirror of one cloud: reads everything once, then the changes, until it is stopped."""

import datetime
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from oslo_utils import uuidutils

from ironic_traits.conf.mirror import write_of
from ironic_traits.context import Context, Parts
from ironic_traits.db.failover import outage
from ironic_traits.inventory.mirrored import (
    mirror_clouds,
    mirror_trait_writes,
    mirrored_allocations,
    mirrored_nodes,
    mirrored_records,
)
from ironic_traits.inventory.mirrored.mirror_clouds import Turn, TurnLost
from ironic_traits.mirror import processes, settler
from ironic_traits.mirror.cloud import Cloud, Document, NotInCloud, Unreadable
from ironic_traits.mirror.deletions import DELETED, TABLES, Deletions
from ironic_traits.mirror.documents import CloudItem
from ironic_traits.mirror.feed import AnchorLost, Feed
from ironic_traits.mirror.inspection_reader import InspectionReader
from ironic_traits.mirror.node_count import NodeCount
from ironic_traits.mirror.retries import Pause
from ironic_traits.mirror.storage import Storage
from ironic_traits.mirror.trait_writer import CloudTraitWriter
from ironic_traits.spans import span

LOG = logging.getLogger(__name__)

NODES, ALLOCATIONS = mirrored_nodes.RESOURCE, mirrored_allocations.RESOURCE
#: The resources, each after those that it refers to: {name: the minor version that brought it}.
RESOURCES = {'chassis': 0, NODES: 0, 'portgroups': 0, 'ports': 0, ALLOCATIONS: 52}
#: Those that are read completely before changes are read.
_FIRST = ('chassis', NODES)
#: {task: option with the seconds between two runs of it}.
_INTERVALS = {
    'claims': 'interval',
    'nodes': 'interval',
    'records': 'records_interval',
    'conflicts': 'records_interval',
    'deletions': 'deletions_interval',
    'inspections': 'records_interval',
    'full': 'full_interval',
}
#: The tasks that are due when the mirror begins.
_AT_ONCE = ('claims', 'nodes', 'records', 'conflicts', 'deletions', 'inspections')
#: Missing items that are read one by one. If more are missing, everything is read again.
_FEW = 50
#: Seconds between two attempts to get the turn that another mirror has, and after errors of the database.
_PAUSE = 1


class Follower:
    """The mirror of one cloud.

    :param cloud: None for the cloud of this name in clouds.yaml.
    """

    def __init__(self, service: Parts, name: str, cloud: Cloud | None = None) -> None:
        self._service = service
        self._options = options = service.conf.mirror
        self._context = Context(service, None, 0, '')
        self._turn = Turn(name, uuidutils.generate_uuid(), options.lease_seconds)
        self._cloud = cloud or Cloud(name, options.timeout)
        self._feeds: dict[str, Feed] = {}
        self._deletions = Deletions(self._context, self._turn)
        self._storage = Storage(self._context, self._turn, lambda: self._feeds, self._deletions)
        self._inspections = InspectionReader(self._context, self._turn, self._cloud)
        self._count = NodeCount(self._context, self._turn, self._cloud, lambda: self._compare(self._feeds[NODES]))
        #: {name: function} of the tasks that run when they are due and no pass is in progress.
        self._tasks: dict[str, Callable[[], None]] = {
            'records': self._poll_records,
            'conflicts': self._look_at_conflicts,
            'deletions': self._compare_uuids,
            'inspections': self._read_inspections,
            'full': self._restart,
        }
        self._due: dict[str, float] = {}
        self._writer: CloudTraitWriter | None = None
        #: The same, once an operator has confirmed that it may write.
        self._confirmed_writer: CloudTraitWriter | None = None
        if write_of(service.conf, name):
            self._writer = CloudTraitWriter(self._context, self._turn, self._cloud, self._store_node)
        self._requests = 0
        self._pause = Pause()
        self._stopped = threading.Event()

    @property
    def is_failing(self) -> bool:
        """Whether the last request that reads, or the last request that writes a trait, has failed."""
        return not self._feeds or bool(self._writer and self._writer.is_failing)

    def stop(self) -> None:
        """Stop ``run`` after the current request."""
        self._stopped.set()

    def run(self) -> None:
        """Follow the cloud until ``stop`` is called."""
        while not self._stopped.is_set():
            with span('mirror task', {'ironic_traits.cloud': self._turn.cloud}) as measured:
                pause = self.work()
                measured.error = 'unreadable' if self._pause.failures else ''
            self._stopped.wait(pause)
        try:
            mirror_clouds.give_back(self._service, self._turn)
        except Exception as error:
            if not outage.is_one(error):
                LOG.exception('The turn for cloud %s was not given back', self._turn.cloud)
        self._cloud.close()

    def catch_up(self) -> bool:
        """Read all changes and compare all uuids at once, also if that is not due. Return whether it succeeds."""
        self._due |= dict.fromkeys(_AT_ONCE, 0)
        self._count.distrust()
        if self._writer:
            self._writer.hurry()
        while self.work() == 0:
            pass
        return bool(self._feeds)

    def work(self) -> float:
        """Run the task that is due next.

        :returns: the seconds until another task may be due.
        """
        try:
            if not self._feeds and not self._begin():
                return _PAUSE
            return self._step()
        except TurnLost:
            LOG.info('Another mirror follows cloud %s now', self._turn.cloud)
            self._feeds = {}
        except NotInCloud:
            # An item was deleted between two requests.
            return 0
        except Unreadable as error:
            return self._fail(error)
        except Exception as error:
            self._feeds = {}
            if not outage.is_one(error):
                if not self._pause.failures:
                    LOG.exception('An error interrupted the mirror of cloud %s, which continues', self._turn.cloud)
                return self._fail(f'An error interrupted the mirror; the log has it: {type(error).__name__}.')
        return _PAUSE

    def _begin(self) -> bool:
        """Take the turn, and connect. Return whether this mirror has the turn."""
        row = mirror_clouds.take(self._service, self._turn, processes.name(), processes.has_ended)
        if row is None:
            return False
        if not self._cloud.is_connected:
            self._cloud.connect()
            LOG.info('The mirror follows cloud %s: %s, version %s', row.name, self._cloud.endpoint, self._cloud.version)
        write = write_of(self._service.conf, row.name)
        self._save(endpoint=self._cloud.endpoint, version=self._cloud.version, write=write)
        minor = self._cloud.minor
        self._feeds = {
            name: self._feed(name, row.cursors.get(name, {})) for name, since in RESOURCES.items() if minor >= since
        }
        self._due = dict.fromkeys(_AT_ONCE, 0)
        self._due['full'] = time.monotonic() + (self._options.full_interval or float('inf'))
        self._confirmed_writer = None
        self._look_for_confirmations()
        if not self._confirmed_writer:
            mirror_trait_writes.save_queue(self._service, self._turn, None)
        return True

    def _look_for_confirmations(self) -> None:
        """Begin to write traits if an operator has confirmed it."""
        if not self._writer or self._confirmed_writer:
            return
        if mirror_clouds.are_writes_confirmed(self._context, self._turn.cloud):
            self._confirmed_writer = self._writer
            self._writer.begin()

    def _feed(self, resource: str, state: dict[str, Any]) -> Feed:
        options = self._options
        all_fields = '' if resource == ALLOCATIONS else '/detail'
        return Feed(self._cloud, resource, options.page_size, options.overlap_seconds, state, all_fields)

    def _step(self) -> float:
        """Run one task, and return the seconds until the next one is due."""
        writer = self._confirmed_writer
        passing = [feed for feed in self._feeds.values() if feed.is_passing]
        is_first = any('anchor' not in feed.state for feed in self._feeds.values() if feed.resource in _FIRST)
        if self._is_due('claims'):
            self._run('claims', self._settle)
        elif not is_first and self._is_due('nodes'):
            self._run('nodes', self._poll_nodes)
        elif writer and not is_first and writer.due <= time.monotonic():
            writer.step()
        elif passing:
            self._read_page(passing[0])
            return 0
        else:
            name = next(filter(self._is_due, self._tasks), None)
            if name:
                self._run(name, self._tasks[name])
        self._pause.succeed()
        due = min(*self._due.values(), writer.due if writer else float('inf'))
        return 0 if passing else max(due - time.monotonic(), 0)

    def _is_due(self, name: str) -> bool:
        """Whether a task is due. If so, postpone it by its interval."""
        if self._due[name] > time.monotonic():
            return False
        self._postpone(name)
        return True

    def _postpone(self, name: str) -> None:
        self._due[name] = time.monotonic() + (getattr(self._options, _INTERVALS[name]) or float('inf'))

    def _run(self, name: str, function: Callable[[], object]) -> None:
        """Call the function of a task. The interval begins after the call: a slow cloud does not block other tasks."""
        function()
        if self._due[name]:
            self._postpone(name)

    def _poll_records(self) -> None:
        for feed in [each for name, each in self._feeds.items() if name != NODES]:
            with self._storage.if_allowed(feed):
                self._poll(feed)
        self._save(**self._success())

    def _compare_uuids(self) -> None:
        if not self._count.is_enough():
            self._count.compare()
        for feed in [self._feeds[name] for name in DELETED[1:] if name in self._feeds]:
            with self._storage.if_allowed(feed):
                self._compare(feed)
        self._save(**self._success())

    def _look_at_conflicts(self) -> None:
        if self._storage.look_at_conflicts():
            self._due['conflicts'] = 0
        self._save(**self._success())

    def _read_inspections(self) -> None:
        if self._inspections.read():
            self._due['inspections'] = 0
        self._save(**self._success())

    def _restart(self) -> None:
        for feed in self._feeds.values():
            feed.restart()

    def _poll_nodes(self) -> None:
        self._look_for_confirmations()
        self._follow_nodes()
        is_reading = any(feed.is_passing for feed in self._feeds.values())
        if not is_reading and (self._count.is_unexpected() or self._deletions.is_confirmed()):
            self._count.compare()

    def _follow_nodes(self) -> None:
        moment = mirror_clouds.now(self._service)
        is_complete = self._poll(self._feeds[NODES])
        self._save(**self._success(), **({'current_at': moment} if is_complete else {}))

    def _settle(self) -> None:
        settler.settle_due(self._context, self._cloud)

    def _meanwhile(self) -> None:
        """Run the tasks that cannot wait until a long list has been read."""
        for name, task in (('claims', self._settle), ('nodes', self._follow_nodes)):
            if self._is_due(name):
                self._run(name, task)

    def _poll(self, feed: Feed) -> bool:
        """Store changed and new items. Return whether all of them could be stored."""
        if 'anchor' not in feed.state:
            return False
        newest = feed.newest()
        if not newest and feed.state['anchor'] is None:
            # The cloud has no such item. A look for changes would cost two more requests.
            return True
        is_complete = self._store_new(feed, newest)
        try:
            for page in feed.changes(lambda moment: self._written_before(feed, moment)):
                is_complete &= self._storage.store(feed, page)
        except AnchorLost:
            LOG.info('All %s of cloud %s are read again', feed.resource, self._turn.cloud)
            feed.restart(is_lost=True)
            return False
        if is_complete:
            feed.advance()
        else:
            feed.hold()
        return is_complete

    def _store_new(self, feed: Feed, newest: Sequence[CloudItem]) -> bool:
        """Store new items. Return whether all of them could be stored.

        :param newest: the newest items. Some of them may be stored already.
        """
        new = self._new(feed, newest)
        if len(new) < len(newest):
            return self._storage.store(feed, new)
        is_complete = True
        if newest:
            for page in feed.newest_pages():
                new = self._new(feed, page)
                is_complete &= self._storage.store(feed, new)
                if len(new) < len(page):
                    break
        return is_complete

    def _read_page(self, feed: Feed) -> None:
        """Store the next page of a pass over all items."""
        with self._storage.if_allowed(feed):
            page, advance = feed.read_page()
            self._storage.store(feed, page)
            advance()
        values: dict[str, object] = (
            {'pass_nodes': feed.state.get('pass', {}).get('count')} if feed.resource == NODES else {}
        )
        if not any(each.is_passing for each in self._feeds.values()):
            LOG.info('All of cloud %s has been read', self._turn.cloud)
            values['passed_at'] = mirror_clouds.now(self._service)
            self._due |= {'conflicts': 0, 'deletions': 0}
        self._save(**self._success(), **values)

    def _compare(self, feed: Feed) -> None:
        """Delete the items that the cloud no longer has, and read those that are missing in this service."""
        absent = dict.fromkeys(self._deletions.compare(feed, self._meanwhile))
        missing = mirrored_records.unknown(self._context, TABLES[feed.resource], self._turn.cloud, absent)
        if len(missing) > _FEW:
            feed.restart()
        else:
            self._storage.store(feed, [item for uuid in sorted(missing) if (item := feed.get(uuid))])

    def _store_node(self, uuid: str, document: Document) -> None:
        self._storage.store(self._feeds[NODES], [CloudItem.read(uuid, document)])

    def _new(self, feed: Feed, page: Sequence[CloudItem]) -> list[CloudItem]:
        """Return the items that are not stored, or were created again since."""
        created = {each.uuid: each.created for each in page}
        unknown = mirrored_records.unknown(self._context, TABLES[feed.resource], self._turn.cloud, created)
        return [each for each in page if each.uuid in unknown]

    def _written_before(self, feed: Feed, moment: datetime.datetime) -> Sequence[tuple[str, datetime.datetime]]:
        return mirrored_records.written_before(self._context, TABLES[feed.resource], self._turn.cloud, moment)

    def _success(self) -> dict[str, object]:
        cursors = {resource: feed.state for resource, feed in self._feeds.items()}
        return {'cursors': cursors, 'failing_since': None, 'last_error': None}

    def _save(self, **values: object) -> None:
        requests, self._requests = self._cloud.requests - self._requests, self._cloud.requests
        mirror_clouds.save(self._service, self._turn, requests=requests, **values)

    def _fail(self, error: object) -> float:
        """Store that the cloud cannot be read, and return the seconds until the next attempt."""
        pause = self._pause.fail(self._options.max_pause)
        if self._pause.failures == 1:
            LOG.warning('Cloud %s cannot be read: %s', self._turn.cloud, error)
        self._cloud.close()
        self._feeds = {}
        try:
            self._save(last_error=str(error), failing_since=mirror_clouds.FAILING_SINCE)
        except TurnLost:
            LOG.info('Another mirror follows cloud %s now', self._turn.cloud)
        except Exception as other:
            if not outage.is_one(other):
                raise
        return pause
