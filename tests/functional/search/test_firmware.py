"""The firmware of nodes: how many have which version."""

import pytest

from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import firmware
from tests.support.client import Client


def document(model, *versions, **redfish):
    """Return data of an inspection by a BMC."""
    listed = [{'name': name, 'version': version} for name, version in versions]
    system = {'manufacturer': 'Dell Inc.', 'product_name': model}
    return {'inventory': {'system_vendor': system}, 'plugin_data': {'redfish': {'firmware': listed, **redfish}}}


def inspect(client, name, data, **fields):
    """Store data of an inspection of a node, which is created if there is none of the name."""
    if client.ask('GET', f'/v1/nodes/{name}').status_int == 404:
        client.node(name=name, **fields)
    response = client.ask('PUT', f'/v1/nodes/{name}/inventory', data)
    assert response.status_int < 300, response.text


def rows(client):
    """Return the response as tuples, without the vendor."""
    return [tuple(each.values())[1:] for each in client.get('/v1/drift')['firmware']]


def test_nodes_are_counted_by_model_and_version(client):
    assert client.get('/v1/drift') == {'firmware': []}
    inspect(client, 'one', document('R750', ('BIOS', '2.19.1'), ('iDRAC', '7.10'), ('BIOS', '2.19.1')))
    inspect(client, 'two', document('R750', ('iDRAC', '7.10'), ('BIOS', '2.9.3')))
    inspect(client, 'three', document('R760', ('BIOS', '2.9.3')))
    inspect(client, 'four', {'inventory': {}})
    first = {'vendor': 'Dell Inc.', 'model': 'R750', 'name': 'BIOS', 'version': '2.19.1', 'nodes': 1}
    assert client.get('/v1/drift')['firmware'][0] == first
    assert rows(client) == [
        ('R750', 'BIOS', '2.19.1', 1),
        ('R750', 'BIOS', '2.9.3', 1),
        ('R750', 'iDRAC', '7.10', 2),
        ('R760', 'BIOS', '2.9.3', 1),
    ]


def test_the_last_inspection_counts(client):
    inspect(client, 'one', document('R750', ('BIOS', '1')))
    inspect(client, 'one', document('R750', ('BIOS', '2')))
    assert rows(client) == [('R750', 'BIOS', '2', 1)]
    inspect(client, 'one', {'inventory': {}})
    assert rows(client) == []
    inspect(client, 'one', document('R750', ('BIOS', '3')))
    client.ask('DELETE', '/v1/nodes/one')
    assert rows(client) == []


@pytest.mark.parametrize('listed', [5, 'x', [], {}, [5, None, []], [{'name': 'BIOS'}], [{'name': 1, 'version': []}]])
def test_what_is_no_firmware_is_left_out(client, listed):
    inspect(client, 'one', document('R750', firmware=listed))
    assert rows(client) == []
    inspect(client, 'one', {'inventory': {'system_vendor': {'product_name': 7}}, 'plugin_data': {'redfish': listed}})
    assert rows(client) == []


def test_only_nodes_that_the_caller_may_see(app):
    for owner in ('alpha', 'beta'):
        inspect(Client(app), owner, document(owner, ('BIOS', '1')), owner=owner)
    context = Context(app.service, BARE_METAL, 115, '', project_id='beta')
    found = firmware.count(context, Grant(('baremetal:capacity:get',)))
    assert [each['model'] for each in found] == ['beta']


def test_the_rows_have_a_limit(client, monkeypatch):
    monkeypatch.setattr(firmware, 'MAX_ROWS', 1)
    inspect(client, 'one', document('R750', ('A', '1'), ('BIOS', '1')))
    inspect(client, 'two', document('R750', ('BIOS', '1')))
    assert rows(client) == [('R750', 'BIOS', '1', 2)]
