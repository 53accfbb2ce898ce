"""Sources and vetoes of traits, notes on traits, and the history of nodes

The new columns of node_traits are NULL in all rows, so that adding them takes no time, and processes of the release
before this one can still insert rows.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, exact_string, long_text, timestamp

revision = '0010'
down_revision = '0009'


def upgrade():
    op.create_table(
        'trait_writers',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('source', ascii_string(64), nullable=False),
        sa.Column('user_id', exact_string(255), nullable=False),
        sa.Column('project_id', exact_string(255), nullable=False),
        sa.PrimaryKeyConstraint('id', name='trait_writers_pkey'),
        sa.UniqueConstraint('source', 'user_id', 'project_id', name='trait_writers_source_user_id_project_id_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    for column in _hold():
        op.add_column('node_traits', column)
    op.create_index('node_traits_writer_id_idx', 'node_traits', ['writer_id', 'node_id'])
    op.create_table(
        'node_trait_sources',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.Column('source', ascii_string(64), nullable=False),
        *_hold(),
        sa.PrimaryKeyConstraint('node_id', 'trait', 'source', name='node_trait_sources_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_trait_sources_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('node_trait_sources_writer_id_idx', 'node_trait_sources', ['writer_id', 'node_id'])
    op.create_table(
        'node_trait_vetoes',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        *_hold(),
        sa.PrimaryKeyConstraint('node_id', 'trait', name='node_trait_vetoes_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_trait_vetoes_node_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(['trait'], ['traits.name'], name='node_trait_vetoes_trait_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('node_trait_vetoes_trait_idx', 'node_trait_vetoes', ['trait', 'node_id'])
    op.create_table(
        'trait_notes',
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.Column('description', long_text()),
        sa.Column('retired', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('replaced_by', ascii_string(255)),
        sa.Column('updated_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('trait', name='trait_notes_pkey'),
        sa.ForeignKeyConstraint(['trait'], ['traits.name'], name='trait_notes_trait_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
    )
    op.create_table(
        'node_history',
        sa.Column('id', sa.BigInteger().with_variant(sa.Integer, 'sqlite'), nullable=False, autoincrement=True),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('event_type', ascii_string(32), nullable=False),
        sa.Column('severity', ascii_string(16), nullable=False),
        sa.Column('event', long_text()),
        sa.Column('conductor', exact_string(255)),
        sa.Column('user_id', exact_string(255)),
        sa.Column('project_id', exact_string(255)),
        sa.Column('request_id', exact_string(255)),
        sa.Column('provision_state', ascii_string(32)),
        sa.Column('target_provision_state', ascii_string(32)),
        sa.Column('source', ascii_string(64)),
        sa.Column('added', long_text()),
        sa.Column('removed', long_text()),
        sa.PrimaryKeyConstraint('id', name='node_history_pkey'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('node_history_node_uuid_idx', 'node_history', ['node_uuid', 'id'])
    op.create_index('node_history_uuid_idx', 'node_history', ['uuid'])
    op.create_index('node_history_created_at_idx', 'node_history', ['created_at'])


def _hold():
    return [sa.Column('writer_id', sa.Integer), sa.Column('since', timestamp())]
