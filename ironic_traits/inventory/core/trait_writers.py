"""The rows of ``trait_writers``. Their ids stand for a source with the user and project of a request.

The ids never change. Therefore each process looks up a writer once, and caches its id.
"""

from collections.abc import Collection
from typing import NamedTuple, Protocol

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Writer as Database
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.matching.sources import OPERATOR


class Actor(Protocol):
    """The author of a write: the Context of a request, or the Service of a worker, which has no user."""

    @property
    def user_id(self) -> str | None:
        """The user; None without a user."""

    @property
    def project_id(self) -> str | None:
        """The project; None without a project."""


class WritingActor(Actor, Database, Protocol):
    """An Actor with its database: a Context, or a Service."""


class TraitAuthor(NamedTuple):
    """A writer of traits.

    :ivar source: name of the source.
    :ivar user_id: user of the request; '' if it has none.
    :ivar project_id: project of the request; '' if it has none.
    """

    source: str
    user_id: str = ''
    project_id: str = ''


#: The writer of rows from before writers were recorded. Their ``writer_id`` is NULL.
UNKNOWN = TraitAuthor(OPERATOR)


class Writers:
    """The cache of the ids in a process. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._ids: dict[TraitAuthor, int] = {}
        self._writers: dict[int, TraitAuthor] = {}

    def id_of(self, context: WritingActor, source: str) -> int:
        """Return the id of the writer of a request.

        Call it before the transaction: a new writer is stored in a separate transaction.
        """
        writer = TraitAuthor(source, context.user_id or '', context.project_id or '')
        if writer not in self._ids:
            self._remember(writer, _store(context, writer))
        return self._ids[writer]

    def ids_in(self, connection: sa.Connection, actor: Actor, sources: Collection[str]) -> dict[str, int]:
        """Return the ids of the writers of several sources, inside a transaction.

        New writers are stored in this transaction. It may be rolled back, so they are not cached.

        :param actor: the author of the write.
        :returns: {source: id}.
        """
        writers = {source: TraitAuthor(source, actor.user_id or '', actor.project_id or '') for source in sources}
        for writer_id, writer in _select(connection, [each for each in writers.values() if each not in self._ids]):
            self._remember(writer, writer_id)
        missing = [each for each in writers.values() if each not in self._ids]
        # Sorted, so that two transactions that insert the same writers cannot deadlock.
        insert_missing(connection, tables.trait_writers, [each._asdict() for each in sorted(missing)])
        new = {writer: writer_id for writer_id, writer in _select(connection, missing)}
        return {source: new.get(writer) or self._ids[writer] for source, writer in writers.items()}

    def writer(self, connection: sa.Connection, writer_id: int | None) -> TraitAuthor:
        """Return the writer with an id.

        :param writer_id: value of a column ``writer_id``.
        """
        if writer_id is None:
            return UNKNOWN
        if writer_id not in self._writers:
            columns = tables.trait_writers.c
            statement = sa.select(columns.source, columns.user_id, columns.project_id).where(columns.id == writer_id)
            row = connection.execute(statement).first()
            if row is None:
                return UNKNOWN
            self._remember(TraitAuthor(*row), writer_id)
        return self._writers[writer_id]

    def source(self, connection: sa.Connection, writer_id: int | None) -> str:
        """Return the source of the writer with an id."""
        return self.writer(connection, writer_id).source

    def forget(self) -> None:
        """Clear the cache. Use this if the transaction that stored the ids may have been rolled back."""
        self._ids.clear()
        self._writers.clear()

    def _remember(self, writer: TraitAuthor, writer_id: int) -> None:
        self._writers[writer_id] = writer
        self._ids[writer] = writer_id


def ensure(database: Database, source: str) -> None:
    """Store the writer of requests without a user, unless it exists, in a separate transaction."""
    _store(database, TraitAuthor(source))


def select_writers(source: str) -> sa.Select:
    """Return the SELECT of the ids of all writers of a source."""
    return sa.select(tables.trait_writers.c.id).where(tables.trait_writers.c.source == source)


def _select(connection: sa.Connection, writers: Collection[TraitAuthor]) -> list[tuple[int, TraitAuthor]]:
    """Return the writers that are stored, [(id, TraitAuthor), …]. All must have the same user and project."""
    if not writers:
        return []
    columns, (_, user_id, project_id) = tables.trait_writers.c, next(iter(writers))
    same = (columns.user_id == user_id, columns.project_id == project_id)
    statement = sa.select(columns.id, columns.source, columns.user_id, columns.project_id)
    rows = connection.execute(statement.where(columns.source.in_([each.source for each in writers]), *same))
    return [(row.id, TraitAuthor(*row[1:])) for row in rows]


@retried
def _store(database: Database, writer: TraitAuthor) -> int:
    """Insert a writer unless it exists, and return its id."""
    columns = tables.trait_writers.c
    with database.write() as connection:
        insert_missing(connection, tables.trait_writers, [writer._asdict()])
        same = (columns[name] == value for name, value in writer._asdict().items())
        return connection.execute(sa.select(columns.id).where(*same)).scalar_one()
