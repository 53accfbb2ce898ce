"""The names of processes. They show a mirror that another one on the same machine was killed."""

import os
import pathlib
import socket


def name() -> str:
    """Return the name of this process: its host, its process id, and where this id is unique."""
    return f'{socket.gethostname()} {os.getpid()} {_place()}'.strip()


def has_ended(other: str) -> bool:
    """Whether a process of this machine has ended.

    :param other: its name. The result is False for a process on another machine or in another container.
    """
    host, _, rest = other.partition(' ')
    pid, _, place = rest.partition(' ')
    if host != socket.gethostname() or place != _place() or not place or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        # This process has got the process id of the other one, which must have ended.
        return True
    return not os.path.exists(f'/proc/{pid}')


def _place() -> str:
    """Return the PID namespace, which differs by container, and the id of the boot; '' if they are unknown.

    Each machine calls its first namespace the same, and two machines may have the same host name.
    """
    try:
        boot = pathlib.Path('/proc/sys/kernel/random/boot_id').read_text().strip()
        return f'{os.readlink("/proc/self/ns/pid")} {boot}'
    except OSError:
        return ''
