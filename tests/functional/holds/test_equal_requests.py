"""The same request of several clients at once: the answers are those that one client gets if it repeats the request."""

import re

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.concurrency import at_once
from tests.support.providers import GOLD, golden
from tests.support.reservations import PATH, instance

ROUNDS = 5
ALLOCATIONS = '/v1/allocations'
ANY = {'resource_class': 'gold'}
NODE, OTHER = (f'aaaaaaaa-0000-4000-8000-00000000000{number}' for number in (1, 2))
#: What differs from answer to answer: moments, the ids of requests, and uuids that the service chooses.
CHANGING = re.compile(
    r'\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00|Z)?|req-[0-9a-f-]{36}|(?!bbbbbbbb)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
)


def claim(node=NODE, **more):
    """Return the body of a claim of a node, in the format of 1.13."""
    return {'allocations': {node: {'resources': {GOLD: 1}}}, 'project_id': 'p', 'user_id': 'u', **more}


#: What a claim has from 1.28 on, and from 1.38 on.
NEW = {'consumer_generation': None}
TYPED = {**NEW, 'consumer_type': 'INSTANCE'}

#: {what: (method, path, body, version of Placement, or None for the Bare Metal API)}
REQUESTS = {
    'allocation by uuid': ('POST', ALLOCATIONS, {**ANY, 'uuid': instance(1)}, None),
    'allocation by name': ('POST', ALLOCATIONS, {**ANY, 'name': 'one'}, None),
    'allocation by both': ('POST', ALLOCATIONS, {**ANY, 'name': 'one', 'uuid': instance(1)}, None),
    'allocation of a candidate': ('POST', ALLOCATIONS, {**ANY, 'uuid': instance(1), 'candidate_nodes': [NODE]}, None),
    'allocation without node': ('POST', ALLOCATIONS, {'resource_class': 'tin', 'name': 'one'}, None),
    'reservation': ('POST', PATH, {'instance_uuid': instance(1), 'node_uuid': [NODE]}, None),
    'instance': ('PATCH', f'/v1/nodes/{NODE}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}], None),
    'claim before 1.28': ('PUT', f'/allocations/{instance(1)}', claim(), '1.27'),
    'claim': ('PUT', f'/allocations/{instance(1)}', claim(**NEW), '1.28'),
    'claim with type': ('PUT', f'/allocations/{instance(1)}', claim(**TYPED), '1.39'),
    'claims before 1.28': ('POST', '/allocations', {instance(1): claim(), instance(2): claim(OTHER)}, '1.13'),
    'claims': ('POST', '/allocations', {instance(1): claim(**TYPED), instance(2): claim(OTHER, **TYPED)}, '1.39'),
}


def send(client, request):
    """Send one of REQUESTS, and return (status, text of the answer without what changes)."""
    method, path, body, version = request
    response = client.placement(method, path, body, version) if version else client.ask(method, path, body)
    return response.status_int, CHANGING.sub('', response.text)


def release(client):
    """Delete all that holds the nodes."""
    for what in ('allocations', 'reservations'):
        for held in client.get(f'/v1/{what}?fields=uuid')[what]:
            client.ask('DELETE', f'/v1/{what}/{held["uuid"]}')
    for number in (1, 2):
        client.placement('DELETE', f'/allocations/{instance(number)}')
    client.ask('PATCH', f'/v1/nodes/{NODE}', [{'op': 'remove', 'path': '/instance_uuid'}])


def check(clients, request, release):
    """Compare the answers to one request at once with those to the same request one after the other."""
    release(clients[0])
    alone = sorted(send(client, request) for client in clients)
    for _ in range(ROUNDS):
        release(clients[0])
        assert sorted(at_once(clients, lambda client, number: send(client, request))) == alone


@pytest.mark.parametrize('request_', REQUESTS.values(), ids=REQUESTS)
def test_a_node_is_taken(clients, request_):
    for node in (NODE, OTHER):
        golden(clients[0], uuid=node)
    check(clients[:4], request_, release)


@pytest.mark.parametrize('more', [{}, {'uuid': instance(1)}, {'name': 'one'}], ids=['node', 'uuid', 'name'])
@pytest.mark.parametrize('has_instance', [False, True])
def test_backfill(app, clients, more, has_instance):
    """An active node gets one allocation."""
    golden(clients[0], uuid=NODE)

    def put(**values):
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(values))

    def activate(client):
        put(provision_state='available')
        release(client)
        put(provision_state='active', instance_uuid=instance(1) if has_instance else None)

    check(clients[:4], ('POST', ALLOCATIONS, {'node': NODE, **ANY, **more}, None), activate)


@pytest.mark.parametrize(
    'request_',
    [
        ('POST', '/v1/nodes', {'driver': 'fake-hardware', 'uuid': NODE, 'name': 'one'}, None),
        ('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'one'}, None),
        ('POST', '/v1/chassis', {'uuid': NODE}, None),
        (
            'POST',
            '/v1/deploy_templates',
            {'name': 'CUSTOM_A', 'steps': [{'interface': 'deploy', 'step': 'deploy', 'args': {}, 'priority': 1}]},
            None,
        ),
        ('POST', '/resource_providers', {'name': 'one', 'uuid': NODE}, '1.39'),
        ('POST', '/resource_providers', {'name': 'one'}, '1.39'),
        ('PUT', '/resource_classes/CUSTOM_A', None, '1.39'),
        ('PUT', '/traits/CUSTOM_A', None, '1.39'),
    ],
)
def test_creation(clients, request_):
    """The record is created once, and the other answers say so."""

    def remove(client):
        for noun in ('nodes', 'chassis', 'deploy_templates'):
            for each in client.get(f'/v1/{noun}')[noun]:
                client.ask('DELETE', f'/v1/{noun}/{each["uuid"]}')
        for each in client.placement('GET', '/resource_providers').json['resource_providers']:
            client.placement('DELETE', f'/resource_providers/{each["uuid"]}')
        for path in ('/resource_classes/CUSTOM_A', '/traits/CUSTOM_A'):
            client.placement('DELETE', path)

    check(clients[:4], request_, remove)
