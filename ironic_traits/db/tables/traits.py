"""The tables of traits, and of their sources on nodes."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata, names_table

traits = names_table('traits')


def _hold() -> list[sa.Column]:
    """Return the columns of a hold: the writer who added a trait, and the time.

    Both are NULL in rows from before they were recorded. A NULL writer is the operator, with an unknown user.
    """
    return [
        # The id of a row in trait_writers, which is never deleted. There is no foreign key: because of its checks, all
        # concurrent writes would lock the same few rows.
        sa.Column('writer_id', sa.Integer),
        # By the database's clock.
        sa.Column('since', timestamp()),
    ]


# The writers of traits. Few users write many traits, so rows of traits refer to rows here. These never change.
trait_writers = sa.Table(
    'trait_writers',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('source', ascii_string(64), nullable=False),
    # '' if the request has none (noauth). NULLs would not be unique.
    sa.Column('user_id', exact_string(255), nullable=False),
    sa.Column('project_id', exact_string(255), nullable=False),
    sa.UniqueConstraint('source', 'user_id', 'project_id'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

# The traits of nodes, each with the source that has held it the longest.
node_traits = sa.Table(
    'node_traits',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # The foreign key prevents the deletion of a trait (DELETE /placement/traits/NAME) that a node has.
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name'), primary_key=True),
    *_hold(),
    # Includes node_id, so that the index alone is enough to find the nodes with a trait.
    sa.Index('node_traits_trait_idx', 'trait', 'node_id'),
    sa.Index('node_traits_writer_id_idx', 'writer_id', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# The further sources of a node's trait. Nearly every trait has only one source. In a separate table, the others cost
# readers of traits nothing.
node_trait_sources = sa.Table(
    'node_trait_sources',
    metadata,
    # No foreign key to node_traits: its check would cost more than the deletion of a trait.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), primary_key=True),
    # A source holds a trait once. Therefore the key has the source and not the writer, which also depends on the user.
    sa.Column('source', ascii_string(64), primary_key=True),
    *_hold(),
    sa.Index('node_trait_sources_writer_id_idx', 'writer_id', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Traits that only the operator can add to a node.
node_trait_vetoes = sa.Table(
    'node_trait_vetoes',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name', ondelete='CASCADE'), primary_key=True),
    *_hold(),
    # For the deletion of a trait.
    sa.Index('node_trait_vetoes_trait_idx', 'trait', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# The notes of operators about traits.
trait_notes = sa.Table(
    'trait_notes',
    metadata,
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name', ondelete='CASCADE'), primary_key=True),
    sa.Column('description', long_text()),
    sa.Column('retired', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('replaced_by', ascii_string(255)),
    # Whether a node with the trait only matches requests that require it.
    sa.Column('exclusive', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('updated_at', timestamp(), nullable=False),
    mysql_engine='InnoDB',
)
