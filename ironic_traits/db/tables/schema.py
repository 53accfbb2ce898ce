"""The compatibility of the schema with releases (``db/revisions.py``). Alembic stores the revision in its own table."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string
from ironic_traits.db.tables.base import metadata

# One row.
schema_compatibility = sa.Table(
    'schema_compatibility',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    # The oldest revision whose release can use this schema.
    sa.Column('oldest_revision', ascii_string(32), nullable=False),
    mysql_engine='InnoDB',
)
