"""Matches, compared with an evaluation node by node on random inventories, and matches of instances."""

import dataclasses
import functools

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.db import tables
from ironic_traits.matching.requests import understand
from tests.conftest import empty
from tests.support.client import Client, ask_as
from tests.support.reservations import available, instance
from tests.support.rows import set_exclusive
from tests.support.service import finish_work, make_app

TRAITS = [f'CUSTOM_{letter}' for letter in 'ABCD']
CLASSES = ['gold', 'silver']
#: {state: the change that makes a node ineligible}.
STATES = {
    'provision state': {'provision_state': 'manageable'},
    'maintenance': {'maintenance': True},
    'instance': {'instance_uuid': None},
    'power state': {'power_state': 'error'},
}
HOLDERS = ['reserved', 'allocated']


@dataclasses.dataclass
class Node:
    """A node of a random inventory.

    :ivar flaws: keys of STATES, and at most one of HOLDERS.
    """

    resource_class: str | None
    traits: frozenset
    flaws: frozenset
    owner: str
    uuid: str = ''

    def failing(self, request, owner, exclusive=frozenset()):
        """Return the names of all clauses that the node fails."""
        failed = {f'required:{name}' for name in request.required - self.traits}
        failed |= {
            f'required_any:{",".join(sorted(names))}' for names in request.required_any if not names & self.traits
        }
        failed |= {f'forbidden:{name}' for name in request.forbidden & self.traits}
        asked = request.required.union(request.forbidden, *request.required_any)
        failed |= {f'exclusive:{name}' for name in self.traits & exclusive - asked}
        failed |= {f'eligible:{flaw}' for flaw in self.flaws}
        if request.resource_class not in (None, f'CUSTOM_{(self.resource_class or "").upper()}'):
            failed.add(f'resource_class:{request.resource_class}')
        if owner not in (None, self.owner):
            failed.add(f'owner:{owner}')
        return frozenset(failed)


NODE = st.builds(
    Node,
    resource_class=st.sampled_from([*CLASSES, None]),
    traits=st.frozensets(st.sampled_from(TRAITS)),
    flaws=st.tuples(
        st.frozensets(st.sampled_from(sorted(STATES)), max_size=2) | st.just(frozenset()),
        st.sampled_from([*([i] for i in HOLDERS), [], [], []]),
    ).map(lambda both: both[0].union(both[1])),
    owner=st.sampled_from(['alpha', 'beta']),
)


@st.composite
def requests(draw):
    """Draw a request. No required trait is forbidden."""
    required = draw(st.frozensets(st.sampled_from(TRAITS), max_size=2))
    forbidden = draw(st.frozensets(st.sampled_from(TRAITS), max_size=2)) - required
    some = st.lists(st.sampled_from(TRAITS), min_size=2, max_size=3, unique=True)
    any_of = draw(st.lists(some.filter(lambda names: not forbidden.issuperset(names)), max_size=2))
    document = {
        'flavor': {'extra_specs': {f'trait:{name}': 'forbidden' for name in forbidden}},
        'image': {'properties': {f'trait:{name}': 'required' for name in required}},
        'required_any': any_of,
        'resource_class': draw(st.sampled_from([*CLASSES, None])),
        'preferred': draw(st.lists(st.sampled_from(TRAITS), max_size=2, unique=True)),
    }
    return document, draw(st.sampled_from(['alpha', 'gamma', None, None]))


def fill(app, inventory):
    """Create the nodes of an inventory in their states."""
    client = Client(app)
    for name in TRAITS:
        client.placement('PUT', f'/traits/{name}')
    for number, node in enumerate(inventory):
        node.uuid = available(client, name=f'node-{number}')
        patch = [{'op': 'add', 'path': '/owner', 'value': node.owner}]
        if node.resource_class:
            patch.append({'op': 'add', 'path': '/resource_class', 'value': node.resource_class})
        elif 'allocated' in node.flaws:
            # A node without a provider cannot have an allocation.
            node.flaws -= {'allocated'}
        assert client.ask('PATCH', f'/v1/nodes/{node.uuid}', patch).status_int == 200
        assert client.ask('PUT', f'/v1/nodes/{node.uuid}/traits', {'traits': sorted(node.traits)}).status_int == 200
        if 'reserved' in node.flaws:
            body = {'instance_uuid': instance(number), 'node_uuid': node.uuid}
            assert client.ask('POST', '/v1/reservations', body).status_int == 201
        if 'allocated' in node.flaws:
            allocate(client, instance(number), node.uuid, f'CUSTOM_{node.resource_class.upper()}')
        with app.service.write() as connection:
            for flaw in node.flaws & STATES.keys():
                values = {name: value or instance(100 + number) for name, value in STATES[flaw].items()}
                connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == node.uuid).values(values))


def allocate(client, consumer, uuid, resource_class):
    """Allocate one unit of a provider to a consumer."""
    body = {
        'allocations': {uuid: {'resources': {resource_class: 1}}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }
    assert client.placement('PUT', f'/allocations/{consumer}', body).status_int == 204


def check(client, inventory, document, owner, exclusive):
    """Request matches, and compare them with the evaluation of each node."""
    request = understand(**document)
    failing = {node.uuid: node.failing(request, owner, exclusive) for node in inventory}
    score = {node.uuid: len(node.traits & request.preferred.keys()) for node in inventory}
    uuids = [node.uuid for node in inventory]
    matching = [uuid for uuid in sorted(uuids, key=lambda uuid: -score[uuid]) if not failing[uuid]]

    body = {name: value for name, value in document.items() if value is not None} | ({'owner': owner} if owner else {})
    response = client.ask('POST', '/v1/matches', body | {'explain': True})
    assert response.status_int == 200, response.text
    result = response.json
    assert [node['uuid'] for node in result['nodes']] == matching
    shown = {node.uuid: (node.resource_class, sorted(node.traits)) for node in inventory}
    assert all((node['resource_class'], node['traits']) == shown[node['uuid']] for node in result['nodes'])
    explanation = result['explanation']
    assert (explanation['considered'], explanation['matched']) == (len(uuids), len(matching))
    for clause in explanation['clauses']:
        name = clause['clause']
        assert clause['rejected'] == sum(name in failed for failed in failing.values())
        assert clause['rejected_only'] == sum(failed == {name} for failed in failing.values())
    kinds = {failed for failed in failing.values() if failed}
    missed = {miss['node']: frozenset(miss['rejected_by']) for miss in explanation['near_misses']}
    assert missed == {uuid: failed for uuid, failed in failing.items() if failed}
    minimal = {failed for failed in kinds if not any(other < failed for other in kinds)}
    assert {frozenset(each['drop']): each['nodes'] for each in explanation['relaxations']} == (
        {} if matching else {failed: list(failing.values()).count(failed) for failed in minimal}
    )
    if request.resource_class and not owner:
        same = client.placement('GET', f'/allocation_candidates?{result["request"]["placement_query"]}')
        if same.status_int == 400:
            # Placement does not have a class until a node uses it.
            assert 'resource class' in same.text.lower()
            assert not any(node.resource_class == document['resource_class'] for node in inventory)
            return
        allocations = [candidate['allocations'] for candidate in same.json['allocation_requests']]
        assert sorted(uuid for each in allocations for uuid in each) == sorted(matching)


def test_matches_equal_an_evaluation_node_by_node(database_url):
    """The matches, their order, all numbers of the explanation and Placement's candidates equal the evaluation."""
    with make_app(database_url) as app:

        @hypothesis.settings(max_examples=30, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(
            st.lists(NODE, max_size=8),
            st.lists(requests(), min_size=4, max_size=4),
            st.just(frozenset()) | st.frozensets(st.sampled_from(TRAITS), max_size=2),
        )
        def on_random_inventories(inventory, documents, exclusive):
            empty(database_url)
            inventory = [dataclasses.replace(node) for node in inventory]
            fill(app, inventory)
            set_exclusive(app.service, exclusive)
            for document, owner in documents:
                check(Client(app), inventory, document, owner, exclusive)

        on_random_inventories()


def satisfied(client, number, **requested):
    """Request whether the resources of an instance match: (whether it does, {provider: (missing, forbidden)})."""
    response = client.ask('POST', '/v1/matches', {'instance_uuid': instance(number), **requested})
    assert response.status_int == 200, response.text
    differences = {each['uuid']: (each['missing'], each['forbidden']) for each in response.json['providers']}
    return response.json['satisfied'], differences


def test_every_kind_of_holder_counts(client):
    """A reservation, an instance_uuid and an allocation all hold a node. A full node still matches its own instance."""
    uuids = [available(client, name=f'node-{number}') for number in range(3)]
    for uuid in uuids:
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    client.ask('POST', '/v1/reservations', {'instance_uuid': instance(0), 'node_uuid': uuids[0]})
    client.ask('PATCH', f'/v1/nodes/{uuids[1]}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    allocate(client, instance(2), uuids[2], 'CUSTOM_GOLD')
    for number, uuid in enumerate(uuids):
        assert satisfied(client, number, required=['CUSTOM_A']) == (True, {uuid: ([], [])})
        requested = {'required': ['CUSTOM_A', 'CUSTOM_B'], 'forbidden': ['CUSTOM_C']}
        assert satisfied(client, number, **requested) == (False, {uuid: (['CUSTOM_B'], [])})
        assert satisfied(client, number, forbidden=['CUSTOM_A']) == (False, {uuid: ([], ['CUSTOM_A'])})


def test_traits_of_others_do_not_count_for_a_rebuild(client):
    """As for a rebuild, only the node's own traits count for the instance."""
    uuid = available(client)
    for path, value in (('resource_class', 'gold'), ('instance_uuid', instance(1))):
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': f'/{path}', 'value': value}])
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    provider = client.placement('GET', f'/resource_providers/{uuid}/traits').json
    body = provider | {'traits': ['CUSTOM_A', 'COMPUTE_NODE']}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200
    assert satisfied(client, 1, required=['CUSTOM_A', 'COMPUTE_NODE']) == (False, {uuid: (['COMPUTE_NODE'], [])})


@pytest.mark.parametrize('required', [['CUSTOM_A'], ['CUSTOM_A', 'CUSTOM_B'], ['CUSTOM_B'], []])
def test_rebuild_agrees_with_the_match(app, client, required):
    """A node whose rebuild is refused stays active."""
    uuid = available(client)
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'}).status_int == 202
    finish_work(app)
    image = {'properties': {f'trait:{name}': 'required' for name in required}}
    response = client.ask('POST', '/v1/matches', {'instance_uuid': instance(1), 'image': image}).json
    traits = response['request']['instance_traits']
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info/traits', 'value': traits}])
    rebuild = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'rebuild'})
    assert rebuild.status_int == (202 if response['satisfied'] else 400)
    assert response['satisfied'] == (set(required) <= {'CUSTOM_A'})
    if not response['satisfied']:
        assert client.get(f'/v1/nodes/{uuid}?fields=provision_state') == {'provision_state': 'active'}


def provider(client, uuid, traits, parent=None):
    """Create a provider of one unit of CUSTOM_UNIT."""
    body = {'uuid': uuid, 'name': uuid} | ({'parent_provider_uuid': parent} if parent else {})
    assert client.placement('POST', '/resource_providers', body).status_int == 200
    client.placement('PUT', '/resource_classes/CUSTOM_UNIT')
    inventory = {'resource_provider_generation': 0, 'inventories': {'CUSTOM_UNIT': {'total': 1}}}
    assert client.placement('PUT', f'/resource_providers/{uuid}/inventories', inventory).status_int == 200
    for name in traits:
        client.placement('PUT', f'/traits/{name}')
    body = {'resource_provider_generation': 1, 'traits': traits}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200


def test_nested_providers_match_as_one(client):
    """As in the image-traits specification, any provider of the tree may have a required trait."""
    root, child = (f'cccccccc-0000-4000-8000-00000000000{number}' for number in range(2))
    provider(client, root, ['CUSTOM_A'])
    provider(client, child, ['CUSTOM_B'], root)
    body = {
        'allocations': {uuid: {'resources': {'CUSTOM_UNIT': 1}} for uuid in (root, child)},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }
    assert client.placement('PUT', f'/allocations/{instance(1)}', body).status_int == 204
    assert satisfied(client, 1, required=['CUSTOM_A', 'CUSTOM_B']) == (True, {root: ([], []), child: ([], [])})
    lacking = (False, {root: (['CUSTOM_C'], []), child: (['CUSTOM_C'], [])})
    assert satisfied(client, 1, required=['CUSTOM_A', 'CUSTOM_C']) == lacking
    assert satisfied(client, 1, forbidden=['CUSTOM_B']) == (False, {root: ([], []), child: ([], ['CUSTOM_B'])})


def test_foreign_nodes_are_invisible(database_url):
    """Nodes of another project are not matched, counted, named or reserved."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        ask = functools.partial(ask_as, Client(app))

        uuids = {}
        for owner in ('alpha', 'beta'):
            created = ask('system', 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, version='1.10').json
            uuids[owner] = created['uuid']
            patch = [{'op': 'add', 'path': '/owner', 'value': owner}]
            assert ask('system', 'PATCH', f'/v1/nodes/{created["uuid"]}', patch).status_int == 200
        mine, other = uuids.values()

        assert [node['uuid'] for node in ask('project', 'GET', '/v1/nodes').json['nodes']] == [mine]
        result = ask('project', 'POST', '/v1/matches', {'required': ['CUSTOM_A'], 'explain': True}).json
        assert result['explanation']['considered'] == 1
        assert [miss['node'] for miss in result['explanation']['near_misses']] == [mine]
        assert ask('system', 'POST', '/v1/matches', {'explain': True}).json['explanation']['considered'] == 2

        body = {'instance_uuid': instance(1), 'node_uuid': [other]}
        refused = ask('project', 'POST', '/v1/reservations', body)
        assert (refused.status_int, refused.json['reasons'][0]['reason']) == (409, 'not found')
        assert 'rejected_by' not in refused.json['reasons'][0]
        refused = ask('project', 'POST', '/v1/reservations', body | {'required': ['CUSTOM_A']})
        assert (refused.status_int, refused.json['reasons'][0]['reason']) == (409, 'not found')
        assert refused.json['explanation']['considered'] == 0

        assert ask('system', 'POST', '/v1/reservations', body).status_int == 201
        question = {'instance_uuid': instance(1)}
        assert ask('project', 'POST', '/v1/matches', question).status_int == 404
        assert ask('system', 'POST', '/v1/matches', question).status_int == 200


def test_instance_on_a_foreign_node(database_url):
    """A match is refused if the instance holds a node of another project, besides a child provider."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        system = {'X-Auth-Token': 'x', 'X-Roles': 'admin,member,reader,service', 'OpenStack-System-Scope': 'all'}
        mine = {'X-Auth-Token': 'user:alpha', 'X-Roles': 'member,reader'}
        placement = {'X-Auth-Token': 'admin', 'OpenStack-API-Version': 'placement 1.39'}
        client = Client(app)

        def place(method, path, document=None):
            response = client.ask(method, f'/placement{path}', document, version=None, headers=placement)
            assert response.status_int < 300, response.text

        body = {'driver': 'fake-hardware'}
        uuid = client.ask('POST', '/v1/nodes', body, version='1.10', headers=system).json['uuid']
        patch = [
            {'op': 'add', 'path': f'/{name}', 'value': value}
            for name, value in (('owner', 'beta'), ('resource_class', 'gold'))
        ]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch, headers=system).status_int == 200
        child = 'cccccccc-0000-4000-8000-000000000001'
        place('POST', '/resource_providers', {'uuid': child, 'name': 'child', 'parent_provider_uuid': uuid})
        place('PUT', '/resource_classes/CUSTOM_UNIT')
        inventories = {'resource_provider_generation': 0, 'inventories': {'CUSTOM_UNIT': {'total': 1}}}
        place('PUT', f'/resource_providers/{child}/inventories', inventories)
        allocations = {uuid: {'resources': {'CUSTOM_GOLD': 1}}, child: {'resources': {'CUSTOM_UNIT': 1}}}
        whose = {'project_id': 'alpha', 'user_id': 'user', 'consumer_generation': None, 'consumer_type': 'INSTANCE'}
        place('PUT', f'/allocations/{instance(1)}', {'allocations': allocations, **whose})

        question = {'instance_uuid': instance(1), 'required': ['CUSTOM_A']}
        assert client.ask('POST', '/v1/matches', question, headers=mine).status_int == 404
        match = client.ask('POST', '/v1/matches', question, headers=system).json
        assert sorted(each['uuid'] for each in match['providers']) == sorted([uuid, child])


def test_allocated_node_comes_first(client):
    """A reservation by request takes the node that is allocated to the instance."""
    first, second = (available(client, name=f'node-{number}') for number in range(2))
    for uuid in (first, second):
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
    allocate(client, instance(1), second, 'CUSTOM_GOLD')
    for number, uuid in ((1, second), (2, first)):
        body = {'instance_uuid': instance(number), 'resource_class': 'gold'}
        assert client.ask('POST', '/v1/reservations', body).json['reservation']['node_uuid'] == uuid


def nested(depth, inside):
    """Return a list nested to a depth."""
    for _ in range(depth):
        inside = [inside]
    return inside


DEEP = [
    {'flavor': {'extra_specs': {'trait:CUSTOM_A': nested(900, 1)}}},
    {'flavor': {'extra_specs': {'resources:CUSTOM_A': nested(900, 1)}}},
    {'required': nested(900, 1)},
    {'required': nested(900, '\0')},
    {'required_any': nested(900, 1)},
    {'preferred': nested(900, 1)},
    {'image': {'id': nested(900, 1)}},
    {'description_contains': 'x' * 5000},
    {'owner': 'x' * 300},
]


@pytest.mark.parametrize('body', DEEP, ids=range(len(DEEP)))
@pytest.mark.parametrize('path', ['/v1/matches', '/v1/reservations'])
def test_too_deep_or_too_long(app, path, body):
    document = body if path == '/v1/matches' else body | {'instance_uuid': instance(1)}
    assert Client(app).ask('POST', path, document).status_int == 400


def test_warnings_about_ignored_values_are_short(client):
    for value in (nested(50, 1), 'x' * 100_000):
        [warning] = client.ask('POST', '/v1/matches', {'image': {'properties': {'trait:A': value}}}).json['warnings']
        assert len(warning) < 300


def test_refusals_are_small(client):
    """Refusals are small, however long the list and the request are."""
    uuids = [available(client) for _ in range(100)]
    names = [f'CUSTOM_{number:03}_{"A" * 244}' for number in range(200)]
    body = {'instance_uuid': instance(1), 'node_uuid': uuids, 'shard': ['x' * 100_000], 'required': names}
    response = client.ask('POST', '/v1/reservations', body)
    assert response.status_int == 409
    assert len(response.json['reasons']) == 100
    assert len(response.body) < 4_000_000
    body = {'instance_uuids': [instance(1), instance(2)], 'image': {'properties': {'trait:A': 'nice'}}}
    assert len(client.ask('POST', '/v1/reservations', body).json['warnings']) == 1


def test_no_report_about_no_nodes(client):
    """A policy is neither met nor missed if no nodes could be chosen."""
    available(client)
    request = {'topology': [{'key': 'driver', 'policy': 'affinity'}], 'required': ['CUSTOM_NONE'], 'count': 1}
    document = client.ask('POST', '/v1/matches', request).json
    assert (document['nodes'], document['warnings']) == ([], ['No node has the trait CUSTOM_NONE.'])
    assert 'topology' not in document
    found = client.ask('POST', '/v1/matches', request | {'required': []}).json
    assert found['topology'] == [
        {'key': 'driver', 'policy': 'affinity', 'met': True, 'groups': [{'value': 'fake-hardware', 'nodes': 1}]}
    ]
