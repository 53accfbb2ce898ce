"""Column types that behave the same on SQLite, PostgreSQL and MariaDB.

MariaDB needs explicit settings to compare identifiers byte by byte, to store microseconds, and to store texts of more
than 64 KiB. The other databases do this by default.
"""

import datetime
from collections.abc import Callable
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.ext import compiler
from sqlalchemy.types import TypeEngine

_MYSQL = ('mysql', 'mariadb')


class AsciiString(sa.types.TypeDecorator):
    """A string of ASCII characters that is compared byte by byte: uuids, traits, states."""

    impl = sa.String
    cache_ok = True

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine:
        if dialect.name not in _MYSQL:
            return dialect.type_descriptor(sa.String(self.length))
        return dialect.type_descriptor(mysql.VARCHAR(self.length, charset='ascii', collation='ascii_bin'))

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        # MariaDB refuses to compare an ascii column with non-ASCII text. The escaped value equals no stored value,
        # because uuids, traits and states contain no backslash.
        if value is None or value.isascii() or dialect.name not in _MYSQL:
            return value
        return value.encode('ascii', 'backslashreplace').decode()


def ascii_string(length: int) -> AsciiString:
    """Return the type AsciiString with a maximum length in characters."""
    return AsciiString(length)


def exact_string(length: int) -> sa.String:
    """Return the type of a string of any characters that is compared byte by byte: names, resource classes.

    :param length: maximum number of characters.
    """
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'), 'mysql', 'mariadb'
    )


def long_text() -> sa.Text:
    """Return the type of a text of any length."""
    return sa.Text().with_variant(mysql.LONGTEXT(charset='utf8mb4', collation='utf8mb4_bin'), 'mysql', 'mariadb')


def long_bytes() -> sa.LargeBinary:
    """Return the type of bytes of any length."""
    return sa.LargeBinary().with_variant(mysql.LONGBLOB(), 'mysql', 'mariadb')


def timestamp() -> sa.DateTime:
    """Return the type of a time in UTC, without a time zone, with microseconds."""
    return sa.DateTime().with_variant(mysql.DATETIME(fsp=6), 'mysql', 'mariadb')


class Json(sa.types.TypeDecorator):
    """A JSON object, stored as text.

    The JSON types of the databases are not used: they reorder keys (PostgreSQL's JSONB), or are texts anyway (MariaDB,
    SQLite). A stored text can be put into a response without parsing (``api.rendering``).
    """

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine:
        return dialect.type_descriptor(long_text().dialect_impl(dialect))

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else orjson.dumps(value).decode()

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else orjson.loads(value)


class NameList(sa.types.TypeDecorator):
    """Names in one string, joined by commas, which names cannot contain. It is read as a sorted list, NULL as []."""

    impl = sa.Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> list[str]:
        return sorted(value.split(',')) if value else []


def names_in(column: sa.ColumnElement[Any]) -> sa.ColumnElement[list[str]]:
    """Return the aggregate function that joins the names in a column, of the type NameList.

    With it, one statement reads many nodes or providers with the traits of each. A join would multiply the rows.
    """
    return sa.type_coerce(joined(column), NameList())


def joined(column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return the aggregate function that joins the strings in a column by commas."""
    # Not a parameter: SQLAlchemy would put the comma into the statement at each execution.
    comma: Any = sa.literal_column("','")
    return sa.func.aggregate_strings(column, comma)


def _template(text: str) -> Callable[..., str]:
    """Return a function for ``compiler.compiles``: it puts the arguments of an element into a text with {0}, {1}, …"""

    def process(element: Any, compiler: Any, **options: Any) -> str:
        return text.format(*(compiler.process(each, **options) for each in element.clauses))

    return process


class position(sa.sql.functions.FunctionElement):
    """The position (from 1) of a name in a list that is joined by commas; 0 or NULL if it is not in the list."""

    type = sa.Integer()
    inherit_cache = True


compiler.compiles(position, 'sqlite')(_template("instr(',' || {1} || ',', ',' || {0} || ',')"))
compiler.compiles(position, 'postgresql')(_template("array_position(string_to_array({1}, ','), {0}::text)"))
compiler.compiles(position, *_MYSQL)(_template('FIND_IN_SET({0}, {1})'))


class elements(sa.sql.functions.FunctionElement):
    """The strings in a JSON array, as a table with the column ``value``: ``elements(array).table_valued('value')``.

    It replaces a parameter for each string. The strings are names of at most 255 ASCII characters.
    """

    inherit_cache = True


compiler.compiles(elements, 'sqlite')(_template('json_each({0})'))
compiler.compiles(elements, 'postgresql')(_template('json_array_elements_text(CAST({0} AS json))'))
_COLUMN = "value VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin PATH '$'"
compiler.compiles(elements, *_MYSQL)(_template(f"JSON_TABLE({{0}}, '$[*]' COLUMNS ({_COLUMN}))"))


class no_row(sa.sql.functions.FunctionElement):
    """The condition that a subquery has no row: ``no_row(sa.exists()…)``.

    It is for statements with a limit. The subquery runs for each row. MariaDB would read its whole table first.
    """

    type = sa.Boolean()
    inherit_cache = True


compiler.compiles(no_row)(_template('(NOT {0})'))


@compiler.compiles(no_row, *_MYSQL)
def _mariadb_no_row(element: no_row, compiler: Any, **options: Any) -> str:
    exists = compiler.process(element.clauses, **options)
    return f'(NOT {exists.removesuffix(")")} LIMIT 1))'


class no_row_of_few(no_row):
    """``no_row`` for statements with a low limit: PostgreSQL does not turn it into a join.

    If nearly all rows fulfil the condition, a join makes no plan better, and each further table in a join nearly
    doubles the time of the planner.
    """

    inherit_cache = True


@compiler.compiles(no_row_of_few, 'postgresql')
def _postgresql_no_row(element: no_row_of_few, compiler: Any, **options: Any) -> str:
    # With OFFSET, the subquery stays one, and runs for each row: without it, PostgreSQL may read the whole table first.
    # The other part of the OR is never true, but the planner estimates that it nearly always is. So it expects that
    # the limit of the statement is soon reached.
    exists = compiler.process(element.clauses, **options)
    return f'((SELECT NULL) IS NOT NULL OR NOT {exists.removesuffix(")")} OFFSET 0))'


class clock(sa.sql.functions.FunctionElement):
    """The time of the database's clock at this statement, in UTC, in the format of ``timestamp`` columns.

    It determines which rows are due, live or expired, because the clocks of the service's machines may differ.
    """

    type = sa.DateTime()
    inherit_cache = True


# In SQLAlchemy's format of timestamps, because SQLite compares them as text.
compiler.compiles(clock, 'sqlite')(_template("strftime('%Y-%m-%d %H:%M:%f000', 'now')"))
# Not now(), which is the time when the transaction began: the transaction may have waited for a lock since.
compiler.compiles(clock, 'postgresql')(_template("(clock_timestamp() AT TIME ZONE 'UTC')"))
compiler.compiles(clock, *_MYSQL)(_template('UTC_TIMESTAMP(6)'))


class statement_clock(clock):
    """The time of ``clock`` when the statement began, for conditions on rows.

    PostgreSQL can turn a subquery with this time into a join. With ``clock``, which changes during the statement, it
    runs the subquery for each row. Writers first lock the row (invariant 1), so their later statements begin after the
    lock.
    """

    inherit_cache = True


compiler.compiles(statement_clock, 'postgresql')(_template("(statement_timestamp() AT TIME ZONE 'UTC')"))


def read_clock(connection: sa.Connection) -> datetime.datetime:
    """Return the time of the database's clock, in UTC, without a time zone."""
    return connection.execute(sa.select(clock())).scalar_one()


def now() -> datetime.datetime:
    """Return the time of this machine's clock, in UTC, without a time zone. Use it only for times that are shown."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
