"""The distribution of connections among the processes that answer requests.

Each process listens with its own socket (SO_REUSEPORT). By default, the kernel chooses the process by a hash. With two
processes and 8 connections, one process gets 6 or more of them in three cases of ten. It serves them at a third of
the speed of the others. Here the kernel chooses by the port of the client, in blocks of 16. When a client opens several
connections in a row, Linux assigns ports in steps of 2 to 16. So the connections nearly always alternate between the
processes. The ports of different clients are practically random, like the hash.
"""

import contextlib
import ctypes
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Sequence

#: From linux/asm-generic/socket.h. Python has no name for it.
_SO_ATTACH_REUSEPORT_CBPF = 51
#: From linux/filter.h: what is added to an offset from the beginning of the IP header.
_NETWORK = 0xFFF00000
#: An instruction of a classic BPF program: (code, true, false, value).
Instruction = tuple[int, int, int, int]
#: Name of the thread that waits until the process listens.
THREAD = 'spreading'
#: Maximum number of seconds that the thread waits.
_LONGEST = 30


def spread(port: int, processes: int) -> None:
    """Have the kernel spread the connections, as soon as this process listens. Return at once.

    :param port: the port of the service.
    :param processes: number of processes that answer requests.
    """
    if processes > 1:
        threading.Thread(target=_spread, args=(port, processes), name=THREAD, daemon=True).start()


def _spread(port: int, processes: int) -> None:
    deadline = time.monotonic() + _LONGEST
    while time.monotonic() < deadline:
        for number in _descriptors():
            # Other systems, and other kinds of sockets, refuse the option: there, nothing changes.
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(number)) as each:
                if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and each.getsockname()[1] == port:
                    _attach(each, _program(processes))
                    return
        time.sleep(0.05)


def _descriptors() -> list[int]:
    """Return the file descriptors of the sockets of this process."""
    descriptors = []
    with contextlib.suppress(OSError):
        for name in os.listdir('/proc/self/fd'):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    descriptors.append(int(name))
    return descriptors


def _program(processes: int) -> list[Instruction]:
    """Return the instructions of the classic BPF program that chooses a process."""
    return [
        # The version of IP, in the upper half of the first byte.
        (0x30, 0, 0, _NETWORK),
        (0x74, 0, 0, 4),
        (0x15, 2, 0, 6),
        # The client's port, after the header of IPv4. Headers have no options in practice.
        (0x28, 0, 0, _NETWORK + 20),
        (0x05, 0, 0, 1),
        # The same, after the header of IPv6.
        (0x28, 0, 0, _NETWORK + 40),
        (0x74, 0, 0, 4),
        (0x94, 0, 0, processes),
        (0x16, 0, 0, 0),
    ]


def _attach(listener: socket.socket, program: Sequence[Instruction]) -> None:
    code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *each) for each in program))
    # struct sock_fprog, with the padding before the pointer.
    listener.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_REUSEPORT_CBPF, struct.pack('HP', len(program), ctypes.addressof(code))
    )
