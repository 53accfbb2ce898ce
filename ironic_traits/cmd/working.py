"""The implementation of ironic-traits-worker. Any number of workers may share one database."""

import contextlib
import logging
import signal

from ironic_traits.cmd import setup, supervisor, tracing
from ironic_traits.conf import database_name
from ironic_traits.service import Service
from ironic_traits.worker import upkeep, wakeup
from ironic_traits.worker.heartbeat import Heartbeat
from ironic_traits.worker.worker import Worker

LOG = logging.getLogger(__name__)


def work() -> None:
    """Run a worker until SIGINT or SIGTERM. It finishes the current transitions first."""
    supervised = supervisor.is_supervised()
    conf = setup.configuration(supervisor.arguments())
    if not supervised:
        # Otherwise ironic-traits-api, which has the same configuration, has printed the warnings.
        setup.warn(conf)
    # A database that does not exist is a mistyped path: a worker has nothing to do in an empty one.
    setup.schema(conf, create=False)
    with setup.usable():
        service = Service(conf)
    LOG.info('Database: %s', database_name(conf))
    with contextlib.closing(service), tracing.sending(conf, 'ironic-traits-worker'):
        worker = Worker(service, wakeup.receiver())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *signaled: worker.stop())
        with Heartbeat(service) as heartbeat, upkeep.keep_up(service), upkeep.watch(service, heartbeat.uuid):
            worker.run()
