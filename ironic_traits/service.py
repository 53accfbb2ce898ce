"""The resources of one process of the service."""

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from ironic_traits.changes.change_streams import Streams
from ironic_traits.changes.etags import Tags
from ironic_traits.db.engine import Database
from ironic_traits.deploy import drivers, validate
from ironic_traits.deploy.base import Driver
from ironic_traits.inventory.core.trait_writers import Writers
from ironic_traits.inventory.holds.combined import Combined
from ironic_traits.inventory.provisioning.conductors import Directory
from ironic_traits.inventory.records.inspection_rules import RuleCache, built_in
from ironic_traits.inventory.search.node_index import NodeIndex
from ironic_traits.inventory.search.search_places import Places
from ironic_traits.inventory.traits.noted_traits import NotedTraits
from ironic_traits.placement.trait_cache import TraitCache
from ironic_traits.worker import wakeup

LOG = logging.getLogger(__name__)


class Service:
    """The configuration, the database, the drivers and hooks, and policy.

    :param conf: a parsed ConfigOpts (``ironic_traits.conf.make``).
    :param database: None for that of the configuration.
    :raises oslo_config.cfg.Error: a driver cannot be loaded, or a file with inspection rules is invalid.
    :ivar read: context manager of a connection for reading.
    :ivar write: context manager of a connection in a transaction.
    :ivar snapshot: context manager of a connection for reading, of which all statements see the same moment.
    :ivar drivers: the drivers by name.
    :ivar hooks: the checks before a deploy.
    :ivar enforcer: of oslo.policy; None under noauth and http_basic, where everything is allowed.
    :ivar waiters: semaphore that limits how many requests wait for locked nodes at a time.
    :ivar writers: ids of the sources and users that write traits.
    :ivar noted_traits: names of retired and of exclusive traits.
    :ivar has_promises: whether there were capacity reservations when this process read them last.
    :ivar promise_reading: what it has read then (``inventory.holds.promised_nodes.Reading``), for estimates.
    :ivar rules: the inspection rules.
    :ivar conductors: the conductors, and the nodes of each.
    :ivar etags: ETags of lists.
    :ivar node_index: the index of nodes.
    :ivar trait_cache: traits of providers.
    :ivar clouds: connections to the Ironic of clouds, by name (``ironic_traits.mirror.cloud.Cloud``).
    :ivar combined: requests that hold nodes, which are carried out together.
    :ivar streams: the clients that follow changes.
    :ivar wake_worker: function that notifies the worker of this machine of new work.
    """

    def __init__(self, conf: cfg.ConfigOpts, database: Database | None = None) -> None:
        self.conf = conf
        self.database = database or Database(conf)
        self.database.watch_outages()
        self.read = self.database.read
        self.write = self.database.write
        self.snapshot = self.database.snapshot
        self.drivers: Mapping[str, Driver] = drivers.load(conf)
        if conf.deploy.simulated_hardware_types:
            names = ', '.join(conf.deploy.simulated_hardware_types)
            LOG.warning('These hardware types are simulated, so nothing happens to their machines: %s', names)
        self.hooks: Sequence[validate.Hook] = validate.load()
        #: oslo.policy is imported only if it is needed.
        self.enforcer: Any = None if conf.api.auth_strategy in ('noauth', 'http_basic') else _enforcer(conf)
        self.waiters = threading.Semaphore(conf.api.threads // 4)
        self.writers = Writers()
        self.noted_traits = NotedTraits(conf.deploy.reclaim_trait)
        self.has_promises = False
        self.promise_reading: Any = None
        self.rules = RuleCache(built_in(conf))
        self.conductors = Directory()
        self.etags = Tags()
        self.node_index = NodeIndex()
        self.trait_cache = TraitCache()
        # mirror.cloud needs libraries that are not imported before they are needed.
        self.clouds: dict[str, Any] = {}
        self.places = Places()
        self.combined: Combined[Any] = Combined()
        self.streams = Streams(self, conf.changes)
        self._wakeups = wakeup.Sender(os.environ.get(wakeup.ADDRESS))
        self.wake_worker: Callable[[], None] = self._wakeups.send

    def close(self) -> None:
        """Close the database connections and the socket that wakes the worker."""
        self.node_index.close()
        self._wakeups.close()
        self.database.close()


def _enforcer(conf: cfg.ConfigOpts) -> Any:
    # Imported late: oslo.policy parses each rule, which takes a while, and is needed only with an enforcer.
    from ironic_traits import policies

    return policies.enforcer(conf)
