"""Large documents, which are rendered while they are sent."""

from collections.abc import Iterator


class Chunks:
    """The body of a response as an iterator of bytes, because its text as a whole would take much memory.

    Its length is not known when the response begins. So an exception later can only break off the connection: whatever
    may fail, such as reading the database, must be done before.

    :param parts: iterator of the bytes.
    """

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts

    def __iter__(self) -> 'Chunks':
        return self

    def __next__(self) -> bytes:
        return next(self._parts)

    def close(self) -> None:
        """Drop the rest. The server calls this when the client has gone, too, and possibly more than once."""
        self._parts = iter(())
