"""Indexes of nodes in the orders of lists, and of the nodes that filters and candidates look for

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = '0020'
down_revision = '0019'


def upgrade():
    for column in ('resource_class', 'provision_state'):
        op.drop_index(f'nodes_{column}_idx', 'nodes')
    for column in ('resource_class', 'provision_state', 'created_at', 'updated_at'):
        op.create_index(f'nodes_{column}_id_idx', 'nodes', [column, 'id'])
    is_free = sa.text("provision_state = 'available' AND instance_uuid IS NULL AND parent_node IS NULL")
    _create('nodes_free_idx', ['resource_class', 'provision_state', 'id'], is_free)
    _create('nodes_maintenance_id_idx', ['maintenance', 'id'], sa.text('maintenance'))
    _create('nodes_retired_id_idx', ['retired', 'id'], sa.text('retired'))
    _create('nodes_fault_id_idx', ['fault', 'id'], sa.text('fault IS NOT NULL'))
    _create('nodes_described_idx', ['id'], sa.text('description IS NOT NULL'))


def _create(name, columns, condition):
    op.create_index(name, 'nodes', columns, sqlite_where=condition, postgresql_where=condition)
