"""The record of the requests of all clients."""

import dataclasses
import json
import threading
import time
from typing import Any

#: Outcomes: the service has acknowledged the request; has refused it; nobody knows.
OK, NO, MAYBE = 'ok', 'no', 'maybe'


@dataclasses.dataclass
class Entry:
    """A request.

    :ivar kind: what it does: ``put_traits``, ``reserve``, ….
    :ivar values: what the checker needs to know.
    :ivar began: time.monotonic() when it was sent; ``ended`` when the response was there.
    """

    client: int
    kind: str
    values: dict[str, Any]
    began: float
    ended: float = 0.0
    outcome: str = MAYBE
    status: int = 0


class History:
    """A record, in memory, and in a file for a process that may be killed.

    :param path: of the file; None for none.
    """

    def __init__(self, path=None):
        self.entries = []
        #: Sentences about responses that are wrong by themselves.
        self.problems = []
        self._file = path.open('a') if path else None
        self._lock = threading.Lock()

    def begin(self, client, kind, **values):
        """Record a request that is about to be sent."""
        entry = Entry(client, kind, values, time.monotonic())
        with self._lock:
            self.entries.append(entry)
        self._write(entry)
        return entry

    def end(self, entry, status):
        """Record a response; status 0 is none."""
        entry.ended, entry.status = time.monotonic(), status
        entry.outcome = OK if 200 <= status < 300 else NO if 400 <= status < 500 else MAYBE
        self._write(entry)

    def update(self, entry):
        """Record further values of an entry."""
        self._write(entry)

    def problem(self, text):
        """Record that a response is wrong by itself."""
        self.problems.append(text)
        self._write(text)

    def _write(self, item):
        if self._file:
            with self._lock:
                document = item if isinstance(item, str) else dataclasses.asdict(item)
                self._file.write(json.dumps(document) + '\n')
                self._file.flush()


def read(path):
    """Return the History in a file. The last line of a request counts."""
    history, entries = History(), {}
    for line in path.read_text().splitlines():
        document = json.loads(line)
        if isinstance(document, str):
            history.problems.append(document)
        else:
            entries[document['client'], document['began']] = Entry(**document)
    history.entries = list(entries.values())
    return history
