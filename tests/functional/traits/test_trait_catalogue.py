"""The catalogue of traits compared with a count node by node, on random nodes and each database."""

import urllib.parse
from collections import Counter

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.db import tables
from ironic_traits.db.names import ensure
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import now
from tests.conftest import empty
from tests.support import personas
from tests.support.client import Client
from tests.support.concurrency import at_once
from tests.support.rows import insert_node
from tests.support.service import make_app

CUSTOM = ['CUSTOM_A', 'CUSTOM_AB', 'CUSTOM_A_B', 'CUSTOM_C']
TRAITS = [*CUSTOM, 'STORAGE_DISK_HDD', 'STORAGE_DISK_SSD']
#: {index of the writer: its source}. Writers of one source are different users.
WRITERS = {1: 'operator', 2: 'operator', 3: 'rule:cpu', 4: 'rack'}
SOURCES = st.lists(
    st.sampled_from([None, *WRITERS]), min_size=1, max_size=3, unique_by=lambda writer: WRITERS.get(writer, 'operator')
)
NODE = st.fixed_dictionaries(
    {
        'owner': st.sampled_from(['alpha', 'beta', None]),
        'lessee': st.sampled_from(['alpha', None]),
        'traits': st.dictionaries(st.sampled_from(TRAITS), SOURCES, max_size=4),
        'foreign': st.sets(st.sampled_from(TRAITS), max_size=2),
    }
)
NOTE = st.fixed_dictionaries(
    {
        'description': st.sampled_from([None, 'Text 😀']),
        'retired': st.booleans(),
        'replaced_by': st.sampled_from([None, 'CUSTOM_C']),
        'exclusive': st.booleans(),
    }
)
FILTER = st.fixed_dictionaries(
    {'all': st.booleans()},
    optional={name: st.booleans() for name in ('custom', 'retired', 'exclusive', 'in_use')}
    | {'name': st.sampled_from([f'in:{",".join(TRAITS[1:])}', 'startswith:CUSTOM_A_'])},
)
STANDARD_TEXTS = {'STORAGE_DISK_HDD': 'spinning oxide', 'STORAGE_DISK_SSD': 'solid-state disks'}
CALLERS = {'system_reader': None, 'owner_reader': 'alpha', 'stranger_reader': 'gamma'}


def fill(app, nodes, notes):
    """Insert nodes, their providers with foreign traits, a provider without a node, and notes."""
    ids = [insert_node(app.service, f'n{i}', owner=n['owner'], lessee=n['lessee']) for i, n in enumerate(nodes)]
    with app.service.write() as connection:
        ensure(connection, tables.traits, TRAITS)
        trait_ids = dict(connection.execute(sa.select(tables.traits.c.name, tables.traits.c.id)).all())
        writers = [
            {'source': source, 'user_id': f'user {number}', 'project_id': ''} for number, source in WRITERS.items()
        ]
        insert_missing(connection, tables.trait_writers, writers)
        users = sa.select(tables.trait_writers.c.user_id, tables.trait_writers.c.id)
        user_ids = dict(connection.execute(users).all())
        writer_ids = {number: user_ids[f'user {number}'] for number in WRITERS}

        def insert(table, **values):
            return connection.execute(sa.insert(table).values(values)).inserted_primary_key[0]

        def insert_provider(number, node_id, foreign):
            uuid = f'eeeeeeee-0000-4000-8000-{number:012}'
            values = {'uuid': uuid, 'root_provider_uuid': uuid, 'name': uuid, 'node_id': node_id, 'created_at': now()}
            provider_id = insert(tables.resource_providers, **values)
            for name in foreign:
                insert(tables.resource_provider_traits, resource_provider_id=provider_id, trait_id=trait_ids[name])

        for node_id, node in zip(ids, nodes, strict=True):
            for name, (first, *further) in node['traits'].items():
                insert(tables.node_traits, node_id=node_id, trait=name, writer_id=writer_ids.get(first))
                for writer in further:
                    holds = {'source': WRITERS.get(writer, 'operator'), 'writer_id': writer_ids.get(writer)}
                    insert(tables.node_trait_sources, node_id=node_id, trait=name, **holds)
            insert_provider(node_id, node_id, node['foreign'])
        insert_provider(0, None, ['CUSTOM_C'])
        for name, note in notes.items():
            insert(tables.trait_notes, trait=name, **note, updated_at=now())


def counted(nodes, notes, project):
    """Return the traits as a project sees them, {name: document without the description}."""
    seen = [node for node in nodes if project in (None, node['owner'], node['lessee'])]
    catalogue = {}
    for name in TRAITS:
        sources = Counter()
        for node in seen:
            sources.update(WRITERS.get(writer, 'operator') for writer in node['traits'].get(name, ()))
            sources.update(['placement'] if name in node['foreign'] else [])
        note = notes.get(name, {'retired': False, 'replaced_by': None, 'exclusive': False})
        catalogue[name] = {
            'name': name,
            'custom': name in CUSTOM,
            'nodes': sum(name in node['traits'] for node in seen),
            'sources': dict(sources),
            'retired': note['retired'],
            'replaced_by': note['replaced_by'],
            'exclusive': note['exclusive'],
        }
    return catalogue


def is_listed(trait, notes, query):
    """Whether a list with a query has a trait."""
    flags = {name: trait[name] for name in ('custom', 'retired', 'exclusive')} | {'in_use': bool(trait['sources'])}
    if any(flags[name] != value for name, value in query.items() if name in flags):
        return False
    operator, _, value = query.get('name', 'startswith:').partition(':')
    if not (trait['name'] in value.split(',') if operator == 'in' else trait['name'].startswith(value)):
        return False
    return query['all'] or 'in_use' in query or flags['in_use'] or trait['name'] in notes


@hypothesis.given(
    nodes=st.lists(NODE, max_size=4),
    notes=st.dictionaries(st.sampled_from(TRAITS), NOTE, max_size=3),
    query=FILTER,
    persona=st.sampled_from(list(CALLERS)),
    limit=st.integers(1, 4),
)
@hypothesis.settings(max_examples=60, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
def test_numbers_and_filters(shared_database_url, nodes, notes, query, persona, limit):
    empty(shared_database_url)
    with make_app(shared_database_url, api__auth_strategy='noauth2') as app:
        fill(app, nodes, notes)
        headers = personas.headers(persona)
        expected = counted(nodes, notes, CALLERS[persona])
        arguments = urllib.parse.urlencode(query)
        documents = pages(app, f'/v1/traits?{arguments}', headers, 1000)
        assert documents == pages(app, f'/v1/traits?{arguments}', headers, limit if 'name' in query else 200)
        listed = {each['name']: dict(each) for each in documents if each['name'] in expected}
        assert len(listed) == sum(each['name'] in expected for each in documents)
        for name, each in listed.items():
            text = notes.get(name, {}).get('description')
            assert each.pop('description') == (text or STANDARD_TEXTS.get(name))
        assert listed == {name: trait for name, trait in expected.items() if is_listed(trait, notes, query)}
        for name, trait in expected.items():
            one = Client(app).get(f'/v1/traits/{name}', headers=headers)
            assert {key: value for key, value in one.items() if key != 'description'} == trait


def pages(app, path, headers, limit):
    """Return the items of all pages of a list."""
    client, items, page = Client(app), [], {'next': f'{path}&limit={limit}'}
    while 'next' in page:
        page = client.get(page['next'].removeprefix('http://localhost'), headers=headers)
        assert 'next' not in page or len(page['traits']) == limit
        items += page['traits']
    return items


def test_requests_that_describe_the_same_trait_take_turns(clients):
    bodies = [{'retired': True, 'replaced_by': 'CUSTOM_B'}, {'description': 'x'}, {'description': None}]
    for name in ('CUSTOM_NEW', 'CUSTOM_NEWER'):

        def describe(client, number, name=name):
            return client.ask('PUT', f'/v1/traits/{name}', bodies[number % 3]).status_int

        assert set(at_once(clients, describe)) == {200}
        trait = clients[0].get(f'/v1/traits/{name}')
        assert (trait['retired'], trait['replaced_by']) == (True, 'CUSTOM_B')


def test_a_trait_may_be_deleted_while_it_is_described(clients):
    def describe_or_delete(client, number):
        if number % 2:
            return client.placement('DELETE', '/traits/CUSTOM_NEW').status_int
        return client.ask('PUT', '/v1/traits/CUSTOM_NEW', {'description': 'x'}).status_int

    for _ in range(5):
        assert set(at_once(clients, describe_or_delete)) <= {200, 204, 404}


@pytest.mark.parametrize('returns', ['traits', 'nothing'])
def test_warnings_are_at_most_ten_and_a_number(database_url, returns):
    names = [f'CUSTOM_{number:02}' for number in range(12)]
    with make_app(database_url, api__put_traits_returns=returns) as app:
        client = Client(app)
        client.node(name='one')
        for name in names:
            client.ask('PUT', f'/v1/traits/{name}', {'retired': True})
        response = client.ask('PUT', '/v1/nodes/one/traits', {'traits': names})
        warnings = response.headers['Warning'].split(', ')
        assert warnings[0] == '299 - "The trait CUSTOM_00 is retired."'
        assert warnings[10:] == ['299 - "2 more of the traits are retired."']
