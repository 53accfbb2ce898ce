"""Time at which a transition began, for its time limit

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import timestamp

revision = '0009'
down_revision = '0008'


def upgrade():
    op.add_column('transitions', sa.Column('begun_at', timestamp()))
