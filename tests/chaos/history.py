"""The record of the requests of all clients."""

import dataclasses
import json
import threading
import time
from typing import Any

#: Outcomes: the service has acknowledged the request, or has refused it, or the outcome is unknown.
OK, NO, MAYBE = 'ok', 'no', 'maybe'


@dataclasses.dataclass
class Entry:
    """A request.

    :ivar kind: what it does: ``put_traits``, ``reserve``, ….
    :ivar values: what the checker needs to know.
    :ivar began: time.monotonic() when it was sent; ``ended``: when the response arrived.
    """

    client: int
    kind: str
    values: dict[str, Any]
    began: float
    ended: float = 0.0
    outcome: str = MAYBE
    status: int = 0


class History:
    """A record in memory. A process that may be killed also writes it to a file.

    :param path: of the file; None to write no file.
    """

    def __init__(self, path=None):
        self.entries = []
        #: Problems of single responses, as sentences.
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
        """Record a response. Status 0 means that there was none."""
        entry.ended, entry.status = time.monotonic(), status
        entry.outcome = OK if 200 <= status < 300 else NO if 400 <= status < 500 else MAYBE
        self._write(entry)

    def update(self, entry):
        """Record more values of an entry."""
        self._write(entry)

    def problem(self, text):
        """Record a problem of a single response."""
        self.problems.append(text)
        self._write(text)

    def _write(self, item):
        if self._file:
            with self._lock:
                document = item if isinstance(item, str) else dataclasses.asdict(item)
                self._file.write(json.dumps(document) + '\n')
                self._file.flush()


def read(path):
    """Return the History in a file. Of several lines of a request, the last one counts."""
    history, entries = History(), {}
    for line in path.read_text().splitlines():
        document = json.loads(line)
        if isinstance(document, str):
            history.problems.append(document)
        else:
            entries[document['client'], document['began']] = Entry(**document)
    history.entries = list(entries.values())
    return history
