"""What a worker process does regularly: purge what is old, number changes for the change feed, and collect statistics.

Each worker does it. That is harmless: where another one has been, nothing is left to do.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from ironic_traits.changes import change_feed
from ironic_traits.db import planner_statistics
from ironic_traits.db.failover import outage
from ironic_traits.inventory.core import history_purge
from ironic_traits.inventory.mirrored import mirror_kept_nodes
from ironic_traits.service import Service
from ironic_traits.worker.power_sync import PowerSync
from ironic_traits.worker.refresher import SCHEDULE, SEARCH, Refresher

LOG = logging.getLogger(__name__)

#: Maximum number of seconds between the start of the worker and its first purge of the history.
FIRST = 60
#: Seconds between two searches for deleted objects that can be forgotten.
_FORGET = 3600
#: Seconds between two searches for tables without statistics.
_COLLECT = 5


class Periodic:
    """A thread that calls a function regularly, while the ``with`` block lasts.

    :param call: function of a function that returns whether the thread is to stop.
    :param interval: seconds between two calls. With 0, there are none.
    :param first: seconds until the first call.
    """

    def __init__(self, call: Callable[[Callable[[], bool]], object], interval: float, first: float = 0) -> None:
        self._call, self._interval, self._first = call, interval, first
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self._interval:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        seconds = self._first
        while not self._ended.wait(seconds):
            seconds = self._interval
            try:
                self._call(self._ended.is_set)
            except Exception as error:
                # No error here may end the thread.
                outage.log(LOG, error, 'The upkeep of the database failed; it is tried again later')


@contextlib.contextmanager
def watch(service: Service, worker: str) -> Iterator[None]:
    """Read BMCs while the ``with`` block lasts: their power states, and all facts when that is due.

    :param worker: uuid of the worker.
    """
    drivers = service.drivers.values()
    options, interval = service.conf.inspection, service.conf.redfish.power_sync_interval
    is_reading, is_watching = any(each.refreshable for each in drivers), any(each.watches for each in drivers)
    with (
        ThreadPoolExecutor(options.refresh_threads) as readers,
        ThreadPoolExecutor(service.conf.redfish.power_sync_threads) as watchers,
    ):
        refresher, power = Refresher(service, readers), PowerSync(service, worker, watchers)
        with (
            Periodic(refresher.read_due, SEARCH if is_reading else 0, SEARCH),
            Periodic(refresher.schedule, SCHEDULE if is_reading and options.refresh_interval else 0),
            Periodic(power.sync, interval if is_watching else 0, interval),
        ):
            yield


@contextlib.contextmanager
def keep_up(service: Service) -> Iterator[None]:
    """Keep up the database of a service while the ``with`` block lasts."""
    history, changes = service.conf.history, service.conf.changes
    first = min(FIRST, history.purge_interval)
    needs_statistics = service.database.url.get_backend_name() == 'postgresql'

    def purge(is_stopped: Callable[[], bool]) -> None:
        number = history_purge.purge(service, history.max_entries, history.max_days, is_stopped)
        if number:
            LOG.info('Purged %s entries of the history of nodes', number)

    def number(is_stopped: Callable[[], bool]) -> None:
        while change_feed.number(service) == change_feed.BATCH and not is_stopped():
            pass

    def forget(is_stopped: Callable[[], bool]) -> None:
        while change_feed.forget(service, changes.keep_days) == change_feed.BATCH and not is_stopped():
            pass
        mirror_kept_nodes.purge(service, service.conf.mirror.keep_deleted)

    def collect(_is_stopped: Callable[[], bool]) -> None:
        planner_statistics.collect(service)

    with (
        Periodic(purge, history.purge_interval, first),
        Periodic(number, changes.interval, changes.interval),
        Periodic(forget, _FORGET, FIRST),
        Periodic(collect, _COLLECT if needs_statistics else 0),
    ):
        yield
