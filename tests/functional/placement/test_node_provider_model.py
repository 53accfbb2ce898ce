"""A model of two nodes as resource providers, compared with the service.

IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import uuid

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.inventory.holds import reservations
from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client
from tests.support.providers import golden, provider
from tests.support.reservations import expire, instance, reserve
from tests.support.service import finish_work

DATABASES = machines.DATABASES
TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'COMPUTE_NODE', 'HW_CPU_X86_VMX']
CLASSES = ['gold', 'silver', 'Silver']
NODE = st.integers(0, 1)
INSTANCE = st.integers(0, 1)


class Following(stateful.RuleBasedStateMachine):
    """Predicts the providers of nodes, and the increments of their generations.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.client = Client(self.app)
        self.nodes = [None, None]
        self.own, self.foreign, self.seen = [set(), set()], [set(), set()], [None, None]
        for node in 0, 1:
            self.make(node, golden(self.client))

    def make(self, node, provider_uuid):
        """Add a node to the model."""
        self.nodes[node] = provider_uuid
        self.own[node], self.foreign[node] = set(), set()
        self.seen[node] = provider(self.client, provider_uuid)

    def ask(self, node, method, path, document=None):
        response = self.client.ask(method, f'/v1/nodes/{self.nodes[node]}{path}', document)
        assert response.status_int < 500, response.text
        return response

    def placement(self, method, path, document=None, version='1.39'):
        response = self.client.placement(method, path, document, version)
        assert response.status_int < 500, response.text
        return response

    @property
    def held(self):
        """Return the live reservations, by the uuids of their nodes."""
        return {row['node_uuid']: row for row in self.client.get('/v1/reservations')['reservations']}

    def class_of(self, node):
        """Return the resource class of a node's provider, or None."""
        parts = self.seen[node][1]
        return next(iter(parts['inventories']['inventories'])) if parts else None

    @stateful.rule(node=NODE, names=st.sets(st.sampled_from(TRAITS)))
    def own_traits(self, node, names):
        assert self.ask(node, 'PUT', '/traits', {'traits': sorted(names)}).status_int == 200
        self.own[node] = names
        self.foreign[node] -= names

    @stateful.rule(node=NODE, names=st.sets(st.sampled_from(TRAITS)))
    def traits_of_others(self, node, names):
        for name in {'CUSTOM_A', 'CUSTOM_B'} & names:
            self.placement('PUT', f'/traits/{name}')
        generation = self.seen[node][0]
        if generation is not None:
            body = {'traits': sorted(names), 'resource_provider_generation': generation}
            response = self.placement('PUT', f'/resource_providers/{self.nodes[node]}/traits', body)
            assert response.status_int == 200, response.text
            self.foreign[node] = {name for name in names - self.own[node] if not name.startswith('CUSTOM_')}

    @stateful.rule(node=NODE, who=INSTANCE, ends=st.booleans())
    def hold(self, node, who, ends):
        reserve(self.client, who, [self.nodes[node]], **({'expires_in': 1000} if ends else {}))

    @stateful.rule(node=NODE)
    def let_go(self, node):
        held = self.held.get(self.nodes[node])
        if held:
            assert self.client.ask('DELETE', f'/v1/reservations/{held["uuid"]}').status_int == 204

    @stateful.rule()
    def expire(self):
        expire(self.app)

    @stateful.rule()
    def purge(self):
        reservations.purge(self.app.service)

    @stateful.rule(
        node=NODE, verb=st.sampled_from(['active', 'deleted', 'manage', 'provide', 'rebuild']), use=st.booleans()
    )
    def provision(self, node, verb, use):
        held = self.held.get(self.nodes[node])
        body = {'target': verb} | ({'reservation_uuid': held['uuid']} if held and use else {})
        self.ask(node, 'PUT', '/states/provision', body)
        self.look()
        finish_work(self.app)

    @stateful.rule(who=INSTANCE, requested=st.sets(NODE))
    def allocate(self, who, requested):
        """Allocate these nodes and no others to an instance."""
        resources = {
            self.nodes[node]: {'resources': {self.class_of(node): 1}} for node in requested if self.class_of(node)
        }
        existing = self.placement('GET', f'/allocations/{instance(who)}', version='1.28').json
        body = {
            'allocations': resources,
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': existing.get('consumer_generation'),
        }
        response = self.placement('PUT', f'/allocations/{instance(who)}', body, '1.28')
        assert response.status_int in (204, 409), response.text

    @stateful.rule(node=NODE, maintenance=st.booleans())
    def maintain(self, node, maintenance):
        self.ask(node, 'PUT' if maintenance else 'DELETE', '/maintenance')

    @stateful.rule(node=NODE, who=st.none() | INSTANCE)
    def instance(self, node, who):
        value = {'op': 'add', 'value': instance(who)} if who is not None else {'op': 'remove'}
        self.ask(node, 'PATCH', '', [{'path': '/instance_uuid', **value}])

    @stateful.rule(node=NODE, name=st.none() | st.sampled_from(CLASSES))
    def reclass(self, node, name):
        value = {'op': 'add', 'value': name} if name else {'op': 'remove'}
        response = self.ask(node, 'PATCH', '', [{'path': '/resource_class', **value}])
        if not name and response.status_int == 200:
            # The provider is deleted with the traits of others.
            self.foreign[node] = set()

    @stateful.rule(name=st.sampled_from(['CUSTOM_GOLD', 'CUSTOM_SILVER']), rename=st.booleans())
    def change_class(self, name, rename):
        """Rename or delete a resource class. Both are refused while a node has it."""
        taken = name in map(self.class_of, (0, 1))
        method, body = ('PUT', {'name': f'CUSTOM_{uuid.uuid4().hex.upper()}'}) if rename else ('DELETE', None)
        status = self.placement(method, f'/resource_classes/{name}', body, '1.6').status_int
        assert status == 409 if taken else status in (200, 204, 404)

    @stateful.rule(node=NODE, nested=st.booleans(), taken=st.booleans())
    def adopt(self, node, nested, taken):
        """Delete a node, and create another one whose provider already exists."""
        if self.ask(node, 'DELETE', '').status_int != 204:
            return
        new, parent = str(uuid.uuid4()), str(uuid.uuid4())
        self.placement('POST', '/resource_providers', {'name': parent, 'uuid': parent})
        above = {'parent_provider_uuid': parent} if nested else {}
        self.placement('POST', '/resource_providers', {'name': f'of nova {new}', 'uuid': new, **above})
        self.placement('POST', f'/resource_providers/{new}/inventories', {'resource_class': 'VCPU', 'total': 4})
        body = {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 1}
        self.placement('PUT', f'/resource_providers/{new}/traits', body)
        if taken:
            body = {'allocations': {new: {'resources': {'VCPU': 1}}}, 'project_id': 'p', 'user_id': 'u'}
            body['consumer_generation'] = None
            assert self.placement('PUT', f'/allocations/{new}', body, '1.28').status_int == 204
        before = self.placement('GET', f'/resource_providers/{new}').json['generation']
        fields = {'driver': 'fake-hardware', 'uuid': new, 'resource_class': 'gold'}
        response = self.client.ask('POST', '/v1/nodes', fields)
        if nested or taken:
            assert response.status_int == 409, response.text
            self.make(node, golden(self.client))
            return
        assert response.status_int == 201, response.text
        self.make(node, new)
        self.foreign[node] = {'COMPUTE_NODE'}
        assert self.seen[node][0] == before + 1
        for verb in 'manage', 'provide':
            self.provision(node, verb, False)
            self.look()

    @stateful.invariant()
    def look(self):
        for node in 0, 1:
            before, self.seen[node] = self.seen[node], provider(self.client, self.nodes[node])
            after = self.seen[node]
            if after[1] is None:
                continue
            traits = sorted(self.own[node] | self.foreign[node])
            assert after[1]['traits']['traits'] == traits
            candidates = self.placement('GET', f'/allocation_candidates?resources={self.class_of(node)}:1&limit=9').json
            if self.nodes[node] in candidates['provider_summaries']:
                # These traits may come from the cache.
                assert sorted(candidates['provider_summaries'][self.nodes[node]]['traits']) == traits
            if before[1] is None:
                continue
            # A deploy runs in several transactions, which may change something and change it back.
            assert after[0] == before[0] + (before[1] != after[1])

    @stateful.invariant()
    def one_holder(self):
        """Check that a node has at most one holder of any kind, and that an instance holds at most one node."""
        held = {each: row['instance_uuid'] for each, row in self.held.items()}
        holding = []
        for node, uuid_ in enumerate(self.nodes):
            shown = self.ask(node, 'GET', '?fields=instance_uuid,resource_class').json
            holders = {shown['instance_uuid'], held.get(uuid_)} - {None}
            holding += holders
            class_ = self.class_of(node)
            assert bool(class_) == bool(shown['resource_class'])
            if class_:
                assert class_ == f'CUSTOM_{shown["resource_class"].upper()}'
                path = f'/resource_providers/{uuid_}'
                consumers = set(self.placement('GET', f'{path}/allocations').json['allocations'])
                used = self.seen[node][1]['usages']['usages'][class_]
                assert used == (1 if consumers or uuid_ in held else 0)
                holders |= consumers
            assert len(holders) <= 1
        assert len(holding) == len(set(holding))

    def teardown(self):
        url = self.app.service.database.url.render_as_string(hide_password=False)
        empty(url)


def test_model(app):
    """Run the model."""

    class OnThisDatabase(Following):
        pass

    # A locked node stays locked until the next step, so waiting for it is useless.
    app.service.conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    OnThisDatabase.app = app
    machines.run(OnThisDatabase, examples=15, steps=25)
