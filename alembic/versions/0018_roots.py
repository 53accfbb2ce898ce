"""An index of the nodes without a parent, from which PostgreSQL reads lists

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = '0018'
down_revision = '0017'


def upgrade():
    is_root = sa.text('parent_node IS NULL')
    op.create_index('nodes_roots_idx', 'nodes', ['id'], sqlite_where=is_root, postgresql_where=is_root)
