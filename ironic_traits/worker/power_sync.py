"""Keeps the power state and the health of nodes as their BMCs show them."""

import collections
import concurrent.futures
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db.failover import outage
from ironic_traits.deploy import base
from ironic_traits.inventory.provisioning import node_states, observations
from ironic_traits.service import Service

LOG = logging.getLogger(__name__)

#: Number of rounds of which one asks the BMCs that did not answer.
_PATIENCE = 5


class PowerSync:
    """Asks the BMCs of the nodes of a worker.

    :param worker: uuid of the worker.
    :param pool: the threads.
    """

    def __init__(self, service: Service, worker: str, pool: ThreadPoolExecutor) -> None:
        self._service, self._worker, self._pool = service, worker, pool
        self._context = Context(service, None, 0, '')
        #: How often in a row the BMC of a node did not answer, by uuid.
        self._failures: collections.Counter[str] = collections.Counter()
        self._rounds = 0

    def sync(self, is_stopped: Callable[[], bool]) -> None:
        """Ask each BMC once. One that did not answer is asked less often, because it takes long."""
        self._rounds += 1
        nodes = observations.watched(self._service, self._worker)
        if self._rounds % _PATIENCE:
            nodes = [node for node in nodes if node.fault != observations.FAULT]
        concurrent.futures.wait([self._pool.submit(self._ask, node, is_stopped) for node in nodes])

    def _ask(self, node: sa.Row, is_stopped: Callable[[], bool]) -> None:
        if is_stopped():
            return
        try:
            asked = node_states.get(self._context, node.uuid)
            self._store(node, self._observed(asked), asked)
        except failures.NodeNotFound:
            LOG.info('Node %s was deleted while its BMC was asked', node.uuid)
        except Exception as error:
            outage.log(LOG, error, 'Node %s: its power state could not be stored', node.uuid)

    def _observed(self, node: Mapping[str, Any]) -> base.Observed | base.WorkFailed:
        try:
            return self._service.drivers[node['driver']].observe(node)
        except base.WorkFailed as error:
            return error

    def _store(self, node: sa.Row, observed: base.Observed | base.WorkFailed, asked: Mapping[str, Any]) -> None:
        if isinstance(observed, base.Observed):
            self._failures.pop(node.uuid, None)
            if observations.differs(node, observed):
                observations.store(self._context, node, observed, asked)
            return
        self._failures[node.uuid] += 1
        if self._failures[node.uuid] >= self._service.conf.redfish.power_sync_max_failures and not node.maintenance:
            number = self._failures.pop(node.uuid)
            LOG.warning('Node %s: its BMC did not answer %d times: %s', node.uuid, number, observed)
            observations.give_up(self._context, node.uuid, f'The power state could not be read: {observed}')
