"""Edits of the traits of many nodes: the maximum number of traits, and how many nodes an answer names."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support import trait_edits
from tests.support.client import Client, message
from tests.support.service import make_app
from tests.support.trait_edits import ask, edit, preview, state


def test_the_limit_refuses_the_whole(database_url):
    with make_app(database_url, inventory__max_traits_per_node=3) as app:
        client = Client(app)
        for name, traits in (('one', 'ABC'), ('two', 'A'), ('three', 'ABC')):
            client.node(name=name)
            client.ask('PUT', f'/v1/nodes/{name}/traits', {'traits': [f'CUSTOM_{trait}' for trait in traits]})
        before = state(client)
        body = {'add': ['CUSTOM_D'], 'where': {}}
        shown = preview(client, **body)
        exceeding = [{'uuid': before[name]['uuid'], 'name': name, 'traits': 4} for name in ('one', 'three')]
        assert (shown['exceeding'], shown['exceeding_nodes']) == (2, exceeding)
        response = ask(client, **body, digest=shown['digest'])
        assert (response.status_int, response.json['code']) == (400, 'baremetal.trait.too_many')
        assert 'traits per node (3) on 2 nodes: one, three.' in message(response)
        assert response.json['nodes'] == exceeding
        assert state(client) == before
        # A node may have more traits than the limit, unless the edit adds another one.
        assert edit(client, add=['CUSTOM_D'], remove=['CUSTOM_A'], where={})['changed'] == 3
        # The first page begins with the node of the lowest id.
        shown = preview(client, remove=['CUSTOM_C'], where={})
        assert [node['name'] for node in shown['nodes']] == ['one', 'three']


def test_a_preview_names_some_nodes_and_counts_all(database_url):
    """The lists of locked nodes, and of nodes with too many traits, are as long as a page at most."""
    with make_app(database_url, inventory__max_traits_per_node=0, api__max_limit=2) as app:
        names = ('one', 'two', 'three')
        for name in names:
            Client(app).node(name=name)
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(reservation='host'))
        shown = preview(Client(app), add=['CUSTOM_A'], nodes=[*names])
        assert (shown['exceeding'], shown['locked']) == (3, 3)
        for nodes in shown['exceeding_nodes'], shown['locked_nodes']:
            assert [node['name'] for node in nodes] == ['one', 'two']


@pytest.mark.parametrize(
    ('count', 'ends'), [(10, 'node-000009. Nothing changed.'), (11, 'node-000009, …. Nothing changed.')]
)
def test_a_refusal_names_ten_nodes(database_url, count, ends):
    with make_app(database_url, inventory__max_traits_per_node=3) as app:
        trait_edits.insert_nodes(app.service, count)
        body = {'add': ['CUSTOM_D'], 'where': {}}
        refused = ask(Client(app), **body, digest=preview(Client(app), **body)['digest'])
        assert message(refused).endswith(ends)
