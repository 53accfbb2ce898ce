"""Allocations of clouds

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string

revision = '0023'
down_revision = '0022'


def upgrade():
    op.add_column('node_allocations', sa.Column('origin', ascii_string(57)))
    has_origin = sa.text('origin IS NOT NULL')
    op.create_index(
        'node_allocations_origin_idx',
        'node_allocations',
        ['origin'],
        sqlite_where=has_origin,
        postgresql_where=has_origin,
    )
