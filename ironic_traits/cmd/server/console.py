"""The standard output of a service."""

import contextlib
import os


def write(message: str) -> None:
    """Write a message, and ignore that the standard output is closed, as by "ironic-traits-api | head -2".

    A signal handler may call this while another message is written. It may not call ``print``, which is not reentrant.
    """
    with contextlib.suppress(OSError):
        os.write(1, message.encode())
