"""One node: read, or locked first and then read.

The lock is the row itself, taken by raising its generation.  The statements are made once and kept, with the uuid or
the name as a parameter: to make one anew, and to find out that it is the one of the last time, takes as long as the
database does.
"""

import datetime
import functools

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.models import nodes


def take(connection, ident, *columns):
    """Lock a node until the end of the transaction, and read it.

    Every write begins with this, before it looks at who holds the node (DESIGN: invariant 1).

    :param connection: of a writer.
    :param ident: uuid or name.
    :param columns: columns to read besides id and uuid.
    :returns: a row.
    :raises failures.NodeNotFound: there is none.
    """
    key = _key(ident)
    if not connection.execute(_raise_generation(key), {'ident': ident, 'now': now()}).rowcount:
        raise failures.NodeNotFound(node=ident)
    return connection.execute(_select_one((nodes.c.id, nodes.c.uuid, *columns), key), {'ident': ident}).one()


def read(connection, ident, columns):
    """Read a node.

    :param ident: uuid or name.
    :param columns: what to select, a tuple.
    :returns: a row.
    :raises failures.NodeNotFound: there is none.
    """
    row = connection.execute(_select_one(columns, _key(ident)), {'ident': ident}).first()
    if row is None:
        raise failures.NodeNotFound(node=ident)
    return row


@functools.lru_cache(maxsize=256)
def _select_one(columns, key):
    """Give the statement that selects columns of the one node whose ``key`` is the parameter ``ident``."""
    return sa.select(*columns).where(nodes.c[key] == sa.bindparam('ident'))


@functools.lru_cache
def _raise_generation(key):
    return (
        sa.update(nodes)
        .where(nodes.c[key] == sa.bindparam('ident'))
        .values(generation=nodes.c.generation + 1, updated_at=sa.bindparam('now'))
    )


def _key(ident):
    return 'uuid' if uuidutils.is_uuid_like(ident) else 'name'


def now():
    """Give the time, in UTC, as the tables keep it."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
