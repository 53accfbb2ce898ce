"""The ETags of lists that a process remembers (``api.conditional``)."""

import collections
import threading
from collections.abc import Hashable

#: Requests whose ETags a process remembers.
MAX_REMEMBERED = 1000


class Tags:
    """The ETags of lists that a process remembers. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._tags: collections.OrderedDict[Hashable, tuple[Hashable, str]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, request: Hashable, version: Hashable) -> str | None:
        """Return the ETag of the response to a request at a version; None if it is not remembered."""
        with self._lock:
            remembered = self._tags.get(request)
        return remembered[1] if remembered and remembered[0] == version else None

    def remember(self, request: Hashable, version: Hashable, tag: str) -> None:
        """Remember the ETag of the response to a request."""
        with self._lock:
            self._tags[request] = version, tag
            self._tags.move_to_end(request)
            if len(self._tags) > MAX_REMEMBERED:
                self._tags.popitem(last=False)
