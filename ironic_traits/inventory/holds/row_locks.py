"""Locks of single resources that do not change their rows.

A write with If-Match compares the ETag under the lock, before it writes. Therefore the lock cannot be an UPDATE:
``take`` and ``records.lock`` would change the time of the last update, and thus the ETag. The writer then locks the
same rows again with an UPDATE, in the same order. On a Galera cluster, a write on another node conflicts with that
UPDATE.

SQLite has no row locks, and does not need them: its writers lock the database when they begin.
"""

import functools
from collections.abc import Callable

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.db import tables
from ironic_traits.inventory.holds.allocations import KIND as ALLOCATIONS
from ironic_traits.inventory.records.chassis import CHASSIS
from ironic_traits.inventory.records.deploy_templates import DEPLOY_TEMPLATES
from ironic_traits.inventory.records.inspection_rules import INSPECTION_RULES
from ironic_traits.inventory.records.portgroups import PORTGROUPS
from ironic_traits.inventory.records.ports import PORTS
from ironic_traits.inventory.records.runbooks import RUNBOOKS
from ironic_traits.inventory.records.volume import CONNECTORS, TARGETS


def _lock_row(table: sa.Table, connection: sa.Connection, ident: str) -> None:
    """Lock a row until the end of the transaction.

    :param ident: uuid, in lower case and with dashes, or name.
    """
    # The lock of an UPDATE: rows that refer to this one can still be inserted.
    statement = sa.select(table.c.id).where(_is(table, ident)).with_for_update(key_share=True)
    connection.execute(statement).all()


def _lock_with_node(table: sa.Table, connection: sa.Connection, ident: str) -> None:
    """Lock the node of a row, and then the row. Repeat this if the row has moved to another node in the meantime."""
    statement = sa.select(table.c.node_uuid).where(_is(table, ident))
    node_uuid = connection.scalar(statement)
    while node_uuid:
        _lock_row(tables.nodes, connection, node_uuid)
        _lock_row(table, connection, ident)
        locked = node_uuid
        node_uuid = connection.scalar(statement)
        if node_uuid == locked:
            return
    _lock_row(table, connection, ident)


def _is(table: sa.Table, ident: str) -> sa.ColumnElement[bool]:
    if 'uuid' in table.c and uuidutils.is_uuid_like(ident):
        return table.c.uuid == ident
    return table.c.name == ident if 'name' in table.c else sa.false()


#: {path of a collection, below /v1: function (connection, uuid or name) that locks one of its resources}. The function
#: does nothing if there is no such resource.
LOCKS: dict[str, Callable[[sa.Connection, str], None]] = {
    'nodes': functools.partial(_lock_row, tables.nodes),
    'traits': functools.partial(_lock_row, tables.traits),
    'reservations': functools.partial(_lock_with_node, tables.reservations),
    **{
        path: functools.partial(_lock_with_node if 'node_uuid' in kind.table.c else _lock_row, kind.table)
        for path, kind in {
            'allocations': ALLOCATIONS,
            'chassis': CHASSIS,
            'deploy_templates': DEPLOY_TEMPLATES,
            'inspection_rules': INSPECTION_RULES,
            'portgroups': PORTGROUPS,
            'ports': PORTS,
            'runbooks': RUNBOOKS,
            'volume/connectors': CONNECTORS,
            'volume/targets': TARGETS,
        }.items()
    },
}
