"""The standard output of a service."""

import contextlib
import os


def write(message):
    """Write a message, if the standard output is still read: "ironic-traits-api | head -2" closes it early.

    Safe in a signal handler, which may have interrupted another message: ``print`` is not reentrant.
    """
    with contextlib.suppress(OSError):
        os.write(1, message.encode())
