"""Names, instances and MAC addresses that move between items of a cloud, on each database."""

import itertools

import pytest
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.mirror.follower import Follower
from tests.conftest import empty
from tests.functional.mirror.test_mirror import ironic, new_app  # noqa: F401, fixtures
from tests.support import machines
from tests.support.client import Client
from tests.support.fake_cloud import UNIQUE, FakeCloud
from tests.support.mirror import catch_up, differences, follower, make_available

NODES, PORTGROUPS, PORTS = UNIQUE
INSTANCES = [f'dddddddd-0000-4000-8000-{number:012}' for number in range(20)]
#: {field: its values}.
VALUES = {
    'name': [f'name{number}' for number in range(20)],
    'instance_uuid': INSTANCES,
    'address': [f'52:54:00:00:00:{number:02x}' for number in range(20)],
}
FIELDS = [(resource, field) for resource, fields in UNIQUE.items() for field in fields]


class Poller(Follower):
    """A mirror that polls when it is told to, and does not compare uuids."""

    def poll(self):
        """Look once for changes, and at the conflicts."""
        self._due |= dict.fromkeys(('nodes', 'records', 'conflicts'), 0)
        while self.work() == 0 or any(each.is_passing for each in self._feeds.values()):
            pass


class World:
    """A cloud with nodes and records on two pages, its mirror, and nodes of this service.

    :ivar uuids: {resource: uuids in the order of their creation}.
    """

    def __init__(self, app, count=12):
        self.client, self.cloud = Client(app), FakeCloud()
        follower(app, interval=3600, records_interval=3600, deletions_interval=3600)
        self.mirror = Poller(app.service, 'far', self.cloud)
        for number in range(count):
            name, address, instance = (VALUES[field][number] for field in ('name', 'address', 'instance_uuid'))
            node = self.cloud.create(NODES, name=name, instance_uuid=instance if number % 2 else None)
            for resource in (PORTGROUPS, PORTS):
                self.cloud.create(resource, node_uuid=node, name=name, address=address)
        assert self.mirror.catch_up()

    def uuids(self, resource):
        """Return the uuids of the items of the cloud, in the order of their creation."""
        return list(self.cloud.items[resource])

    def move(self, resource, field, *uuids):
        """Let each item get the value of the next one, and the last one that of the first."""
        values = [self.cloud.items[resource][uuid][field] for uuid in uuids]
        for uuid, value in zip(uuids, [*values[1:], values[0]], strict=True):
            self.cloud.change(resource, uuid, **{field: value})

    def here(self, resource):
        """Return the items here, {uuid: item}."""
        return {each['uuid']: each for each in self.client.get(f'/v1/{resource}/detail?limit=1000')[resource]}

    def differences(self):
        """Return the items of the cloud with values that differ here, [(resource, uuid, field, there, here), …]."""
        return [
            (resource, uuid, field, item.get(field), here.get(uuid, {}).get(field, 'missing'))
            for resource, fields in UNIQUE.items()
            if (here := self.here(resource)) is not None
            for uuid, item in self.cloud.items[resource].items()
            for field in (*fields, *(('node_uuid',) if resource != NODES else ()))
            if here.get(uuid, {}).get(field, 'missing') != item.get(field)
        ]

    def conflicts(self):
        """Return {uuid: reason}."""
        return {each['uuid']: each['reason'] for each in self.client.get('/v1/mirrors/far')['conflict_list']}


@pytest.fixture
def world(app):
    return World(app)


@pytest.mark.parametrize('count', [2, 3, 12])
@pytest.mark.parametrize(('resource', 'field'), FIELDS)
def test_exchange(world, resource, field, count):
    """Two, three or all items exchange their values."""
    world.move(resource, field, *world.uuids(resource)[:count])
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})


@pytest.mark.parametrize(('resource', 'field'), FIELDS)
def test_value_of_a_deleted_item(world, resource, field):
    """A new item has the value of one that is deleted. The uuids are not compared for this."""
    old = world.uuids(resource)[1]
    item = world.cloud.items[resource][old]
    world.cloud.delete(resource, old)
    node = {} if resource == NODES else {'node_uuid': world.uuids(NODES)[5]}
    values = {name: VALUES[name][19] for name in UNIQUE[resource]} | {field: item[field]}
    new = world.cloud.create(resource, **node, **values)
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})
    assert (new in world.here(resource), old in world.here(resource)) == (True, False)


@pytest.mark.parametrize(('resource', 'field'), FIELDS)
def test_move_between_two_pages(world, resource, field):
    """The values move while everything is read: first pages have old values, later pages have new ones, or reversed."""
    for start, target in itertools.permutations((1, -1)):
        world.mirror._restart()
        while world.mirror._feeds[resource].state.get('pass', {}).get('marker') is None:
            assert world.mirror.work() == 0
        uuids = world.uuids(resource)
        world.move(resource, field, uuids[start], uuids[target], uuids[5])
        world.mirror.poll()
        assert (world.differences(), world.conflicts()) == ([], {})


def test_all_names_move_while_nothing_is_read(app):
    """A read of everything finds that each of many nodes has the name of the next one."""
    world = World(app, count=20)
    for resource, field in FIELDS[:1] + FIELDS[3:]:
        world.move(resource, field, *world.uuids(resource))
        for item in world.cloud.items[resource].values():
            item['updated_at'] = None
    for feed in world.mirror._feeds.values():
        feed.restart(is_lost=True)
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})


@pytest.mark.parametrize('field', UNIQUE[NODES])
def test_conflict_of_a_node(world, field):
    """An own node has the value: this is a conflict, the old value is free for others, and it ends with its cause."""
    first, second = world.uuids(NODES)[1::2][:2]
    value, old = VALUES[field][19], world.cloud.items[NODES][first][field]
    own = world.client.node(**{field: value})['uuid']
    world.cloud.change(NODES, first, **{field: value})
    world.cloud.change(NODES, second, **{field: old})
    world.mirror.poll()
    assert world.conflicts().keys() == {first}
    assert value in world.conflicts()[first]
    assert (world.here(NODES)[first][field], world.here(NODES)[second][field]) == (None, old)
    removal = [{'op': 'remove', 'path': f'/{field}'}]
    assert world.client.ask('PATCH', f'/v1/nodes/{own}', removal).status_int == 200
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})


@pytest.mark.parametrize('field', UNIQUE[PORTS])
@pytest.mark.parametrize('resource', [PORTGROUPS, PORTS])
def test_conflict_of_a_record(world, resource, field):
    own, (first, second) = world.client.node()['uuid'], world.uuids(resource)[:2]
    value, old = VALUES[field][19], world.cloud.items[resource][first][field]
    body = {'node_uuid': own, 'address': VALUES['address'][18], field: value}
    record = world.client.ask('POST', f'/v1/{resource}', body).json['uuid']
    world.cloud.change(resource, first, **{field: value})
    world.cloud.change(resource, second, **{field: old})
    world.mirror.poll()
    assert world.conflicts().keys() == {first}
    assert f'of node {own} has the same {field}, {value}' in world.conflicts()[first]
    here = world.here(resource)
    assert (here.get(first, {}).get(field), here[second][field]) == (None, old)
    assert world.client.ask('DELETE', f'/v1/{resource}/{record}').status_int == 204
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})


def test_value_of_a_node_that_waits(world, app):
    """A node that the cloud no longer shows keeps its name here until an operator decides. This is a conflict."""
    app.service.conf.set_override('max_deleted_nodes', 0, group='mirror')
    old = world.uuids(NODES)[0]
    address = world.cloud.items[PORTS][world.uuids(PORTS)[0]]['address']
    world.cloud.delete(NODES, old)
    new = world.cloud.create(NODES, name=VALUES['name'][0])
    port = world.cloud.create(PORTS, node_uuid=new, address=address)
    world.mirror.poll()
    assert world.conflicts().keys() == {old, new, port}
    assert world.client.ask('DELETE', '/v1/mirrors/far/missing_nodes').status_int == 202
    world.mirror.poll()
    assert (world.differences(), world.conflicts()) == ([], {})


def test_conflict_of_an_item_that_is_deleted_there(world):
    """The conflict of a port that was never stored here ends when the cloud deletes the port."""
    own = world.client.node()['uuid']
    world.client.ask('POST', '/v1/ports', {'node_uuid': own, 'address': VALUES['address'][19]})
    port = world.cloud.create(PORTS, node_uuid=world.uuids(NODES)[0], address=VALUES['address'][19])
    world.mirror.poll()
    assert world.conflicts().keys() == {port}
    world.cloud.delete(PORTS, port)
    world.mirror.poll()
    assert world.conflicts() == {}


def test_real_cloud(ironic, new_app):  # noqa: F811
    """Nodes are deleted, and created again with new uuids and the same names, instances and MAC addresses."""
    client, old = Client(new_app), ironic.nodes(3)
    make_available(ironic.directory)
    ports = []
    for number, uuid in enumerate(old):
        ironic.patch(f'/v1/nodes/{uuid}', instance_uuid=INSTANCES[number])
        ports.append(ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': VALUES['address'][number]})['uuid'])
    follower(new_app, interval=3600, records_interval=3600, deletions_interval=3600)
    mirror = Poller(new_app.service, 'far')
    catch_up(mirror)
    for uuid in old:
        ironic.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}])
    ironic.ask('DELETE', f'/v1/nodes/{old[0]}')
    new = ironic.node(name='node0')
    ironic.ask('POST', '/v1/ports', {'node_uuid': new, 'address': VALUES['address'][0]})
    ironic.patch(f'/v1/ports/{ports[1]}', address=VALUES['address'][9])
    ironic.patch(f'/v1/ports/{ports[2]}', address=VALUES['address'][1])
    ironic.patch(f'/v1/nodes/{old[1]}', instance_uuid=INSTANCES[0], name='passing')
    ironic.patch(f'/v1/nodes/{old[2]}', instance_uuid=INSTANCES[1], name='node1')
    ironic.patch(f'/v1/nodes/{old[1]}', name='node2')
    mirror.poll()
    assert list(differences(client, ironic, 'far')) == []
    assert client.get('/v1/mirrors/far')['conflict_list'] == []


class Moves(stateful.RuleBasedStateMachine):
    """Predicts the values of the items of a cloud, and the conflicts with nodes of this service.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.world = World(self.app)
        self.cloud, self.mirror, self.client = self.world.cloud, self.world.mirror, self.world.client
        #: {name: uuid} of the nodes of this service.
        self.own = {}

    @stateful.rule(field=st.sampled_from(FIELDS), item=st.integers(0, 15), value=st.integers(0, 15), swap=st.booleans())
    def take(self, field, item, value, swap):
        """Let an item take a value. Another item that has it may get the value that this one had."""
        resource, field = field
        uuids, value = self.world.uuids(resource), VALUES[field][value]
        if not uuids:
            return
        uuid = uuids[item % len(uuids)]
        other, before = self.cloud.holder(resource, field, value), self.cloud.items[resource][uuid].get(field)
        if other and (swap or (resource, field) == (PORTS, 'address')):
            self.cloud.change(resource, other, **{field: before})
        elif other:
            self.cloud.change(resource, other, **{field: None})
        self.cloud.change(resource, uuid, **{field: value})

    @stateful.rule(resource=st.sampled_from(list(UNIQUE)), item=st.integers(0, 15))
    def replace(self, resource, item):
        """Delete an item, and create another one with its values."""
        uuids = self.world.uuids(resource)
        if not uuids:
            return
        item = self.cloud.items[resource][uuids[item % len(uuids)]]
        self.cloud.delete(resource, item['uuid'])
        values = {field: item.get(field) for field in UNIQUE[resource]}
        node = {} if resource == NODES else {'node_uuid': item['node_uuid']}
        self.cloud.create(resource, **values, **node)

    @stateful.rule(name=st.sampled_from(VALUES['name'][:15]))
    def create_here(self, name):
        created = self.client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': name})
        if created.status_int == 201:
            self.own[name] = created.json['uuid']

    @stateful.rule()
    def delete_here(self):
        if self.own:
            _, uuid = self.own.popitem()
            assert self.client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204

    @stateful.rule()
    def read_all(self):
        self.mirror._restart()

    @stateful.rule(steps=st.integers(1, 3))
    def read_pages(self, steps):
        """Read some of the pages, if everything is being read."""
        for _ in range(steps):
            self.mirror.work()

    @stateful.rule()
    def poll(self):
        self.mirror.poll()
        taken = {uuid: item['name'] for uuid, item in self.cloud.items[NODES].items() if item['name'] in self.own}
        assert self.world.conflicts().keys() == taken.keys()
        expected = [(NODES, uuid, 'name', name, None) for uuid, name in taken.items()]
        assert sorted(self.world.differences()) == sorted(expected)

    def teardown(self):
        self.poll()
        assert self.mirror.catch_up()
        for resource in UNIQUE:
            here = {each for each, item in self.world.here(resource).items() if item['uuid'] not in self.own.values()}
            assert here == self.cloud.items[resource].keys()
        empty(self.app.service.database.url.render_as_string(hide_password=False))


def test_model(app):
    """Run the model."""

    class OnThisDatabase(Moves):
        pass

    OnThisDatabase.app = app
    machines.run(OnThisDatabase, examples=6, steps=20)
