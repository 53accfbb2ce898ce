"""Rows that tests insert."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.names import ensure
from ironic_traits.db.statements.types import now


def insert_node(database, name='one', **values):
    """Insert a node, and return its id."""
    row = {
        'uuid': f'5c2d0a5e-2f0c-4b7b-9a6b-{abs(hash(name)) % 10**12:012}',
        'name': name,
        'driver': 'fake-hardware',
        'provision_state': 'enroll',
        'created_at': now(),
    }
    json = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra')
    json += ('clean_step', 'raid_config', 'target_raid_config')
    with database.write() as connection:
        result = connection.execute(sa.insert(tables.nodes).values(row | dict.fromkeys(json, {}) | values))
        return result.inserted_primary_key.id


def set_exclusive(service, names):
    """Make exactly these traits exclusive. A request for that takes a second."""
    with service.write() as connection:
        ensure(connection, tables.traits, sorted(names))
        connection.execute(sa.delete(tables.trait_notes).where(tables.trait_notes.c.exclusive))
        for name in sorted(names):
            connection.execute(sa.insert(tables.trait_notes).values(trait=name, exclusive=True, updated_at=now()))
    service.noted_traits.forget()


def analyze(app):
    """Let PostgreSQL collect statistics of all tables, as autovacuum does soon after many inserts.

    Without it, the plans depend on the rows of earlier tests, and some take ten times the CPU.
    """
    with app.service.write() as connection:
        if connection.dialect.name == 'postgresql':
            connection.exec_driver_sql('ANALYZE')
