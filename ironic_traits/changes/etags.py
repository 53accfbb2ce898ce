"""The ETags of lists that a process remembers (``api.conditional``)."""

import collections
import threading

#: Requests whose ETags a process remembers.
MAX_REMEMBERED = 1000


class Tags:
    """The ETags of lists that a process remembers. ``service.Service`` has one."""

    def __init__(self):
        self._tags = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, request, version):
        """Return the ETag of the response to a request at a version; None if it is not remembered."""
        with self._lock:
            remembered = self._tags.get(request)
        return remembered[1] if remembered and remembered[0] == version else None

    def remember(self, request, version, tag):
        """Remember the ETag of the response to a request."""
        with self._lock:
            self._tags[request] = version, tag
            self._tags.move_to_end(request)
            if len(self._tags) > MAX_REMEMBERED:
                self._tags.popitem(last=False)
