"""Mirrors without a cloud: the test provides the data of the cloud."""

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_allocations, mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.records.ports import PORTS
from ironic_traits.mirror import documents
from ironic_traits.placement.consumers import Demand

UUIDS = [f'aaaaaaaa-0000-4000-8000-{number:012}' for number in range(9)]
INSTANCE, OTHER = 'dddddddd-0000-4000-8000-000000000001', 'dddddddd-0000-4000-8000-000000000002'
ENDPOINT = 'http://far.example.com/'


class Store:
    """The mirror of a cloud. The test passes the data of the cloud.

    :param service: ironic_traits.service.Service.
    :param name: of the cloud.
    """

    def __init__(self, service, name):
        self.context = Context(service, None, 0, '')
        self.turn = Turn(name, f'lease of {name}', 60)
        assert mirror_clouds.take(service, self.turn, 'test')
        mirror_clouds.save(service, self.turn, endpoint=ENDPOINT)

    def nodes(self, *items):
        """Store nodes, [{field: value}, …], and return the result."""
        return mirrored_nodes.store(self.context, self.turn, [documents.node(document(**each)) for each in items])

    def ports(self, *items):
        """Store ports."""
        rows = [documents.record(PORTS, {'created_at': '2026-01-01T00:00:00+00:00', **each}) for each in items]
        return mirrored_records.store(self.context, self.turn, mirrored_records.RecordCheck, PORTS, rows)

    def allocations(self, *items):
        """Store allocations, and return the result."""
        rows = [documents.allocation({'created_at': '2026-01-01T00:00:00+00:00', **each}) for each in items]
        return mirrored_allocations.store(self.context, self.turn, rows)

    def conflicts(self):
        """Return {uuid: reason}."""
        return {row.uuid: row.reason for row in mirror_clouds.conflicts(self.context, self.turn.cloud)}


def document(number=0, **fields):
    return {
        'uuid': UUIDS[number],
        'created_at': '2026-01-01T00:00:00+00:00',
        'updated_at': '2026-01-02T00:00:00+00:00',
        'driver': 'ipmi',
        'provision_state': 'available',
        'power_state': 'power off',
        'resource_class': 'gold',
        'traits': [],
    } | fields


def claim(service, state):
    """Insert a claim of the first node, whose holder is an allocation in Placement. Its uuid is OTHER."""
    row = {'uuid': OTHER, 'holder_uuid': OTHER, 'cloud': 'far', 'created_at': now()}
    row |= {'node_uuid': UUIDS[0], 'instance_uuid': INSTANCE, 'state': state}
    with service.write() as connection:
        connection.execute(sa.insert(tables.mirror_claims).values(row))


def demand(consumer, *nodes):
    """Return the Demand of a consumer that allocates nodes."""
    return Demand(consumer, {node: {'CUSTOM_GOLD': 1} for node in nodes}, 'p', 'u')
