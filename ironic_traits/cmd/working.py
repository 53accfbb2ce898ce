"""What ironic-traits-worker does.  Any number of workers may work on one database."""

import contextlib
import signal

from ironic_traits import wakeup
from ironic_traits.cmd import setup, supervisor
from ironic_traits.heartbeat import Heartbeat
from ironic_traits.service import Service
from ironic_traits.worker import Worker


def work():
    """Work until told to stop; the transition in hand is finished first."""
    supervised = supervisor.is_supervised()
    conf = setup.configuration(supervisor.arguments())
    if not supervised:
        # ironic-traits-api has the same configuration, and has warned.
        setup.warn(conf)
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        worker = Worker(service, wakeup.receiver())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *signaled: worker.stop())
        with Heartbeat(service):
            worker.run()
