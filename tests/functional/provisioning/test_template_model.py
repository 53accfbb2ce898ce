"""A model of allocations, and of deploys with templates and runbooks, compared with the service.

IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import dataclasses
import math

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.inventory.search.search_places import Places
from tests.support import machines
from tests.support.providers import golden
from tests.support.reservations import instance
from tests.support.service import finish_work, make_app

TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']
DATABASES = machines.DATABASES
UUIDS = [f'aaaaaaaa-0000-4000-8000-{number:012}' for number in range(2)]
NODE = st.integers(0, 1)
#: The steps of templates and runbooks with their priorities. The driver gets them: none is one of ``steps.FLOW``.
STEPS = {'bios.factory_reset': 150, 'bios.cache_bios_settings': 50, 'vendor.log_passthrough': 5}
CORE = {'deploy.deploy': 100}
WHO = st.none() | st.integers(0, 2)
NAME = st.none() | st.sampled_from(['one', 'two', 'node-1'])
#: The tables of steps, {collection: key with the place of a step}.
KINDS = {'deploy_templates': 'priority', 'runbooks': 'order'}


@dataclasses.dataclass
class Node:
    """A node.

    :ivar on: uuid of its instance.
    :ivar allocation: uuid of its allocation.
    :ivar allocated: the traits of its allocation.
    :ivar required: the traits that its instance requires; None if nothing says so.
    """

    state: str = 'available'
    maintenance: bool = False
    on: str | None = None
    allocation: str | None = None
    allocated: list | None = None
    required: list | None = None
    traits: set = dataclasses.field(default_factory=set)

    @property
    def is_free(self):
        return self.state == 'available' and not self.maintenance and self.on is None

    @property
    def keeps(self):
        """Whether it keeps its allocation."""
        return self.state == 'deploying' or (self.state == 'active' and not self.maintenance)

    def free(self):
        """End the allocation. Its traits are not required any more. Others, which a client has set, stay."""
        self.required = None if self.allocation and self.required == self.allocated else self.required
        self.on = self.allocation = None


class Deployed(machines.OnApps):
    """Predicts the allocations, and the steps of each deploy."""

    def __init__(self):
        super().__init__()
        # A repeated example must get the same nodes, however long its requests take.
        self.app.service.places = Places(longest=math.inf)
        for number, uuid in enumerate(UUIDS):
            golden(self.client, name=f'node-{number}', uuid=uuid)
        self.nodes = [Node() for _ in UUIDS]
        #: {uuid: (name, number of its node or None)}.
        self.allocations = {}
        #: {collection: {name: {step, …}}}, and {name of a runbook: its traits}.
        self.steps, self.book_traits = {kind: {} for kind in KINDS}, {}
        #: [(uuid of a node, step), …] that the driver got.
        self.done = []
        self.driver = self.app.service.drivers['fake-hardware']
        self.driver.work = self.note
        for kind, name in (
            ('deploy_templates', 'CUSTOM_A'),
            ('deploy_templates', 'CUSTOM_B'),
            ('runbooks', 'CUSTOM_A'),
        ):
            self.create_steps(kind, name, set(list(STEPS)[: 1 + (name == 'CUSTOM_B')]))
        self.set_book_traits('CUSTOM_A', {'CUSTOM_A'})
        self.set_traits(0, set(TRAITS))

    def note(self, task):
        """Perform a step, and take note of it."""
        if task.step:
            self.done.append((task.node['uuid'], f'{task.step["interface"]}.{task.step["step"]}'))
        return type(self.driver).work(self.driver, task)

    def send(self, expected, method, path, body=None):
        """Send a request, and return its response, which must have the expected status."""
        response = self.client.ask(method, path, body)
        assert response.status_int == expected, response.text
        return response

    def path(self, node):
        return f'/v1/nodes/{UUIDS[node]}'

    def patch(self, expected, path, name, value):
        self.send(expected, 'PATCH', path, [{'op': 'add', 'path': f'/{name}', 'value': value}])

    def is_known(self, uuid, name):
        """Whether there is an allocation with the uuid or the name."""
        return uuid in self.allocations or (name and name in [each for each, _ in self.allocations.values()])

    @stateful.rule(who=WHO, name=NAME, traits=st.lists(st.sampled_from(TRAITS), max_size=2), nodes=st.lists(NODE))
    def allocate(self, who, name, traits, nodes):
        uuid = None if who is None else instance(who)
        body = {'resource_class': 'gold', 'traits': traits, 'candidate_nodes': [UUIDS[node] for node in nodes]}
        body |= {key: value for key, value in (('uuid', uuid), ('name', name)) if value}
        is_known = self.is_known(uuid, name)
        response = self.send(409 if is_known else 201, 'POST', '/v1/allocations', body)
        if is_known:
            return
        nodes = [
            each for each in nodes or [0, 1] if self.nodes[each].is_free and set(traits) <= self.nodes[each].traits
        ]
        nodes.sort(key=lambda each: f'node-{each}' != name)
        if uuid and uuid in [node.on for node in self.nodes]:
            nodes = []
        self.associate(response.json, name, traits, nodes[0] if nodes else None)

    def associate(self, allocation, name, traits, node):
        """Store an allocation in the model."""
        self.allocations[allocation['uuid']] = name, node
        assert allocation['state'] == ('error' if node is None else 'active'), allocation
        if node is not None:
            uuid = allocation['uuid']
            holder = {'on': uuid, 'allocation': uuid, 'allocated': traits, 'required': traits}
            self.nodes[node] = dataclasses.replace(self.nodes[node], **holder)

    @stateful.rule(node=NODE, who=WHO, name=NAME, traits=st.lists(st.sampled_from(TRAITS), max_size=1))
    def backfill(self, node, who, name, traits):
        """Request an allocation for an active node."""
        held, uuid = self.nodes[node], None if who is None else instance(who)
        body = {'node': UUIDS[node], 'traits': traits}
        body |= {key: value for key, value in (('uuid', uuid), ('name', name)) if value}
        uuid = uuid or held.on
        elsewhere = uuid and uuid == self.nodes[1 - node].on
        is_refused = held.state != 'active' or not set(traits) <= held.traits or held.on not in (None, uuid)
        is_refused |= bool(held.allocation or elsewhere or self.is_known(uuid, name))
        response = self.send(409 if is_refused else 201, 'POST', '/v1/allocations', body)
        if not is_refused:
            self.associate(response.json, name, traits, node)

    @stateful.precondition(lambda self: self.allocations)
    @stateful.rule(number=st.integers(0, 5), by_name=st.booleans())
    def end_allocation(self, number, by_name):
        uuid = sorted(self.allocations)[number % len(self.allocations)]
        name, node = self.allocations[uuid]
        keeps = node is not None and self.nodes[node].keeps
        self.send(409 if keeps else 204, 'DELETE', f'/v1/allocations/{(by_name and name) or uuid}')
        if not keeps:
            del self.allocations[uuid]
            if node is not None:
                self.nodes[node].free()

    @stateful.precondition(lambda self: self.allocations)
    @stateful.rule(number=st.integers(0, 5), name=NAME)
    def rename_allocation(self, number, name):
        uuid = sorted(self.allocations)[number % len(self.allocations)]
        before, node = self.allocations[uuid]
        is_known = name != before and self.is_known(None, name)
        self.patch(409 if is_known else 200, f'/v1/allocations/{uuid}', 'name', name)
        if not is_known:
            self.allocations[uuid] = name, node

    @stateful.rule(node=NODE, who=WHO)
    def set_instance(self, node, who):
        held, uuid = self.nodes[node], None if who is None else instance(who)
        if uuid is None:
            is_refused = held.state in ('deploying', 'deploy failed') or (held.allocation and held.keeps)
        else:
            is_refused = held.on not in (None, uuid) or uuid == self.nodes[1 - node].on
            is_refused |= held.state not in ('available', 'active')
        self.patch(409 if is_refused else 200, self.path(node), 'instance_uuid', uuid)
        if not is_refused and uuid is None:
            self.allocations.pop(held.allocation, None)
            held.free()
        elif not is_refused:
            held.on = uuid

    @stateful.rule(node=NODE, required=st.lists(st.sampled_from(TRAITS), max_size=3))
    def require(self, node, required):
        is_locked = self.nodes[node].state == 'deploying'
        self.patch(409 if is_locked else 200, self.path(node), 'instance_info', {'traits': required})
        if not is_locked:
            self.nodes[node].required = required

    @stateful.rule(node=NODE, traits=st.sets(st.sampled_from(TRAITS), min_size=1))
    def set_traits(self, node, traits):
        is_locked = self.nodes[node].state == 'deploying'
        self.send(409 if is_locked else 200, 'PUT', f'{self.path(node)}/traits', {'traits': sorted(traits)})
        if not is_locked:
            self.nodes[node].traits = traits

    @stateful.rule(node=NODE)
    def maintain(self, node):
        held = self.nodes[node]
        self.send(202, 'DELETE' if held.maintenance else 'PUT', f'{self.path(node)}/maintenance')
        held.maintenance = not held.maintenance

    def steps_of(self, node):
        """Return the steps that templates contribute to a deploy of a node."""
        required = dict.fromkeys(self.nodes[node].required or ())
        templates = self.steps['deploy_templates']
        return [step for name in required if name in templates for step in templates[name]]

    @stateful.rule(node=NODE, rebuilds=st.booleans())
    def deploy(self, node, rebuilds):
        held, steps = self.nodes[node], self.steps_of(node)
        is_valid = set(held.required or ()) <= held.traits and len(steps) == len(set(steps)) and not held.maintenance
        expected = 202 if is_valid and held.state == ('active' if rebuilds else 'available') else 400
        expected = 409 if held.state == 'deploying' else expected
        verb = 'rebuild' if rebuilds else 'active'
        self.send(expected, 'PUT', f'{self.path(node)}/states/provision', {'target': verb})
        if expected == 202:
            held.state = 'deploying'

    @stateful.rule()
    def work(self):
        self.done = []
        expected = []
        for node, held in enumerate(self.nodes):
            if held.state == 'deploying':
                steps = self.steps_of(node)
                is_valid = len(steps) == len(set(steps))
                held.state = 'active' if is_valid else 'deploy failed'
                priorities = {step: STEPS[step] for step in steps} | CORE if is_valid else {}
                expected += [(UUIDS[node], step) for step in sorted(priorities, key=priorities.get, reverse=True)]
        finish_work(self.app)
        assert sorted(self.done, key=lambda each: each[0]) == expected

    @stateful.rule(node=NODE)
    def undeploy(self, node):
        held = self.nodes[node]
        if held.state in ('active', 'deploy failed'):
            self.work()
            self.send(202, 'PUT', f'{self.path(node)}/states/provision', {'target': 'deleted'})
            finish_work(self.app)
            self.allocations.pop(held.allocation, None)
            held.free()
            held.state, held.required = 'available', None

    @stateful.rule(
        kind=st.sampled_from(list(KINDS)),
        name=st.sampled_from(TRAITS),
        steps=st.sets(st.sampled_from(list(STEPS)), min_size=1),
    )
    def create_steps(self, kind, name, steps):
        is_known = name in self.steps[kind]
        body = {'name': name, 'steps': document(kind, steps)}
        self.send(409 if is_known else 201, 'POST', f'/v1/{kind}', body)
        self.steps[kind].setdefault(name, steps)
        self.book_traits.setdefault(name, set())

    @stateful.rule(
        kind=st.sampled_from(list(KINDS)),
        name=st.sampled_from(TRAITS),
        new=st.none() | st.sampled_from(TRAITS),
        steps=st.none() | st.sets(st.sampled_from(list(STEPS)), min_size=1),
    )
    def change_steps(self, kind, name, new, steps):
        """Change the name, or the steps, or delete them all."""
        stored, path = self.steps[kind], f'/v1/{kind}/{name}'
        if name not in stored:
            self.send(404, 'DELETE', path)
        elif new:
            is_known = new != name and new in stored
            self.patch(409 if is_known else 200, path, 'name', new)
            if not is_known:
                stored[new] = stored.pop(name)
                if kind == 'runbooks':
                    self.book_traits[new] = self.book_traits.pop(name)
        elif steps:
            self.patch(200, path, 'steps', document(kind, steps))
            stored[name] = steps
        else:
            self.send(204, 'DELETE', path)
            del stored[name]
            if kind == 'runbooks':
                del self.book_traits[name]

    @stateful.rule(name=st.sampled_from(TRAITS), traits=st.sets(st.sampled_from(TRAITS)))
    def set_book_traits(self, name, traits):
        if name in self.steps['runbooks']:
            self.send(204, 'PUT', f'/v1/runbooks/{name}/traits', {'traits': sorted(traits)})
            self.book_traits[name] = traits

    @stateful.rule(node=NODE, name=st.sampled_from(TRAITS))
    def clean(self, node, name):
        """Clean a free node with a runbook."""
        if not self.nodes[node].is_free or name not in self.steps['runbooks']:
            return
        self.work()
        path = f'{self.path(node)}/states/provision'
        self.send(202, 'PUT', path, {'target': 'manage'})
        finish_work(self.app)
        is_for_node = self.book_traits[name] & self.nodes[node].traits
        self.done = []
        self.send(202 if is_for_node else 400, 'PUT', path, {'target': 'clean', 'runbook': name})
        finish_work(self.app)
        steps = [step for step in STEPS if step in self.steps['runbooks'][name]] if is_for_node else []
        assert self.done == [(UUIDS[node], step) for step in steps]
        self.send(202, 'PUT', path, {'target': 'provide'})
        finish_work(self.app)

    @stateful.invariant()
    def look(self):
        listed = self.client.get('/v1/allocations')['allocations']
        assert {each['uuid']: (each['name'], each['node_uuid']) for each in listed} == {
            uuid: (name, None if node is None else UUIDS[node]) for uuid, (name, node) in self.allocations.items()
        }
        fields = 'provision_state,maintenance,instance_uuid,allocation_uuid,instance_info,traits'
        for node, held in zip(self.client.get(f'/v1/nodes?fields={fields}')['nodes'], self.nodes, strict=True):
            info = node.pop('instance_info')
            assert list(node.values()) == [held.state, held.maintenance, held.on, held.allocation, sorted(held.traits)]
            assert info.get('traits') == held.required
        for kind, stored in self.steps.items():
            assert {each['name'] for each in self.client.get(f'/v1/{kind}')[kind]} == stored.keys()

    def end(self):
        del self.driver.work


def document(kind, steps):
    """Return steps as a template or a runbook has them."""
    places = STEPS if kind == 'deploy_templates' else {name: 200 - priority for name, priority in STEPS.items()}
    pairs = [(name.split('.'), places[name]) for name in sorted(steps)]
    return [{'interface': one, 'step': two, 'args': {}, KINDS[kind]: place} for (one, two), place in pairs]


def test_model(database_url):
    """Run the model."""
    # A locked node stays locked until the next step, so waiting for it is useless.
    with make_app(database_url, deploy__node_locked_retry_attempts=0) as app:
        machines.run(Deployed, 3, 25, app)
