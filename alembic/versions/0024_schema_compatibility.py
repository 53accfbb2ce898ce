"""The oldest release that can use the schema

Revision ID: 0024
Revises: 0023
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string

revision = '0024'
down_revision = '0023'


def upgrade():
    table = op.create_table(
        'schema_compatibility',
        sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
        sa.Column('oldest_revision', ascii_string(32), nullable=False),
        mysql_engine='InnoDB',
    )
    # An upgrade that was interrupted may have inserted the row.
    op.execute(sa.delete(table))
    # The release before serves on, because this migration only adds a table.
    op.execute(sa.insert(table).values(id=1, oldest_revision='0023'))
