"""A model of a cloud and its mirror that are both written to, while the cloud fails and mirrors are killed.

After the outages, both sides agree, and nothing that was set here is lost.
IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import datetime

import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.mirror.follower import Follower
from tests.support import machines
from tests.support.faulty_cloud import FAULTS, FaultyCloud
from tests.support.mirror import writer
from tests.support.mirrored_nodes import UUIDS

DATABASES = machines.DATABASES
UUIDS = UUIDS[:2]
NODE = st.sampled_from(UUIDS)
#: Traits that only the cloud's clients set, that only clients here set, and that both set.
THEIRS, OURS, SHARED = 'CUSTOM_THEIRS', 'CUSTOM_OURS', 'CUSTOM_SHARED'
#: None for a plain write.
SOURCE = st.sampled_from([None, 'cmdb'])
INSTANCES = [f'dddddddd-0000-4000-8000-{number:012}' for number in range(6)]
FIELDS = ('name', 'owner', 'maintenance', 'instance_uuid', 'provision_state', 'description')
CHANGED = ('name', 'owner', 'maintenance', 'description')
TRAIT = st.sampled_from([OURS, OURS, SHARED, THEIRS])
TASKS = ['claims', 'nodes', 'records', 'conflicts', 'deletions', 'inspections', 'full']

CHANGES_THERE = st.one_of(
    st.tuples(st.sampled_from(['create_or_delete_there', 'hide_or_show']), NODE),
    st.tuples(st.just('change_there'), NODE, st.sampled_from(CHANGED), st.integers(0, 2)),
    st.tuples(st.just('set_traits_there'), NODE, st.sets(st.sampled_from([THEIRS, SHARED])), st.booleans()),
    st.tuples(st.just('take_or_free_there'), NODE, st.sampled_from(INSTANCES[3:])),
)
_WRITE = st.tuples(st.just('write_here'), NODE, st.sampled_from(['PUT', 'DELETE']), TRAIT, SOURCE)
WRITES_HERE = st.one_of(
    _WRITE, _WRITE, st.tuples(st.just('reserve'), NODE, st.integers(0, 2)), st.tuples(st.just('release'), NODE)
)


class Mirrored(machines.OnApps):
    """Predicts what was set here, and that both sides agree in the end."""

    def __init__(self):
        super().__init__()
        self.cloud = FaultyCloud()
        options = {'claims': 'instance_uuid', 'write_rate': 1e6, 'records_interval': 3600, 'deletions_interval': 3600}
        writer(self.app, max_deleted_nodes=1, interval=3600, **options)
        # Requests here use the same cloud.
        self.app.service.clouds['far'] = self.cloud
        #: {(uuid, created_at): ({trait: {source, …}}, vetoes)} of what was set here.
        self.ours = {}
        #: {uuid: (instance, uuid of the reservation)}.
        self.held = {}
        #: Instances whose requests were answered with 503: the mirror has yet to end these reservations.
        self.unknown = set()
        #: The keys of nodes here, and of those that the cloud has deleted or hidden since they were last looked at.
        self.here, self.absent = set(), set()
        self.old = None
        for number, uuid in enumerate(UUIDS):
            self.cloud.add(uuid, name=f'name{number}')
        self.mirror = Follower(self.app.service, 'far', self.cloud)
        self.settle()
        # Most examples have few writes, so each node has a trait to remove.
        for uuid in UUIDS:
            self.write_here(uuid, 'PUT', OURS, None)
        self.settle()

    def key(self, node):
        """Return what identifies a machine: another one may get its uuid later."""
        return node['uuid'], node['created_at'][:19]

    @stateful.rule(changes=st.lists(CHANGES_THERE, min_size=1, max_size=4))
    def change(self, changes):
        for name, *arguments in changes:
            getattr(self, name)(*arguments)

    @stateful.rule(writes=st.lists(WRITES_HERE, min_size=1, max_size=4))
    def write(self, writes):
        for name, *arguments in writes:
            getattr(self, name)(*arguments)

    @stateful.rule(write=_WRITE, is_settled=st.booleans())
    def write_trait(self, write, is_settled):
        """Write one trait."""
        self.write_here(*write[1:])
        if is_settled:
            self.settle()

    @stateful.rule(scope=st.none() | st.sampled_from(['traits', 'withdraw', 'operator']), steps=st.integers(0, 3))
    def change_mirror(self, scope, steps):
        """Start another mirror, while the old one stands still, or after it has ended."""
        if scope:
            self.restart(scope)
        else:
            self.replace()
        for _ in range(steps if self.old else 0):
            self.old.work()

    def create_or_delete_there(self, uuid):
        node = self.cloud.nodes.get(uuid)
        if node is None:
            self.cloud.add(uuid)
        elif not node['instance_uuid']:
            self.absent.add(self.key(node))
            self.cloud.delete('nodes', uuid)
            self.cloud.hidden.discard(uuid)

    def hide_or_show(self, uuid):
        if uuid in self.cloud.nodes:
            self.cloud.hidden ^= {uuid}
            self.absent.add(self.key(self.cloud.nodes[uuid]))

    def change_there(self, uuid, field, value):
        if uuid not in self.cloud.nodes:
            return
        value = bool(value) if field == 'maintenance' else f'{field}{value}'
        other, before = self.cloud.holder('nodes', field, value), self.cloud.nodes[uuid].get(field)
        if field == 'name' and other:
            self.cloud.change('nodes', other, name=before)
        self.cloud.change('nodes', uuid, **{field: value})

    def set_traits_there(self, uuid, names, keeps):
        """Set the traits of the cloud's clients. They may remove those that this service has written."""
        if node := self.cloud.nodes.get(uuid):
            kept = {OURS} & set(node['traits']) if keeps else set()
            self.cloud.change('nodes', uuid, traits=sorted(names | kept))

    def take_or_free_there(self, uuid, instance):
        node = self.cloud.nodes.get(uuid)
        if node and node['instance_uuid'] in INSTANCES[3:]:
            self.cloud.change('nodes', uuid, instance_uuid=None, provision_state='available')
        elif node and not node['instance_uuid'] and not self.cloud.holder('nodes', 'instance_uuid', instance):
            self.cloud.change('nodes', uuid, instance_uuid=instance, provision_state='active')

    def write_here(self, uuid, method, name, source):
        """Write a trait here."""
        if uuid not in {key[0] for key in self.here} or (name == THEIRS and method == 'PUT'):
            return
        holders, vetoes = self.ours[self.key(self.client.get(f'/v1/nodes/{uuid}'))]
        of_cloud = name in self.traits(uuid)[2]
        path = f'/v1/nodes/{uuid}/traits/{name}'
        response = self.client.ask(method, path + (f'?source={source}' if source else ''))
        held = holders.get(name, set())
        if method == 'PUT':
            refused = source == 'cmdb' and name in vetoes
            assert response.status_int == (409 if refused else 204), response.text
            if not refused:
                holders[name] = held | {source or 'operator'}
                vetoes.discard(name)
        elif source:
            assert response.status_int == (204 if source in held else 404), response.text
            holders[name] = held - {source}
        else:
            assert response.status_int == (204 if held or of_cloud else 404), response.text
            if of_cloud or held - {'operator'}:
                vetoes.add(name)
            holders[name] = set()

    def reserve(self, uuid, who):
        body = {'instance_uuid': INSTANCES[who], 'node_uuid': [uuid]}
        response = self.client.ask('POST', '/v1/reservations', body)
        assert response.status_int in (200, 201, 404, 409, 503), response.text
        if response.status_int == 503:
            self.unknown.add(INSTANCES[who])
        elif response.status_int in (200, 201):
            there = self.cloud.nodes[uuid]
            assert response.status_int == 200 or (there['instance_uuid'], there['maintenance']) == (
                INSTANCES[who],
                False,
            )
            self.held[uuid] = INSTANCES[who], response.json['reservation']['uuid']

    def release(self, uuid):
        if uuid in self.held:
            assert self.client.ask('DELETE', f'/v1/reservations/{self.held.pop(uuid)[1]}').status_int == 204

    @stateful.rule(
        fault=st.none() | st.sampled_from(FAULTS),
        after=st.integers(0, 6),
        tasks=st.sets(st.sampled_from(TASKS)),
        steps=st.integers(1, 9),
    )
    def work(self, fault, after, tasks, steps):
        """Let the mirror do some of its work, while the cloud fails. The cloud continues to fail."""
        self.cloud.fail(fault, after)
        self.mirror._due |= dict.fromkeys(tasks, 0)
        for _ in range(steps):
            self.mirror.work()

    @stateful.rule()
    def catch_up(self):
        self.mirror.catch_up()

    def restart(self, scope='traits'):
        """Stop the mirror, and start one that writes other traits."""
        self.mirror.stop()
        self.mirror.run()
        self.app.service.conf.set_override('write', scope, group='mirror')
        self.mirror = Follower(self.app.service, 'far', self.cloud)

    def replace(self):
        """Let another mirror take the turn, as if this one had stood still. It continues later."""
        past = {'leased_until': now() - datetime.timedelta(days=1)}
        with self.app.service.write() as connection:
            connection.execute(sa.update(tables.mirror_clouds).values(past))
        self.old, self.mirror = self.mirror, Follower(self.app.service, 'far', self.cloud)
        self.mirror.work()

    def pass_time(self):
        """Move deadlines into the past."""
        past, (claims, written) = (
            now() - datetime.timedelta(days=1),
            (tables.mirror_claims, tables.mirror_written_traits),
        )
        with self.app.service.write() as connection:
            connection.execute(sa.update(claims).where(claims.c.deadline.is_not(None)).values(deadline=past))
            connection.execute(sa.update(written).where(written.c.state == 'writing').values(since=past))

    @stateful.rule()
    def settle(self):
        """End the outage, and let the mirror do all of its work."""
        self.cloud.fail(None)
        self.restart(self.app.service.conf.mirror.write)
        for _ in range(8):
            self.pass_time()
            waits_for = self.catch_up_and_write()
            if not waits_for and self.is_settled():
                break
        else:
            raise AssertionError(self.client.get('/v1/mirrors/far'))
        self.unknown = set()
        self.look()
        self.compare()
        self.absent = set()

    def catch_up_and_write(self):
        """Let the mirror do its work, confirm what waits for an operator, and return that."""
        assert self.mirror.catch_up()
        waits_for = self.client.get('/v1/mirrors/far')['waits_for']
        if 'deletions' in waits_for:
            assert self.client.ask('DELETE', '/v1/mirrors/far/missing_nodes').status_int == 202
        if 'writes' in waits_for:
            mirror_clouds.confirm_writes(self.app.service, 'far')
        for _ in range(20):
            self.mirror.work()
        return waits_for

    def is_settled(self):
        state = self.client.get('/v1/mirrors/far')
        assert (state['last_error'], state['write_error']) == (None, None)
        return not (
            state['waits_for'] or state['write_queue'] or state['undecided_writes'] or state['unsettled_claims']
        )

    def compare(self):
        """Compare both sides."""
        nodes = {each['uuid']: each for each in self.client.get('/v1/nodes/detail')['nodes']}
        conflicts = {(each['uuid'], each.get('trait')) for each in self.client.get('/v1/mirrors/far')['conflict_list']}
        shown = self.cloud.shown
        assert nodes.keys() == shown.keys() | (self.held.keys() & self.cloud.hidden)
        for uuid, there in shown.items():
            here = nodes[uuid]
            assert {name: here[name] for name in FIELDS} == {name: there.get(name) for name in FIELDS}
            self.compare_traits(uuid, set(there['traits']), conflicts)
        ours = {uuid: node['instance_uuid'] for uuid, node in shown.items() if node['instance_uuid'] in INSTANCES[:3]}
        assert ours == {uuid: instance for uuid, (instance, _) in self.held.items() if uuid in shown}

    def compare_traits(self, uuid, there, conflicts):
        holders, vetoes, of_cloud = self.traits(uuid)
        scope = self.app.service.conf.mirror.write
        written = {name for name, sources in holders.items() if scope == 'traits' or scope in sources}
        assert (OURS in there) <= (OURS in written)
        for name in written - there:
            assert (uuid, name) in conflicts
        assert OURS not in of_cloud
        assert of_cloud - {SHARED} == (there & {THEIRS}) - vetoes
        assert SHARED not in there or SHARED in holders.keys() | of_cloud | vetoes

    def traits(self, uuid):
        """Return ({trait: sources besides the mirror}, vetoes, traits that the mirror holds)."""
        shown = self.client.get(f'/v1/nodes/{uuid}/traits?detail=true')
        sources = {each['trait']: {hold['source'] for hold in each['sources']} for each in shown['traits']}
        of_cloud = {name for name, each in sources.items() if 'mirror:far' in each}
        holders = {name: each - {'mirror:far'} for name, each in sources.items() if each - {'mirror:far'}}
        return holders, {each['trait'] for each in shown['vetoes']}, of_cloud

    @stateful.invariant()
    def look(self):
        """Nothing that was set here is lost, and nodes are deleted only if the cloud has said so."""
        nodes = self.client.get('/v1/nodes/detail')['nodes']
        before, self.here = self.here, {self.key(each) for each in nodes}
        assert before - self.here <= self.absent
        for key in self.here:
            holders, vetoes = self.ours.setdefault(key, ({}, set()))
            for name in [name for name, sources in holders.items() if not sources]:
                del holders[name]
            assert self.traits(key[0])[:2] == (holders, vetoes)
        held = {node: each for node, each in self.reserved().items() if each[0] not in self.unknown}
        assert held == {node: each for node, each in self.held.items() if each[0] not in self.unknown}

    def reserved(self):
        """Return the reservations here, as ``held`` has them."""
        listed = self.client.get('/v1/reservations')['reservations']
        return {each['node_uuid']: (each['instance_uuid'], each['uuid']) for each in listed}

    def end(self):
        self.settle()


def test_a_reservation_of_a_machine_that_was_replaced(app):
    """A node with the uuid of the reserved one is another machine, and is not held."""
    machine = machines.on(Mirrored, app)()
    machine.cloud.delete('nodes', UUIDS[0])
    machine.cloud.add(UUIDS[0])
    response = machine.client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCES[0], 'node_uuid': UUIDS[0]})
    assert (response.status_int, response.json['code']) == (409, 'baremetal.reservation.nothing'), response.text
    assert 'It was deleted and created again in its cloud far.' in response.text
    assert machine.cloud.nodes[UUIDS[0]]['instance_uuid'] is None
    machine.absent = set(machine.here)
    machine.settle()


def test_model(app):
    """Run the model."""
    machines.run(Mirrored, 2, 20, app)
