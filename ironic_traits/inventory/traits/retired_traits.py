"""The names of the traits that are retired in the catalogue."""

from collections.abc import Collection

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.inventory.core.read_cache import ReadCache

#: Seconds for which a process caches the names. They only cause warnings, and every write needs them.
MAX_AGE = 1


def _read(database: Reader) -> frozenset[str]:
    statement = sa.select(tables.trait_notes.c.trait).where(tables.trait_notes.c.retired.is_(sa.true()))
    with database.read() as connection:
        return frozenset(connection.scalars(statement))


class RetiredTraits(ReadCache[Reader, frozenset[str]]):
    """The cache of the retired names in a process. ``service.Service`` has one."""

    def __init__(self) -> None:
        super().__init__(_read, MAX_AGE)

    def among(self, database: Reader, names: Collection[str]) -> set[str]:
        """Return the names that are retired."""
        return set(self.get(database).intersection(names)) if names else set()
