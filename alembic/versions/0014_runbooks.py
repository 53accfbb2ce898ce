"""Runbooks, and the service step of nodes

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp

revision = '0014'
down_revision = '0013'


def upgrade():
    # The default of a text column must be an expression in MySQL, and must not be one in SQLite.
    no_document = sa.text("('{}')" if op.get_bind().dialect.name in ('mysql', 'mariadb') else "'{}'")
    op.add_column('nodes', sa.Column('service_step', Json, nullable=False, server_default=no_document))
    op.create_table(
        'runbooks',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', exact_string(255), nullable=False),
        sa.Column('description', exact_string(255)),
        sa.Column('public', sa.Boolean, nullable=False),
        sa.Column('owner', exact_string(255)),
        sa.Column('disable_ramdisk', sa.Boolean, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.Column('steps', Json, nullable=False),
        sa.Column('steps_masked', long_text()),
        sa.PrimaryKeyConstraint('id', name='runbooks_pkey'),
        sa.UniqueConstraint('uuid', name='runbooks_uuid_key'),
        sa.UniqueConstraint('name', name='runbooks_name_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('runbooks_owner_idx', 'runbooks', ['owner'])
    op.create_table(
        'runbook_traits',
        sa.Column('runbook_id', sa.Integer, nullable=False, autoincrement=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.PrimaryKeyConstraint('runbook_id', 'trait', name='runbook_traits_pkey'),
        sa.ForeignKeyConstraint(
            ['runbook_id'], ['runbooks.id'], name='runbook_traits_runbook_id_fkey', ondelete='CASCADE'
        ),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
