"""Matches beside an evaluation node by node, on random inventories, on each database; and what an instance holds."""

import dataclasses

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.db.models import nodes
from ironic_traits.matching.requests import understand
from tests.client import Client
from tests.conftest import empty
from tests.functional.test_reservations import available, instance
from tests.service import finish_work, make_app

TRAITS = [f'CUSTOM_{letter}' for letter in 'ABCD']
CLASSES = ['gold', 'silver']
#: What makes a node not eligible, and how it comes to be so.
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

    :ivar flaws: keys of STATES, and one of HOLDERS at most.
    """

    resource_class: str | None
    traits: frozenset
    flaws: frozenset
    owner: str
    uuid: str = ''

    def failing(self, request, owner):
        """Give the names of all clauses that it fails."""
        failed = {f'required:{name}' for name in request.required - self.traits}
        failed |= {
            f'required_any:{",".join(sorted(names))}' for names in request.required_any if not names & self.traits
        }
        failed |= {f'forbidden:{name}' for name in request.forbidden & self.traits}
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
    """Draw a request: what is required is not forbidden."""
    required = draw(st.frozensets(st.sampled_from(TRAITS), max_size=2))
    forbidden = draw(st.frozensets(st.sampled_from(TRAITS), max_size=2)) - required
    some = st.lists(st.sampled_from(TRAITS), min_size=2, max_size=3, unique=True)
    any_of = draw(st.lists(some.filter(lambda names: not forbidden.issuperset(names)), max_size=2))
    wanted = {
        'flavor': {'extra_specs': {f'trait:{name}': 'forbidden' for name in forbidden}},
        'image': {'properties': {f'trait:{name}': 'required' for name in required}},
        'required_any': any_of,
        'resource_class': draw(st.sampled_from([*CLASSES, None])),
        'preferred': draw(st.lists(st.sampled_from(TRAITS), max_size=2, unique=True)),
    }
    return wanted, draw(st.sampled_from(['alpha', 'gamma', None, None]))


def fill(app, inventory):
    """Make the nodes of an inventory as they shall be."""
    client = Client(app)
    for name in TRAITS:
        client.placement('PUT', f'/traits/{name}')
    for number, node in enumerate(inventory):
        node.uuid = available(client, name=f'node-{number}')
        patch = [{'op': 'add', 'path': '/owner', 'value': node.owner}]
        if node.resource_class:
            patch.append({'op': 'add', 'path': '/resource_class', 'value': node.resource_class})
        elif 'allocated' in node.flaws:
            # What is no provider cannot be.
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
                connection.execute(sa.update(nodes).where(nodes.c.uuid == node.uuid).values(values))


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


def check(client, inventory, wanted, owner):
    """Ask for matches, and compare them with what each node is."""
    request = understand(**wanted)
    failing = {node.uuid: node.failing(request, owner) for node in inventory}
    score = {node.uuid: len(node.traits & request.preferred.keys()) for node in inventory}
    uuids = [node.uuid for node in inventory]
    matching = [uuid for uuid in sorted(uuids, key=lambda uuid: -score[uuid]) if not failing[uuid]]

    body = {name: value for name, value in wanted.items() if value is not None} | ({'owner': owner} if owner else {})
    answer = client.ask('POST', '/v1/matches', body | {'explain': True})
    assert answer.status_int == 200, answer.text
    found = answer.json
    assert [node['uuid'] for node in found['nodes']] == matching
    shown = {node.uuid: (node.resource_class, sorted(node.traits)) for node in inventory}
    assert all((node['resource_class'], node['traits']) == shown[node['uuid']] for node in found['nodes'])
    explanation = found['explanation']
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
        same = client.placement('GET', f'/allocation_candidates?{found["request"]["placement_query"]}')
        if same.status_int == 400:
            # Of a class that no node has been of yet, Placement does not know.
            assert 'resource class' in same.text.lower()
            assert not any(node.resource_class == wanted['resource_class'] for node in inventory)
            return
        allocations = [candidate['allocations'] for candidate in same.json['allocation_requests']]
        assert sorted(uuid for each in allocations for uuid in each) == sorted(matching)


def test_matches_are_what_each_node_is(database_url):
    """What is found, its order, every figure of the explanation, and Placement's candidates."""
    with make_app(database_url) as app:

        @hypothesis.settings(
            max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(st.lists(NODE, max_size=8), st.lists(requests(), min_size=4, max_size=4))
        def on_random_inventories(inventory, wanted):
            empty(database_url)
            inventory = [dataclasses.replace(node) for node in inventory]
            fill(app, inventory)
            for document, owner in wanted:
                check(Client(app), inventory, document, owner)

        on_random_inventories()


def satisfied(client, number, **wanted):
    """Ask whether what an instance holds matches: (yes or no, what each provider lacks or has too much)."""
    answer = client.ask('POST', '/v1/matches', {'instance_uuid': instance(number), **wanted})
    assert answer.status_int == 200, answer.text
    told = {each['uuid']: (each['missing'], each['forbidden']) for each in answer.json['providers']}
    return answer.json['satisfied'], told


def test_every_door_counts(client):
    """A node is held by a reservation, an instance_uuid or an allocation; it never is too full for what holds it."""
    uuids = [available(client, name=f'node-{number}') for number in range(3)]
    for uuid in uuids:
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    client.ask('POST', '/v1/reservations', {'instance_uuid': instance(0), 'node_uuid': uuids[0]})
    client.ask('PATCH', f'/v1/nodes/{uuids[1]}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    allocate(client, instance(2), uuids[2], 'CUSTOM_GOLD')
    for number, uuid in enumerate(uuids):
        assert satisfied(client, number, required=['CUSTOM_A']) == (True, {uuid: ([], [])})
        wanted = {'required': ['CUSTOM_A', 'CUSTOM_B'], 'forbidden': ['CUSTOM_C']}
        assert satisfied(client, number, **wanted) == (False, {uuid: (['CUSTOM_B'], [])})
        assert satisfied(client, number, forbidden=['CUSTOM_A']) == (False, {uuid: ([], ['CUSTOM_A'])})


def test_what_others_gave_to_a_node_is_not_deployed_to(client):
    """The answer is that of the rebuild: of the node's own traits."""
    uuid = available(client)
    for path, value in (('resource_class', 'gold'), ('instance_uuid', instance(1))):
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': f'/{path}', 'value': value}])
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    provider = client.placement('GET', f'/resource_providers/{uuid}/traits').json
    body = provider | {'traits': ['CUSTOM_A', 'COMPUTE_NODE']}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200
    assert satisfied(client, 1, required=['CUSTOM_A', 'COMPUTE_NODE']) == (False, {uuid: (['COMPUTE_NODE'], [])})


@pytest.mark.parametrize('wanted', [['CUSTOM_A'], ['CUSTOM_A', 'CUSTOM_B'], ['CUSTOM_B'], []])
def test_the_rebuild_says_the_same(app, client, wanted):
    """And a node that is refused one stays active."""
    uuid = available(client)
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'}).status_int == 202
    finish_work(app)
    image = {'properties': {f'trait:{name}': 'required' for name in wanted}}
    answer = client.ask('POST', '/v1/matches', {'instance_uuid': instance(1), 'image': image}).json
    traits = answer['request']['instance_traits']
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info/traits', 'value': traits}])
    rebuild = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'rebuild'})
    assert rebuild.status_int == (202 if answer['satisfied'] else 400)
    assert answer['satisfied'] == (set(wanted) <= {'CUSTOM_A'})
    if not answer['satisfied']:
        assert client.get(f'/v1/nodes/{uuid}?fields=provision_state') == {'provision_state': 'active'}


def provider(client, uuid, traits, parent=None):
    """Make a provider of one unit of CUSTOM_UNIT."""
    body = {'uuid': uuid, 'name': uuid} | ({'parent_provider_uuid': parent} if parent else {})
    assert client.placement('POST', '/resource_providers', body).status_int == 200
    client.placement('PUT', '/resource_classes/CUSTOM_UNIT')
    inventory = {'resource_provider_generation': 0, 'inventories': {'CUSTOM_UNIT': {'total': 1}}}
    assert client.placement('PUT', f'/resource_providers/{uuid}/inventories', inventory).status_int == 200
    for name in traits:
        client.placement('PUT', f'/traits/{name}')
    body = {'resource_provider_generation': 1, 'traits': traits}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200


def test_nested_providers_count_together(client):
    """Of what is no node, as the image-traits specification has it: what one lacks another may have."""
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


def test_nothing_of_what_the_caller_may_not_see(database_url, tmp_path):
    """Nodes of another project are not found, not counted, not named, not held, and not asked of."""
    (tmp_path / 'policy.yaml').write_text('"baremetal:node:list_all": "role:admin"\n')
    (tmp_path / 'policy.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    with make_app(database_url, '--config-file', f'{tmp_path}/policy.conf', api__auth_strategy='noauth2') as app:

        def ask(roles, method, path, document=None, version='1.82'):
            headers = {'X-Auth-Token': 'user:alpha', 'X-Roles': roles}
            return Client(app).ask(method, path, document, headers=headers, version=version)

        uuids = {}
        for owner in ('alpha', 'beta'):
            made = ask('admin', 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, version='1.10').json
            uuids[owner] = made['uuid']
            patch = [{'op': 'add', 'path': '/owner', 'value': owner}]
            assert ask('admin', 'PATCH', f'/v1/nodes/{made["uuid"]}', patch).status_int == 200
        mine, other = uuids.values()

        assert [node['uuid'] for node in ask('reader', 'GET', '/v1/nodes').json['nodes']] == [mine]
        found = ask('reader', 'POST', '/v1/matches', {'required': ['CUSTOM_A'], 'explain': True}).json
        assert found['explanation']['considered'] == 1
        assert [miss['node'] for miss in found['explanation']['near_misses']] == [mine]
        assert ask('admin', 'POST', '/v1/matches', {'explain': True}).json['explanation']['considered'] == 2

        body = {'instance_uuid': instance(1), 'node_uuid': [other]}
        refused = ask('service', 'POST', '/v1/reservations', body)
        assert (refused.status_int, refused.json['reasons'][0]['reason']) == (409, 'not available')
        assert 'rejected_by' not in refused.json['reasons'][0]
        refused = ask('service', 'POST', '/v1/reservations', body | {'required': ['CUSTOM_A']})
        assert (refused.status_int, refused.json['reasons'][0]['reason']) == (409, 'not available')
        assert refused.json['explanation']['considered'] == 0

        assert ask('admin', 'POST', '/v1/reservations', body).status_int == 201
        question = {'instance_uuid': instance(1)}
        assert ask('reader', 'POST', '/v1/matches', question).status_int == 404
        assert ask('admin', 'POST', '/v1/matches', question).status_int == 200
