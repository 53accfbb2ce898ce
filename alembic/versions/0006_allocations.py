"""Consumers and their allocations

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, exact_string, timestamp

revision = '0006'
down_revision = '0005'


def upgrade():
    op.create_table(
        'consumers',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
        sa.Column('project_id', exact_string(255), nullable=False),
        sa.Column('user_id', exact_string(255), nullable=False),
        sa.Column('consumer_type', ascii_string(255)),
        sa.PrimaryKeyConstraint('id', name='consumers_pkey'),
        sa.UniqueConstraint('uuid', name='consumers_uuid_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('consumers_project_id_user_id_idx', 'consumers', ['project_id', 'user_id'])
    references = [
        sa.ForeignKeyConstraint([f'{name}_id'], [f'{table}.id'], name=f'allocations_{name}_id_fkey')
        for name, table in (
            ('consumer', 'consumers'),
            ('resource_provider', 'resource_providers'),
            ('resource_class', 'resource_classes'),
        )
    ]
    op.create_table(
        'allocations',
        sa.Column('consumer_id', sa.Integer, nullable=False),
        sa.Column('resource_provider_id', sa.Integer, nullable=False),
        sa.Column('resource_class_id', sa.Integer, nullable=False),
        sa.Column('used', sa.Integer, nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('consumer_id', 'resource_provider_id', 'resource_class_id', name='allocations_pkey'),
        *references,
        mysql_engine='InnoDB',
    )
    op.create_index(
        'allocations_resource_provider_id_idx', 'allocations', ['resource_provider_id', 'resource_class_id', 'used']
    )
    op.create_index('allocations_resource_class_id_idx', 'allocations', ['resource_class_id'])
