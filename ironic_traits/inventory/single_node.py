"""One node: read, or locked first and then read.

The lock is the row itself, taken by raising its generation.  The statements are made once and kept, with the uuid or
the name as a parameter: to make one anew, and to find out that it is the one of the last time, takes as long as the
database does.
"""

import functools

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.models import nodes
from ironic_traits.db.types import now
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.secrets import with_masks


def take(connection, ident, *columns):
    """Lock a node until the end of the transaction, and read it.

    Every write begins with this, before it looks at who holds the node (DESIGN: invariant 1).

    :param connection: of a writer.
    :param ident: uuid or name.
    :param columns: columns to read besides id and uuid.
    :returns: a row, with what its provider is compared with after a change, too (``node_providers.BEFORE``).
    :raises failures.NodeNotFound: there is none.
    """
    key, columns = _key(ident), (nodes.c.id, nodes.c.uuid, *node_providers.BEFORE, *columns)
    # One statement where the database has one for it (MariaDB has none, SQLite's is wrong about IS NULL), and where
    # what is read is the row that it locks: of other tables it would give what was there before the wait for the lock.
    at_once = connection.dialect.name == 'postgresql' and all(map(_of_the_row, columns))
    raised = connection.execute(_raise_generation(key, columns if at_once else ()), {'ident': ident, 'now': now()})
    row = raised.first() if at_once else raised.rowcount
    if not row:
        raise failures.NodeNotFound(node=ident)
    return row if at_once else connection.execute(_select_one(columns, key), {'ident': ident}).one()


def change(connection, node, changes):
    """Write to a node's row, and let its provider follow.

    :param connection: of a writer.
    :param node: what ``take`` gave.
    :param changes: {column: value}.
    """
    connection.execute(sa.update(nodes).where(nodes.c.id == node.id).values(with_masks(nodes, changes)))
    node_providers.follow(connection, node, changes)


def read(connection, ident, columns, seen=()):
    """Read a node.

    :param ident: uuid or name.
    :param columns: what to select, a tuple.
    :param seen: conditions on nodes that somebody may see (``node_filters.visible``).
    :returns: a row.
    :raises failures.NodeNotFound: there is none, or none that is seen.
    """
    statement = _select_one(columns, _key(ident))
    row = connection.execute(statement.where(*seen) if seen else statement, {'ident': ident}).first()
    if row is None:
        raise failures.NodeNotFound(node=ident)
    return row


@functools.lru_cache(maxsize=256)
def _select_one(columns, key):
    """Give the statement that selects columns of the one node whose ``key`` is the parameter ``ident``."""
    return sa.select(*columns).where(nodes.c[key] == sa.bindparam('ident'))


@functools.lru_cache(maxsize=256)
def _raise_generation(key, columns):
    return (
        sa.update(nodes)
        .where(nodes.c[key] == sa.bindparam('ident'))
        .values(generation=nodes.c.generation + 1, updated_at=sa.bindparam('now'))
        .returning(*columns)
    )


def _of_the_row(column):
    return isinstance(column, sa.Column) or any(column is each for each in node_providers.BEFORE)


def _key(ident):
    return 'uuid' if uuidutils.is_uuid_like(ident) else 'name'
