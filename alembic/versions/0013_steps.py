"""Steps of transitions, and deploy templates

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, long_text, timestamp

revision = '0013'
down_revision = '0012'


def upgrade():
    op.add_column('transitions', sa.Column('steps', Json))
    op.add_column('transitions', sa.Column('step_index', sa.Integer, nullable=False, server_default='0'))
    op.create_table(
        'deploy_templates',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', ascii_string(255), nullable=False),
        sa.Column('steps', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.Column('steps_masked', long_text()),
        sa.PrimaryKeyConstraint('id', name='deploy_templates_pkey'),
        sa.UniqueConstraint('uuid', name='deploy_templates_uuid_key'),
        sa.UniqueConstraint('name', name='deploy_templates_name_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
