"""The works that one client does with this service and with the real one.

A function with a ``Client`` and a random generator does a work. It sends the same requests to both services, unless
the real one lacks the feature.
"""

import json
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import os_resource_classes

from benchmarks.http import Connection
from benchmarks.placement import FIFTH, HALF

VERSION = '1.52'
FIELDS = 'uuid,name,resource_class,provision_state,power_state,instance_uuid,maintenance,traits'
_NEXT = re.compile(rb'"next": ?"https?://[^/]+(/[^"]+)"')


class Exhausted(Exception):
    """No node is left to claim. The turn ends."""


class Client(Connection):
    """A client of one service.

    :param url: of the API.
    :param sample: copies.Sample.
    :ivar state: {name: value} that the functions of a work share.
    """

    def __init__(self, url, sample):
        super().__init__(url, 'admin', VERSION)
        self.sample = sample
        self.state = {}

    def send(self, method, path, document=None, headers=None):
        """Send a request, and return the status and the body, as bytes.

        :raises SystemExit: the response is an error, but not a conflict.
        """
        status, body = self.ask(method, path, document, headers)
        if status >= 400 and status != 409:
            raise SystemExit(f'{method} {path}: {status} {body[:500]!r}')
        return status, body

    def get(self, path):
        """Send a GET, and return the body."""
        return self.send('GET', path)[1]

    def class_name(self):
        """Return Placement's name of the first resource class."""
        return os_resource_classes.normalize_name(self.sample.classes[0])


def _nothing(client):
    pass


@dataclass(frozen=True)
class Work:
    """A work.

    :ivar run: function of a Client and a random generator, which is timed.
    :ivar real: the same for the real service; None if it lacks the feature.
    :ivar before: function of a Client, which prepares a turn and is not timed.
    :ivar api: 'nodes' or 'placement'.
    """

    name: str
    run: Callable
    real: Callable | None
    before: Callable = _nothing
    api: str = 'nodes'


def _show(client, choose):
    client.get(f'/v1/nodes/{choose.choice(client.sample.uuids)}')


def _traits(client, choose):
    client.get(f'/v1/nodes/{choose.choice(client.sample.uuids)}/traits')


def _put_traits(client, choose):
    path = f'/v1/nodes/{choose.choice(client.sample.uuids)}/traits'
    client.send('PUT', path, {'traits': choose.sample(client.sample.traits, 20)})


def _page(client, choose):
    client.get(f'/v1/nodes?fields={FIELDS}&limit=100&marker={choose.choice(client.sample.uuids)}')


def _one_trait(client, choose):
    client.get(f'/v1/nodes?fields={FIELDS}&limit=100&traits={choose.choice(client.sample.traits[:40])}')


def _three_traits(client, choose):
    first, second, third = choose.sample(client.sample.traits[:40], 3)
    client.get(f'/v1/nodes?fields={FIELDS}&limit=100&traits={first},{second}&not-traits-any={third}')


def _pages(client):
    """Read the inventory, and generate (path, ETag) of each page."""
    path = '/v1/nodes?fields=uuid,traits&limit=1000'
    while path:
        body = client.get(path)
        yield path, client.etag
        # The services put the link at different places. Decoding the body would take longer than the response.
        link = _NEXT.search(body[-1000:]) or _NEXT.search(body[:1000]) or _NEXT.search(body)
        path = link and link[1].decode().removeprefix(client.prefix)


def _inventory(client, choose):
    for _ in _pages(client):
        pass


def _read_tags(client):
    if 'tags' not in client.state:
        client.state['tags'] = list(_pages(client))


def _unchanged(client, choose):
    for path, tag in client.state['tags']:
        status, _ = client.send('GET', path, headers={'If-None-Match': tag})
        if status != 304:
            raise SystemExit(f'{path}: {status} instead of 304')


def _undo_later(client, *request):
    client.state.setdefault('undo', []).append(request)


def undo(client):
    """Undo the claims of a turn."""
    for request in client.state.pop('undo', ()):
        client.send(*request)


def _reserve(client, choose):
    body = {'instance_uuid': str(uuid.uuid4()), 'resource_class': client.sample.classes[0], 'required': [HALF]}
    status, document = client.send('POST', '/v1/reservations', body)
    if status == 409:
        raise Exhausted
    _undo_later(client, 'DELETE', f'/v1/reservations/{json.loads(document)["reservation"]["uuid"]}')


def _list_free(client):
    client.state['free'] = list(client.sample.free)


def _set_instance(client, choose):
    if not client.state['free']:
        raise Exhausted
    path = f'/v1/nodes/{client.state["free"].pop()}'
    client.send('PATCH', path, [{'op': 'add', 'path': '/instance_uuid', 'value': str(uuid.uuid4())}])
    _undo_later(client, 'PATCH', path, [{'op': 'remove', 'path': '/instance_uuid'}])


def _allocate(client, choose):
    body = {'resource_class': client.sample.classes[0], 'traits': [HALF]}
    allocation = json.loads(client.send('POST', '/v1/allocations', body)[1])
    path = f'/v1/allocations/{allocation["uuid"]}'
    _undo_later(client, 'DELETE', path)
    while allocation['state'] == 'allocating':
        time.sleep(0.01)
        allocation = json.loads(client.get(path))
    if allocation['state'] != 'active':
        raise Exhausted(allocation['last_error'])


def _candidates(extra):
    def run(client, choose):
        client.get(f'/allocation_candidates?resources={client.class_name()}:1{extra}')

    return run


def _providers(client, choose):
    client.get(f'/resource_providers?required={choose.choice(client.sample.traits[:40])}')


def _all_traits(client, choose):
    client.get('/traits')


def _provider_traits(client, choose):
    client.get(f'/resource_providers/{choose.choice(client.sample.uuids)}/traits')


def _read_generations(client):
    if 'generations' not in client.state:
        paths = [f'/resource_providers/{each}/traits' for each in client.sample.uuids[:50]]
        client.state['generations'] = {path: _generation(client.get(path)) for path in paths}


def _generation(body):
    return json.loads(body)['resource_provider_generation']


def _put_provider_traits(client, choose):
    generations = client.state['generations']
    path = choose.choice(list(generations))
    body = {'traits': choose.sample(client.sample.traits, 20), 'resource_provider_generation': generations[path]}
    generations[path] = _generation(client.send('PUT', path, body)[1])


def _find_candidates(client):
    body = client.get(f'/allocation_candidates?resources={client.class_name()}:1&required={HALF}&limit=1000')
    client.state['candidates'] = [each['allocations'] for each in json.loads(body)['allocation_requests']]


def _claim(client, choose):
    if not client.state['candidates']:
        raise Exhausted
    body = {
        'allocations': client.state['candidates'].pop(),
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }
    path = f'/allocations/{uuid.uuid4()}'
    client.send('PUT', path, body)
    _undo_later(client, 'DELETE', path)


def list_free(client):
    """Return the uuids of some nodes without a holder."""
    free = 'provision_state=available&associated=false&maintenance=false&reserved=false'
    return [node['uuid'] for node in json.loads(client.get(f'/v1/nodes?fields=uuid&limit=500&{free}'))['nodes']]


def _same(name, run, before=_nothing, api='nodes'):
    return Work(name, run, run, before, api)


def _placement(name, run, before=_nothing):
    return _same(name, run, before, 'placement')


#: The order matters: claims are undone after each turn, changes of traits are not.
WORKS = (
    _same('one node', _show),
    _same('traits of a node', _traits),
    _same('page of 100 nodes', _page),
    _same('whole inventory with traits', _inventory),
    Work('unchanged inventory, 304 (real: read again)', _unchanged, _inventory, _read_tags),
    Work('list by one trait', _one_trait, None),
    Work('list by 2 traits, 1 forbidden', _three_traits, None),
    _placement('candidates, limit 50', _candidates('&limit=50')),
    _placement('candidates, limit 1000', _candidates('&limit=1000')),
    _placement('candidates, half but a fifth, limit 50', _candidates(f'&required={HALF},!{FIFTH}&limit=50')),
    _placement('candidates, half but a fifth, limit 1000', _candidates(f'&required={HALF},!{FIFTH}&limit=1000')),
    _placement('providers by a required trait', _providers),
    _placement('all traits', _all_traits),
    _placement('traits of a provider', _provider_traits),
    Work('reservation (real: PATCH instance_uuid)', _reserve, _set_instance, _list_free),
    _same('PATCH instance_uuid', _set_instance, _list_free),
    _same('allocation of the Bare Metal API', _allocate),
    _placement('allocation of a candidate', _claim, _find_candidates),
    _same('PUT 20 traits', _put_traits),
    _placement('PUT 20 traits of a provider', _put_provider_traits, _read_generations),
)
