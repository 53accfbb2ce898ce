"""Capacity reservations whose nodes are all in one group, on each database."""

import pytest

from ironic_traits.inventory.holds import promised_nodes
from tests.support import plans, reservations
from tests.support.client import Client
from tests.support.promises import CAPACITY, add_trait, claim, figures, promise, take
from tests.support.providers import golden, patch
from tests.support.service import make_app

KEYS = ['properties/rack', 'owner', 'trait:CUSTOM_RACK_']


def together(key):
    """Return the part of a request for nodes that are all in one group of a key."""
    return {'topology': [{'key': key, 'policy': 'affinity'}]}


def in_rack(client, rack):
    """Create a free node in a rack, by each of KEYS, and return its uuid."""
    node = golden(client, properties={'rack': rack})
    owner = [{'op': 'add', 'path': '/owner', 'value': rack}]
    assert client.ask('PATCH', f'/v1/nodes/{node}', owner, version='1.82').status_int == 200
    add_trait(client, node, f'CUSTOM_RACK_{rack.upper()}')
    return node


def group_of(key, rack):
    return f'CUSTOM_RACK_{rack.upper()}' if key.startswith('trait:') else rack


@pytest.mark.parametrize('key', KEYS)
def test_the_nodes_of_one_group_are_kept(client, key):
    """The smallest group that is large enough. Others get the nodes of all other groups."""
    nodes = [in_rack(client, rack) for rack in 'bbbaac']
    created = promise(client, 'p', 2, **together(key))
    assert created.status_int == 201
    assert created.json['groups'] == {key: group_of(key, 'a')}
    assert created.json['request'] == {'resource_class': 'gold', **together(key)}
    assert client.get(f'{CAPACITY}/p')['groups'] == created.json['groups']
    assert figures(client, 'p') == (0, 2, 0, 2)
    assert take(client, 1, capacity_reservation='p').status_int == 201
    assert [take(client, number).status_int for number in range(2, 7)] == [201] * 4 + [409]
    assert figures(client, 'p') == (1, 1, 0, 1)
    assert take(client, 7, capacity_reservation='p').status_int == 201
    found = client.get(f'{reservations.PATH}?fields=instance_uuid,node_uuid')['reservations']
    mine = {each['node_uuid'] for each in found if each['instance_uuid'] in map(reservations.instance, (1, 7))}
    assert mine == set(nodes[3:5])


def test_many_nodes_of_other_groups_come_first(app, client):
    """A claim that names the capacity reservation reads only the nodes of its group."""
    plans.keep_noted_traits(app.service)
    for _ in range(40):
        in_rack(client, 'a')
    last = [in_rack(client, 'b') for _ in range(3)]
    assert promise(client, 'p', 3, **together('properties/rack')).json['groups'] == {'properties/rack': 'b'}
    with plans.statements() as executed:
        taken = take(client, 1, capacity_reservation='p')
    assert taken.json['reservation']['node_uuid'] in last
    # The first search would find 33 nodes of the other group.
    assert sum(statement.startswith('SELECT nodes.id, nodes.uuid \nFROM nodes') for statement, _ in executed) == 1


def test_others_need_the_nodes_of_a_group(client):
    """Then the next group is tried. A refusal has the figures of the group of which most nodes are left."""
    for rack in 'aabbb':
        in_rack(client, rack)
    assert promise(client, 'q', 1, required=['CUSTOM_RACK_A']).status_int == 201
    assert promise(client, 'p', 2, **together('properties/rack')).json['groups'] == {'properties/rack': 'b'}
    refused = promise(client, 'r', 2, **together('properties/rack'))
    assert refused.json['code'] == 'baremetal.capacity_reservation.insufficient'
    assert 'nodes that match, in the best group: 3. Other capacity reservations need 2 of them.' in refused.text
    assert (
        'nodes that match, in the best group: 3. Other' in promise(client, 'r', 4, **together('properties/rack')).text
    )
    assert (
        'nodes that match, in the best group: 0. Other' in promise(client, 'r', 1, **together('properties/none')).text
    )
    again = promise(client, 'p', 2, **together('properties/rack'))
    assert again.json['code'] == 'baremetal.record.duplicate'


def test_others_need_the_nodes_of_the_largest_group(client):
    for rack in 'aabbb':
        in_rack(client, rack)
    assert promise(client, 'q', 2, required=['CUSTOM_RACK_B']).status_int == 201
    assert promise(client, 'p', 2, **together('properties/rack')).json['groups'] == {'properties/rack': 'a'}


def test_several_others_need_the_nodes_of_a_group_together(client):
    """Each of them would leave enough. The next group is tried."""
    nodes = [in_rack(client, rack) for rack in 'aaabbbbc']
    for node, name in zip(nodes, 'XY', strict=False):
        add_trait(client, node, f'CUSTOM_{name}')
        assert promise(client, name, 1, required=[f'CUSTOM_{name}']).status_int == 201
    assert promise(client, 'p', 2, **together('properties/rack')).json['groups'] == {'properties/rack': 'b'}


@pytest.mark.parametrize('number', [3, 4])
def test_no_group_has_enough(client, number):
    """The figures are those of the group of which most nodes are left, and of the smallest one of those."""
    nodes = [in_rack(client, rack) for rack in 'aaabbbb']
    for place, node in enumerate([*nodes[:2], *nodes[3 : 3 + number]]):
        add_trait(client, node, f'CUSTOM_NEEDED_{place}')
        assert promise(client, f'q{place}', 1, required=[f'CUSTOM_NEEDED_{place}']).status_int == 201
    # In no group.
    for _ in range(2):
        golden(client)
    refused = promise(client, 'p', 2, **together('properties/rack'))
    assert 'nodes that match, in the best group: 3. Other capacity reservations need 2 of them.' in refused.text


def test_another_promise_cannot_be_kept(client):
    """It needs no more nodes of a group than match it."""
    nodes = [in_rack(client, rack) for rack in 'aaabbbb']
    lost = golden(client)
    for node in (*nodes[:2], lost):
        add_trait(client, node, 'CUSTOM_S')
    assert promise(client, 's', 3, required=['CUSTOM_S']).status_int == 201
    assert promise(client, 't', 4, required=['CUSTOM_RACK_B']).status_int == 201
    assert client.ask('PUT', f'/v1/nodes/{lost}/maintenance', {}).status_int == 202
    assert figures(client, 's') == (0, 3, 1, 2)
    assert promise(client, 'p', 1, **together('properties/rack')).json['groups'] == {'properties/rack': 'a'}
    assert [figures(client, name)[2] for name in 'stp'] == [1, 0, 0]


def test_the_only_group_is_too_small(client):
    for _ in range(2):
        in_rack(client, 'a')
    refused = promise(client, 'p', 3, **together('properties/rack'))
    assert 'in the best group: 2. Other capacity reservations need 0 of them.' in refused.text


def test_others_need_the_nodes_of_all_groups(client):
    """Each group has enough free nodes, but all of them together not enough that nobody else needs."""
    for rack in 'aabb':
        in_rack(client, rack)
    assert promise(client, 'q', 3).status_int == 201
    refused = promise(client, 'p', 2, **together('properties/rack'))
    assert 'nodes that match, in the best group: 2. Other capacity reservations need 1 of them.' in refused.text


def test_two_keys(client):
    """All nodes are in one group of each."""
    for rack, room in (('a', 'x'), ('a', 'y'), ('b', 'y'), ('b', 'y')):
        golden(client, properties={'rack': rack}, extra={'room': room})
    topology = together('properties/rack')['topology'] + together('extra/room')['topology']
    assert promise(client, 'p', 2, topology=topology).json['groups'] == {'properties/rack': 'b', 'extra/room': 'y'}


def test_a_node_changes_its_group(client):
    """The capacity reservation keeps its group, and is short of a node until it is back, or another one is there."""
    node, _ = in_rack(client, 'a'), in_rack(client, 'a')
    promise(client, 'p', 2, **together('properties/rack'))
    patch(client, node, {'op': 'replace', 'path': '/properties/rack', 'value': 'b'})
    assert figures(client, 'p') == (0, 2, 1, 1)
    assert claim(client, 1, node, 'another').status_int == 204
    new = in_rack(client, 'a')
    assert figures(client, 'p') == (0, 2, 0, 2)
    assert claim(client, 2, new, 'another').status_int == 409
    assert claim(client, 2, new, 'project-p').status_int == 204
    assert figures(client, 'p') == (1, 1, 0, 1)


def test_a_node_with_two_racks_is_in_none(client):
    add_trait(client, in_rack(client, 'a'), 'CUSTOM_RACK_B')
    in_rack(client, 'a')
    assert promise(client, 'p', 2, **together('trait:CUSTOM_RACK_')).status_int == 409
    assert promise(client, 'p', 1, **together('trait:CUSTOM_RACK_')).status_int == 201


@pytest.mark.parametrize('group', ['r1', '1', '1.5', 'ü"%_\\', 'x' * 300])
def test_names_of_groups(client, group):
    """A claim by name gets the nodes of its group, also if other names begin with it."""
    for rack in (f'{group}0', f'{group}0', group):
        golden(client, properties={'rack': rack})
    created = promise(client, 'p', 1, **together('properties/rack'))
    assert created.json['groups'] == {'properties/rack': group}
    body = {'instance_uuids': [reservations.instance(1)], **together('resource_class'), 'capacity_reservation': 'p'}
    [held] = client.ask('POST', reservations.PATH, body).json['reservations']
    assert client.get(f'/v1/nodes/{held["node_uuid"]}')['properties']['rack'] == group


@pytest.mark.parametrize('number', [1, -1, 1.0, 1e300, 1e-7])
@pytest.mark.parametrize('more', [{}, {'row': 1}], ids=['alone', 'and more'])
def test_a_number_as_a_group(client, number, more):
    golden(client, properties={'site': {'rack': number, **more}})
    created = promise(client, 'p', 1, **together('properties/site/rack'))
    assert created.json['groups'] == {'properties/site/rack': str(number)}
    assert take(client, 1, capacity_reservation='p').status_int == 201


@pytest.mark.parametrize('more', [{}, {'node_uuid': 'its node'}, together('resource_class')], ids=str)
def test_an_instance_with_a_node_of_the_group(client, more):
    """A claim by name keeps the node that its consumer has allocated in Placement."""
    _, node, *_ = [in_rack(client, rack) for rack in 'aabbb']
    assert promise(client, 'p', 2, **together('properties/rack')).status_int == 201
    assert claim(client, 1, node, 'project-p').status_int == 204
    body = {'instance_uuid': reservations.instance(1), 'capacity_reservation': 'p', **more}
    if 'node_uuid' in more:
        body['node_uuid'] = [node]
    elif 'topology' in more:
        body = {'instance_uuids': [body.pop('instance_uuid')], **body}
    response = client.ask('POST', reservations.PATH, body)
    assert response.status_int == 201, response.text
    [held] = response.json.get('reservations') or [response.json['reservation']]
    assert held['node_uuid'] == node
    assert figures(client, 'p') == (1, 1, 0, 1)


def test_a_node_leaves_the_group_before_it_is_locked(client, database_url, monkeypatch):
    """A claim by name takes another one."""
    first, second = (in_rack(client, 'a') for _ in range(2))
    assert promise(client, 'p', 2, **together('properties/rack')).status_int == 201
    read = promised_nodes.read

    def read_before_a_move(*arguments):
        found = read(*arguments)
        monkeypatch.undo()
        with make_app(database_url) as other:
            # The condition of the search holds for this, too. The check under the lock knows better.
            new = {'rack': 'b', 'was': {'rack': 'a'}}
            patch(Client(other), first, {'op': 'replace', 'path': '/properties', 'value': new})
        return found

    monkeypatch.setattr(promised_nodes, 'read', read_before_a_move)
    taken = take(client, 1, capacity_reservation='p')
    assert taken.json['reservation']['node_uuid'] == second


def test_a_node_matches_after_the_nodes_were_read(client, database_url, monkeypatch):
    """A claim of a group by name, which has read the nodes of the capacity reservation before, takes another one."""
    new, old = (in_rack(client, rack) for rack in 'ab')
    add_trait(client, old, 'CUSTOM_X')
    assert promise(client, 'p', 1, required=['CUSTOM_X']).status_int == 201
    read = promised_nodes.read

    def read_before_a_change(*arguments):
        found = read(*arguments)
        monkeypatch.undo()
        with make_app(database_url) as other:
            add_trait(Client(other), new, 'CUSTOM_X')
        return found

    monkeypatch.setattr(promised_nodes, 'read', read_before_a_change)
    body = {'instance_uuids': [reservations.instance(1)], 'capacity_reservation': 'p', **together('properties/rack')}
    response = client.ask('POST', reservations.PATH, body)
    assert response.status_int == 201, response.text
    assert response.json['reservations'][0]['node_uuid'] == old


def test_more_keys_than_the_index_keeps_groups(client):
    for number in range(20):
        golden(client, properties={'rack': 'a', f'rack{number}': 'a'})
    keys = ['rack', *(f'rack{number}' for number in range(20))]
    created = [promise(client, key, 1, **together(f'properties/{key}')).status_int for key in reversed(keys)]
    assert created == [201] * 20 + [409]
    shown = client.get(CAPACITY)['capacity_reservations']
    assert {each['short'] for each in shown} == {0}


@pytest.mark.parametrize(
    'policy',
    [
        {'policy': 'anti-affinity'},
        {'policy': 'soft-affinity'},
        {'policy': 'affinity', 'max_per_group': 2},
        {'policy': 'affinity', 'prefer': 'fullest'},
        {'max_per_group': 1},
    ],
    ids=str,
)
def test_other_policies(client, policy):
    refused = promise(client, 'p', 1, topology=[{'key': 'properties/rack', **policy}])
    assert refused.status_int == 400
    assert "may have a 'key' and the 'policy' 'affinity' only" in refused.text


def test_relative_to(client):
    refused = promise(client, 'p', 1, **together('properties/rack'), relative_to=[reservations.instance(1)])
    assert refused.status_int == 400
    assert "cannot have 'relative_to'" in refused.text
