"""How the traits of nodes are stored: each write leaves the rows of other nodes and traits alone."""

import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements import joined
from ironic_traits.inventory.traits import trait_store
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching.sources import Edit, Traits
from tests.support.providers import golden, moves, provider, put_traits
from tests.support.trait_edits import edit

AVX, VMX = 'HW_CPU_X86_AVX', 'HW_CPU_X86_VMX'


def _write(client, node, source, *names):
    """Replace the traits that a source holds."""
    response = client.ask('PUT', f'/v1/nodes/{node}/traits?source={source}', {'traits': list(names)})
    assert response.status_int == 200, response.text
    return response.json


def _stored(client, node):
    """Return {trait: [source, …]}, and the vetoed traits."""
    details = client.get(f'/v1/nodes/{node}/traits?detail=true')
    holders = {each['trait']: [hold['source'] for hold in each['sources']] for each in details['traits']}
    return holders, [veto['trait'] for veto in details['vetoes']]


def test_foreign_traits(client):
    """A trait that becomes the node's own was foreign only if the node's provider had it."""
    others = [golden(client)]
    plain, with_sources, with_veto = (golden(client) for _ in range(3))
    others.append(golden(client))
    for source in ('a', 'b'):
        _write(client, with_sources, source, 'CUSTOM_A')
    _write(client, with_veto, 'a', 'CUSTOM_A')
    client.ask('DELETE', f'/v1/nodes/{with_veto}/traits/CUSTOM_A')
    for other in others:
        put_traits(client, other, ['COMPUTE_NODE', AVX])
    for node in (plain, with_sources, with_veto):
        put_traits(client, node, ['COMPUTE_NODE', VMX])
        before = provider(client, node)[1]['traits']['traits']
        with moves(client, node, 0):
            client.ask('PUT', f'/v1/nodes/{node}/traits/{VMX}')
        with moves(client, node, 1, traits=sorted([*before, AVX])):
            client.ask('PUT', f'/v1/nodes/{node}/traits/{AVX}')
        with moves(client, node, 1, traits=sorted({*before, AVX} - {VMX})):
            client.ask('DELETE', f'/v1/nodes/{node}/traits/{VMX}')
        _write(client, node, 'a', 'CUSTOM_B')
    for other in others:
        assert provider(client, other)[1]['traits']['traits'] == ['COMPUTE_NODE', AVX]
    assert _stored(client, with_sources)[0]['CUSTOM_A'] == ['b']
    assert _stored(client, with_veto)[1] == ['CUSTOM_A']


def test_only_the_rows_of_a_node_change(client):
    """Also of the traits that it has in common with others: the rows that are added, promoted, vetoed and removed."""
    one, other = golden(client), golden(client)
    for node in (one, other):
        for source in ('c', 'b', 'a'):
            _write(client, node, source, 'CUSTOM_A', 'CUSTOM_B')
    before = {'CUSTOM_A': ['c', 'b', 'a'], 'CUSTOM_B': ['c', 'b', 'a']}, []
    assert _stored(client, one) == _stored(client, other) == before
    _write(client, one, 'c', 'CUSTOM_B')
    assert _stored(client, one) == ({'CUSTOM_A': ['b', 'a'], 'CUSTOM_B': ['c', 'b', 'a']}, [])
    _write(client, one, 'a', 'CUSTOM_C')
    assert _stored(client, one) == ({'CUSTOM_A': ['b'], 'CUSTOM_B': ['c', 'b'], 'CUSTOM_C': ['a']}, [])
    client.ask('DELETE', f'/v1/nodes/{one}/traits/CUSTOM_B')
    assert _stored(client, one) == ({'CUSTOM_A': ['b'], 'CUSTOM_C': ['a']}, ['CUSTOM_B'])
    assert _stored(client, other) == before
    client.ask('DELETE', f'/v1/nodes/{other}/traits/CUSTOM_B')
    client.ask('DELETE', f'/v1/nodes/{one}/traits/CUSTOM_B/veto')
    assert (_stored(client, one)[1], _stored(client, other)[1]) == ([], ['CUSTOM_B'])


def test_edits_of_some_nodes(app, client):
    """They change the traits of these nodes only, also if others have the same traits, vetoes and foreign traits."""
    nodes = [golden(client) for _ in range(4)]
    for node in nodes:
        for source in ('b', 'a'):
            _write(client, node, source, 'CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D')
        client.ask('DELETE', f'/v1/nodes/{node}/traits/CUSTOM_D')
        put_traits(client, node, ['COMPUTE_NODE'])
    kept = dict.fromkeys(('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'), ['b', 'a']) | {'COMPUTE_NODE': ['placement']}
    assert [_stored(client, node) for node in nodes] == [(kept, ['CUSTOM_D'])] * 4
    result = edit(client, add=['CUSTOM_D', 'CUSTOM_E'], remove=['CUSTOM_A', 'CUSTOM_B'], nodes=nodes[1:3])
    assert (result['matched'], result['changed']) == (2, 2)
    new = dict.fromkeys(('CUSTOM_D', 'CUSTOM_E'), ['operator'])
    changed = {'CUSTOM_C': ['b', 'a'], 'COMPUTE_NODE': ['placement'], **new}
    stored = (kept, ['CUSTOM_D']), (changed, ['CUSTOM_A', 'CUSTOM_B'])
    assert [_stored(client, node) for node in nodes] == [stored[each] for each in (0, 1, 1, 0)]
    details = client.get(f'/v1/nodes/{nodes[1]}/traits?detail=true')['traits']
    assert all(hold['since'] for each in details if each['trait'] in new for hold in each['sources'])
    # The later source stays, with the earlier place.
    edit(client, remove=['CUSTOM_C'], source='b', nodes=nodes[1:3])
    changed['CUSTOM_C'] = ['a']
    edit(client, add=['CUSTOM_E'], source='c', nodes=nodes[2:])
    assert _stored(client, nodes[1]) == stored[1]
    assert _stored(client, nodes[2]) == ({**changed, 'CUSTOM_E': ['operator', 'c']}, stored[1][1])
    assert _stored(client, nodes[3]) == ({**kept, 'CUSTOM_E': ['c']}, ['CUSTOM_D'])
    _check_times(app, [client.node()['uuid'] for _ in range(2)])


def _check_times(app, nodes):
    """Raise AssertionError unless statements that compare times find the holds of nodes since a whole second."""
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).replace(tzinfo=None)
    after = Traits({'CUSTOM_A': {'operator': Hold(None, moment)}})
    with app.service.write() as connection:
        ids = connection.scalars(sa.select(tables.nodes.c.id).where(tables.nodes.c.uuid.in_(nodes))).all()
        joined.execute(connection, trait_store.writes((node_id, Edit(Traits({}), after)) for node_id in ids))
        found = sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.since == moment)
        assert set(connection.scalars(found)) == set(ids)


@pytest.mark.parametrize('known', [['CUSTOM_A'], []])
def test_traits_that_are_not_in_their_table(app, client, known):
    """Nothing is written unless each node gets each trait."""
    for name in ('one', 'two'):
        client.node(name=name)
        client.ask('PUT', f'/v1/nodes/{name}/traits', {'traits': ['CUSTOM_A']})
        client.ask('DELETE', f'/v1/nodes/{name}/traits')
    with app.service.read() as connection:
        ids = connection.scalars(sa.select(tables.nodes.c.id)).all()
    names = [*known, 'CUSTOM_NOWHERE']
    after = Traits({name: {'operator': Hold(None, None)} for name in names})
    writes = trait_store.writes((node_id, Edit(Traits({}), after)) for node_id in ids)
    with pytest.raises(joined.MissingRows), app.service.write() as connection:
        joined.execute(connection, writes)
    assert [client.get(f'/v1/nodes/{name}/traits')['traits'] for name in ('one', 'two')] == [[], []]
