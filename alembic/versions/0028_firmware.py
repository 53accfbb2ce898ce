"""The firmware of each node, beside the data of its inspection

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json

revision = '0028'
down_revision = '0027'


def upgrade():
    op.add_column('node_inventories', sa.Column('firmware', Json))
