"""Helpers for tests of capacity reservations."""

from tests.support.providers import GOLD
from tests.support.reservations import PATH, instance

CAPACITY = '/v1/capacity_reservations'


def promise(client, name, count, **request):
    """Request a capacity reservation of golden nodes for the project of the same name, and return the response."""
    body = {'name': name, 'project': f'project-{name}', 'count': count, 'resource_class': 'gold', **request}
    return client.ask('POST', CAPACITY, body)


def claim(client, number, node, project):
    """Allocate a node to a consumer of a project in Placement, and return the response."""
    body = {
        'allocations': {node: {'resources': {GOLD: 1}}},
        'project_id': project,
        'user_id': 'user',
        'consumer_generation': None,
    }
    return client.placement('PUT', f'/allocations/{instance(number)}', body, '1.28')


def take(client, number, **request):
    """Reserve a golden node for an instance by a request, and return the response."""
    return client.ask('POST', PATH, {'instance_uuid': instance(number), 'resource_class': 'gold', **request})


def figures(client, name):
    """Return the numbers of a capacity reservation: used, left, short and free."""
    shown = client.get(f'{CAPACITY}/{name}')
    return tuple(shown[key] for key in ('used', 'left', 'short', 'free'))


def add_trait(client, node, name):
    """Add a trait to a node."""
    assert client.ask('PUT', f'/v1/nodes/{node}/traits/{name}').status_int == 204
