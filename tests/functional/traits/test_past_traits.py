"""The traits of a node at a past time."""

import datetime
from urllib.parse import urlencode

import hypothesis
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.db import tables
from tests.support.client import message
from tests.support.history import entries

SETS = st.sets(st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX']))


def test_traits_at_every_past_time(app, client):
    """At the time of each history entry, the node has the traits that it had after that write."""

    @hypothesis.settings(max_examples=8, derandomize=True)
    @hypothesis.given(st.lists(SETS, min_size=1, max_size=6))
    def check(writes):
        node = client.node()
        states_at = {}

        def note(traits):
            *_, last = entries(client, node['uuid'])
            states_at[last['created_at']] = sorted(traits)

        note([])
        for traits in writes:
            client.ask('PUT', f'/v1/nodes/{node["uuid"]}/traits', {'traits': sorted(traits)})
            note(traits)
        for moment, traits in states_at.items():
            assert client.get(f'/v1/nodes/{node["uuid"]}/traits?{urlencode({"at": moment})}') == {'traits': traits}
        earliest = datetime.datetime.fromisoformat(min(states_at)) - datetime.timedelta(microseconds=1)
        response = client.ask('GET', f'/v1/nodes/{node["uuid"]}/traits?{urlencode({"at": earliest.isoformat()})}')
        assert (response.status_int, response.json['code']) == (410, 'baremetal.history.not_known')
        assert 'its history begins at' in message(response)

    check()


def test_traits_of_a_node_without_a_history(app, client):
    """A time before the first history entry is refused with 410, also if older entries were purged."""
    node = client.node()['uuid']
    with app.service.write() as connection:
        connection.execute(sa.delete(tables.node_history))
    response = client.ask('GET', f'/v1/nodes/{node}/traits?at=2026-01-01T00:00:00Z')
    assert (response.status_int, 'its history is empty' in message(response)) == (410, True)
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    moment = entries(client, node)[0]['created_at']
    assert client.get(f'/v1/nodes/{node}/traits?at={moment}') == {'traits': ['CUSTOM_A']}


def test_traits_of_a_deleted_node_with_the_same_uuid(client):
    """A new node does not get the past traits of a deleted node with its uuid."""
    node = client.node()['uuid']
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    moment = entries(client, node)[-1]['created_at']
    client.ask('DELETE', f'/v1/nodes/{node}')
    client.node(uuid=node)
    created = entries(client, node)[-1]['created_at']
    response = client.ask('GET', f'/v1/nodes/{node}/traits?at={moment}')
    assert (response.status_int, f'its history begins at {created[:19]}' in message(response)) == (410, True)
    assert client.get(f'/v1/nodes/{node}/traits?at={created}') == {'traits': []}
