"""The regular purges of the history of nodes by a worker process."""

import logging
import threading

from ironic_traits.db import outage
from ironic_traits.inventory import history_purge

LOG = logging.getLogger(__name__)

#: Seconds after the start of the worker until its first purge.
FIRST = 60


class Purges:
    """A thread that purges the history every ``[history] purge_interval`` seconds, while the ``with`` block lasts.

    Each worker purges. That is harmless: where another one has purged, there is nothing to delete.

    :param service: ironic_traits.service.Service.
    """

    def __init__(self, service):
        self._service = service
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        if self._service.conf.history.purge_interval:
            self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self):
        interval = self._service.conf.history.purge_interval
        seconds = min(FIRST, interval)
        while not self._ended.wait(seconds):
            self._purge()
            seconds = interval

    def _purge(self):
        """Purge, and log exceptions: no error here may end the thread. Outages are logged elsewhere."""
        options = self._service.conf.history
        try:
            number = history_purge.purge(
                self._service, options.max_entries, options.max_days, is_stopped=self._ended.is_set
            )
            if number:
                LOG.info('Purged %s entries of the history of nodes', number)
        except Exception as error:
            if not outage.is_one(error):
                LOG.exception('The history of nodes cannot be purged')
