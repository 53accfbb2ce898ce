"""A cache for values that a process reads from the database and uses for some seconds."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

_Source = TypeVar('_Source')
_Value = TypeVar('_Value')


class ReadCache(Generic[_Source, _Value]):
    """A value that is read again when it is too old.

    :param read: function that reads the value, given an object that opens connections.
    :ivar seconds: how long the value is used.
    """

    def __init__(self, read: Callable[[_Source], _Value], seconds: float) -> None:
        self._read = read
        self.seconds = seconds
        self._value: _Value | None = None
        self._until = 0.0

    def get(self, source: _Source) -> _Value:
        """Return the value.

        :param source: argument of ``read``.
        """
        value = self._value
        if value is None or time.monotonic() > self._until:
            # From before the read: what others write afterwards is used after this time.
            until = time.monotonic() + self.seconds
            value = self._value = self._read(source)
            self._until = until
        return value

    def forget(self) -> None:
        """Forget the value, because this process has changed it."""
        self._until = 0.0
