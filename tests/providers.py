"""What tests of nodes as resource providers do: make such nodes, change them, and look at what Placement shows."""

import contextlib

from tests.functional.test_reservations import available, instance
from tests.service import finish_work

GOLD = 'CUSTOM_GOLD'


def golden(client, **fields):
    """Make an available node of class gold and give its uuid."""
    node = available(client, **fields)
    patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    return node


def provider(client, node):
    """Give all that is shown of a node's provider: its generation, and what it should move with."""
    path = f'/resource_providers/{node}'
    shown = client.placement('GET', path)
    if shown.status_int == 404:
        return None, None
    parts = {part: client.placement('GET', f'{path}/{part}').json for part in ('inventories', 'traits', 'usages')}
    generations = {document.pop('resource_provider_generation') for document in parts.values()}
    assert generations == {shown.json['generation']}
    return shown.json['generation'], parts


@contextlib.contextmanager
def moves(client, node, by, **parts):
    """See that a provider's generation moves by so much, and that it then shows these parts."""
    before, _ = provider(client, node)
    yield
    after, shown = provider(client, node)
    assert after - before == by
    for name, expected in parts.items():
        key = {'reserved': 'inventories', 'used': 'usages'}.get(name, name)
        document = shown[key][key]
        if name == 'reserved':
            assert {class_: inventory['reserved'] for class_, inventory in document.items()} == expected
        else:
            assert document == expected


def patch(client, node, *operations):
    answer = client.ask('PATCH', f'/v1/nodes/{node}', list(operations))
    assert answer.status_int == 200, answer.text


def provision(client, app, node, target, **more):
    answer = client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': target, **more})
    assert answer.status_int == 202, answer.text
    finish_work(app)


def free(client, required=''):
    """List the nodes that one unit of gold could be had of."""
    query = f'/resource_providers?resources={GOLD}:1' + (f'&required={required}' if required else '')
    answer = client.placement('GET', query)
    assert answer.status_int == 200, answer.text
    return [row['uuid'] for row in answer.json['resource_providers']]


def put_traits(client, node, names):
    """Give a node's provider traits, as nova does."""
    generation, _ = provider(client, node)
    body = {'traits': names, 'resource_provider_generation': generation}
    answer = client.placement('PUT', f'/resource_providers/{node}/traits', body)
    assert answer.status_int == 200, answer.text
    return answer.json['traits']


def allocate(client, number, node, used=1, version='1.28'):
    """Ask for a node for a consumer, as nova does, whatever the consumer has; give the answer."""
    uuid = instance(number)
    known = client.placement('GET', f'/allocations/{uuid}', version='1.28').json
    body = {
        'allocations': {node: {'resources': {GOLD: used}}} if used else {},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': known.get('consumer_generation'),
    }
    return client.placement('PUT', f'/allocations/{uuid}', body, version)
