"""Capacity, compared with a count node by node on random inventories, and with the possible reservations."""

import dataclasses
import functools
import time

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.matching.requests import understand
from tests.conftest import empty
from tests.functional.search.test_matches import NODE, TRAITS, allocate, fill, requests
from tests.support.client import Client, ask_as
from tests.support.reservations import available, available_of, expire, instance, reserve
from tests.support.service import make_app

#: The reasons why a node is not free, in order. The first one counts.
REASONS = ('provision state', 'maintenance', 'power state')
HOLDERS = {'instance', 'reserved', 'allocated'}
#: Nodes without a parent are as likely as those with one.
CHILDREN = st.lists(st.booleans(), min_size=8, max_size=8)


def part(node):
    """Return 'free', 'held', or why a node is not free."""
    if node.flaws & HOLDERS:
        return 'held'
    return next((reason for reason in REASONS if reason in node.flaws), 'free')


def figures(nodes):
    """Return the figures of nodes."""
    parts = [part(node) for node in nodes]
    unavailable = {reason: parts.count(reason) for reason in REASONS if reason in parts}
    return {
        'matching': len(parts),
        'free': parts.count('free'),
        'held': parts.count('held'),
        'unavailable': unavailable,
    }


def difference(after, before):
    """Return the difference between figures."""
    reasons = after['unavailable'].keys() | before['unavailable'].keys()
    changes = {each: after['unavailable'].get(each, 0) - before['unavailable'].get(each, 0) for each in reasons}
    return {name: after[name] - before[name] for name in ('matching', 'free', 'held')} | {
        'unavailable': {reason: number for reason, number in changes.items() if number}
    }


@st.composite
def flavors(draw):
    """Draw a flavor: its body, and a predicate that takes a node, whether it is a child, and its traits."""
    document, owner = draw(requests())
    children = draw(st.booleans())
    body = {name: value for name, value in document.items() if value is not None}
    body |= {'name': draw(st.sampled_from(['small', 'large']))}
    body |= ({'owner': owner} if owner else {}) | ({'include_children': True} if children else {})

    def matches(node, request, is_child):
        failed = node.failing(request, owner)
        return (children or not is_child) and not any(not clause.startswith('eligible:') for clause in failed)

    return body, document, matches


SUPPOSED = st.fixed_dictionaries(
    {
        'without': st.sets(st.integers(0, 7), max_size=2),
        'with': st.lists(
            st.tuples(
                st.sampled_from([*range(8), {'traits': TRAITS[:1]}, {'not-traits-any': TRAITS[1:3]}, {}]),
                st.sets(st.sampled_from(TRAITS), min_size=1, max_size=2),
                st.booleans(),
            ),
            max_size=2,
        ),
    }
)


def selected(inventory, children, choice):
    """Return the numbers of the nodes that a change in a what-if selects."""
    if isinstance(choice, int):
        return [choice] if choice < len(inventory) else []
    required, forbidden = (set(choice.get(name, ())) for name in ('traits', 'not-traits-any'))
    return [
        number
        for number, node in enumerate(inventory)
        if required <= node.traits and not forbidden & node.traits and not children[number]
    ]


def suppose(inventory, children, supposed):
    """Return the inventory of a what-if, {number: Node}, and the request for it."""
    after = dict(enumerate(dataclasses.replace(node) for node in inventory))
    changes = []
    for choice, traits, is_added in supposed['with']:
        if choice in range(len(inventory), 8):
            continue
        for number in selected(inventory, children, choice):
            traits_before = after[number].traits
            after[number].traits = traits_before | traits if is_added else traits_before - traits
        chosen = {'node': inventory[choice].uuid} if isinstance(choice, int) else {'where': choice}
        changes.append(chosen | {'add' if is_added else 'remove': sorted(traits)})
    without = [number for number in supposed['without'] if number < len(inventory)]
    body = {'without': [inventory[number].uuid for number in without], 'with': changes}
    return {number: node for number, node in after.items() if number not in without}, body


def check(client, inventory, children, drawn, supposed):
    """Request the capacity for flavors, now and in a what-if, with its breakdown, and compare it with counts."""
    after, body = suppose(inventory, children, supposed)
    body |= {'flavors': [flavor for flavor, _, _ in drawn], 'by': ['resource_class', 'owner', 'trait:CUSTOM_A']}
    response = client.ask('POST', '/v1/capacity', body)
    assert response.status_int == 200, response.text
    for shown, (flavor, document, matches) in zip(response.json['flavors'], drawn, strict=True):
        request = understand(**document)
        found = [node for number, node in enumerate(inventory) if matches(node, request, children[number])]
        found_after = [node for number, node in after.items() if matches(node, request, children[number])]
        expected = {'name': flavor['name'], **figures(found)}
        if body['without'] or body['with']:
            expected['difference'] = difference(figures(found_after), figures(found))
        parts = shown.pop('by')
        assert shown == expected
        for by, value in (
            ('resource_class', lambda node: node.resource_class),
            ('owner', lambda node: node.owner),
            ('trait:CUSTOM_A', lambda node: 'CUSTOM_A' if 'CUSTOM_A' in node.traits else None),
        ):
            values = {value(node) for node in (*found, *found_after)}
            assert [each['value'] for each in parts[by]] == sorted(values, key=lambda name: (name is not None, name))
            for each in parts[by]:
                now = figures([node for node in found if value(node) == each['value']])
                then = figures([node for node in found_after if value(node) == each['value']])
                more = {'difference': difference(then, now)} if 'difference' in expected else {}
                assert each == {'value': each['value'], **now, **more}


def change(client, inventory, choose):
    """Change a node, so that the index has to follow."""
    node = choose.choice(inventory)
    number = inventory.index(node)
    node.traits = frozenset(choose.sample(TRAITS, 2))
    assert client.ask('PUT', f'/v1/nodes/{node.uuid}/traits', {'traits': sorted(node.traits)}).status_int == 200
    if not node.flaws:
        if choose.random() < 0.5:
            assert client.ask('PUT', f'/v1/nodes/{node.uuid}/maintenance', {}).status_int == 202
            node.flaws = frozenset({'maintenance'})
        else:
            assert reserve(client, 50 + number, node.uuid).status_int == 201
            node.flaws = frozenset({'reserved'})


def make_children(app, uuids):
    """Let nodes be children of another one."""
    with app.service.write() as connection:
        of_these = tables.nodes.c.uuid.in_(uuids)
        connection.execute(sa.update(tables.nodes).where(of_these).values(parent_node=instance(0)))


def take_all(client, flavor):
    """Reserve nodes for a flavor one by one until none is left, and return their number."""
    body = {name: value for name, value in flavor.items() if name != 'name'}
    for number in range(20):
        # A request needs at least one requirement.
        response = client.ask(
            'POST', '/v1/reservations', {'required': [], **body, 'instance_uuid': instance(200 + number)}
        )
        if response.status_int == 409:
            return number
        assert response.status_int == 201, response.text
    raise AssertionError('There are more nodes than in the inventory.')


def test_capacity_equals_a_count_node_by_node(database_url):
    """The figures, their breakdown and what-ifs equal counts, also after writes, and reservations agree with them."""
    with make_app(database_url) as app:
        client = Client(app)

        @hypothesis.settings(max_examples=5, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(
            st.lists(NODE, min_size=1, max_size=8),
            CHILDREN,
            st.lists(flavors(), min_size=5, max_size=5),
            st.lists(SUPPOSED, min_size=3, max_size=3),
            st.randoms(use_true_random=False),
        )
        def on_random_inventories(inventory, children, drawn, supposed, choose):
            empty(database_url)
            inventory = [dataclasses.replace(node) for node in inventory]
            fill(app, inventory)
            make_children(app, [node.uuid for node, is_child in zip(inventory, children, strict=False) if is_child])
            check(client, inventory, children, drawn, supposed[0])
            for each in supposed[1:]:
                change(client, inventory, choose)
                check(client, inventory, children, drawn, each)
            for flavor, _, _ in drawn[:2]:
                before = count(client, flavor)
                assert take_all(client, flavor) == before['free']
                after = count(client, flavor)
                assert (after['free'], after['held']) == (0, before['held'] + before['free'])
                empty_reservations(client)

        on_random_inventories()


def count(client, flavor, **more):
    """Return the figures of one flavor."""
    response = client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'one', **flavor}], **more})
    assert response.status_int == 200, response.text
    return response.json['flavors'][0]


def empty_reservations(client):
    """Delete the reservations of ``take_all``."""
    for each in client.get('/v1/reservations')['reservations']:
        if each['instance_uuid'] >= instance(200):
            assert client.ask('DELETE', f'/v1/reservations/{each["uuid"]}').status_int == 204


def test_an_expired_reservation_holds_nothing(app, client):
    """The figures are right after an expiry, although it writes nothing."""
    uuid = available(client)
    assert reserve(client, 1, uuid, expires_in=3600).status_int == 201
    assert count(client, {'required': []}) == {'name': 'one', 'matching': 1, 'free': 0, 'held': 1, 'unavailable': {}}
    expire(app)
    assert count(client, {'required': []})['free'] == 1


def test_filters_and_figures_are_of_one_moment(database_url):
    """Filters and figures agree if reservations begin and expire between their evaluations."""
    with make_app(database_url) as app, make_app(database_url) as other:
        empty(database_url)
        uuids = [available(Client(app)) for _ in range(3)]
        context = Context(app.service, BARE_METAL, 80, '')
        assert reserve(Client(app), 1, uuids[0], expires_in=2).status_int == 201
        with app.service.node_index.now(context) as view:
            nodes = Nodes(context, Grant(()), view)
            assert nodes.figures(nodes.all).held == 1
            assert reserve(Client(other), 2, uuids[1]).status_int == 201
            time.sleep(2.1)
            for filters in ({'reserved': True}, {'eligible': False}, {'held': True}):
                found = nodes.figures(nodes.considered(filters))
                assert (found.matching, found.free, found.held) == (1, 0, 1), filters
            for filters in (
                {'reserved': False},
                {'eligible': True},
                {'reserved': False, 'maintenance': False},
                {'held': False},
            ):
                found = nodes.figures(nodes.considered(filters))
                assert (found.matching, found.free, found.held) == (2, 2, 0), filters


def test_a_member_counts_only_nodes_that_they_may_see(database_url):
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        ask = functools.partial(ask_as, Client(app))

        uuids = {}
        for owner in ('alpha', 'beta', 'gamma'):
            uuids[owner] = ask('system', 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, '1.10').json['uuid']
            patch = [{'op': 'add', 'path': '/owner', 'value': owner}]
            patch += [{'op': 'add', 'path': '/lessee', 'value': 'alpha'}] if owner == 'beta' else []
            assert ask('system', 'PATCH', f'/v1/nodes/{uuids[owner]}', patch).status_int == 200
        body = {'flavors': [{'name': 'any', 'required': []}], 'by': ['owner']}
        assert ask('system', 'POST', '/v1/capacity', body).json['flavors'][0]['matching'] == 3
        shown = ask('project', 'POST', '/v1/capacity', body).json['flavors'][0]
        assert (shown['matching'], [each['value'] for each in shown['by']['owner']]) == (2, ['alpha', 'beta'])
        # A node that the caller may not see counts as missing.
        hidden = ask('project', 'POST', '/v1/capacity', body | {'without': [uuids['gamma']]})
        assert (hidden.status_int, hidden.json['code']) == (404, 'baremetal.node.not_found')
        everything = body | {'with': [{'where': {}, 'add': ['CUSTOM_A']}], 'by': ['trait:CUSTOM_']}
        shown = ask('project', 'POST', '/v1/capacity', everything).json['flavors'][0]
        assert [each['value'] for each in shown['by']['trait:CUSTOM_']] == [None, 'CUSTOM_A']


@pytest.mark.parametrize(
    ('body', 'message'),
    [
        ({}, "needs either 'flavors'"),
        ({'flavors': []}, "needs either 'flavors'"),
        ({'flavors': [None]}, 'without null'),
        ({'flavors': [{'required': []}]}, "'flavors', number 0 needs a 'name'."),
        ({'flavors': [{'name': 'a', 'traits': []}]}, "'flavors', number 0 has unknown keys: traits"),
        ({'flavors': [{'name': 'a', 'extra_specs': {'trait:x': 'required'}}]}, 'extra_specs'),
        ({'flavors': [{'name': 'a', 'extra_specs': {}, 'flavor': {}}]}, 'cannot be combined'),
        ({'flavors': [{'name': 'a'}] * 1001}, 'At most 1000'),
        ({'flavors': [{'name': 'a'}], 'by': ['rack']}, "not 'rack'"),
        ({'flavors': [{'name': 'a'}], 'with': [{'add': ['CUSTOM_A']}]}, "either 'node'"),
        ({'flavors': [{'name': 'a'}], 'with': [{'where': {}}]}, "'add' or to 'remove'"),
        ({'flavors': [{'name': 'a'}], 'with': [{'where': {'x': 1}, 'add': ['CUSTOM_A']}]}, 'unknown filters'),
        ({'flavors': [{'name': 'a'}], 'with': [{'where': {}, 'add': ['gold']}]}, 'gold'),
        ({'flavors': [{'name': 'a'}], 'with': [5]}, ''),
        ({'flavors': 'all'}, ''),
    ],
)
def test_bad_input(client, body, message):
    response = client.ask('POST', '/v1/capacity', body)
    assert response.status_int == 400, response.text
    assert message in response.text.replace('\\"', '"')


def test_what_ifs_that_a_real_edit_would_be_refused_for(database_url):
    """The failure is that of the edit. Vetoes, which an edit lifts, are reported."""
    with make_app(database_url) as app:
        empty(database_url)
        client = Client(app)
        full, other = available(client, name='full'), available(client, name='other')
        many = [f'CUSTOM_T{number}' for number in range(49)]
        assert client.ask('PUT', f'/v1/nodes/{full}/traits', {'traits': many}).status_int == 200
        body = {'flavors': [{'name': 'one', 'required': ['CUSTOM_NEW']}]}

        def suppose(*changes):
            return client.ask('POST', '/v1/capacity', body | {'with': [{'where': {}, **each} for each in changes]})

        def edit(change):
            preview = client.ask('POST', '/v1/traits/edits', {'where': {}, 'preview': True, **change})
            digest = {'digest': preview.json['digest']} if preview.status_int == 200 else {'preview': True}
            return client.ask('POST', '/v1/traits/edits', {'where': {}, **change, **digest})

        for change in (
            {'add': ['CUSTOM_A', 'CUSTOM_NEW']},
            {'add': ['CUSTOM_A', 'CUSTOM_NEW', 'CUSTOM_B'], 'remove': ['CUSTOM_T0']},
            {'remove': ['gold']},
        ):
            supposed, real = suppose(change), edit(change)
            assert (supposed.status_int, supposed.json) == (real.status_int, real.json), change
            assert real.status_int == 400
        # As two edits, one after the other.
        assert suppose({'add': ['CUSTOM_A']}, {'add': ['CUSTOM_NEW']}).json['nodes'][0]['traits'] == 51
        fitting = suppose({'add': ['CUSTOM_A']}, {'add': ['CUSTOM_NEW'], 'remove': ['CUSTOM_A']})
        assert fitting.json['flavors'][0]['difference']['matching'] == 2
        without = client.ask(
            'POST',
            '/v1/capacity',
            body | {'without': [full], 'with': [{'where': {}, 'add': ['CUSTOM_A', 'CUSTOM_NEW']}]},
        )
        assert without.json['flavors'][0]['difference']['matching'] == 1
        # The removal from a source leaves a veto.
        path = f'/v1/nodes/{other}/traits/CUSTOM_NEW'
        assert client.ask('PUT', f'{path}?source=probe').status_int == 204
        assert client.ask('DELETE', path).status_int == 204
        supposed = suppose({'add': ['CUSTOM_NEW']})
        assert supposed.json['flavors'][0]['difference']['matching'] == 2
        assert "'with', number 0: CUSTOM_NEW is vetoed on 1 node." in ' '.join(supposed.json['warnings'])


def test_held_in_all_ways(client):
    """A reservation, an instance and an allocation count equally, and a node with two of them counts once."""
    uuids = [available_of(client, 'gold') for _ in range(4)]
    reserve(client, 0, uuids[0])
    client.ask('PATCH', f'/v1/nodes/{uuids[1]}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    allocate(client, instance(2), uuids[2], 'CUSTOM_GOLD')
    allocate(client, instance(1), uuids[1], 'CUSTOM_GOLD')
    gold = {'extra_specs': {'resources:CUSTOM_GOLD': '1'}}
    assert count(client, gold) == {'name': 'one', 'matching': 4, 'free': 1, 'held': 3, 'unavailable': {}}
