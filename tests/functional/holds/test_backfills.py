"""Allocations of nodes that are active already (backfill), on each database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.allocations import PATH, REMOVE, holder, states
from tests.support.client import message
from tests.support.providers import allocate, golden, patch, provision
from tests.support.reservations import instance, reserve


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client, name='rack1-1')


def test_backfill(app, client, node):
    """An active node gets an allocation of its instance afterwards."""
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    refused = client.ask('POST', PATH, {'node': 'rack1-1'})
    assert refused.status_int == 409
    assert message(refused).endswith(
        f': Cannot backfill an allocation for node {node}: Node must be in the "active" state, but the current state '
        'is "available".'
    )
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    body = {'node': node, 'resource_class': 'tin', 'traits': ['CUSTOM_B'], 'candidate_nodes': [golden(client)]}
    refused = client.ask('POST', PATH, body)
    assert refused.status_int == 409
    for text in ('Resource class gold does not match', 'List of traits', 'Candidate nodes must be empty'):
        assert text in message(refused)
    assert client.ask('POST', PATH, {'node': node, 'uuid': instance(2)}).json['code'] == 'baremetal.node.associated'
    assert client.get(PATH) == {'allocations': []}
    response = client.ask('POST', PATH, {'node': 'rack1-1', 'name': 'one', 'traits': ['CUSTOM_A']})
    assert response.status_int == 201, response.text
    assert (response.json['uuid'], response.json['state']) == (instance(1), 'active')
    assert (response.json['node_uuid'], response.json['resource_class']) == (node, 'gold')
    assert holder(client, node) == [instance(1), instance(1)]
    assert client.ask('POST', PATH, {'node': node}).status_int == 409
    provision(client, app, node, 'deleted')
    assert states(client, 'one') == [404]


def test_backfill_without_an_instance(app, client, node):
    """A node that was deployed without an instance gets the uuid of the allocation, unless something holds either."""
    provision(client, app, node, 'active')
    other = golden(client)
    assert reserve(client, 1, [other]).status_int == 201
    patch(client, golden(client), {'op': 'add', 'path': '/instance_uuid', 'value': instance(2)})
    for number, code in (1, 'baremetal.instance.reserved'), (2, 'baremetal.instance.associated'):
        refused = client.ask('POST', PATH, {'node': node, 'uuid': instance(number)})
        assert (refused.status_int, refused.json['code']) == (409, code)
    response = client.ask('POST', PATH, {'node': node})
    assert response.status_int == 201, response.text
    assert holder(client, node) == [response.json['uuid'], response.json['uuid']]


def test_backfill_of_a_held_node(app, client, node):
    """An active node without an instance is for the instance that has reserved or allocated it, and no other."""
    adopted = golden(client)
    assert allocate(client, 1, node).status_int == 204
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    patch(client, node, REMOVE)
    assert reserve(client, 2, [adopted]).status_int == 201
    for target in ('manage', 'adopt'):
        provision(client, app, adopted, target)
    for uuid, number, code in (node, 1, 'baremetal.node.allocated'), (adopted, 2, 'baremetal.node.reserved'):
        refused = client.ask('POST', PATH, {'node': uuid, 'uuid': instance(3)})
        assert (refused.status_int, refused.json['code']) == (409, code)
        response = client.ask('POST', PATH, {'node': uuid, 'uuid': instance(number)})
        assert (response.status_int, holder(client, uuid)) == (201, [instance(number)] * 2)


def test_backfill_of_a_locked_node(app, client, node):
    """A node that a worker has locked gets no allocation."""
    provision(client, app, node, 'active')
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation='worker'))
    refused = client.ask('POST', PATH, {'node': node})
    assert (refused.status_int, refused.json['code']) == (409, 'baremetal.node.locked')
