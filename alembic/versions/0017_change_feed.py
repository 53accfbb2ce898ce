"""The change feed

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, timestamp

revision = '0017'
down_revision = '0016'


def upgrade():
    op.create_table(
        'change_log',
        sa.Column('id', sa.Integer().with_variant(sa.BigInteger(), 'postgresql', 'mysql', 'mariadb'), nullable=False),
        sa.Column('kind', ascii_string(16), nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name='change_log_pkey'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_table(
        'changes',
        sa.Column('kind', ascii_string(16), nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('number', sa.BigInteger, nullable=False),
        sa.Column('changed_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('kind', 'uuid', name='changes_pkey'),
        sa.UniqueConstraint('number', name='changes_number_key'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_table(
        'change_numbers',
        sa.Column('id', sa.Integer, nullable=False, autoincrement=False),
        sa.Column('feed', ascii_string(36), nullable=False),
        sa.Column('last', sa.BigInteger, nullable=False),
        sa.Column('forgotten', sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint('id', name='change_numbers_pkey'),
        mysql_engine='InnoDB',
    )
