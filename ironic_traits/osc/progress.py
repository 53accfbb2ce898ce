"""The progress of a long request."""

import contextlib
import sys
import threading
from collections.abc import Iterator

#: Seconds between two updates of the line.
_INTERVAL = 1


@contextlib.contextmanager
def elapsed(text: str) -> Iterator[None]:
    """Print a text on stderr. On a terminal, also count the seconds after the text until the block ends.

    :param text: what the block does.
    """
    if not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
        yield
        return
    ended = threading.Event()
    counter = threading.Thread(target=_count, args=(text, ended), daemon=True)
    counter.start()
    try:
        yield
    finally:
        ended.set()
        counter.join()
        print(file=sys.__stderr__)


def _count(text: str, ended: threading.Event) -> None:
    seconds = 0
    print(text, end='', file=sys.__stderr__, flush=True)
    while not ended.wait(_INTERVAL):
        seconds += _INTERVAL
        print(f'\r{text} {seconds} s', end='', file=sys.__stderr__, flush=True)
