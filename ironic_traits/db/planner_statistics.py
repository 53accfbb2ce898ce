"""Statistics of the tables, from which PostgreSQL makes the plans of statements.

autovacuum collects them for the first time up to a minute after rows were inserted. Without them, PostgreSQL expects
one row of the nodes, and joins all nodes with all traits: the search for a free node of 1,000 takes 0.7 s instead of 1
ms. MariaDB collects them as soon as rows are inserted, and the plans of SQLite do not need them.
"""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import ReaderAndWriter

#: The tables that have more than twice the pages of the last ANALYZE or VACUUM, or more than twice as many changed rows
#: as rows. (ANALYZE may have seen the pages of a transaction, but not its rows.) So a growing table is analyzed a few
#: times; the rest is left to autovacuum. Users who do not own a table may not analyze it.
_GROWN = sa.text(
    'SELECT relname FROM pg_class WHERE relname = ANY(:names) AND pg_table_is_visible(oid)'
    " AND pg_has_role(relowner, 'USAGE')"
    " AND (pg_relation_size(oid) > 2 * relpages * current_setting('block_size')::bigint"
    ' OR pg_stat_get_mod_since_analyze(oid) > 2 * greatest(reltuples, 0) + 50) ORDER BY relname'
)


def collect(database: ReaderAndWriter) -> list[str]:
    """Collect the statistics of tables that have grown, and return the names of these tables.

    :param database: opens connections to PostgreSQL.
    """
    with database.read() as connection:
        grown = list(connection.scalars(_GROWN, {'names': sorted(tables.metadata.tables)}))
    for name in grown:
        with database.write() as connection:
            # Another worker, or autovacuum, may do the same now.
            connection.exec_driver_sql(f'ANALYZE (SKIP_LOCKED) {name}')
    return grown
