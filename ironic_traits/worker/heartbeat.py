"""The heartbeat of a worker process."""

import logging
import os
import socket
import threading
from collections.abc import Callable
from typing import Any, Self

from oslo_utils import uuidutils

from ironic_traits.db.failover import outage
from ironic_traits.inventory.provisioning import workers
from ironic_traits.service import Service

LOG = logging.getLogger(__name__)


class Heartbeat:
    """A thread that regularly writes to the database that this worker is alive, while the ``with`` block lasts.

    It is a thread, because a driver may keep the main thread busy for minutes.

    :ivar uuid: of the worker.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.uuid = uuidutils.generate_uuid()
        self._facts = {
            'hostname': socket.gethostname(),
            'pid': os.getpid(),
            'conductor_group': workers.group(service),
            'drivers': sorted(service.drivers),
        }
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        LOG.info('Worker %s (%s, pid %s) starts', self.uuid, self._facts['hostname'], self._facts['pid'])
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join(self._service.conf.deploy.heartbeat_timeout)
        self._try(workers.forget, self._service, self.uuid)
        LOG.info('Worker %s (%s, pid %s) stops', self.uuid, self._facts['hostname'], self._facts['pid'])

    def _run(self) -> None:
        while not self._ended.is_set():
            self._try(workers.beat, self._service, self.uuid, **self._facts)
            self._ended.wait(self._service.conf.deploy.heartbeat_interval)

    def _try(self, function: Callable[..., None], *arguments: Any, **facts: Any) -> None:
        """Call a function, and log its exceptions: no error here may end the worker. Outages are logged elsewhere."""
        try:
            function(*arguments, **facts)
        except Exception as error:
            outage.log(LOG, error, 'The heartbeat of worker %s cannot be written', self.uuid)
