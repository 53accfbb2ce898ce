"""Parts that the tables share."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string, timestamp

metadata = sa.MetaData(
    naming_convention={
        'ix': '%(table_name)s_%(column_0_N_name)s_idx',
        'uq': '%(table_name)s_%(column_0_N_name)s_key',
        'fk': '%(table_name)s_%(column_0_N_name)s_fkey',
        'pk': '%(table_name)s_pkey',
    }
)


def names_table(name: str) -> sa.Table:
    """Return a table of standard names from OpenStack's libraries, and of custom names that clients add."""
    return sa.Table(
        name,
        metadata,
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('name', ascii_string(255), nullable=False, unique=True),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sqlite_autoincrement=True,
        mysql_engine='InnoDB',
    )


def records_table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with the columns of all records, and further parts.

    :param name: name of the table.
    :param parts: columns, constraints and indexes.
    """
    return sa.Table(
        name,
        metadata,
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        *parts,
        sqlite_autoincrement=True,
        mysql_engine='InnoDB',
    )


def node_column() -> sa.Column:
    """Return a column for the node to which a row belongs. The row is deleted together with the node.

    It refers to the node's uuid, which never changes.
    """
    return sa.Column('node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False)
