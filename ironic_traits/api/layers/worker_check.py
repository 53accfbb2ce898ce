"""A warning when work on nodes waits too long for a worker."""

import logging
import time

from ironic_traits.inventory.provisioning import workers
from ironic_traits.service import Service

LOG = logging.getLogger(__name__)

#: Seconds between two checks of one process, and between two of its warnings.
LOOK_EVERY = 10
WARN_EVERY = 60


class WorkerCheck:
    """A periodic check, run after requests, that work does not wait too long for a worker.

    It has no thread of its own: some WSGI servers do not run threads.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._next_look = time.monotonic() + LOOK_EVERY
        self._next_warning = 0.0

    def look(self) -> None:
        """Check, if it is time to, and log a warning if work has waited too long."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY
        try:
            seconds = workers.longest_wait(self._service)
            if seconds < self._service.conf.deploy.waiting_warning or now < self._next_warning:
                return
            number = workers.alive(self._service)
        except Exception as error:
            # The request itself succeeded. An unavailable database is logged elsewhere.
            LOG.debug('Cannot check for work that waits: %s', error)
            return
        self._next_warning = now + WARN_EVERY
        hint = 'is an ironic-traits-worker running?' if not number else f'{number} workers are alive.'
        LOG.warning('Work on nodes has waited for a worker for %.0f seconds: %s', seconds, hint)
