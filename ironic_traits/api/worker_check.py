"""A warning when nodes wait for a worker that is not there."""

import logging
import time

from ironic_traits.inventory import workers

LOG = logging.getLogger(__name__)

#: Seconds between two looks of one process, and between two of its warnings.
LOOK_EVERY = 10
WARN_EVERY = 60


class WorkerCheck:
    """Looks now and then, while requests come, whether work waits too long.

    There is no thread for it: some WSGI servers let none run.

    :param service: ironic_traits.service.Service.
    """

    def __init__(self, service):
        self._service = service
        self._next_look = time.monotonic() + LOOK_EVERY
        self._next_warning = 0.0

    def look(self):
        """Look, if it is time to."""
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
            # The request was answered; a database that does not answer is logged elsewhere.
            LOG.debug('Cannot look for work that waits: %s', error)
            return
        self._next_warning = now + WARN_EVERY
        advice = 'is an ironic-traits-worker running?' if not number else f'{number} workers are alive.'
        LOG.warning('Work on nodes has waited for a worker for %.0f seconds: %s', seconds, advice)
