"""The calls of ``order_model``: what is sent, and what of the response is the answer.

Each function returns (answer, what else the response shows). The answer is None if the outcome is unknown.
"""

import datetime
import time
import uuid

from tests.chaos.clients import CONSUMER
from tests.chaos.order_model import TRAITS


class Calls:
    """Sends the calls about some nodes.

    :param ask: function that sends a request and returns (status, document). The status is 0 without a response.
    :param nodes: their uuids.
    :param name: resource class of the nodes, which no other nodes have.
    """

    def __init__(self, ask, nodes, name):
        self._ask, self._nodes, self._class = ask, nodes, name

    def send(self, kind, values):
        """Send a call, and return (answer, more values)."""
        status, answer, *more = getattr(self, kind)(**values)
        if status == 0 or status >= 500:
            return None, {}
        return (status, *answer) if status < 300 else (status,), more[0] if more and status < 300 else {}

    def _node(self, number, *rest):
        return '/'.join((f'/v1/nodes/{self._nodes[number]}', *rest))

    def _numbers(self, uuids):
        return tuple(sorted(self._nodes.index(each) for each in uuids if each in self._nodes))

    def put_traits(self, node, source, traits):
        status, document = self._ask('PUT', self._node(node, 'traits') + _of(source), {'traits': list(traits)})
        return status, (tuple((document or {}).get('traits', ())),)

    def add_trait(self, node, source, trait):
        return self._ask('PUT', self._node(node, 'traits', trait) + _of(source))[0], ()

    def remove_trait(self, node, source, trait):
        return self._ask('DELETE', self._node(node, 'traits', trait) + _of(source))[0], ()

    def edit_traits(self, nodes, add, remove):
        body = {'nodes': [self._nodes[number] for number in nodes], 'add': [add], 'remove': [remove]}
        status, document = self._ask('POST', '/v1/traits/edits', body | {'preview': True})
        if status != 200:
            return status, ()
        return self._ask('POST', '/v1/traits/edits', body | {'digest': document['digest']})[0], ()

    def reserve(self, instance, nodes, expires):
        body = {'node_uuid': [self._nodes[number] for number in nodes]} if nodes else {'resource_class': self._class}
        body |= {'expires_at': _moment(expires).isoformat()} if expires else {}
        status, document = self._ask('POST', '/v1/reservations', body | {'instance_uuid': instance})
        if status not in (200, 201):
            return status, ()
        made = document['reservation']
        return status, self._numbers([made['node_uuid']]), {'uuid': made['uuid']}

    def reserve_two(self, instances):
        body = {'resource_class': self._class, 'instance_uuids': list(instances)}
        status, document = self._ask('POST', '/v1/reservations', body)
        made = document['reservations'] if status in (200, 201) else ()
        numbers = tuple(self._nodes.index(each['node_uuid']) for each in made)
        return status, numbers, {'uuids': tuple(each['uuid'] for each in made)}

    def release(self, uuid):
        return self._ask('DELETE', f'/v1/reservations/{uuid}')[0], ()

    def allocate(self, instance, nodes):
        body = {'uuid': instance, 'resource_class': self._class}
        body['candidate_nodes'] = [self._nodes[number] for number in nodes]
        status, document = self._ask('POST', '/v1/allocations', body)
        if status != 201:
            return status, ()
        held = document['node_uuid']
        return status, (document['state'], held and self._nodes.index(held))

    def deallocate(self, instance):
        return self._ask('DELETE', f'/v1/allocations/{instance}')[0], ()

    def set_instance(self, node, instance):
        patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance}]
        return self._ask('PATCH', self._node(node), patch)[0], ()

    def clear_instance(self, node):
        return self._ask('PATCH', self._node(node), [{'op': 'remove', 'path': '/instance_uuid'}])[0], ()

    def claim(self, demands):
        documents = {
            consumer: CONSUMER
            | {'allocations': {self._nodes[number]: {'resources': {f'CUSTOM_{self._class.upper()}': 1}}}}
            | {'consumer_generation': None}
            for consumer, number in demands
        }
        if len(demands) > 1:
            return self._ask('POST', '/placement/allocations', documents)[0], ()
        ((consumer, document),) = documents.items()
        return self._ask('PUT', f'/placement/allocations/{consumer}', document)[0], ()

    def unclaim(self, consumer):
        return self._ask('DELETE', f'/placement/allocations/{consumer}')[0], ()

    def maintain(self, node, is_on):
        return self._ask('PUT' if is_on else 'DELETE', self._node(node, 'maintenance'))[0], ()

    def read_node(self, node):
        status, document = self._ask('GET', self._node(node) + _FIELDS)
        return status, (_shown(document),) if status == 200 else ()

    def read_nodes(self):
        status, document = self._ask('GET', f'/v1/nodes{_FIELDS}&resource_class={self._class}')
        nodes = sorted(document['nodes'], key=lambda node: self._nodes.index(node['uuid'])) if status == 200 else ()
        return status, (tuple(map(_shown, nodes)),)

    def read_traits(self, node):
        status, document = self._ask('GET', self._node(node, 'traits'))
        return status, (tuple(document['traits']),) if status == 200 else ()

    def read_provider(self, node):
        status, document = self._ask('GET', f'/placement/resource_providers/{self._nodes[node]}/traits')
        if status != 200:
            return status, ()
        return status, (tuple(document['traits']),), {'generation': document['resource_provider_generation']}

    def read_consumers(self, node):
        status, document = self._ask('GET', f'/placement/resource_providers/{self._nodes[node]}/allocations')
        return status, (tuple(document['allocations']),) if status == 200 else ()

    def find_nodes(self, trait):
        path = f'/v1/nodes?resource_class={self._class}&traits={trait}&fields=uuid'
        status, document = self._ask('GET', path)
        return status, (self._numbers(node['uuid'] for node in document['nodes']),) if status == 200 else ()

    def find_free(self, trait, way):
        return getattr(self, f'_find_by_{way}')(trait)

    def _find_by_matches(self, trait):
        body = {'resource_class': self._class, 'required': [trait]}
        status, document = self._ask('POST', '/v1/matches', body)
        return status, (self._numbers(node['uuid'] for node in document['nodes']),) if status == 200 else ()

    def _find_by_candidates(self, trait):
        path = f'/placement/allocation_candidates?resources=CUSTOM_{self._class.upper()}:1&required={trait}'
        status, document = self._ask('GET', path)
        return status, (self._numbers(document['provider_summaries']),) if status == 200 else ()

    def count_free(self):
        flavors = [{'name': trait, 'resource_class': self._class, 'required': [trait]} for trait in TRAITS]
        status, document = self._ask('POST', '/v1/capacity', {'flavors': flavors})
        return status, tuple(flavor['free'] for flavor in document['flavors']) if status == 200 else ()

    def read_reservations(self):
        status, document = self._ask('GET', '/v1/reservations?limit=1000')
        held = {each['node_uuid']: each['instance_uuid'] for each in document['reservations']} if status == 200 else {}
        return status, (tuple(held.get(node) for node in self._nodes),)


_FIELDS = '?fields=uuid,traits,instance_uuid,reservation_uuid,maintenance'


def _epoch():
    """Return the time at which time.monotonic() was 0.

    The thread may be interrupted between two looks at the clocks, so the quickest of several tries counts.
    """
    tries = [(time.monotonic(), time.time(), time.monotonic()) for _ in range(1000)]
    before, moment, after = min(tries, key=lambda each: each[2] - each[0])
    return moment - (before + after) / 2


def _moment(monotonic):
    """Return the time of a value of time.monotonic()."""
    return datetime.datetime.fromtimestamp(_EPOCH + monotonic, datetime.UTC)


_EPOCH = _epoch()


def _of(source):
    return f'?source={source}' if source else ''


def _shown(node):
    return tuple(node['traits']), node['instance_uuid'], bool(node['reservation_uuid']), node['maintenance']


def make_nodes(ask, number, name):
    """Create available nodes of a class, and the traits. Repeat each request until it succeeds.

    :returns: [uuid of a node, …].
    """
    for trait in TRAITS:
        _retry(ask, (201, 204), 'PUT', f'/placement/traits/{trait}')
    nodes = [str(uuid.uuid4()) for _ in range(number)]
    for node in nodes:
        body = {'driver': 'fake-hardware', 'uuid': node}
        # Before 1.11, new nodes are available.
        _retry(ask, (201, 409), 'POST', '/v1/nodes', body, **{'X-OpenStack-Ironic-API-Version': '1.10'})
        patch = [{'op': 'add', 'path': '/resource_class', 'value': name}]
        _retry(ask, (200,), 'PATCH', f'/v1/nodes/{node}', patch)
    return nodes


def _retry(ask, expected, *request, **headers):
    deadline = time.monotonic() + 60
    while (answer := ask(*request, **headers))[0] not in expected:
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)
