"""The data of inspections in the database."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.inspection import node_inventories
from tests.support.rows import insert_node


def document(serial):
    """Return data of an inspection."""
    return {'inventory': {'system_vendor': {'serial_number': serial}}, 'plugin_data': {'lldp_raw': {'é': [None, 1.5]}}}


def test_last_and_previous_data(app):
    node = insert_node(app.service.database)
    with app.service.write() as connection:
        assert node_inventories.read(connection, node) is None
        for serial in ('A', 'B', 'C'):
            moment = read_clock(connection)
            node_inventories.store(connection, node, document(serial), moment)
            last = node_inventories.read(connection, node)
            assert (last.document, last.received_at) == (document(serial), moment)
        assert node_inventories.read(connection, node, previous=True).document == document('B')
        assert node_inventories.read_all(connection, [node, node + 1])[node].document == document('C')


def test_data_sent_twice(app):
    """Data that is sent twice does not become its own previous data."""
    node = insert_node(app.service.database)
    with app.service.write() as connection:
        for serial in ('A', 'A'):
            node_inventories.store(connection, node, document(serial), read_clock(connection))
        assert node_inventories.read(connection, node, previous=True) is None


def test_data_of_a_deleted_node(app):
    node = insert_node(app.service.database)
    with app.service.write() as connection:
        node_inventories.store(connection, node, document('A'), read_clock(connection))
        connection.execute(sa.delete(tables.nodes))
        assert node_inventories.read(connection, node) is None
