"""Reservations: expiry, concurrent clients, and a model of the holders of nodes, on each database."""

import concurrent.futures
import datetime
import multiprocessing

import pytest
import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.cmd import manage
from ironic_traits.db import tables
from ironic_traits.db.types import Json
from tests.conftest import empty
from tests.support import machines
from tests.support.client import Client, message
from tests.support.service import finish_work, make_app

PATH = '/v1/reservations'


def instance(number):
    """Return the uuid of an instance."""
    return f'bbbbbbbb-0000-4000-8000-{number:012}'


def available(client, **fields):
    """Create an available node, and return its uuid."""
    response = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields}, version='1.10')
    assert response.status_int == 201, response.text
    return response.json['uuid']


def reserve(client, number, node_idents, **more):
    """Request a reservation, and return the response."""
    return client.ask('POST', PATH, {'instance_uuid': instance(number), 'node_uuid': node_idents, **more})


def expire(app):
    """Move the ends of all reservations into the past."""
    with app.service.write() as connection:
        ends = tables.reservations.c.expires_at.is_not(None)
        past = datetime.datetime.fromisoformat('2026-01-01')
        connection.execute(sa.update(tables.reservations).where(ends).values(expires_at=past))


def rows(app):
    """Return the number of rows of reservations."""
    with app.service.read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(tables.reservations))


def test_expired_reservation_holds_nothing(app, client):
    """Whether or not its row still exists."""
    uuid = available(client)
    held = reserve(client, 1, [uuid], expires_in=60).json['reservation']
    assert reserve(client, 2, [uuid]).status_int == 409
    expire(app)
    path = f'{PATH}/{held["uuid"]}'
    assert client.get(PATH) == {'reservations': []}
    for method, address in (('GET', path), ('DELETE', path), ('POST', f'{path}/renew')):
        assert client.ask(method, address).status_int == 404
    assert client.get(f'/v1/nodes/{uuid}?fields=reservation_uuid') == {'reservation_uuid': None}
    assert len(client.get('/v1/nodes?eligible=true&reserved=false')['nodes']) == 1
    deploy = {'target': 'active', 'reservation_uuid': held['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', deploy).status_int == 409
    assert rows(app) == 1
    assert reserve(client, 2, [uuid]).status_int == 201
    assert rows(app) == 1


def test_expiry_frees_the_instance(app, client):
    first, second = available(client), available(client)
    assert reserve(client, 1, [first], expires_in=60).status_int == 201
    expire(app)
    response = reserve(client, 1, [second, first])
    assert (response.status_int, response.json['reservation']['node_uuid']) == (201, second)
    assert client.ask('DELETE', f'/v1/nodes/{first}').status_int == 204


def test_expiry_frees_the_node(app, client):
    """It can be deployed, get an instance, and be deleted."""
    uuids = [available(client) for _ in range(3)]
    for number, uuid in enumerate(uuids):
        assert reserve(client, number, [uuid], expires_in=60).status_int == 201
    expire(app)
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(9)}]
    assert client.ask('PUT', f'/v1/nodes/{uuids[0]}/states/provision', {'target': 'active'}).status_int == 202
    assert client.ask('PATCH', f'/v1/nodes/{uuids[1]}', patch).status_int == 200
    assert client.ask('DELETE', f'/v1/nodes/{uuids[2]}').status_int == 204


def test_purge(app, client, database_url, monkeypatch, capsys):
    uuids = [available(client) for _ in range(3)]
    for number, uuid in enumerate(uuids):
        reserve(client, number, [uuid], **({'expires_in': 60} if number else {}))
    expire(app)
    monkeypatch.setattr('sys.argv', ['ironic-traits-manage', '--database', database_url, 'reservations', 'purge'])
    for purged in (2, 0):
        manage.main()
        assert capsys.readouterr().out == f'{purged} reservations were deleted\n'
    assert rows(app) == len(client.get(PATH)['reservations']) == 1


@pytest.mark.parametrize(
    ('default', 'longest', 'requested', 'seconds'),
    [
        (None, None, None, None),
        (60, None, None, 60),
        (None, 60, None, 60),
        (90, 60, None, 60),
        (60, 90, None, 60),
        (60, 90, 80, 80),
        (60, None, 1000, 1000),
        (60, 90, 91, 'refused'),
        (None, 90, 91, 'refused'),
    ],
)
def test_lifetimes(database_url, default, longest, requested, seconds):
    with make_app(database_url, reservations__default_lifetime=default, reservations__max_lifetime=longest) as app:
        client = Client(app)
        response = reserve(client, 1, [available(client)], **({'expires_in': requested} if requested else {}))
        if seconds == 'refused':
            assert response.status_int == 400
            assert '90 seconds' in message(response)
            assert rows(app) == 0
            return
        held = response.json['reservation']
        if seconds is None:
            assert held['expires_at'] is None
            return
        begin, end = (datetime.datetime.fromisoformat(held[name]) for name in ('created_at', 'expires_at'))
        assert end - begin == datetime.timedelta(seconds=seconds)


def test_max_nodes(database_url):
    with make_app(database_url, reservations__max_nodes=3) as app:
        client = Client(app)
        uuid = available(client)
        assert reserve(client, 1, ['a', 'b', 'c', uuid]).status_int == 400
        assert reserve(client, 1, ['a', 'b', uuid]).status_int == 201


def test_list_of_a_thousand_nodes(app, client):
    """If no node is left, the response has a reason for each."""
    uuid = available(client)
    idents = [f'node-{number}' for number in range(999)] + [uuid]
    assert reserve(client, 1, idents).json['reservation']['node_uuid'] == uuid
    response = reserve(client, 2, idents)
    assert response.status_int == 409
    assert [reason['node'] for reason in response.json['reasons']] == idents
    assert message(response) == 'None of the nodes can be reserved: 999 not found, 1 reserved.'
    assert reserve(client, 2, [*idents, 'more']).status_int == 400


def test_instance_with_a_reservation_gets_no_other_node(app, client):
    """Neither an existing node nor a new one. It can be put on the reserved node."""
    first, second = available(client), available(client)
    held = reserve(client, 1, [first], expires_in=60).json['reservation']
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}]
    new = {'driver': 'fake-hardware', 'instance_uuid': instance(1)}
    for method, path, body in ('PATCH', f'/v1/nodes/{second}', patch), ('POST', '/v1/nodes', new):
        response = client.ask(method, path, body)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.reserved')
        assert message(response).startswith(f'Instance {instance(1)} already has a reservation of node {first}')
    assert len(client.get('/v1/nodes')['nodes']) == 2
    assert client.ask('PATCH', f'/v1/nodes/{first}', patch).status_int == 200
    assert client.get(f'/v1/nodes/{first}?fields=instance_uuid,reservation_uuid') == {
        'instance_uuid': instance(1),
        'reservation_uuid': held['uuid'],
    }
    client.ask('PATCH', f'/v1/nodes/{first}', [{'op': 'remove', 'path': '/instance_uuid'}])
    expire(app)
    assert client.ask('PATCH', f'/v1/nodes/{second}', patch).status_int == 200


def test_a_refused_deploy_keeps_its_reservation(client):
    uuid = available(client)
    held = reserve(client, 1, [uuid]).json['reservation']
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_A']}])
    deploy = {'target': 'active', 'reservation_uuid': held['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', deploy).status_int == 400
    assert client.get(f'{PATH}/{held["uuid"]}')['reservation'] == held


@pytest.fixture
def clients(database_url):
    """Eight clients of two applications, each application with its own connections."""
    with make_app(database_url) as first, make_app(database_url) as second:
        yield [Client((first, second)[i % 2]) for i in range(8)]


def at_once(clients, work):
    """Run the work of all clients concurrently, and return the results."""
    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(work, clients, range(len(clients))))


def test_concurrent_requests_of_one_instance(clients):
    """One creates the reservation, the others return the same one."""
    uuids = [available(clients[0]) for _ in clients]

    def work(client, number):
        return reserve(client, 1, uuids[number:] + uuids[:number])

    responses = at_once(clients, work)
    assert sorted(response.status_int for response in responses) == [200] * (len(clients) - 1) + [201]
    assert len({response.json['reservation']['uuid'] for response in responses}) == 1


@pytest.mark.parametrize('request', [{'required': []}, {'node_uuid': ['one', 'two']}], ids=['request', 'list'])
def test_reservation_is_deleted_during_requests_for_it(clients, request):
    """A request returns it, or creates another one. There is no 5xx."""
    for name in ('one', 'two'):
        available(clients[0], name=name)

    def work(client, number):
        seen = set()
        for _ in range(40):
            if number % 2:
                for held in client.get(PATH)['reservations']:
                    seen.add(client.ask('DELETE', f'{PATH}/{held["uuid"]}').status_int)
            else:
                seen.add(client.ask('POST', PATH, {'instance_uuid': instance(1), **request}).status_int)
        return seen

    assert set().union(*at_once(clients, work)) <= {200, 201, 204, 404}


def test_one_holder(clients):
    """A reservation, an instance_uuid, a deploy without either, and a deletion compete. One of them gets the node."""
    for _ in range(5):
        uuid = available(clients[0])

        def work(client, number, uuid=uuid):
            if number % 4 == 0:
                return reserve(client, number, [uuid]).status_int
            if number % 4 == 1:
                patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}]
                return client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int
            if number % 4 == 2:
                return client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'}).status_int
            return client.ask('DELETE', f'/v1/nodes/{uuid}').status_int

        statuses = at_once(clients, work)
        assert max(statuses) < 500
        node = clients[0].ask('GET', f'/v1/nodes/{uuid}?fields=instance_uuid,reservation_uuid,provision_state')
        if node.status_int == 404:
            assert statuses[3::4].count(204) == 1
            assert not {200, 201, 202}.intersection(statuses)
            continue
        assert 204 not in statuses
        held = [number for number in range(8) if statuses[number] in (200, 201)]
        assert len(held) <= 1
        holders = [node.json['instance_uuid'], node.json['reservation_uuid']]
        assert sum(holder is not None for holder in holders) == len(held)
        for path in clients[0].get(PATH)['reservations']:
            clients[0].ask('DELETE', f'{PATH}/{path["uuid"]}')
        clients[0].ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}])


PROCESSES = 4
CLIENTS = 8
HELD = 1000


def of_the_list(uuids, offset, who):
    """Return a request for one node of an overlapping list."""
    return {'instance_uuid': who[0], 'node_uuid': uuids[offset:] + uuids[:offset]}


def by_request(uuids, offset, who):
    """Return a request that all of the nodes match. Every other client wants two of them."""
    request = {'required': ['CUSTOM_A'], 'forbidden': ['CUSTOM_B']}
    return request | ({'instance_uuid': who[0]} if offset % 2 else {'instance_uuids': who})


def _grab(url, wants, process, uuids, gate, results):
    """Run some clients in this process that reserve until no node is left."""
    with make_app(url) as app:
        client = Client(app)
        gate.wait()

        def work(number):
            mine, seen, offset = [], set(), (process * CLIENTS + number) * 31
            while True:
                who = [instance((process * CLIENTS + number) * 10_000 + len(mine) + more) for more in range(2)]
                response = client.ask('POST', PATH, wants(uuids, offset, who))
                seen.add(response.status_int)
                if response.status_int != 201:
                    return mine, seen
                created = response.json.get('reservations') or [response.json['reservation']]
                mine += [held['node_uuid'] for held in created]

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            results.put([result for result in pool.map(work, range(CLIENTS))])


@pytest.mark.parametrize('wants', [of_the_list, by_request])
def test_a_thousand_nodes_and_thirty_two_clients(app, client, database_url, wants):
    """In four processes, until no node is left. Each node is reserved once, without a 5xx."""
    with app.service.write() as connection:
        blank = {column.name: {} for column in tables.nodes.c if isinstance(column.type, Json)}
        new_rows = [
            {
                **blank,
                'uuid': f'aaaaaaaa-0000-4000-8000-{number:012}',
                'created_at': datetime.datetime.fromisoformat('2026-01-01'),
                'driver': 'fake-hardware',
                'provision_state': 'available',
                'power_state': 'power off',
            }
            for number in range(HELD)
        ]
        connection.execute(sa.insert(tables.nodes), new_rows)
        connection.execute(sa.insert(tables.traits), {'name': 'CUSTOM_A', 'created_at': new_rows[0]['created_at']})
        carried = sa.select(tables.nodes.c.id, sa.literal('CUSTOM_A'))
        connection.execute(sa.insert(tables.node_traits).from_select(['node_id', 'trait'], carried))
    uuids = [node['uuid'] for node in new_rows]
    context = multiprocessing.get_context('spawn')
    gate, results = context.Barrier(PROCESSES), context.Queue()
    processes = [
        context.Process(target=_grab, args=(database_url, wants, number, uuids, gate, results))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    got = [result for _ in processes for result in results.get(timeout=300)]
    for process in processes:
        process.join()
    assert set().union(*(seen for _, seen in got)) == {201, 409}
    held = [uuid for mine, _ in got for uuid in mine]
    assert sorted(held) == uuids
    page = client.get(f'{PATH}?limit=1000&fields=node_uuid,instance_uuid')['reservations']
    assert sorted(row['node_uuid'] for row in page) == uuids
    assert len({row['instance_uuid'] for row in page}) == HELD


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
        self.turn = 0
        self.uuids = [available(self.client, name=f'node-{number}') for number in NODES]
        self.state = dict.fromkeys(NODES, 'available')
        self.on = dict.fromkeys(NODES)
        self.held = {}
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
        """Whether none of the instances is on a node."""
        return not set(who) & set(self.on.values())

    @stateful.rule()
    def expire(self):
        expire(self.apps[0])
        self.held = {node: held for node, held in self.held.items() if not held[2]}

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
        if self.state[node] not in ('available', 'active'):
            assert status == 409
        elif who is None or self.on[node] == who:
            assert status == 200
            self.on[node] = who
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
        self.uuids[node] = available(self.client, name=f'node-{node}')
        self.order.remove(node)
        self.order.append(node)
        self.state[node], self.on[node], self.traits[node] = 'available', None, set()
        self.maintenance.discard(node)

    @stateful.invariant()
    def nothing_is_lost(self):
        fields = 'uuid,instance_uuid,reservation_uuid,maintenance,traits'
        shown = {node['uuid']: node for node in self.client.get(f'/v1/nodes?fields={fields}')['nodes']}
        assert shown == {
            self.uuids[node]: {
                'uuid': self.uuids[node],
                'instance_uuid': None if self.on[node] is None else instance(self.on[node]),
                'reservation_uuid': self.held[node][1] if node in self.held else None,
                'maintenance': node in self.maintenance,
                'traits': sorted(self.traits[node]),
            }
            for node in NODES
        }
        eligible = {node['uuid'] for node in self.client.get('/v1/nodes?eligible=true&fields=uuid')['nodes']}
        assert eligible == {self.uuids[node] for node in NODES if self.free(node)}


def test_model(database_url):
    """IRONIC_TRAITS_MACHINE_EXAMPLES sets how many examples it takes (``tests.support.machines``)."""
    with make_app(database_url) as first, make_app(database_url) as second:

        class OnThisDatabase(Holding):
            apps = [first, second]

            def teardown(self):
                empty(database_url)

        machines.run(OnThisDatabase, examples=25, steps=30)
