"""Child nodes, and the other fields of versions 1.83 to 1.111

The new columns are NULL, or have a server default, so that adding them takes no time, and processes of the release
before this one can still insert rows.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, exact_string

revision = '0011'
down_revision = '0010'

_HAS_PARENT = sa.text('parent_node IS NOT NULL')


def upgrade():
    for column in (
        sa.Column('parent_node', ascii_string(36)),
        sa.Column('disable_power_off', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('instance_name', exact_string(255)),
        sa.Column('health', ascii_string(16)),
        sa.Column('firmware_interface', exact_string(255)),
    ):
        op.add_column('nodes', column)
    op.create_index(
        'nodes_parent_node_idx', 'nodes', ['parent_node'], sqlite_where=_HAS_PARENT, postgresql_where=_HAS_PARENT
    )
    op.create_index('nodes_instance_name_idx', 'nodes', ['instance_name'])
    for column in (
        sa.Column('name', exact_string(255)),
        sa.Column('description', exact_string(255)),
        sa.Column('vendor', exact_string(32)),
        sa.Column('category', exact_string(80)),
        sa.Column('available_for_dynamic_portgroup', sa.Boolean, nullable=False, server_default='1'),
    ):
        op.add_column('ports', column)
    op.create_index('ports_name_key', 'ports', ['name'], unique=True)
    for column in (
        sa.Column('physical_network', exact_string(64)),
        sa.Column('category', exact_string(80)),
        sa.Column('dynamic_portgroup', sa.Boolean, nullable=False, server_default='0'),
    ):
        op.add_column('portgroups', column)
    op.add_column('node_history', sa.Column('duration_seconds', sa.Integer))
