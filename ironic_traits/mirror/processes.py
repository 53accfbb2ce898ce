"""The names of processes. They show a mirror that another one on the same machine was killed."""

import os
import socket


def name():
    """Return the name of this process: its host, its process id, and its PID namespace, which differs by container."""
    return f'{socket.gethostname()} {os.getpid()} {_namespace()}'.strip()


def has_ended(other):
    """Whether a process of this machine has ended.

    :param other: its name. The result is False for a process on another machine or in another container.
    """
    host, _, rest = other.partition(' ')
    pid, _, namespace = rest.partition(' ')
    if host != socket.gethostname() or namespace != _namespace() or not namespace or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        # This process has got the process id of the other one, which must have ended.
        return True
    return not os.path.exists(f'/proc/{pid}')


def _namespace():
    try:
        return os.readlink('/proc/self/ns/pid')
    except OSError:
        return ''
