"""Reads BMCs again: what is due, many at a time."""

import concurrent.futures
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db.failover import outage
from ironic_traits.deploy import base
from ironic_traits.inventory.inspection import refreshes
from ironic_traits.inventory.provisioning import node_states
from ironic_traits.service import Service

LOG = logging.getLogger(__name__)

#: Seconds between two searches for BMCs that are to be read, and between two searches for nodes without a refresh.
SEARCH, SCHEDULE = 1, 60


class Refresher:
    """Reads the BMCs of nodes in threads.

    :param pool: the threads.
    """

    def __init__(self, service: Service, pool: ThreadPoolExecutor) -> None:
        self._service, self._pool = service, pool
        self._context = Context(service, None, 0, '')
        self._running: set[Future[None]] = set()

    def read_due(self, is_stopped: Callable[[], bool]) -> None:
        """Begin to read all BMCs that are due now, as soon as there are free threads."""
        while not is_stopped():
            self._running = {each for each in self._running if not each.done()}
            free = self._service.conf.inspection.refresh_threads - len(self._running)
            nodes = refreshes.due(self._service, free) if free else []
            if free and not nodes:
                return
            self._running |= {self._pool.submit(self._read, node) for node in nodes}
            concurrent.futures.wait(self._running, SEARCH, concurrent.futures.FIRST_COMPLETED)

    def schedule(self, is_stopped: Callable[[], bool]) -> None:
        """Schedule regular refreshes of the nodes that have none."""
        while refreshes.schedule(self._service) and not is_stopped():
            pass

    def _read(self, node: sa.Row) -> None:
        try:
            if claim := refreshes.claim(self._service, node):
                asked = node_states.get(self._context, claim.node)
                refreshes.settle(self._context, claim, self._facts(asked), asked)
        except failures.NodeNotFound:
            LOG.info('Node %s was deleted while its BMC was read', node.uuid)
        except Exception as error:
            outage.log(LOG, error, 'Node %s: reading its BMC was interrupted, and is tried again', node.uuid)

    def _facts(self, node: dict[str, Any]) -> base.Facts | base.WorkFailed:
        try:
            outcome = self._service.drivers[node['driver']].work(base.Task('refresh', 0, {}, node))
        except base.WorkFailed as error:
            return error
        except Exception as error:
            LOG.exception('Node %s: the driver failed to read its BMC', node['uuid'])
            return base.WorkFailed(f'{type(error).__name__}: {error}')
        assert isinstance(outcome, base.Done)
        assert outcome.facts
        return outcome.facts
