"""Requests with a topology, compared with all sets of nodes, on random inventories, with and without the index."""

import dataclasses
import itertools
import os

import hypothesis
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.matching.topology import POLICIES, group, parse, prefix
from tests.conftest import empty
from tests.support import topology
from tests.support.client import Client
from tests.support.reservations import PATH, available, instance
from tests.support.service import make_app

NODES = 8
TRAITS = ['CUSTOM_RACK_1', 'CUSTOM_RACK_2', 'CUSTOM_ROW_1', 'CUSTOM_ROW_2', 'CUSTOM_X']
KEYS = ['trait:CUSTOM_RACK_', 'trait:CUSTOM_ROW_', 'properties/rack/number', 'conductor_group']
#: Instances that hold a node each, the last ones of the inventory.
RELATED = [instance(101), instance(102)]
EXAMPLES = os.environ.get('IRONIC_TRAITS_MACHINE_EXAMPLES')


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a random inventory."""

    traits: frozenset
    properties: dict
    conductor_group: str
    maintenance: bool

    def cell(self, policies):
        """Return the group of the node for each policy."""
        return tuple(group(policy.key, self._value(policy.key)) for policy in policies)

    def _value(self, key):
        beginning = prefix(key)
        if beginning:
            return [name for name in self.traits if name.startswith(beginning)]
        return getattr(self, key.partition('/')[0])

    def failing(self, required, policies):
        """Return the clauses that the node does not fulfil."""
        clauses = {f'required:{name}' for name in required if name not in self.traits}
        clauses |= {policy.clause for policy, value in zip(policies, self.cell(policies), strict=True) if value is None}
        return frozenset(clauses | ({'eligible:maintenance'} if self.maintenance else set()))


RACK = st.sampled_from(
    [['CUSTOM_RACK_1'], ['CUSTOM_RACK_2'], ['CUSTOM_RACK_1'], [], ['CUSTOM_RACK_1', 'CUSTOM_RACK_2']]
)
ROW = st.sampled_from([['CUSTOM_ROW_1'], ['CUSTOM_ROW_2'], ['CUSTOM_ROW_1'], []])
NODE = st.builds(
    Node,
    traits=st.tuples(RACK, ROW, st.sampled_from([['CUSTOM_X'], ['CUSTOM_X'], []])).map(
        lambda lists: frozenset(itertools.chain.from_iterable(lists))
    ),
    properties=st.sampled_from([{'rack': {'number': 1}}, {'rack': {'number': '2'}}, {'rack': None}, {'rack': 1}, {}]),
    conductor_group=st.sampled_from(['', 'one', 'two']),
    maintenance=st.sampled_from([False, False, False, True]),
)
ITEM = st.fixed_dictionaries(
    {
        'key': st.sampled_from(KEYS),
        'policy': st.sampled_from(POLICIES),
        'max_per_group': st.sampled_from([None, None, 1, 2]),
        'prefer': st.sampled_from([None, 'fullest', 'emptiest']),
        'relative_to': st.sampled_from([None, None, RELATED[:1], RELATED]),
    }
)
REQUEST = st.tuples(st.lists(ITEM, min_size=1, max_size=2), st.sampled_from([[], ['CUSTOM_X']]), st.integers(1, 3))


def write(app, ids, inventory):
    """Make the nodes of the database those of an inventory. The last ones hold the related instances."""
    nodes, traits = tables.nodes, tables.node_traits
    with app.service.write() as connection:
        connection.execute(sa.delete(traits))
        connection.execute(sa.delete(tables.node_trait_sources))
        # A failed example may have left some.
        connection.execute(sa.delete(tables.reservations))
        for (node_id, uuid), node in zip(ids, inventory, strict=True):
            values = {name: getattr(node, name) for name in ('properties', 'conductor_group', 'maintenance')}
            holder = dict(zip([uuid for _, uuid in ids[-len(RELATED) :]], RELATED, strict=True)).get(uuid)
            connection.execute(sa.update(nodes).where(nodes.c.id == node_id).values(instance_uuid=holder, **values))
            for name in sorted(node.traits):
                connection.execute(sa.insert(traits).values(node_id=node_id, trait=name))
        change_feed.record(connection, change_feed.NODE, [uuid for _, uuid in ids])


class Case:
    """A request for an inventory, and its plain answers."""

    def __init__(self, inventory, request):
        self.items, self.required, self.count = request
        self.policies = parse(self.items)
        self.inventory = inventory
        held = dict(zip(RELATED, inventory[-len(RELATED) :], strict=True))
        self.related = [
            [held[each].cell(self.policies)[place] for each in policy.relative_to]
            for place, policy in enumerate(self.policies)
        ]
        #: The clauses that each node fails.
        self.failing = [node.failing(self.required, self.policies) for node in inventory]
        for place in range(NODES - len(RELATED), NODES):
            self.failing[place] |= {'eligible:instance'}

    @property
    def is_undecided(self):
        """Whether a hard policy counts a node that has no group."""
        return any(
            None in values and (policy.name == 'affinity' or policy.limit)
            for policy, values in zip(self.policies, self.related, strict=True)
        )

    def without(self, dropped):
        """Return the policies, what they count, and the cells of the nodes that match, without some clauses."""
        places = [place for place, policy in enumerate(self.policies) if policy.clause not in dropped]
        cells = [
            tuple(node.cell(self.policies)[place] for place in places)
            for node, failing in zip(self.inventory, self.failing, strict=True)
            if failing <= dropped
        ]
        related = [[value for value in self.related[place] if value is not None] for place in places]
        return [self.policies[place] for place in places], related, cells

    def body(self, **more):
        """Return the body of a request."""
        return {'topology': self.items, 'required': self.required, **more}


def check(client, case, uuids):
    """Compare the answers of a service with the plain ones."""
    policies, related, cells = case.without(frozenset())
    possible = topology.choices(policies, related, cells, case.count)
    answer = client.ask('POST', '/v1/matches', case.body(count=case.count, explain=True))
    if case.is_undecided:
        assert answer.status_int == 409
        assert 'so the policy cannot be decided' in answer.text
        return
    assert answer.status_int == 200, answer.text
    chosen = [uuids.index(node['uuid']) for node in answer.json['nodes']]
    assert bool(chosen) == bool(possible)
    if chosen:
        check_choice(case, chosen, possible)
        groups = [
            dict(zip((each.key for each in policies), case.inventory[n].cell(policies), strict=True)) for n in chosen
        ]
        assert [node['groups'] for node in answer.json['nodes']] == groups
    check_explanation(case, answer.json['explanation'])
    answer = client.ask('POST', '/v1/matches', case.body())
    assert len(answer.json['nodes']) == topology.largest(policies, related, cells)
    body = case.body(instance_uuids=[instance(number) for number in range(case.count)])
    answer = client.ask('POST', PATH, body)
    assert answer.status_int == (201 if possible else 409), answer.text
    if possible:
        held = [each['node_uuid'] for each in answer.json['reservations']]
        check_choice(case, [uuids.index(uuid) for uuid in held], possible)
        assert client.ask('POST', PATH, body).status_int == 200
        for each in answer.json['reservations']:
            assert client.ask('DELETE', f'{PATH}/{each["uuid"]}').status_int == 204
    else:
        check_explanation(case, answer.json['explanation'])


def check_choice(case, chosen, possible):
    """Check that a choice is possible, and as good as the best one."""
    policies, related, _ = case.without(frozenset())
    assert len(set(chosen)) == len(chosen) == case.count
    assert not any(case.failing[place] for place in chosen)
    cells = [case.inventory[place].cell(policies) for place in chosen]
    assert topology.is_possible(policies, related, cells)
    best = min(topology.degrees(policies, related, each) for each in possible)
    assert topology.degrees(policies, related, cells) == best


def check_explanation(case, explanation):
    """Check the figures of an explanation, and that its relaxations are the minimal ones."""
    clauses = sorted(frozenset().union(*case.failing, {policy.clause for policy in case.policies}))
    for each in explanation['clauses']:
        assert each['rejected'] == sum(each['clause'] in failing for failing in case.failing)
    largest = {
        frozenset(dropped): topology.largest(*case.without(frozenset(dropped)))
        for size in range(len(clauses) + 1)
        for dropped in itertools.combinations(clauses, size)
    }
    assert explanation['topology']['largest'] == largest[frozenset()]
    enough = {dropped for dropped, number in largest.items() if number >= case.count}
    minimal = {dropped for dropped in enough if not any(other < dropped for other in enough)} - {frozenset()}
    found = {frozenset(each['drop']): each['nodes'] for each in explanation['relaxations']}
    assert found == {dropped: largest[dropped] for dropped in minimal}
    policies, related, cells = case.without(frozenset())
    groups = explanation['topology']['groups']
    assert [each['nodes'] for each in groups] == sorted((each['nodes'] for each in groups), reverse=True)
    for each in groups:
        allowed = [each['groups'].get(policy.key) if policy.name == 'affinity' else None for policy in policies]
        members = [cell for cell in cells if all(value in (None, of) for value, of in zip(allowed, cell, strict=True))]
        assert each['nodes'] == topology.largest(policies, related, members)
        assert bool(each['relaxations']) <= (each['nodes'] < case.count)
        for relaxation in each['relaxations']:
            assert not any(clause.startswith('topology:') for clause in relaxation['drop'])


def check_capacity(client, case):
    """Compare the figures of the capacity."""
    policies, related, cells = case.without(frozenset())
    flavor = case.body(name='one', count=case.count)
    answer = client.ask('POST', '/v1/capacity', {'flavors': [flavor]})
    assert answer.status_int == 200, answer.text
    figures = answer.json['flavors'][0]
    assert figures['largest_block'] == topology.largest(policies, related, cells)
    assert figures['blocks'] == topology.count_blocks(policies, related, cells, case.count)


def test_answers_equal_those_of_all_sets(database_url):
    """Matches, reservations, explanations and capacity are exact, with and without the index."""
    empty(database_url)
    with make_app(database_url) as app, make_app(database_url) as other:
        client = Client(app)
        for name in TRAITS:
            client.placement('PUT', f'/traits/{name}')
        uuids = [available(client, name=f'node-{number}') for number in range(NODES)]
        with app.service.read() as connection:
            ids = sorted(connection.execute(sa.select(tables.nodes.c.id, tables.nodes.c.uuid)).all())
        assert [uuid for _, uuid in ids] == uuids

        @hypothesis.settings(
            max_examples=int(EXAMPLES or 25),
            derandomize=not EXAMPLES,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(st.lists(NODE, min_size=NODES, max_size=NODES), st.lists(REQUEST, min_size=3, max_size=3))
        def on_random_inventories(inventory, requests):
            write(app, ids, inventory)
            for request in requests:
                case = Case(inventory, request)
                if not case.is_undecided:
                    # This makes the index of the first service. The other one has none.
                    check_capacity(client, case)
                check(client, case, uuids)
                check(Client(other), case, uuids)

        on_random_inventories()
        assert other.service.node_index._nodes is None
