"""The change feed: the changes since a place in the feed, which a client stores as a token.

Changes get their numbers after the commit, so that no reader misses one.
doc/source/contributor/decisions/change_feed.rst says why.
"""

import datetime
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import read_clock

NODE, RESERVATION = 'node', 'reservation'
#: Kinds of objects, with their tables.
KINDS = {NODE: tables.nodes, RESERVATION: tables.reservations}
#: Maximum number of rows of the log that one transaction numbers.
BATCH = 2000
#: Number of changes without a number that a reader of snapshots may leave so.
_FEW = 8
#: Maximum number of batches of rows that are numbered for one request. The next request numbers the others.
MAX_BATCHES = 10
_TOKEN = re.compile(r'([0-9a-f]{32})-([0-9]{1,18})')
_ONE = 1


class Database(Reader, Writer, Protocol):
    """An object that opens connections and transactions: a Context or a Service."""


class Token(NamedTuple):
    """A place in the feed.

    :ivar feed: id of the feed, 32 hexadecimal digits.
    :ivar number: number of the last change before this place.
    """

    feed: str
    number: int

    def __str__(self) -> str:
        return f'{self.feed}-{self.number}'


class ObjectChange(NamedTuple):
    """The last change of an object.

    :ivar kind: one of ``KINDS``.
    :ivar changed_at: when it was numbered: datetime by the database's clock.
    :ivar is_deleted: whether the object does not exist any more.
    """

    number: int
    kind: str
    uuid: str
    changed_at: datetime.datetime
    is_deleted: bool


class FeedPage(NamedTuple):
    """A page of the feed.

    :ivar changes: [ObjectChange, …], the oldest first.
    :ivar token: the Token after this page.
    :ivar has_more: whether there are more changes now.
    """

    changes: list[ObjectChange]
    token: Token
    has_more: bool


def parse(text: str) -> Token:
    """Return the token in a text.

    :raises failures.InvalidInput: the text is not a token.
    """
    match = _TOKEN.fullmatch(text)
    if not match:
        raise failures.InvalidInput(reason=f'"{text:.100}" is not a token of GET /v1/changes.')
    return Token(match[1], int(match[2]))


_INSERT = sa.insert(tables.change_log).inline()


def record(connection: sa.Connection, kind: str, uuids: Iterable[str]) -> None:
    """Record that a transaction writes objects.

    :param connection: of the writer.
    :param kind: one of ``KINDS``.
    """
    rows = [{'kind': kind, 'uuid': uuid} for uuid in uuids]
    if rows:
        connection.execute(_INSERT, rows if len(rows) > 1 else rows[0])


def write(kind: str, uuid: str) -> Write:
    """Return the write that ``record`` executes for one object, for ``joined.execute``."""
    return Write(_INSERT_ONE, {'recorded_kind': kind, 'recorded_uuid': uuid})


_INSERT_ONE = sa.insert(tables.change_log).values(
    kind=sa.bindparam('recorded_kind'), uuid=sa.bindparam('recorded_uuid')
)


def recording(of_nodes: Condition) -> sa.Insert:
    """Return the INSERT that records that a transaction writes nodes.

    :param of_nodes: condition on the nodes.
    """
    return _insert_nodes(sa.select(_NODE, tables.nodes.c.uuid).where(of_nodes))


_NODE: sa.ColumnElement[str] = sa.literal_column(f"'{NODE}'")


def _insert_nodes(source: sa.Select) -> sa.Insert:
    """Return the INSERT of the rows of a SELECT of the kind and the uuid."""
    return sa.insert(tables.change_log).from_select(['kind', 'uuid'], source)


_INSERT_NODES = recording(tables.nodes.c.id.in_(sa.bindparam('ids')))


def record_nodes(connection: sa.Connection, node_ids: Sequence[int]) -> None:
    """Record that a transaction writes nodes.

    :param connection: of the writer.
    """
    connection.execute(_INSERT_NODES, {'ids': list(node_ids)})


def with_record(taken: sa.CTE) -> sa.Select:
    """Return the statement that updates nodes, records the change, and returns all columns of the UPDATE.

    :param taken: the UPDATE. Its RETURNING clause includes ``uuid``. Only PostgreSQL has such statements.
    """
    # WITH taken AS (UPDATE nodes … RETURNING id, uuid, …),
    #      recorded AS (INSERT INTO change_log (kind, uuid) SELECT 'node', uuid FROM taken)
    # SELECT * FROM taken
    recorded = _insert_nodes(sa.select(_NODE, taken.c.uuid))
    return sa.select(taken).add_cte(recorded.cte('recorded'))


def now(context: Database) -> Token:
    """Return the place in the feed after all changes that are visible now.

    :param context: a Context or a Service.
    """
    return _number_all(context)


def since(context: Database, token: Token, kinds: Collection[str], limit: int) -> FeedPage:
    """Return the changes after a place in the feed.

    :param kinds: of ``KINDS``.
    :param limit: maximum number of changes.
    :raises failures.TokenOutdated: the token is of another feed, or so old that deleted objects are forgotten.
    """
    newest = _number_all(context)
    # SELECT number, kind, uuid, changed_at FROM changes WHERE number > 8 AND kind IN ('node') ORDER BY number LIMIT 101
    statement = (
        sa.select(tables.changes)
        .where(tables.changes.c.number > token.number, tables.changes.c.kind.in_(kinds))
        .order_by(tables.changes.c.number)
        .limit(limit + 1)
    )
    with context.read() as connection:
        rows = connection.execute(statement).all()
        page = rows[:limit]
        existing = {
            (kind, uuid)
            for kind in kinds
            for uuid in _existing(connection, kind, [row.uuid for row in page if row.kind == kind])
        }
        # Read last: if nothing needed is forgotten now, nothing was forgotten when the other statements ran.
        if not _is_valid(token, _state(connection)):
            raise failures.TokenOutdated
    changes = [
        ObjectChange(row.number, row.kind, row.uuid, row.changed_at, (row.kind, row.uuid) not in existing)
        for row in page
    ]
    if len(rows) > limit:
        return FeedPage(changes, token._replace(number=page[-1].number), True)
    last = max(newest.number, page[-1].number if page else 0)
    return FeedPage(changes, token._replace(number=last), False)


def _existing(connection: sa.Connection, kind: str, uuids: Collection[str]) -> Collection[str]:
    table = KINDS[kind]
    return connection.scalars(sa.select(table.c.uuid).where(table.c.uuid.in_(uuids))).all() if uuids else ()


def _is_valid(token: Token, state: sa.Row) -> bool:
    return token.feed == state.feed and state.forgotten <= token.number <= state.last


def _state(connection: sa.Connection) -> sa.Row:
    return connection.execute(_STATE).one()


class Seen(NamedTuple):
    """The part of the feed that a reader of snapshots has seen.

    :ivar token: the place after all changes with a number.
    :ivar unnumbered: uuids of the objects with changes that had no number yet.
    """

    token: Token
    unnumbered: frozenset[str]


class News(NamedTuple):
    """The changes between two snapshots.

    :ivar uuids: uuids of the objects that may have changed; None if all objects may have changed.
    :ivar seen: the Seen of the later snapshot.
    """

    uuids: frozenset[str] | None
    seen: Seen


# Built once: to build them for each call takes as long as to execute them.
_STATE = prepared(sa.select(tables.change_numbers))
_OF_KIND = {each: each.c.kind == sa.bindparam('kind') for each in (tables.change_log, tables.changes)}
# The changes without a number, and those after a number.
_NEWS = prepared(
    sa.select(sa.true().label('is_new'), tables.change_log.c.uuid)
    .where(_OF_KIND[tables.change_log])
    .union_all(
        sa.select(sa.false(), tables.changes.c.uuid).where(
            tables.changes.c.number > sa.bindparam('number'), _OF_KIND[tables.changes]
        )
    )
)


def news(connection: sa.Connection, kind: str, before: Seen | None) -> News:
    """Return the changes between two snapshots, including those that have no number yet.

    :param connection: of the later snapshot (``Database.snapshot``).
    :param kind: one of ``KINDS``.
    :param before: the Seen of the previous snapshot; None for the first one.
    """
    state = _state(connection)
    is_valid = before is not None and _is_valid(before.token, state)
    number = before.token.number if before and is_valid else state.last
    rows = connection.execute(_NEWS, {'kind': kind, 'number': number}).all()
    unnumbered = frozenset(row.uuid for row in rows if row.is_new)
    seen = Seen(Token(state.feed, state.last), unnumbered)
    # A member of a cluster that lags behind may show fewer changes than another one has shown before.
    if before is None or not is_valid:
        return News(None, seen)
    return News(before.unnumbered.union(row.uuid for row in rows), seen)


def number_several(context: Database) -> None:
    """Number the changes that are committed, if there are more than a few without a number.

    To read a few of them again takes less time than to number them.
    """
    with context.read() as connection:
        several = connection.scalar(_SEVERAL)
    if several is None or several:
        _number_all(context)


_some = sa.select(tables.change_log.c.id).limit(_FEW + 1).subquery()
#: Whether there are more than a few changes without a number; no row if nothing was ever numbered.
_SEVERAL = prepared(
    sa.select(sa.select(sa.func.count() > _FEW).select_from(_some).scalar_subquery()).select_from(tables.change_numbers)
)


def _number_all(context: Database) -> Token:
    """Number the changes that are committed, and return the place after them."""
    batches = 0
    while True:
        with context.read() as connection:
            state = connection.execute(_NUMBERED).first()
        if state and not (state.has_more and batches < MAX_BATCHES):
            return Token(state.feed, state.last)
        number(context)
        batches += 1


#: The last number, and whether there are changes without a number. One statement reads both at the same moment.
#: Otherwise neither would include a change that is numbered in between.
_NUMBERED = prepared(sa.select(tables.change_numbers, sa.exists().select_from(tables.change_log).label('has_more')))


@retried
def number(context: Writer) -> int:
    """Number changes in the log that are committed.

    :param context: a Context, a Service or a Database.
    :returns: how many rows of the log were numbered, BATCH at most.
    """
    with context.write() as connection:
        last = _lock(connection)
        log = tables.change_log.c
        rows = connection.execute(sa.select(tables.change_log).order_by(log.id).limit(BATCH)).all()
        if not rows:
            return 0
        objects = sorted({(row.kind, row.uuid) for row in rows})
        moment = read_clock(connection)
        for kind in KINDS:
            uuids = [uuid for each, uuid in objects if each == kind]
            if uuids:
                columns = tables.changes.c
                connection.execute(sa.delete(tables.changes).where(columns.kind == kind, columns.uuid.in_(uuids)))
        numbered = [
            {'kind': kind, 'uuid': uuid, 'number': last + position, 'changed_at': moment}
            for position, (kind, uuid) in enumerate(objects, 1)
        ]
        connection.execute(sa.insert(tables.changes), numbered)
        _delete_rows(connection, [row.id for row in rows])
        connection.execute(sa.update(tables.change_numbers).values(last=last + len(numbered)))
        return len(rows)


def _delete_rows(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Delete rows of the log. Other rows with ids between these may have been committed since, or are not committed."""
    if connection.dialect.name in ('mysql', 'mariadb'):
        # With IN, InnoDB reads the whole log, and waits for the transactions that write the other rows.
        named = ' UNION ALL '.join(f'SELECT {each:d} AS id' for each in ids)
        delete = f'DELETE change_log FROM ({named}) AS ids STRAIGHT_JOIN change_log ON change_log.id = ids.id'
        connection.exec_driver_sql(delete)
    else:
        connection.execute(sa.delete(tables.change_log).where(tables.change_log.c.id.in_(ids)))


def _lock(connection: sa.Connection) -> int:
    """Take the lock of the numbers until the end of the transaction, and return the last one."""
    lock = sa.update(tables.change_numbers).values(last=tables.change_numbers.c.last)
    if not connection.execute(lock).rowcount:
        row = {'id': _ONE, 'feed': uuidutils.generate_uuid(dashed=False), 'last': 0, 'forgotten': 0}
        insert_missing(connection, tables.change_numbers, [row])
        connection.execute(lock)
    return _state(connection).last


def take_number(connection: sa.Connection) -> None:
    """Let transactions that call this be carried out one after the other, also on nodes of a Galera cluster."""
    last = _lock(connection)
    # A cluster replicates only what has changed. No change has this number.
    connection.execute(sa.update(tables.change_numbers).values(last=last + 1))


@retried
def forget(context: Writer, days: int) -> int:
    """Forget objects that were deleted some days ago. Older tokens are refused afterwards.

    :returns: how many objects were forgotten, BATCH at most.
    """
    columns = tables.changes.c
    with context.write() as connection:
        _lock(connection)
        until = read_clock(connection) - datetime.timedelta(days=days)
        gone = [
            sa.and_(columns.kind == kind, ~sa.exists().where(table.c.uuid == columns.uuid))
            for kind, table in KINDS.items()
        ]
        statement = sa.select(columns.number).where(columns.changed_at < until, sa.or_(*gone))
        numbers = connection.scalars(statement.order_by(columns.number).limit(BATCH)).all()
        if numbers:
            connection.execute(sa.delete(tables.changes).where(columns.number.in_(numbers)))
            # An object whose deletion is not numbered yet may have a lower number than one that was forgotten before.
            forgotten = max(_state(connection).forgotten, *numbers)
            connection.execute(sa.update(tables.change_numbers).values(forgotten=forgotten))
        return len(numbers)


@retried
def begin_again(context: Writer) -> None:
    """Make all tokens invalid. After a restore from a backup, tokens may refer to changes that are lost."""
    with context.write() as connection:
        _lock(connection)
        connection.execute(sa.update(tables.change_numbers).values(feed=uuidutils.generate_uuid(dashed=False)))
