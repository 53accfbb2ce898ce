"""The lock of a node: its row, taken by raising its generation."""

import datetime

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
    matched = connection.execute(
        sa.update(nodes).where(is_node(ident)).values(generation=nodes.c.generation + 1, updated_at=now())
    )
    if not matched.rowcount:
        raise failures.NodeNotFound(node=ident)
    return connection.execute(sa.select(nodes.c.id, nodes.c.uuid, *columns).where(is_node(ident))).one()


def is_node(ident):
    """Give the condition for the one node with this uuid or name."""
    return nodes.c.uuid == ident if uuidutils.is_uuid_like(ident) else nodes.c.name == ident


def now():
    """Give the time, in UTC, as the tables keep it."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
