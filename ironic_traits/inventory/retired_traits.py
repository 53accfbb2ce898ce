"""The names of the traits that the catalogue has as retired."""

import time
from collections.abc import Collection

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader

#: Seconds for which a process uses the names that it has read. They only cause warnings, and every write needs them.
MAX_AGE = 1


class RetiredTraits:
    """The retired names that a process knows. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._next = 0.0

    def among(self, database: Reader, names: Collection[str]) -> set[str]:
        """Return which of these names are retired."""
        if not names:
            return set()
        if time.monotonic() > self._next:
            statement = sa.select(tables.trait_notes.c.trait).where(tables.trait_notes.c.retired.is_(sa.true()))
            with database.read() as connection:
                self._names = frozenset(connection.scalars(statement))
            self._next = time.monotonic() + MAX_AGE
        return set(self._names.intersection(names))

    def forget(self) -> None:
        """Forget the names, because this process has changed them."""
        self._next = 0.0
