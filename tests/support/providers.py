"""Helpers for tests of nodes as resource providers."""

import contextlib

from tests.support.reservations import available, instance
from tests.support.service import finish_work

GOLD = 'CUSTOM_GOLD'


def golden(client, **fields):
    """Create an available node of class gold, and return its uuid."""
    node = available(client, **fields)
    patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    return node


def provider(client, node):
    """Return the provider of a node.

    :returns: (generation, {'inventories': document, 'traits': document, 'usages': document}), or (None, None) if the
        node has no provider.
    """
    path = f'/resource_providers/{node}'
    response = client.placement('GET', path)
    if response.status_int == 404:
        return None, None
    parts = {part: client.placement('GET', f'{path}/{part}').json for part in ('inventories', 'traits', 'usages')}
    generations = {document.pop('resource_provider_generation') for document in parts.values()}
    assert generations == {response.json['generation']}
    return response.json['generation'], parts


@contextlib.contextmanager
def moves(client, node, by, **parts):
    """Assert that the block increments the generation of a provider, and that the provider has these parts afterwards.

    :param by: expected increment.
    :param parts: expected inventories, traits, ``used`` or ``reserved`` amounts.
    """
    before, _ = provider(client, node)
    yield
    after, documents = provider(client, node)
    assert after - before == by
    for name, expected in parts.items():
        key = {'reserved': 'inventories', 'used': 'usages'}.get(name, name)
        document = documents[key][key]
        if name == 'reserved':
            assert {class_: inventory['reserved'] for class_, inventory in document.items()} == expected
        else:
            assert document == expected


def patch(client, node, *operations):
    response = client.ask('PATCH', f'/v1/nodes/{node}', list(operations))
    assert response.status_int == 200, response.text


def provision(client, app, node, target, **more):
    response = client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': target, **more})
    assert response.status_int == 202, response.text
    finish_work(app)


def free(client, required=''):
    """Return the uuids of the nodes that have a free unit of gold, as Placement reports them."""
    query = f'/resource_providers?resources={GOLD}:1' + (f'&required={required}' if required else '')
    response = client.placement('GET', query)
    assert response.status_int == 200, response.text
    return [row['uuid'] for row in response.json['resource_providers']]


def put_traits(client, node, names):
    """Set the traits of a node's provider, as nova does, and return them."""
    generation, _ = provider(client, node)
    body = {'traits': names, 'resource_provider_generation': generation}
    response = client.placement('PUT', f'/resource_providers/{node}/traits', body)
    assert response.status_int == 200, response.text
    return response.json['traits']


def allocate(client, number, node, used=1, version='1.28'):
    """Replace the allocations of a consumer with one of a node, as nova does.

    :param number: number of the consumer, as for ``instance``.
    :param used: units of gold; 0 for no allocation.
    :returns: webob.Response.
    """
    uuid = instance(number)
    existing = client.placement('GET', f'/allocations/{uuid}', version='1.28').json
    body = {
        'allocations': {node: {'resources': {GOLD: used}}} if used else {},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': existing.get('consumer_generation'),
    }
    return client.placement('PUT', f'/allocations/{uuid}', body, version)
