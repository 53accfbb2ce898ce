"""A model of clients that follow the change feed while everything changes, on each database.

Each of them has the state of the inventory when it has caught up, or is told that its token is too old.
IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``).
"""

import contextlib
import dataclasses

import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.inventory.core.single_node import take
from ironic_traits.inventory.holds import reservations
from tests.support import machines, trait_edits
from tests.support.providers import provider
from tests.support.reservations import expire, instance, reserve
from tests.support.service import finish_work, make_app

UUIDS = [f'aaaaaaaa-0000-4000-8000-{number:012}' for number in range(4)]
#: The node that only transactions write which stay open during other requests.
SLOW = UUIDS[3]
NODE = st.sampled_from(UUIDS[:3])
#: Fields of nodes that depend on the time, and not only on writes.
_PASSING = {'conductor', 'eligible', 'reserved'}
_FIELDS = {'extra': {'a': 1}, 'name': 'other', 'resource_class': 'gold', 'instance_uuid': instance(8), 'owner': 'p'}
_FIELDS |= {'retired': True, 'shard': 's', 'automated_clean': False, 'instance_info': {'traits': ['CUSTOM_A']}}
_TARGETS = ('manage', 'provide', 'active', 'deleted', 'inspect', 'rebuild', 'adopt', 'abort')
#: Writes that a service may refuse, (method, path below the node, body).
WRITES = [
    *(('PATCH', '', [{'op': 'add', 'path': f'/{name}', 'value': value}]) for name, value in _FIELDS.items()),
    *(('PATCH', '', [{'op': 'remove', 'path': f'/{name}'}]) for name in ('instance_uuid', 'resource_class')),
    ('PUT', '/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']}),
    ('PUT', '/traits?source=hook', {'traits': ['CUSTOM_B']}),
    ('PUT', '/traits/CUSTOM_A'),
    *(('DELETE', path) for path in ('/traits', '/traits/CUSTOM_B', '/traits/CUSTOM_B/veto', '/maintenance')),
    ('DELETE', '/allocation'),
    ('PUT', '/maintenance', {'reason': 'fan'}),
    ('PUT', '/states/power', {'target': 'power on'}),
    ('PUT', '/management/boot_device', {'boot_device': 'pxe', 'persistent': True}),
    *(('PUT', '/states/provision', {'target': target}) for target in _TARGETS),
    ('PUT', '/states/raid', {'logical_disks': [{'size_gb': 1, 'raid_level': '0'}]}),
    ('PUT', '/inventory', {'inventory': {'cpu': {'count': 4}}}),
    ('POST', '/vifs', {'id': instance(7)}),
]
OTHER_WRITES = st.lists(st.tuples(NODE, st.sampled_from(WRITES)), min_size=1, max_size=5)


@dataclasses.dataclass
class Follower:
    """A client with a copy of what it follows.

    :ivar path: of the list of nodes, or that of the changes, without its token.
    :ivar at: number of the writes when it had caught up; -1 before.
    """

    path: str
    token: str
    copy: dict
    at: int = -1


class Followed(machines.OnApps):
    """Predicts the copies of clients that follow the feed."""

    def __init__(self):
        super().__init__()
        self.writes = self.forgotten_at = 0
        self.client.node(uuid=SLOW)
        self.missing = set(UUIDS[:3])
        while self.missing:
            self.create(None, '1.10')
        self.followers = [self.begun(path) for path in ('/v1/nodes/detail?', '/v1/changes?')]

    def send(self, method, path, document=None, **options):
        """Send a request that writes. The service may refuse it."""
        response = self.client.ask(method, path, document, **options)
        assert response.status_int < 500, response.text
        self.writes += 1
        return response

    def current(self, path):
        """Return what a follower has to have: nodes, or everything that the changes can name."""
        if path.startswith('/v1/nodes'):
            return {each['uuid']: without_passing(each) for each in self.client.get(path)['nodes']}
        kinds = [kind for kind in ('node', 'reservation') if kind in path or 'kind' not in path]
        return {(kind, each['uuid']): each for kind in kinds for each in self.client.get(f'/v1/{kind}s')[f'{kind}s']}

    def begun(self, path):
        """Return a new follower."""
        token = self.client.get('/v1/changes')['token']
        return Follower(path, token, self.current(path))

    @stateful.precondition(lambda self: len(self.followers) < 6)
    @stateful.rule(
        path=st.sampled_from(['traits=CUSTOM_A', 'maintenance=true', 'resource_class=gold&not-traits=CUSTOM_B']).map(
            '/v1/nodes/detail?{}'.format
        )
        | st.sampled_from(['/v1/changes?kind=node', '/v1/changes?kind=reservation'])
    )
    def follow(self, path):
        self.followers.append(self.begun(path))

    @stateful.precondition(lambda self: self.missing)
    @stateful.rule(name=st.none() | st.sampled_from(['one', 'other']), version=st.sampled_from(['1.10', '1.115']))
    def create(self, name, version):
        """Create a node: available, or not yet."""
        uuid = min(self.missing)
        body = {'driver': 'fake-hardware', 'uuid': uuid} | ({'name': name} if name else {})
        if self.send('POST', '/v1/nodes', body, version=version).status_int == 201:
            self.missing.remove(uuid)
            self.send('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])

    @stateful.rule(node=NODE)
    def delete(self, node):
        if self.send('DELETE', f'/v1/nodes/{node}').status_int == 204:
            self.missing.add(node)

    @stateful.rule(writes=OTHER_WRITES)
    def write(self, writes):
        for node, (method, path, *body) in writes:
            self.send(method, f'/v1/nodes/{node}{path}', *body)

    @stateful.rule()
    def work(self):
        finish_work(self.app)
        self.writes += 1

    @stateful.rule(who=st.integers(0, 1), node=NODE, ends=st.booleans())
    def reserve(self, who, node, ends):
        assert reserve(self.client, who, [node], **({'expires_in': 1000} if ends else {})).status_int < 500
        self.writes += 1

    @stateful.rule(renews=st.booleans())
    def end_or_renew(self, renews):
        for each in self.client.get('/v1/reservations?limit=1')['reservations']:
            path = f'/v1/reservations/{each["uuid"]}'
            self.send(*(('POST', f'{path}/renew', {'expires_in': 2000}) if renews else ('DELETE', path)))

    @stateful.rule()
    def expire(self):
        """Let all reservations expire, also those that had no end."""
        for each in self.client.get('/v1/reservations')['reservations']:
            self.send('POST', f'/v1/reservations/{each["uuid"]}/renew', {'expires_in': 2000})
        # Otherwise, the followers would learn of the end from the change before.
        self.read(None, 5, 9)
        expire(self.app)
        reservations.purge(self.app.service)
        self.writes += 1

    @stateful.rule(who=st.integers(2, 3), begins=st.booleans())
    def allocate(self, who, begins):
        if begins:
            self.send('POST', '/v1/allocations', {'uuid': instance(who), 'resource_class': 'gold'})
        else:
            self.send('DELETE', f'/v1/allocations/{instance(who)}')

    @stateful.rule(
        node=NODE, used=st.booleans(), names=st.none() | st.sets(st.sampled_from(['COMPUTE_NODE', 'HW_GPU']))
    )
    def write_in_placement(self, node, used, names):
        """Allocate a node, or set the traits of its provider."""
        if names is None:
            path = f'/allocations/{instance(4)}'
            generation = self.client.placement('GET', path).json.get('consumer_generation')
            body = {'allocations': {node: {'resources': {'CUSTOM_GOLD': 1}}} if used else {}, 'project_id': 'p'}
            body |= {'user_id': 'u', 'consumer_type': 'INSTANCE', 'consumer_generation': generation}
        else:
            path, (generation, _) = f'/resource_providers/{node}/traits', provider(self.client, node)
            body = {'traits': sorted(names), 'resource_provider_generation': generation or 0}
        assert self.client.placement('PUT', path, body).status_int < 500
        self.writes += 1

    @stateful.rule(edit=st.sampled_from([{'add': ['CUSTOM_A']}, {'rename': {'CUSTOM_A': 'CUSTOM_B'}}]))
    def edit(self, edit):
        body = {'where': {'resource_class': 'gold'}, **edit}
        digest = trait_edits.preview(self.client, **body)['digest']
        self.send('POST', trait_edits.PATH, body | {'digest': digest})

    @stateful.rule(value=st.integers(0, 9).map(str), commits=st.booleans(), writes=OTHER_WRITES)
    def write_slowly(self, value, commits, writes):
        """Read while a transaction is open that began before other writes. SQLite has one writer."""
        with contextlib.suppress(ZeroDivisionError), self.app.service.write() as connection:
            row, nodes = take(connection, SLOW), tables.nodes
            connection.execute(sa.update(nodes).where(nodes.c.id == row.id).values(description=value))
            if connection.dialect.name != 'sqlite':
                self.write(writes)
                self.read(None, 5, 9)
            if not commits:
                raise ZeroDivisionError
        self.writes += 1

    @stateful.rule(begins_again=st.sampled_from([False, False, False, True]))
    def forget(self, begins_again):
        """Forget what was deleted; or make all tokens invalid."""
        if begins_again:
            change_feed.begin_again(self.app.service)
            self.writes += 1
        if begins_again or change_feed.forget(self.app.service, 0):
            self.forgotten_at = self.writes

    @stateful.rule(number=st.none() | st.integers(0, 5), limit=st.integers(1, 5), pages=st.integers(1, 9))
    def read(self, number, limit, pages):
        """Let one of the followers, or all of them, read some pages."""
        chosen = self.followers if number is None else [self.followers[number % len(self.followers)]]
        for follower in chosen:
            self.advance(follower, limit, pages)

    def advance(self, follower, limit, pages):
        """Read pages, until there are no more, and compare the copy then."""
        name = 'changed-since' if follower.path.startswith('/v1/nodes') else 'since'
        for _ in range(pages):
            response = self.client.ask('GET', f'{follower.path}&{name}={follower.token}&limit={limit}')
            if response.status_int == 410:
                assert response.json['code'] == 'baremetal.changes.token_outdated'
                assert follower.at < self.forgotten_at
                self.followers[self.followers.index(follower)] = self.begun(follower.path)
                return
            assert response.status_int == 200, response.text
            follower.token = response.json['token']
            self.apply(follower, response.json)
            if 'next' not in response.json:
                follower.at = self.writes
                assert follower.copy == self.current(follower.path)
                return

    def apply(self, follower, page):
        """Change the copy of a follower as a page says."""
        follower.copy |= {each['uuid']: without_passing(each) for each in page.get('nodes', ())}
        gone, existing = page.get('removed', []), self.current('/v1/changes?') if 'changes' in page else {}
        for each in page.get('changes', ()):
            key = each['kind'], each['uuid']
            assert each['deleted'] == (key not in existing)
            follower.copy |= {key: existing[key]} if key in existing else {}
            gone += [key] if each['deleted'] else []
        for key in gone:
            follower.copy.pop(key, None)

    def end(self):
        for follower in list(self.followers):
            self.advance(follower, 3, 1000)


def without_passing(node):
    """Return the fields of a node that only writes change."""
    return {name: value for name, value in node.items() if name not in _PASSING}


def test_model(database_url):
    """Run the model."""
    # A locked node stays locked until the next step, so waiting for it is useless.
    options = {'deploy__node_locked_retry_attempts': 0}
    with make_app(database_url, **options) as first, make_app(database_url, **options) as second:
        machines.run(Followed, 2, 20, first, second)
