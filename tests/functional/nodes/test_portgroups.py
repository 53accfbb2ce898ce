"""Portgroups: to which nodes they may move."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables


@pytest.mark.parametrize(
    ('state', 'maintenance', 'status'),
    [
        ('enroll', False, 200),
        ('inspect wait', False, 200),
        ('clean failed', False, 409),
        ('available', False, 409),
        ('clean failed', True, 200),
    ],
)
def test_a_portgroup_moves_to_an_unused_node(client, state, maintenance, status):
    """The state of the new node counts, as in Ironic."""
    nodes = [client.node()['uuid'] for _ in range(2)]
    portgroup = client.ask('POST', '/v1/portgroups', {'node_uuid': nodes[0]}).json['uuid']
    with client.app.service.write() as connection:
        new_node = sa.update(tables.nodes).where(tables.nodes.c.uuid == nodes[1])
        connection.execute(new_node.values(provision_state=state, maintenance=maintenance))
    patch = [{'op': 'replace', 'path': '/node_uuid', 'value': nodes[1]}]
    response = client.ask('PATCH', f'/v1/portgroups/{portgroup}', patch)
    assert response.status_int == status, response.text
