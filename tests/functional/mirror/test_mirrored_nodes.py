"""Nodes of clouds in the inventory: what they have in common with own nodes, refused requests, and conflicts."""

import subprocess
import sys

import pytest

from ironic_traits import failures
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_deletions, mirror_kept_nodes, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn, TurnLost
from ironic_traits.mirror import documents, processes
from ironic_traits.placement import imports
from ironic_traits.placement.snapshot_differences import Scope
from ironic_traits.placement.snapshots import Consumer
from tests.support.client import Client, message
from tests.support.mirrored_nodes import ENDPOINT, INSTANCE, OTHER, UUIDS, Store
from tests.support.service import make_app


def test_mirrored_node_is_a_node(far, client):
    """Lists, filters, matches, Placement and history include mirrored nodes, also those with a disabled driver."""
    far.nodes({'name': 'a', 'traits': ['CUSTOM_A'], 'conductor': 'far-1'})
    shown = client.get(f'/v1/nodes/{UUIDS[0]}')
    assert (shown['driver'], shown['origin'], shown['conductor']) == ('ipmi', 'far', 'far-1')
    assert [each['name'] for each in client.get('/v1/nodes?traits=CUSTOM_A&conductor=far-1')['nodes']] == ['a']
    assert client.ask('POST', '/v1/matches', {'required': ['CUSTOM_A']}).json['nodes'][0]['uuid'] == UUIDS[0]
    candidates = client.placement('GET', '/allocation_candidates?resources=CUSTOM_GOLD:1&required=CUSTOM_A').json
    assert list(candidates['provider_summaries']) == [UUIDS[0]]
    (detail,) = client.get(f'/v1/nodes/{UUIDS[0]}/traits?detail=true')['traits']
    assert [each['source'] for each in detail['sources']] == ['mirror:far']


def test_origin_is_shown_for_mirrored_nodes_only(far, client):
    own = client.node(name='own')
    far.nodes({'name': 'a'})
    assert 'origin' not in client.get(f'/v1/nodes/{own["uuid"]}')
    assert client.get(f'/v1/nodes/{own["uuid"]}?fields=origin')['origin'] is None
    assert 'origin' not in client.get(f'/v1/nodes/{UUIDS[0]}', version='1.37')
    origins = {each['name']: each.get('origin') for each in client.get('/v1/nodes?detail=true')['nodes']}
    assert origins == {'own': None, 'a': 'far'}
    for origin, names in (('far', ['a']), ('', ['own']), ('near', [])):
        assert [each['name'] for each in client.get(f'/v1/nodes?origin={origin}')['nodes']] == names


def test_unchanged_nodes_are_not_written(far, client):
    """Unchanged nodes are not written. Each change leaves one history entry."""
    node = {'name': 'a', 'traits': ['CUSTOM_A']}
    assert far.nodes(node).written == 1
    entries = client.get(f'/v1/nodes/{UUIDS[0]}/history')['history']
    assert far.nodes(node) == (0, {})
    assert client.get(f'/v1/nodes/{UUIDS[0]}/history')['history'] == entries

    deployed = {'provision_state': 'active', 'instance_uuid': INSTANCE, 'power_state': 'power on'}
    assert far.nodes(node | deployed | {'traits': ['CUSTOM_B']}).written == 1
    new = client.get(f'/v1/nodes/{UUIDS[0]}/history?detail=true')['history'][len(entries) :]
    assert [each['event'] for each in new] == [
        'The provision state changed from "available" to "active". The power state changed to "power on".',
        f'Instance {INSTANCE} was set.',
        'Source mirror:far: added CUSTOM_B; removed CUSTOM_A.',
    ]


def test_restoring_what_is_kept_of_a_replaced_node(far, client):
    """Another machine has the uuid now. It gets what an operator has set on the first one, once, if it is asked for."""
    far.nodes({'traits': ['CUSTOM_THEIRS']})
    client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_OURS')
    far.nodes({'created_at': '2026-01-03T00:00:00+00:00'})
    assert client.get(f'/v1/nodes/{UUIDS[0]}/traits') == {'traits': []}
    assert mirror_kept_nodes.restore(far.context, UUIDS[0]) == UUIDS[0]
    assert client.get(f'/v1/nodes/{UUIDS[0]}/traits') == {'traits': ['CUSTOM_OURS']}
    with pytest.raises(failures.InvalidState, match='Nothing is kept'):
        mirror_kept_nodes.restore(far.context, UUIDS[0])


def test_provider_follows(far, client):
    far.nodes({})
    generation = client.placement('GET', f'/resource_providers/{UUIDS[0]}').json['generation']
    far.nodes({'maintenance': True})
    inventory = client.placement('GET', f'/resource_providers/{UUIDS[0]}/inventories').json
    assert inventory['inventories']['CUSTOM_GOLD']['reserved'] == 1
    assert inventory['resource_provider_generation'] == generation + 1
    far.nodes({'resource_class': None})
    assert client.placement('GET', f'/resource_providers/{UUIDS[0]}').status_int == 404


@pytest.mark.parametrize('classes', [(None, None), (None, 'gold')])
def test_new_nodes_without_a_class(far, client, classes):
    """Nodes that are new at the same time have a provider if they have a class."""
    far.nodes(*({'number': number, 'resource_class': name} for number, name in enumerate(classes)))
    assert [each['uuid'] for each in client.get('/v1/nodes')['nodes']] == UUIDS[:2]
    listed = client.placement('GET', '/resource_providers').json['resource_providers']
    assert [each['uuid'] for each in listed] == [uuid for uuid, name in zip(UUIDS, classes, strict=False) if name]


@pytest.mark.parametrize(('method', 'path', 'document'), [
    ('PATCH', '', [{'op': 'add', 'path': '/extra/a', 'value': 1}]),
    ('DELETE', '', None),
    ('PUT', '/maintenance', {}),
    ('PUT', '/states/power', {'target': 'power on'}),
    ('PUT', '/states/provision', {'target': 'active'}),
    ('POST', '/vifs', {'id': 'a'}),
    ('DELETE', '/lock', None),
])  # fmt: skip
def test_requests_for_the_other_ironic_are_refused(far, client, method, path, document):
    far.nodes({})
    response = client.ask(method, f'/v1/nodes/{UUIDS[0]}{path}', document)
    assert response.status_int == 409
    assert message(response) == (
        f'Node {UUIDS[0]} is managed by the Ironic of cloud far. Send the request to its endpoint: {ENDPOINT}.'
    )


def test_ports_are_refused(far, client):
    far.nodes({})
    far.ports({'uuid': UUIDS[1], 'node_uuid': UUIDS[0], 'address': '52:54:00:00:00:01'})
    own = client.node()['uuid']
    body = {'node_uuid': own, 'address': '52:54:00:00:00:02'}
    port = client.ask('POST', '/v1/ports', body).json['uuid']
    change = [{'op': 'replace', 'path': '/node_uuid', 'value': UUIDS[0]}]
    for method, path, document in (
        ('POST', '', {'node_uuid': UUIDS[0], 'address': '52:54:00:00:00:03'}),
        ('PATCH', f'/{UUIDS[1]}', [{'op': 'add', 'path': '/extra/a', 'value': 1}]),
        ('DELETE', f'/{UUIDS[1]}', None),
        ('PATCH', f'/{port}', change),
    ):
        assert client.ask(method, f'/v1/ports{path}', document).status_int == 409


def test_allocations_leave_mirrored_nodes_out(far, client):
    far.nodes({})
    allocation = client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json
    assert allocation['state'] == 'error'
    assert client.get(f'/v1/nodes/{UUIDS[0]}')['instance_uuid'] is None


def test_import_of_allocations(far, app):
    """With claims, only allocations of the instances of the nodes in their cloud are imported."""
    far.nodes({}, {'number': 1, 'instance_uuid': INSTANCE}, {'number': 2})
    consumers = [
        Consumer(uuid, 'p', 'u', None, 1, {node: {'CUSTOM_GOLD': 1}})
        for uuid, node in ((OTHER, UUIDS[0]), (INSTANCE, UUIDS[1]))
    ]
    arguments = app.service, [], consumers, Scope(generations=True, types=True)
    reason = f'node {UUIDS[0]} does not have it as its instance in its cloud far ([mirror] claims)'
    assert imports.write(*arguments, lambda cloud: cloud == 'far') == {OTHER: reason}
    assert imports.write(*arguments, lambda cloud: cloud == 'near') == {}
    third = Consumer(UUIDS[7], 'p', 'u', None, 1, {UUIDS[2]: {'CUSTOM_GOLD': 1}})
    assert imports.write(app.service, [], [third], arguments[-1]) == {}


def test_allocations_that_must_be_held_there(far, app, client):
    """With claims and an unreachable cloud, a node can be allocated only if it has the instance in its cloud."""
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    far.nodes({}, {'number': 1, 'instance_uuid': INSTANCE})

    def allocate(consumer, node):
        identity = {'project_id': 'p', 'user_id': 'u', 'consumer_type': 'INSTANCE', 'consumer_generation': None}
        body = {'allocations': {node: {'resources': {'CUSTOM_GOLD': 1}}}, **identity}
        return client.placement('PUT', f'/allocations/{consumer}', body)

    response = allocate(OTHER, UUIDS[0])
    assert response.status_int == 409
    assert f'node {UUIDS[0]} cannot be held in its cloud far: Its cloud far cannot be reached: ' in response.text
    assert allocate(INSTANCE, UUIDS[1]).status_int == 204
    assert client.placement('DELETE', f'/allocations/{INSTANCE}').status_int == 204
    assert client.placement('GET', f'/resource_providers/{UUIDS[0]}/allocations').json['allocations'] == {}
    assert client.get('/v1/mirrors/far')['unsettled_claims'] == 0


def test_traits_of_sources_here_stay(far, client):
    far.nodes({'traits': ['CUSTOM_A', 'CUSTOM_B']})
    assert client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_HERE').status_int == 204
    assert client.ask('DELETE', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_B').status_int == 204
    far.nodes({'traits': ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']})
    assert client.get(f'/v1/nodes/{UUIDS[0]}/traits')['traits'] == ['CUSTOM_A', 'CUSTOM_C', 'CUSTOM_HERE']


def test_writes_here_keep_the_time_of_the_cloud(far, client):
    """Writes here keep ``updated_at``: the mirror continues from the time of the last change in the cloud."""
    far.nodes({}, {'number': 1})
    before = client.get(f'/v1/nodes/{UUIDS[0]}')['updated_at']
    client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_B')
    edit = {'add': ['CUSTOM_C'], 'nodes': [UUIDS[0]]}
    digest = client.ask('POST', '/v1/traits/edits', {**edit, 'preview': True}).json['digest']
    assert client.ask('POST', '/v1/traits/edits', {**edit, 'digest': digest}).status_int == 200
    body = {'instance_uuid': INSTANCE, 'node_uuid': UUIDS[0]}
    assert client.ask('POST', '/v1/reservations', body).status_int == 201
    assert client.get(f'/v1/nodes/{UUIDS[0]}')['updated_at'] == before


def test_names_that_are_exchanged(far, client):
    far.nodes({'name': 'a'}, {'number': 1, 'uuid': UUIDS[1], 'name': 'b'})
    far.nodes({'name': 'b'}, {'number': 1, 'name': 'a'})
    assert [each['name'] for each in client.get('/v1/nodes')['nodes']] == ['b', 'a']


def test_outdated_name_defers(far, client):
    """A node is deferred while another node here has its name, because that one may be renamed in the cloud."""
    far.nodes({'name': 'a'})
    assert far.nodes({'number': 1, 'name': 'a'}).deferred.keys() == {UUIDS[1]}
    far.nodes({'name': 'old'})
    assert far.nodes({'number': 1, 'name': 'a'}) == (1, {})
    assert far.conflicts() == {}


def test_conflicts_with_others(far, app, client):
    """Each conflict is reported, and ends with its cause."""
    own = client.node(uuid=UUIDS[0], name='own', instance_uuid=INSTANCE)
    far.nodes(
        {},
        {'number': 1, 'name': 'own'},
        {'number': 2, 'instance_uuid': INSTANCE},
        {'number': 3, 'traits': ['CUSTOM_A', 'gold!']},
    )
    assert far.conflicts() == {
        UUIDS[0]: 'This service has a node with this uuid, which is left as it is.',
        UUIDS[1]: 'This service has a node named own: the mirrored node has no name.',
        UUIDS[2]: f'This service has instance {INSTANCE} on node {UUIDS[0]}: the mirrored node is in maintenance.',
        UUIDS[3]: "These are not traits in this service, and are left out: 'gold!'.",
    }
    assert client.get(f'/v1/nodes/{own["uuid"]}')['driver'] == 'fake-hardware'
    shown = client.get(f'/v1/nodes/{UUIDS[2]}')
    assert (shown['instance_uuid'], shown['maintenance']) == (None, True)

    removal = [{'op': 'remove', 'path': f'/{name}'} for name in ('name', 'instance_uuid')]
    assert client.ask('PATCH', f'/v1/nodes/{UUIDS[0]}', removal).status_int == 200
    far.nodes({'number': 1, 'name': 'own'}, {'number': 2, 'instance_uuid': INSTANCE}, {'number': 3})
    assert far.conflicts().keys() == {UUIDS[0]}
    assert client.get('/v1/nodes/own')['uuid'] == UUIDS[1]

    near = Store(app.service, 'near')
    near.nodes({'number': 3})
    assert near.conflicts() == {UUIDS[3]: 'Cloud far has a node with this uuid, which is left as it is.'}


def test_addresses_of_ports(far, client):
    own = client.node()['uuid']
    client.ask('POST', '/v1/ports', {'node_uuid': own, 'address': '52:54:00:00:00:01'})
    far.nodes({})
    first, second = (
        {'uuid': UUIDS[number], 'node_uuid': UUIDS[0], 'address': f'52:54:00:00:00:0{number}'} for number in (2, 3)
    )
    assert far.ports(first, second).written == 2
    exchanged = first | {'address': second['address']}, second | {'address': first['address']}
    assert far.ports(*exchanged).written == 2
    assert client.get(f'/v1/ports/{UUIDS[2]}')['address'] == '52:54:00:00:00:03'
    far.ports({'uuid': UUIDS[4], 'node_uuid': UUIDS[0], 'address': '52:54:00:00:00:01'})
    assert far.conflicts() == {
        UUIDS[4]: f'A port of node {own} has the same address, 52:54:00:00:00:01: this one is left out.'
    }
    of_another = {'uuid': UUIDS[5], 'node_uuid': UUIDS[5], 'address': '52:54:00:00:00:05'}
    assert far.ports(of_another).deferred == {UUIDS[5]: ('nodes', UUIDS[5])}


def test_limit_of_traits(far, client):
    far.nodes({})
    for number in range(3):
        client.ask('PUT', f'/v1/nodes/{UUIDS[0]}/traits/CUSTOM_{number}')
    there = [f'CUSTOM_A{number:02}' for number in range(50)]
    far.nodes({'traits': there})
    assert len(client.get(f'/v1/nodes/{UUIDS[0]}/traits')['traits']) == 50
    assert far.conflicts()[UUIDS[0]].endswith('left out: CUSTOM_A47, CUSTOM_A48, CUSTOM_A49.')


def test_reservations(far, client):
    """A reservation for the instance in the cloud ends. One for another instance is a conflict."""
    far.nodes({}, {'number': 1})
    for number in (0, 1):
        body = {'instance_uuid': INSTANCE if number == 0 else OTHER, 'node_uuid': UUIDS[number]}
        assert client.ask('POST', '/v1/reservations', body).status_int == 201, body
    deployed = {'provision_state': 'active', 'instance_uuid': INSTANCE}
    far.nodes(deployed, {'number': 1, 'instance_uuid': UUIDS[8]})
    assert [each['node_uuid'] for each in client.get('/v1/reservations')['reservations']] == [UUIDS[1]]
    assert far.conflicts() == {UUIDS[1]: f'It has instance {UUIDS[8]} there, and is reserved for {OTHER} here.'}
    assert not mirrored_nodes.delete(far.context, far.turn, UUIDS[1])
    assert client.get(f'/v1/nodes/{UUIDS[1]}')['maintenance']
    assert mirrored_nodes.delete(far.context, far.turn, UUIDS[0])
    assert client.ask('GET', f'/v1/nodes/{UUIDS[0]}').status_int == 404


def test_provider_that_was_there_before(far, client):
    """A mirrored node adopts its provider, which nova, for example, has created before."""
    client.placement('POST', '/resource_providers', {'name': UUIDS[0], 'uuid': UUIDS[0]})
    client.placement('POST', '/resource_providers', {'name': UUIDS[1], 'uuid': UUIDS[7]})
    far.nodes({'traits': ['CUSTOM_A']}, {'number': 1}, {'number': 2})
    assert client.placement('GET', f'/resource_providers/{UUIDS[0]}/traits').json['traits'] == ['CUSTOM_A']
    assert far.conflicts()[UUIDS[1]].startswith(f'Node {UUIDS[1]} cannot become a resource provider')
    assert len(client.get('/v1/nodes')['nodes']) == 2


def test_only_the_mirror_whose_turn_it_is_writes(far, app, client):
    second = Turn('far', 'other lease', 60)
    assert mirror_clouds.take(app.service, second, 'second') is None
    mirror_clouds.give_back(app.service, far.turn)
    assert mirror_clouds.take(app.service, second, 'second')
    with pytest.raises(TurnLost):
        far.nodes({})
    assert client.get('/v1/nodes')['nodes'] == []


def test_turn_of_a_process_that_was_killed(app):
    """Another process on the same machine does not wait for the end of the lease."""
    command = 'from ironic_traits.mirror import processes; print(processes.name())'
    done = subprocess.run([sys.executable, '-c', command], capture_output=True, text=True, check=True)
    first, second = Turn('far', 'first', 60), Turn('far', 'second', 60)
    host, pid, namespace, boot = done.stdout.split()
    # Another host, a container, and a machine with the same host name.
    for name in (f'elsewhere {pid} {namespace} {boot}', f'{host} {pid} pid:[1] {boot}', f'{host} {pid} {namespace} 1'):
        assert mirror_clouds.take(app.service, first, name)
        assert mirror_clouds.take(app.service, second, processes.name(), processes.has_ended) is None
    assert mirror_clouds.take(app.service, first, done.stdout.strip())
    assert mirror_clouds.take(app.service, second, processes.name(), processes.has_ended)


def test_turn_ends_with_its_lease(app):
    first, second = Turn('far', 'first', 0), Turn('far', 'second', 60)
    assert mirror_clouds.take(app.service, first, 'first')
    assert mirror_clouds.take(app.service, second, 'second')


def test_old_versions_lack_fields(far, client):
    """Fields that an old version lacks have their defaults."""
    far.nodes({'protected': None, 'conductor_group': None, 'network_data': None})
    shown = client.get(f'/v1/nodes/{UUIDS[0]}')
    assert (shown['protected'], shown['conductor_group'], shown['network_data']) == (False, '', {})


@pytest.mark.parametrize(('text', 'moment'), [
    ('2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05'),
    ('2026-01-02T03:04:05.6+02:00', '2026-01-02T01:04:05.600000'),
    (None, None),
])  # fmt: skip
def test_times(text, moment):
    result = documents.moment(text)
    assert (result and result.isoformat()) == moment


def test_mirror_is_shown(far, app, client):
    """The API, /metrics and the health check show a mirror with its state, lag and conflicts."""
    client.node(uuid=UUIDS[0])
    far.nodes({}, {'number': 1})
    (listed,) = client.get('/v1/mirrors')['mirrors']
    assert (listed['name'], listed['state'], listed['nodes'], listed['conflicts']) == ('far', 'reading', 1, 1)
    assert (listed['lag_seconds'], listed['changes'], listed['process']) == (None, 1, 'test')
    moment = mirror_clouds.now(app.service)
    mirror_clouds.save(app.service, far.turn, passed_at=moment, current_at=moment)
    shown = client.get('/v1/mirrors/far')
    assert (shown['state'], shown['endpoint']) == ('following', ENDPOINT)
    assert shown['lag_seconds'] < 60
    assert [each['uuid'] for each in shown['conflict_list']] == [UUIDS[0]]

    failing = {'failing_since': mirror_clouds.FAILING_SINCE, 'last_error': 'It does not respond.'}
    mirror_clouds.save(app.service, far.turn, requests=1, **failing)
    shown = client.get('/v1/mirrors/far')
    assert (shown['state'], shown['last_error'], shown['requests']) == ('failing', 'It does not respond.', 1)
    assert 'mirror of far is failing, 1 nodes' in client.ask('GET', '/healthcheck?detailed').text
    mirror_clouds.give_back(app.service, far.turn)
    assert client.get('/v1/mirrors/far')['state'] == 'stopped'


@pytest.mark.parametrize('name', ['near', '%C3%A4'])
def test_unknown_mirror(client, name):
    response = client.ask('GET', f'/v1/mirrors/{name}')
    assert response.status_int == 404
    assert client.get('/v1/mirrors') == {'mirrors': []}
    assert client.ask('GET', '/v1/mirrors', version='1.37').status_int == 404


def test_metrics_of_mirrors(database_url):
    with make_app(database_url, metrics__enabled=True) as app:
        far = Store(app.service, 'far')
        far.nodes({})
        text = Client(app).ask('GET', '/metrics').text
    for metric in ('up{} 1.0', 'nodes{} 1.0', 'conflicts{} 0.0', 'changes_total{} 1.0'):
        assert f'ironic_traits_mirror_{metric}\n'.replace('{}', '{cloud="far"}') in text
    assert 'mirror_lag_seconds{' not in text


def test_deletions_that_wait(far):
    far.nodes({'name': 'b'}, {'number': 1, 'name': 'a'}, {'number': 2})
    assert mirror_deletions.find(far.context, 'far') == []
    assert mirror_deletions.waiting(far.context, far.turn, set(UUIDS[:2]), limit=1) == set(UUIDS[:2])
    found = mirror_deletions.find(far.context, 'far')
    assert [(row.uuid, row.name, row.confirmed) for row in found] == [(UUIDS[1], 'a', False), (UUIDS[0], 'b', False)]
    assert mirror_deletions.find(far.context, 'near') == []
