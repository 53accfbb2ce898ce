"""The revisions of the schema in this release, and the revision of a database.

This module does not import alembic: the import takes a third of the time of all other imports, and a service that
starts on the newest schema does not need it. ``migrations`` does the upgrades.

Services of the previous release may use a schema during an upgrade and after it, because most migrations only add to
the schema. The table ``schema_compatibility`` has the oldest revision whose release can use the schema. A migration
that removes a part that older releases use must raise it.
"""

import importlib.resources
import pathlib

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Database

#: Where alembic stores the revision of a database.
_TABLE = sa.table('alembic_version', sa.column('version_num', sa.String))


class NewerRevision(Exception):
    """A database has a revision that this release does not have."""


class UpgradeInProgress(Exception):
    """Another process is upgrading the same database."""


def scripts() -> pathlib.Path:
    """Return the directory of the migrations, which is at the top of a checkout, or installed."""
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
    """Return the name of the revision of a database; None for an empty database."""
    with database.read() as connection:
        if not sa.inspect(connection).has_table(_TABLE.name):
            return None
        return connection.scalar(sa.select(_TABLE.c.version_num))


def is_newer(revision: str | None) -> bool:
    """Whether a revision of a database belongs to a newer release.

    :param revision: the result of ``current``.
    """
    return revision is not None and revision not in names()


def is_usable(database: Database, revision: str | None) -> bool:
    """Whether this release can use a database: its schema is the newest, or a newer one that only adds to it.

    :param revision: its revision, as ``current`` returns it.
    """
    if not is_newer(revision):
        return revision == newest()
    table = tables.schema_compatibility
    with database.read() as connection:
        if not sa.inspect(connection).has_table(table.name):
            return False
        oldest = connection.scalar(sa.select(table.c.oldest_revision))
    # Names of revisions are numbers of four digits, which sort like the revisions.
    return oldest is not None and oldest <= newest()
