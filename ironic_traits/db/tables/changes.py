"""The tables of the change feed (``changes/change_feed.py``)."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string, timestamp
from ironic_traits.db.tables.base import metadata

# The changes of transactions that have no number yet. Writers only insert here, so no writer waits for another.
change_log = sa.Table(
    'change_log',
    metadata,
    sa.Column('id', sa.Integer().with_variant(sa.BigInteger(), 'postgresql', 'mysql', 'mariadb'), primary_key=True),
    # One of inventory.change_feed.KINDS, and the uuid of the object.
    sa.Column('kind', ascii_string(16), nullable=False),
    sa.Column('uuid', ascii_string(36), nullable=False),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

# The number of the last change of each object that has changed, deleted objects included. Numbers follow the order in
# which changes became visible.
changes = sa.Table(
    'changes',
    metadata,
    sa.Column('kind', ascii_string(16), primary_key=True),
    sa.Column('uuid', ascii_string(36), primary_key=True),
    sa.Column('number', sa.BigInteger, nullable=False, unique=True),
    # When the change was numbered, by the database's clock.
    sa.Column('changed_at', timestamp(), nullable=False),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# One row. It is locked while changes are numbered. Writers of nodes do not touch it.
change_numbers = sa.Table(
    'change_numbers',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    # Part of all tokens: a token of another feed is invalid here.
    sa.Column('feed', ascii_string(36), nullable=False),
    # The last number.
    sa.Column('last', sa.BigInteger, nullable=False),
    # The last number of a deleted object that is forgotten. Tokens before it are too old.
    sa.Column('forgotten', sa.BigInteger, nullable=False),
    mysql_engine='InnoDB',
)
