"""The names of processes, by which a mirror knows that another one on the same machine was killed."""

import os
import socket


def name():
    """Return the name of this process: its host, its process id, and what tells containers apart."""
    return f'{socket.gethostname()} {os.getpid()} {_namespace()}'.strip()


def has_ended(other):
    """Whether a process of this machine has ended.

    :param other: its name. Of a process of another machine, or another container, it is not known: False.
    """
    host, _, rest = other.partition(' ')
    pid, _, namespace = rest.partition(' ')
    if host != socket.gethostname() or namespace != _namespace() or not namespace or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        # The process id is used again: as long as this process runs, no other one has its name.
        return True
    return not os.path.exists(f'/proc/{pid}')


def _namespace():
    try:
        return os.readlink('/proc/self/ns/pid')
    except OSError:
        return ''
