"""A model of the holders of nodes, compared with the service."""

import math

from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.inventory.search.search_places import Places
from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client
from tests.support.providers import golden
from tests.support.reservations import PATH, expire, instance, reserve
from tests.support.service import finish_work, make_app

DATABASES = machines.DATABASES
NODES = range(3)


INSTANCES = range(3)


TRAITS = ['CUSTOM_A', 'CUSTOM_B']


class Holding(stateful.RuleBasedStateMachine):
    """A model of the holders of nodes, compared with the service.

    :cvar apps: two applications on one database, used in turns.
    """

    apps: list = []

    def __init__(self):
        super().__init__()
        for app in self.apps:
            # A repeated example must get the same nodes, however long its requests take.
            app.service.places = Places(longest=math.inf)
        self.turn = 0
        self.uuids = [golden(self.client, name=f'node-{number}') for number in NODES]
        self.state = dict.fromkeys(NODES, 'available')
        self.on = dict.fromkeys(NODES)
        self.held = {}
        self.allocated = set()
        self.maintenance = set()
        self.traits = {number: set() for number in NODES}
        self.order = list(NODES)

    @property
    def client(self):
        """A client of one of the applications, in turns."""
        self.turn += 1
        return Client(self.apps[self.turn % 2])

    def path(self, node):
        """Return the path of a node."""
        return f'/v1/nodes/{self.uuids[node]}'

    def free(self, node):
        """Whether a node can be reserved."""
        return (
            self.state[node] == 'available'
            and self.on[node] is None
            and node not in self.maintenance
            and node not in self.held
        )

    def node_held_by(self, who):
        """Return the node that an instance has reserved, or None."""
        return next((node for node, (holder, *_) in self.held.items() if holder == who), None)

    @stateful.rule(
        who=st.sampled_from(INSTANCES),
        requested=st.lists(st.sampled_from(NODES), min_size=1),
        ends=st.booleans(),
    )
    def reserve(self, who, requested, ends):
        uuids = [self.uuids[node] for node in requested]
        response = reserve(self.client, who, uuids, **({'expires_in': 1000} if ends else {}))
        mine = self.node_held_by(who)
        free = [node for node in requested if self.free(node)]
        if who in self.on.values():
            assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.on_node')
        elif mine is not None:
            assert response.status_int == (200 if mine in requested else 409)
            if mine in requested:
                assert response.json['reservation']['uuid'] == self.held[mine][1]
        elif free:
            assert response.status_int == 201, response.text
            assert response.json['reservation']['node_uuid'] == self.uuids[free[0]]
            self.held[free[0]] = (who, response.json['reservation']['uuid'], ends)
        else:
            assert response.status_int == 409
            assert [reason['node'] for reason in response.json['reasons']] == list(dict.fromkeys(uuids))

    @stateful.rule(
        who=st.lists(st.sampled_from(INSTANCES), min_size=1, unique=True),
        required=st.sets(st.sampled_from(TRAITS)),
        forbidden=st.sets(st.sampled_from(TRAITS)),
        ends=st.booleans(),
    )
    def reserve_by_request(self, who, required, forbidden, ends):
        forbidden -= required
        requested = {'required': sorted(required), 'forbidden': sorted(forbidden)}
        body = requested | {'instance_uuids': [instance(one) for one in who]} | ({'expires_in': 1000} if ends else {})
        response = self.client.ask('POST', PATH, body)
        matching = [node for node in self.order if required <= self.traits[node] and not forbidden & self.traits[node]]
        free = [node for node in matching if self.free(node)]
        if response.status_int != 201:
            matches = self.client.ask('POST', '/v1/matches', requested).json['nodes']
            assert [node['uuid'] for node in matches] == [self.uuids[node] for node in free]
        mine = {one: self.node_held_by(one) for one in who if self.node_held_by(one) is not None}
        rest = [one for one in who if one not in mine]
        if not self.on_none(who):
            assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.on_node')
        elif not set(mine.values()) <= set(matching):
            assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.reserved')
        elif len(free) < len(rest):
            assert (response.status_int, response.json['code']) == (409, 'baremetal.reservation.no_match')
            assert (response.json['explanation']['considered'], response.json['explanation']['matched']) == (
                3,
                len(free),
            )
        else:
            assert response.status_int == (201 if rest else 200), response.text
            mine |= dict(zip(rest, free, strict=False))
            held = response.json['reservations']
            assert [row['node_uuid'] for row in held] == [self.uuids[mine[one]] for one in who]
            for one, row in zip(who, held, strict=True):
                if one in rest:
                    self.held[mine[one]] = (one, row['uuid'], ends)

    def on_none(self, who):
        """Whether no node has any of the instances."""
        return not set(who) & set(self.on.values())

    @stateful.rule()
    def expire(self):
        expire(self.apps[0])
        self.held = {node: held for node, held in self.held.items() if not held[2]}

    @stateful.rule(
        who=st.sampled_from(INSTANCES),
        requested=st.lists(st.sampled_from(NODES)),
        required=st.sets(st.sampled_from(TRAITS)),
    )
    def allocate(self, who, requested, required):
        body = {'uuid': instance(who), 'resource_class': 'gold', 'traits': sorted(required)}
        body |= {'candidate_nodes': [self.uuids[node] for node in requested]}
        response = self.client.ask('POST', '/v1/allocations', body)
        assert response.status_int == (409 if who in [self.on[node] for node in self.allocated] else 201), response.text
        if response.status_int == 409:
            return
        allocation = response.json
        matching = [node for node in requested or self.order if required <= self.traits[node] and self.free(node)]
        if matching and self.on_none([who]) and self.node_held_by(who) is None:
            assert (allocation['state'], allocation['node_uuid']) == ('active', self.uuids[matching[0]])
            self.on[matching[0]] = who
            self.allocated.add(matching[0])
        else:
            assert (allocation['state'], allocation['node_uuid']) == ('error', None)
            assert allocation['last_error']
            assert self.client.ask('DELETE', f'/v1/allocations/{instance(who)}').status_int == 204

    def can_lose_its_allocation(self, node):
        """Whether the state of an allocated node allows its allocation to end."""
        return self.state[node] == 'available' or (self.state[node] == 'active' and node in self.maintenance)

    @stateful.rule(node=st.sampled_from(NODES))
    def end_allocation(self, node):
        status = self.client.ask('DELETE', f'{self.path(node)}/allocation').status_int
        if node not in self.allocated:
            assert status == 404
        elif self.can_lose_its_allocation(node):
            assert status == 204
            self.on[node] = None
            self.allocated.discard(node)
        else:
            assert status == 409

    @stateful.rule(node=st.sampled_from(NODES))
    def let_go(self, node):
        if node in self.held:
            assert self.client.ask('DELETE', f'{PATH}/{self.held.pop(node)[1]}').status_int == 204

    @stateful.rule(node=st.sampled_from(NODES), who=st.none() | st.sampled_from(INSTANCES))
    def patch_instance(self, node, who):
        value = None if who is None else instance(who)
        patch = [{'op': 'add', 'path': '/instance_uuid', 'value': value}]
        status = self.client.ask('PATCH', self.path(node), patch).status_int
        elsewhere = any(self.on[other] == who for other in NODES if other != node)
        other_holder = node in self.held and self.held[node][0] != who
        is_kept = who is None and node in self.allocated and not self.can_lose_its_allocation(node)
        if is_kept or self.state[node] not in ('available', 'active'):
            assert status == 409
        elif who is None or self.on[node] == who:
            assert status == 200
            self.on[node] = who
            if who is None:
                self.allocated.discard(node)
        elif self.on[node] is not None or other_holder or elsewhere or self.node_held_by(who) not in (None, node):
            assert status == 409
        else:
            assert status == 200
            self.on[node] = who

    @stateful.rule(node=st.sampled_from(NODES), shown=st.booleans())
    def deploy(self, node, shown):
        held = self.held.get(node)
        body = {'target': 'active'} | ({'reservation_uuid': held[1]} if held and shown else {})
        status = self.client.ask('PUT', f'{self.path(node)}/states/provision', body).status_int
        if self.state[node] != 'available':
            assert status == (409 if self.state[node] == 'deploying' else 400)
        elif node in self.maintenance:
            assert status == 400
        elif held and (
            (not shown and self.on[node] != held[0])
            or any(self.on[other] == held[0] for other in NODES if other != node)
        ):
            assert status == 409
        else:
            assert status == 202
            self.state[node] = 'deploying'
            if held:
                self.on[node] = self.held.pop(node)[0]

    @stateful.rule()
    def work(self):
        finish_work(self.apps[0])
        self.state = {node: 'active' if state == 'deploying' else state for node, state in self.state.items()}

    @stateful.rule(node=st.sampled_from(NODES))
    def undeploy(self, node):
        status = self.client.ask('PUT', f'{self.path(node)}/states/provision', {'target': 'deleted'}).status_int
        if self.state[node] == 'active':
            assert status == 202
            self.work()
            self.state[node], self.on[node] = 'available', None
            self.allocated.discard(node)
        else:
            assert status in (400, 409)

    @stateful.rule(node=st.sampled_from(NODES))
    def maintain(self, node):
        method = 'DELETE' if node in self.maintenance else 'PUT'
        assert self.client.ask(method, f'{self.path(node)}/maintenance').status_int == 202
        self.maintenance ^= {node}

    @stateful.rule(node=st.sampled_from(NODES), trait=st.sampled_from(TRAITS))
    def change_trait(self, node, trait):
        method = 'DELETE' if trait in self.traits[node] else 'PUT'
        status = self.client.ask(method, f'{self.path(node)}/traits/{trait}').status_int
        if self.state[node] == 'deploying':
            assert status == 409
            return
        assert status == 204
        self.traits[node] ^= {trait}

    @stateful.rule(node=st.sampled_from(NODES))
    def delete_and_make_again(self, node):
        status = self.client.ask('DELETE', self.path(node)).status_int
        busy = self.state[node] == 'deploying'
        unused = node in self.maintenance or (self.on[node] is None and self.state[node] == 'available')
        if node in self.held or busy or not unused:
            assert status == 409
            return
        assert status == 204
        self.uuids[node] = golden(self.client, name=f'node-{node}')
        self.order.remove(node)
        self.order.append(node)
        self.state[node], self.on[node], self.traits[node] = 'available', None, set()
        self.maintenance.discard(node)
        self.allocated.discard(node)

    @stateful.invariant()
    def nothing_is_lost(self):
        fields = 'uuid,instance_uuid,allocation_uuid,reservation_uuid,maintenance,traits'
        shown = {node['uuid']: node for node in self.client.get(f'/v1/nodes?fields={fields}')['nodes']}
        assert shown == {
            self.uuids[node]: {
                'uuid': self.uuids[node],
                'instance_uuid': None if self.on[node] is None else instance(self.on[node]),
                'allocation_uuid': instance(self.on[node]) if node in self.allocated else None,
                'reservation_uuid': self.held[node][1] if node in self.held else None,
                'maintenance': node in self.maintenance,
                'traits': sorted(self.traits[node]),
            }
            for node in NODES
        }
        eligible = {node['uuid'] for node in self.client.get('/v1/nodes?eligible=true&fields=uuid')['nodes']}
        assert eligible == {self.uuids[node] for node in NODES if self.free(node)}


def test_model(database_url):
    """IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``)."""
    # A locked node stays locked until the next step, so waiting for it is useless.
    options = {'deploy__node_locked_retry_attempts': 0}
    with make_app(database_url, **options) as first, make_app(database_url, **options) as second:

        class OnThisDatabase(Holding):
            apps = [first, second]

            def teardown(self):
                empty(database_url)

        machines.run(OnThisDatabase, examples=25, steps=30)
