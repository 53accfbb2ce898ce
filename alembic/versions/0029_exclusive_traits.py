"""Exclusive traits

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op

revision = '0029'
down_revision = '0028'


def upgrade():
    op.add_column('trait_notes', sa.Column('exclusive', sa.Boolean, nullable=False, server_default='0'))
