"""ironic-traits-worker: carries nodes from state to state.  Any number of them may work on one database."""

import contextlib
import signal
import sys

from ironic_traits.cmd import child, setup
from ironic_traits.service import Service
from ironic_traits.worker import Worker


def main():
    """Work until told to stop; what is in hand then is finished."""
    child.end_with_starter()
    conf = setup.configuration(sys.argv[1:])
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        worker = Worker(service)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *signaled: worker.stop())
        worker.run()


if __name__ == '__main__':
    main()
