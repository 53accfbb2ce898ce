"""Column types that mean the same on SQLite, PostgreSQL and MariaDB.

MariaDB needs to be told what the others do by themselves: to compare identifiers byte by byte, to keep microseconds,
and to hold more than 64 KiB in a text.
"""

import datetime

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.ext import compiler

_MYSQL = ('mysql', 'mariadb')


class AsciiString(sa.types.TypeDecorator):
    """A string of ASCII characters that is compared byte by byte: uuids, traits, states."""

    impl = sa.String
    cache_ok = True

    def __init__(self, length):
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect):
        if dialect.name not in _MYSQL:
            return dialect.type_descriptor(sa.String(self.length))
        return dialect.type_descriptor(mysql.VARCHAR(self.length, charset='ascii', collation='ascii_bin'))

    def process_bind_param(self, value, dialect):
        # MariaDB refuses to compare such a column with anything else.  Escaped, the value is equal to none that is
        # stored: a backslash is in no uuid, trait or state.
        if value is None or value.isascii() or dialect.name not in _MYSQL:
            return value
        return value.encode('ascii', 'backslashreplace').decode()


def ascii_string(length):
    """Return the type AsciiString of a length."""
    return AsciiString(length)


def exact_string(length):
    """A string of any characters that is compared byte by byte: names, resource classes."""
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'), 'mysql', 'mariadb'
    )


def long_text():
    """A text of any length."""
    return sa.Text().with_variant(mysql.LONGTEXT(charset='utf8mb4', collation='utf8mb4_bin'), 'mysql', 'mariadb')


def timestamp():
    """A moment in UTC, without a time zone, with microseconds."""
    return sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


class Json(sa.types.TypeDecorator):
    """A JSON object, stored as the text that a client sent.

    Not the databases' own JSON types: those reorder keys (PostgreSQL's JSONB), or are a text anyway (MariaDB, SQLite),
    and a stored text can be answered without being parsed (``api.rendering``).
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect):
        return dialect.type_descriptor(long_text().dialect_impl(dialect))

    def process_bind_param(self, value, dialect):
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value, dialect):
        return None if value is None else orjson.loads(value)


def differ(one, other):
    """Tell whether two values of a column differ, where 1 and true in a JSON object do."""
    if isinstance(one, dict) and isinstance(other, dict):
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) != orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    return one != other


class clock(sa.sql.functions.FunctionElement):
    """The time of the database at this statement, in UTC, as ``timestamp`` columns keep it.

    It decides what is due, live or expired: the clocks of the machines that ask may differ.
    """

    type = sa.DateTime()
    inherit_cache = True


@compiler.compiles(clock, 'sqlite')
def _sqlite_clock(element, compiler, **options):
    # Written as SQLAlchemy writes a timestamp: SQLite compares them as text.
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


@compiler.compiles(clock, 'postgresql')
def _postgresql_clock(element, compiler, **options):
    # Not now(), which is when the transaction began: it may have waited for a lock since.
    return "(clock_timestamp() AT TIME ZONE 'UTC')"


@compiler.compiles(clock, 'mysql', 'mariadb')
def _mariadb_clock(element, compiler, **options):
    return 'UTC_TIMESTAMP(6)'


def now():
    """Give the time of this machine, in UTC, as ``timestamp`` columns keep it: for what is only shown."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
