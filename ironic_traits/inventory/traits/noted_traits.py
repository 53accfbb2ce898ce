"""The names of the traits that are retired or exclusive in the catalogue."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader
from ironic_traits.inventory.core.read_cache import ReadCache

#: Seconds for which a process caches the names: nearly every request needs them. A request that changes which traits
#: are exclusive is answered after this time, so that all processes use the change by then.
MAX_AGE = 1


class _Names(NamedTuple):
    retired: frozenset[str]
    exclusive: frozenset[str]


def _read(database: Reader) -> _Names:
    notes = tables.trait_notes.c
    statement = sa.select(notes.trait, notes.retired, notes.exclusive).where(sa.or_(notes.retired, notes.exclusive))
    with database.read() as connection:
        rows = connection.execute(statement).all()
    return _Names(*(frozenset(row.trait for row in rows if row[place]) for place in (1, 2)))


class NotedTraits(ReadCache[Reader, _Names]):
    """The cache of the names in a process. ``service.Service`` has one.

    :param reclaim_trait: [deploy] reclaim_trait, which is exclusive, too.
    """

    def __init__(self, reclaim_trait: str | None) -> None:
        super().__init__(_read, MAX_AGE)
        self._reclaim = frozenset([reclaim_trait] if reclaim_trait else [])

    def retired(self, database: Reader, names: Collection[str]) -> set[str]:
        """Return those of the names that are retired."""
        return set(self.get(database).retired.intersection(names)) if names else set()

    def exclusive(self, database: Reader) -> frozenset[str]:
        """Return the exclusive traits.

        Read them before a transaction begins: this may need a connection of its own.
        """
        return self.and_reclaim(self.get(database).exclusive)

    def and_reclaim(self, names: Iterable[str]) -> frozenset[str]:
        """Return names of exclusive traits with the reclaim trait, if there is one."""
        return self._reclaim.union(names)
