"""The revisions of the schema: those of this release, and that of a database.

This needs no alembic. To import it takes as long as a third of all other modules, and a service that starts on the
newest schema does not need it. ``migrations`` does the upgrades.
"""

import importlib.resources
import pathlib

import sqlalchemy as sa

from ironic_traits.db.engine import Database

#: Where alembic stores the revision of a database.
_TABLE = sa.table('alembic_version', sa.column('version_num', sa.String))


class NewerRevision(Exception):
    """A database has a revision that this release does not have."""


def scripts() -> pathlib.Path:
    """Return the directory of the migrations: at the top of a checkout, or as installed."""
    installed = pathlib.Path(str(importlib.resources.files('ironic_traits.db'))) / 'alembic'
    if installed.is_dir():
        return installed
    return pathlib.Path(__file__).parents[2] / 'alembic'


def names() -> set[str]:
    """Return the names of all revisions of this release. Each file is named after its revision: ``0001_nodes.py``."""
    return {path.name.partition('_')[0] for path in (scripts() / 'versions').glob('[0-9]*_*.py')}


def newest() -> str:
    """Return the name of the newest revision of this release."""
    return max(names())


def current(database: Database) -> str | None:
    """Return the name of the revision of a database; None for an empty database.

    :param database: ironic_traits.db.engine.Database.
    """
    with database.read() as connection:
        if not sa.inspect(connection).has_table(_TABLE.name):
            return None
        return connection.scalar(sa.select(_TABLE.c.version_num))
