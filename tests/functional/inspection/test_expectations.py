"""Nodes that do not meet the expectations of inspection rules are not available for instances, on each database."""

import uuid as uuids

import pytest

from ironic_traits.clauses import requirement
from tests.support.client import message
from tests.support.providers import golden, provider
from tests.support.rule_runs import DATA, add, data, expect, history, rule, run

RESERVATIONS = '/v1/reservations'


@pytest.fixture
def nodes(client):
    """Two available nodes."""
    return [golden(client, name=name) for name in ('one', 'two')]


def reserve(client, **body):
    return client.ask('POST', RESERVATIONS, {'instance_uuid': str(uuids.uuid4()), **body})


def test_a_mismatch_withholds_the_node(app, client, nodes):
    one, two = nodes
    before = provider(client, one)
    run(app, one, rules=[expect('cpus', 16)])
    sentence = 'not what the inspection rule cpus expects: too few CPUs: gt (values: [8, 16])'
    assert client.get(f'/v1/nodes/{one}/validate')['inspect'] == {'result': False, 'reason': sentence}
    assert client.get(f'/v1/nodes/{two}/validate')['inspect'] == {'result': True}
    assert [node['uuid'] for node in client.get('/v1/nodes?eligible=true')['nodes']] == [two]
    response = client.ask('POST', '/v1/matches', {'resource_class': 'gold'})
    assert [node['uuid'] for node in response.json['nodes']] == [two]
    refused = reserve(client, node_uuid=one)
    assert refused.status_int == 409
    assert refused.json['reasons'] == [
        {'node': one, 'reason': 'expectation', 'rule': 'cpus', 'message': f'It is {sentence}.'}
    ]
    # Placement still shows the node. Otherwise nova would consider its allocations lost.
    assert provider(client, one) == before
    run(app, one, data(cpu={'count': 32}), [expect('cpus', 16)])
    assert client.get(f'/v1/nodes/{one}/validate')['inspect'] == {'result': True}
    assert reserve(client, node_uuid=one).status_int == 201
    events = [(severity, event) for severity, _, event in history(client, one)]
    assert events == [
        ('WARNING', f'The node is {sentence}.'),
        ('INFO', 'The node is what the inspection rule cpus expects, or the rule has gone.'),
    ]


def test_the_explanation_names_the_rules(app, client, nodes):
    one, two = nodes
    for uuid in nodes:
        run(app, uuid, rules=[expect('cpus', 16), expect('many', 32)] if uuid == one else [expect('cpus', 16)])
    refused = reserve(client, resource_class='gold')
    assert refused.status_int == 409, refused.text
    clauses = {each['clause']: each for each in refused.json['explanation']['clauses']}
    assert clauses['expect:cpus'] == {'clause': 'expect:cpus', 'rejected': 2, 'rejected_only': 1}
    assert clauses['expect:many']['rejected'] == 1
    assert refused.json['explanation']['relaxations'][0] == {'drop': ['expect:cpus'], 'nodes': 1}
    misses = {each['node']: each['rejected_by'] for each in refused.json['explanation']['near_misses']}
    assert misses == {two: ['expect:cpus'], one: ['expect:cpus', 'expect:many']}
    # Rules without a mismatch have no clause.
    run(app, one, data(cpu={'count': 64}), [expect('cpus', 16), expect('many', 32)])
    reserved = reserve(client, resource_class='gold')
    assert reserved.json['reservation']['node_uuid'] == one


def test_the_commands_say_it():
    assert requirement('expect:cpus') == 'is what the inspection rule cpus expects'
    assert requirement('expect') == 'is what other inspection rules expect'


def test_many_rules_share_a_clause(app, client, nodes):
    names = [f'r{number:02}' for number in range(25)]
    for uuid in nodes:
        run(app, uuid, rules=[expect(name, 16) for name in names])
    run(app, nodes[1], rules=[expect(name, 16) for name in names[20:]])
    refused = reserve(client, resource_class='gold')
    clauses = {each['clause']: each['rejected'] for each in refused.json['explanation']['clauses']}
    # The rules with the most mismatches have their own clauses.
    named = [*names[20:], *names[:15]]
    assert {name for name in clauses if name.startswith('expect')} == {'expect', *(f'expect:{name}' for name in named)}
    assert (clauses['expect'], clauses['expect:r24'], clauses['expect:r00']) == (1, 2, 1)


def test_allocations(app, client, nodes):
    run(app, nodes[0], rules=[expect('cpus', 16)])
    body = {'resource_class': 'gold', 'candidate_nodes': nodes[:1]}
    refused = client.ask('POST', '/v1/allocations', body).json
    assert refused['state'] == 'error'
    assert 'It is not what the inspection rule cpus expects: too few CPUs' in refused['last_error']
    assert client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json['node_uuid'] == nodes[1]


def test_a_mismatch_that_stays_leaves_no_entry(app, client, nodes):
    one = nodes[0]
    for document in (DATA, DATA, data(cpu={'count': 9})):
        run(app, one, document, [expect('cpus', 16)])
    assert [event[-21:] for _, _, event in history(client, one)] == ['gt (values: [8, 16]).', 'gt (values: [9, 16]).']


def test_sensitive_rules_hide_values(app, client, nodes):
    secret = {'op': 'eq', 'args': {'values': ['{inventory[bmc_password]}', 'right']}}
    run(app, nodes[0], data(bmc_password='hush'), [rule('bmc', ('expect', {'conditions': [secret]}), sensitive=True)])
    reason = client.get(f'/v1/nodes/{nodes[0]}/validate')['inspect']['reason']
    assert reason == 'not what the inspection rule bmc expects: the rule is sensitive'
    refused = reserve(client, node_uuid=nodes[0])
    assert 'hush' not in refused.text + message(refused) + str(history(client, nodes[0]))


def test_a_deleted_node_takes_its_mismatches_along(app, client, nodes):
    run(app, nodes[0], rules=[expect('cpus', 16), add('a', 'CUSTOM_A')])
    client.ask('PUT', f'/v1/nodes/{nodes[0]}/maintenance')
    assert client.ask('DELETE', f'/v1/nodes/{nodes[0]}').status_int == 204
    assert client.get(f'/v1/nodes/{nodes[1]}/validate')['inspect'] == {'result': True}
