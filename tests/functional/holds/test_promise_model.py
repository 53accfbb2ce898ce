"""A model of capacity reservations, compared with the service: all ways to keep them are tried."""

import dataclasses
import datetime
import itertools
from collections import Counter

import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.inventory.holds import promise_estimates, promised_nodes
from tests.support import machines
from tests.support.client import Client
from tests.support.promises import CAPACITY, claim
from tests.support.providers import golden
from tests.support.reservations import PATH, instance
from tests.support.service import make_app

DATABASES = machines.DATABASES
TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']
REQUIRED = st.frozensets(st.sampled_from(TRAITS), max_size=2)
NODES = range(5)
#: With it, all nodes of a promise are in one group: those with the same trait, and no other.
TOPOLOGY = {'topology': [{'key': 'trait:CUSTOM_', 'policy': 'affinity'}]}
PROJECTS = st.sampled_from(['p', 'q', 'nobody'])
#: Estimates count on reservations that end with a change only: {how one ends: its fields}.
RESERVATIONS = {'lasts': {}, 'expires': {'expires_at': '2100-01-01T00:00:00+00:00'}}


@dataclasses.dataclass
class Promise:
    """A capacity reservation in the model: ``nodes`` are those that are held for it."""

    name: str
    project: str
    count: int
    required: frozenset
    group: str | None = None
    nodes: set = dataclasses.field(default_factory=set)

    def matches(self, traits):
        """Whether a node with some traits matches."""
        return self.required <= traits and (self.group is None or traits == {self.group})


class Promising(machines.OnApps):
    """A model of capacity reservations and claims, compared with the service.

    The last application only shows the capacity reservations, which it reads each time. So the estimates of the others
    are of older readings.
    """

    def __init__(self):
        super().__init__()
        self.numbers = itertools.count(1)
        self.uuids = [golden(self.client, name=f'node-{number}') for number in NODES]
        self.traits = dict.fromkeys(NODES, frozenset())
        self.maintenance = set()
        self.promises = []
        # {node: (one of RESERVATIONS, uuid) or ('consumer', number)}.
        self.holders = {}

    @property
    def app(self):
        """The application of the next request."""
        self._turn += 1
        return self.apps[self._turn % (len(self.apps) - 1)]

    @property
    def free(self):
        """The set of the free nodes."""
        return set(NODES) - self.maintenance - self.holders.keys()

    def ways(self, free, less=(), more=()):
        """Return {(number of nodes that a promise gets, …), …} of all ways to give nodes to promises.

        :param free: set of nodes.
        :param less: promises that have got a node, each as often as it has.
        :param more: further promises.
        """
        used, promises = Counter(map(id, less)), [*self.promises, *more]
        left = [promise.count - len(promise.nodes) - used[id(promise)] for promise in promises]
        options = [
            [None, *(place for place, each in enumerate(promises) if each.matches(self.traits[node]))] for node in free
        ]
        numbers = {tuple(map(way.count, range(len(left)))) for way in itertools.product(*options)}
        return {way for way in numbers if all(number <= most for number, most in zip(way, left, strict=True))}

    def most(self, more=()):
        """Return how many nodes all promises can get together.

        :param more: further promises.
        """
        return max(map(sum, self.ways(self.free, more=more)))

    def fits(self, nodes, used_up=None):
        """Whether nodes can be taken, each for a promise or for none, so that no other promise gets less."""
        less = [used_up] * len(nodes) if used_up else []
        if used_up and used_up.count - len(used_up.nodes) < len(nodes):
            return False
        # If not all can be kept, the first ones are.
        before = max(self.ways(self.free))
        least = [number - less.count(each) for each, number in zip(self.promises, before, strict=True)]
        return any(
            all(number >= most for number, most in zip(way, least, strict=True))
            for way in self.ways(self.free - set(nodes), less)
        )

    @stateful.rule(node=st.sampled_from(NODES), names=st.frozensets(st.sampled_from(TRAITS)))
    def change_traits(self, node, names):
        body = {'traits': sorted(names)}
        assert self.client.ask('PUT', f'/v1/nodes/{self.uuids[node]}/traits', body).status_int == 200
        self.traits[node] = names

    @stateful.rule(node=st.sampled_from(NODES))
    def change_maintenance(self, node):
        method = 'DELETE' if node in self.maintenance else 'PUT'
        self.client.ask(method, f'/v1/nodes/{self.uuids[node]}/maintenance', {} if method == 'PUT' else None)
        self.maintenance ^= {node}

    @stateful.precondition(lambda self: len(self.promises) < 3)
    @stateful.rule(
        project=PROJECTS, count=st.integers(1, 4), required=REQUIRED, expires=st.booleans(), is_grouped=st.booleans()
    )
    def promise(self, project, count, required, expires, is_grouped):
        name = f'promise-{next(self.numbers)}'
        body = {'name': name, 'project': project, 'count': count, 'required': sorted(required)}
        body |= (RESERVATIONS['expires'] if expires else {}) | (TOPOLOGY if is_grouped else {})
        response = self.client.ask('POST', CAPACITY, body | {'resource_class': 'gold'})
        possible = [Promise(name, project, count, required, group) for group in (TRAITS if is_grouped else [None])]
        possible = [new for new in possible if self.most([new]) == self.most() + count]
        assert response.status_int == (201 if possible else 409), response.text
        if possible:
            # Those with the fewest free nodes come first.
            new = min(possible, key=lambda new: (sum(new.matches(self.traits[node]) for node in self.free), new.group))
            assert list(response.json['groups'].values()) == ([new.group] if is_grouped else [])
            self.promises.append(new)

    @stateful.precondition(lambda self: self.promises)
    @stateful.rule(data=st.data(), how=st.sampled_from(['delete', 'expire']))
    def end_promise(self, data, how):
        promise = data.draw(st.sampled_from(self.promises))
        if how == 'delete':
            assert self.client.ask('DELETE', f'{CAPACITY}/{promise.name}').status_int == 204
        else:
            self.expire(tables.capacity_reservations, name=promise.name)
        self.promises.remove(promise)

    def expire(self, table, **key):
        """Let a row expire, as if time had passed."""
        with self.apps[0].service.write() as connection:
            past = datetime.datetime.fromisoformat('2026-01-01')
            connection.execute(sa.update(table).filter_by(**key).values(expires_at=past))

    @stateful.rule(number=st.integers(1, 3), required=REQUIRED, data=st.data(), kind=st.sampled_from([*RESERVATIONS]))
    def reserve(self, number, required, data, kind):
        named = data.draw(st.sampled_from([None, *self.promises]))
        instances = [instance(next(self.numbers)) for _ in range(number)]
        body = {'instance_uuids': instances, 'required': sorted(required), 'resource_class': 'gold'}
        body |= RESERVATIONS[kind] | ({'capacity_reservation': named.name} if named else {})
        response = self.client.ask('POST', PATH, body)
        matching = [
            node
            for node in sorted(self.free)
            if required <= self.traits[node] and (named is None or named.matches(self.traits[node]))
        ]
        ways = [way for way in itertools.combinations(matching, number) if self.fits(way, named)]
        assert response.status_int == (201 if ways else 409), response.text
        if ways:
            chosen = {self.uuids.index(each['node_uuid']): each['uuid'] for each in response.json['reservations']}
            assert tuple(sorted(chosen)) in ways
            self.hold({node: (kind, uuid) for node, uuid in chosen.items()}, named)
        elif named:
            assert response.json['code'] == 'baremetal.capacity_reservation.used_up'
        elif len(matching) >= number:
            assert response.json['code'] == 'baremetal.capacity_reservation.promised'
            assert response.json['capacity_reservations']

    @stateful.rule()
    def read(self):
        """Let an application read the nodes again, without changes that have no number yet."""
        app = self.app
        change_feed.now(app.service)
        promised_nodes.read(app.service)

    @stateful.rule(node=st.sampled_from(NODES), project=PROJECTS)
    def allocate(self, node, project):
        if node not in self.free:
            return
        number = next(self.numbers)
        response = claim(self.client, number, self.uuids[node], project)
        own = [
            promise
            for promise in self.promises
            if promise.project == project and promise.matches(self.traits[node]) and self.fits([node], promise)
        ]
        assert response.status_int == (204 if own or self.fits([node]) else 409), response.text
        if response.status_int == 204:
            self.hold({node: ('consumer', number)}, own[0] if own else None)

    def hold(self, holders, promise):
        """Record what holds nodes, and the promise that they are held for."""
        self.holders |= holders
        if promise:
            promise.nodes |= holders.keys()

    @stateful.precondition(lambda self: self.holders)
    @stateful.rule(data=st.data())
    def release(self, data):
        node = data.draw(st.sampled_from(sorted(self.holders)))
        kind, ident = self.holders.pop(node)
        if kind == 'expires':
            self.expire(tables.reservations, uuid=ident)
        elif kind == 'lasts':
            assert self.client.ask('DELETE', f'{PATH}/{ident}').status_int == 204
        else:
            assert self.client.placement('DELETE', f'/allocations/{instance(ident)}').status_int == 204
        for promise in self.promises:
            promise.nodes.discard(node)

    @stateful.invariant()
    def is_as_shown(self):
        shown = Client(self.apps[-1]).get(CAPACITY)['capacity_reservations']
        assert [(each['name'], each['count'], each['used']) for each in shown] == [
            (promise.name, promise.count, len(promise.nodes)) for promise in self.promises
        ]
        assert all(each['left'] == each['count'] - each['used'] for each in shown)
        assert sum(each['left'] - each['short'] for each in shown) == self.most()

    @stateful.invariant()
    def estimates_are_cautious(self):
        """They have no node that is not free, and all nodes that the promises ask for."""
        exact = promised_nodes.read(self.apps[-1].service)
        for app in self.apps[:-1]:
            with app.service.read() as connection:
                estimate = promise_estimates.estimate(app.service, connection)
                ids = connection.scalars(sa.select(tables.nodes.c.id)).all()
            if estimate and exact.by_id:
                assert estimate.by_id.keys() == exact.by_id.keys()
                assert members(estimate, estimate.free, ids) <= members(exact, exact.free, ids)
                for each in estimate.by_id.values():
                    truth = exact.by_id[each.id]
                    assert members(estimate, each.free, ids) <= members(exact, truth.free, ids)
                    assert (each.left, each.generation) >= (truth.left, truth.generation)


def members(promised, nodes, ids):
    """Return the ids of the nodes of a set."""
    return {node for node in ids if nodes >> (promised.position_of(node) or 0) & 1}


def test_model(database_url):
    """IRONIC_TRAITS_MACHINE_EXAMPLES sets the number of examples (``tests.support.machines``)."""
    with make_app(database_url) as first, make_app(database_url) as second, make_app(database_url) as last:
        machines.run(Promising, 25, 30, first, second, last)
