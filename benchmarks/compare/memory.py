"""The peak memory of processes."""

import contextlib
import pathlib

#: The value that resets the peak when it is written to clear_refs (proc(5)).
_RESET = '5'


def reset(pids):
    """Reset the peaks of some processes and of their children."""
    for pid in _family(pids):
        with contextlib.suppress(OSError):
            pathlib.Path(f'/proc/{pid}/clear_refs').write_text(_RESET)


def peak(pids):
    """Return the peak memory of the largest process among some and their children, in MiB."""
    return max((int(status.get('VmHWM', '0').split()[0]) / 1024 for status in _family(pids).values()), default=0)


def _family(roots):
    """Return {pid: {name: value in /proc/PID/status}} of some processes and of their children."""
    statuses = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/status'):
        with contextlib.suppress(OSError):
            lines = path.read_text().splitlines()
            statuses[int(path.parent.name)] = dict(line.split(':\t', 1) for line in lines if ':\t' in line)
    return {pid: status for pid, status in statuses.items() if _descends(pid, roots, statuses)}


def _descends(pid, roots, statuses):
    while pid and pid not in roots:
        pid = int(statuses.get(pid, {}).get('PPid', 0))
    return bool(pid)
