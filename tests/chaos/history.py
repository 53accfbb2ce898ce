"""The record of the requests of all clients."""

import collections
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


def is_error(status):
    """Whether a status is a bug of the service. 503 is not: the database is gone."""
    return status >= 500 and status != 503


class History:
    """A record in memory. A process that may be killed also writes it to a file.

    ``entries`` are the writes. Reads only count in ``statuses`` and ``longest``.

    :param path: of the file; None to write no file.
    :ivar statuses: {status of a response, or 0: number of requests}.
    :ivar longest: seconds of the longest request.
    """

    def __init__(self, path=None):
        self.entries = []
        #: Problems of single responses, as sentences.
        self.problems = []
        self.statuses, self.longest = collections.Counter(), 0.0
        self._file = path.open('a') if path else None
        self._lock = threading.Lock()

    def recording(self, ask):
        """Return a function that sends requests as another one does, and records each of them.

        :param ask: function that returns (status, document).
        """

        def recorded(method, path, *arguments, **headers):
            began = time.monotonic()
            status, document = ask(method, path, *arguments, **headers)
            with self._lock:
                self.statuses[status] += 1
                self.longest = max(self.longest, time.monotonic() - began)
            if is_error(status):
                self.problem(f'{method} {path}: {status} {document}')
            return status, document

        return recorded

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
