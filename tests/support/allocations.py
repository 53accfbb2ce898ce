"""Helpers for tests of Ironic's allocations."""

PATH = '/v1/allocations'
REMOVE = {'op': 'remove', 'path': '/instance_uuid'}


def request(client, status=201, **body):
    """Create an allocation of a node of class gold, and return the document of the response."""
    response = client.ask('POST', PATH, {'resource_class': 'gold', **body})
    assert response.status_int == status, response.text
    return response.json


def failed(client, **body):
    """Create an allocation that gets no node, and return its ``last_error`` without the uuid."""
    allocation = request(client, **body)
    assert (allocation['state'], allocation['node_uuid']) == ('error', None)
    begin = f'Failed to process allocation {allocation["uuid"]}: '
    assert allocation['last_error'].startswith(begin)
    return allocation['last_error'].removeprefix(begin)


def shown(client, node, *names):
    """Return one field of a node, or a list of several."""
    document = client.get(f'/v1/nodes/{node}?fields={",".join(names)}')
    return document[names[0]] if len(names) == 1 else [document[name] for name in names]


def holder(client, node):
    """Return instance_uuid and allocation_uuid of a node."""
    return shown(client, node, 'instance_uuid', 'allocation_uuid')


def states(client, *uuids):
    """Return the status of a GET of each allocation."""
    return [client.ask('GET', f'{PATH}/{uuid}').status_int for uuid in uuids]


def events(client, node):
    """Return the events about allocations in the history of a node."""
    page = client.get(f'/v1/nodes/{node}/history?detail=true')['history']
    return [entry['event'] for entry in page if entry['event_type'] == 'reservation']
