"""Edits of the traits of many nodes, on each database."""

import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support import trait_edits
from tests.support.client import Client, message
from tests.support.personas import NODE, RESERVED, headers
from tests.support.providers import golden, moves, provider, put_traits
from tests.support.rows import set_exclusive
from tests.support.service import make_app
from tests.support.trait_edits import PATH, ask, edit, preview, state

CHECKOUT = pathlib.Path(__file__).parents[3]
MANY = 2000


def _entries(app):
    """Return the history entries of traits, the oldest first: [(node, source, added, removed), …]."""
    columns = tables.node_history.c
    statement = (
        sa.select(columns.node_uuid, columns.source, columns.added, columns.removed)
        .where(columns.event_type == 'trait')
        .order_by(columns.id)
    )
    with app.service.read() as connection:
        return [tuple(row) for row in connection.execute(statement)]


def test_an_edit_changes_what_the_preview_says(app, client):
    one, two, three = (client.node(name=name)['uuid'] for name in ('one', 'two', 'three'))
    client.ask('PUT', f'/v1/nodes/{one}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_OLD']})
    client.ask('PUT', f'/v1/nodes/{two}/traits?source=terraform', {'traits': ['CUSTOM_A', 'CUSTOM_OLD']})
    client.ask('PUT', f'/v1/nodes/{three}/traits', {'traits': ['CUSTOM_OLD']})
    before = len(_entries(app))
    body = {'add': ['CUSTOM_NEW'], 'remove': ['CUSTOM_OLD'], 'where': {'traits': 'CUSTOM_A'}}
    shown = preview(client, **body)
    totals = {'matched': 2, 'changed': 2, 'gains': {'CUSTOM_NEW': 2}, 'loses': {'CUSTOM_OLD': 2}}
    totals |= {'vetoed': {}, 'retired': []}
    assert totals.items() <= shown.items()
    changes = {'gains': ['CUSTOM_NEW'], 'loses': ['CUSTOM_OLD'], 'vetoed': []}
    assert shown['nodes'] == [{'uuid': one, 'name': 'one', **changes}, {'uuid': two, 'name': 'two', **changes}]
    assert len(_entries(app)) == before
    assert ask(client, **body, digest=shown['digest']).json == totals
    assert [client.get(f'/v1/nodes/{uuid}/traits')['traits'] for uuid in (one, two, three)] == [
        ['CUSTOM_A', 'CUSTOM_NEW'],
        ['CUSTOM_A', 'CUSTOM_NEW'],
        ['CUSTOM_OLD'],
    ]
    details = client.get(f'/v1/nodes/{two}/traits?detail=true')
    assert [veto['trait'] for veto in details['vetoes']] == ['CUSTOM_OLD']
    assert _entries(app)[before:] == [(uuid, 'operator', 'CUSTOM_NEW', 'CUSTOM_OLD') for uuid in (one, two)]
    # The edit is already executed, so the traits have changed.
    assert ask(client, **body, digest=shown['digest']).status_int == 409


def test_a_node_that_does_not_change_gets_no_entry(app, client):
    one, two = (client.node(name=name)['uuid'] for name in ('one', 'two'))
    client.ask('PUT', f'/v1/nodes/{one}/traits', {'traits': ['CUSTOM_A']})
    before = len(_entries(app))
    assert edit(client, add=['CUSTOM_A'], where={})['changed'] == 1
    assert _entries(app)[before:] == [(two, 'operator', 'CUSTOM_A', '')]


def test_an_exclusive_trait_is_renamed(app, client):
    """Its new name must be exclusive before. Otherwise requests that do not ask for it would get the nodes."""
    uuid = client.node(name='one')['uuid']
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    body = {'rename': {'CUSTOM_A': 'CUSTOM_B'}, 'where': {}}
    digest = preview(client, **body)['digest']
    set_exclusive(app.service, ['CUSTOM_A'])
    for more in ({'preview': True}, {'digest': digest}):
        refused = ask(client, **body, **more)
        assert (refused.status_int, 'Make CUSTOM_B exclusive before.' in message(refused)) == (400, True)
    set_exclusive(app.service, ['CUSTOM_A', 'CUSTOM_B'])
    assert edit(client, **body)['changed'] == 1


def test_a_renamed_trait_keeps_its_sources(app, client):
    uuid = client.node(name='one')['uuid']
    other = client.node(name='two')['uuid']
    for source in ('hook', 'terraform'):
        client.ask('PUT', f'/v1/nodes/{uuid}/traits?source={source}', {'traits': ['CUSTOM_A']})
    client.ask('PUT', f'/v1/nodes/{other}/traits?source=hook', {'traits': ['CUSTOM_A']})
    client.ask('DELETE', f'/v1/nodes/{other}/traits/CUSTOM_A')
    before = client.get(f'/v1/nodes/{uuid}/traits?detail=true')
    assert edit(client, rename={'CUSTOM_A': 'CUSTOM_B'}, where={})['changed'] == 2
    after = client.get(f'/v1/nodes/{uuid}/traits?detail=true')
    assert [each['trait'] for each in after['traits']] == ['CUSTOM_B']
    assert after['traits'][0]['sources'] == before['traits'][0]['sources']
    assert [each['trait'] for each in client.get(f'/v1/nodes/{other}/traits?detail=true')['vetoes']] == ['CUSTOM_B']
    assert _entries(app)[-2:] == [
        (uuid, 'operator', 'CUSTOM_B', 'CUSTOM_A'),
        (other, 'operator', '', ''),
    ]


@pytest.mark.parametrize(
    ('names', 'origins'),
    [
        ({'CUSTOM_B': 'CUSTOM_A'}, {'CUSTOM_A': 'CUSTOM_A'}),
        ({'CUSTOM_A': 'CUSTOM_B'}, {'CUSTOM_B': 'CUSTOM_B'}),
        ({'CUSTOM_A': 'CUSTOM_B', 'CUSTOM_B': 'CUSTOM_A'}, {'CUSTOM_A': 'CUSTOM_B', 'CUSTOM_B': 'CUSTOM_A'}),
        ({'CUSTOM_A': 'CUSTOM_B', 'CUSTOM_B': 'CUSTOM_C'}, {'CUSTOM_B': 'CUSTOM_A', 'CUSTOM_C': 'CUSTOM_B'}),
    ],
    ids=['newer', 'older', 'both', 'chain'],
)
def test_a_trait_is_renamed_to_one_with_the_same_sources(client, names, origins):
    """Each trait keeps its sources, with the times since when. If two become one, the one with the name keeps them."""
    uuid = client.node(name='one')['uuid']
    for trait in ('CUSTOM_A', 'CUSTOM_B'):
        for source in ('', '?source=hook', '?source=terraform'):
            client.ask('PUT', f'/v1/nodes/{uuid}/traits/{trait}{source}')

    def held():
        found = client.get(f'/v1/nodes/{uuid}/traits?detail=true')['traits']
        return {each['trait']: each['sources'] for each in found}

    before = held()
    assert before['CUSTOM_A'] != before['CUSTOM_B']
    edit(client, rename=names, where={})
    assert held() == {name: before[origin] for name, origin in origins.items()}


def test_a_source_is_stopped_by_vetoes(client):
    for name in ('one', 'two'):
        client.node(name=name)
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook')
    client.ask('DELETE', '/v1/nodes/one/traits/CUSTOM_A')
    body = {'add': ['CUSTOM_A'], 'source': 'hook', 'nodes': ['one', 'two']}
    shown = preview(client, **body)
    assert (shown['matched'], shown['changed'], shown['vetoed']) == (2, 1, {'CUSTOM_A': 1})
    assert [(node['name'], node['gains'], node['vetoed']) for node in shown['nodes']] == [
        ('one', [], ['CUSTOM_A']),
        ('two', ['CUSTOM_A'], []),
    ]
    assert ask(client, **body, digest=shown['digest']).json['gains'] == {'CUSTOM_A': 1}
    assert client.get('/v1/nodes/one/traits')['traits'] == []
    details = client.get('/v1/nodes/two/traits?detail=true')
    assert [source['source'] for source in details['traits'][0]['sources']] == ['hook']


@pytest.mark.parametrize(
    'change',
    [
        ('PUT', '/v1/nodes/three/traits/CUSTOM_A'),
        ('DELETE', '/v1/nodes/two/traits/CUSTOM_A'),
        ('PUT', '/v1/nodes/one/traits/CUSTOM_C'),
        ('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook'),
        ('DELETE', '/v1/nodes/two'),
    ],
    ids=' '.join,
)
def test_a_changed_set_is_refused(client, change):
    """A changed set is refused with 409. The response has the digest for the next attempt."""
    for name in ('one', 'two', 'three'):
        client.node(name=name)
    for name in ('one', 'two'):
        client.ask('PUT', f'/v1/nodes/{name}/traits/CUSTOM_A')
    body = {'add': ['CUSTOM_B'], 'where': {'traits': ['CUSTOM_A']}}
    shown = preview(client, **body)
    assert client.ask(*change).status_int == 204
    before = state(client)
    response = ask(client, **body, digest=shown['digest'])
    assert (response.status_int, response.json['code']) == (409, 'baremetal.trait.edit_outdated')
    assert state(client) == before
    assert response.json['digest'] == preview(client, **body)['digest'] != shown['digest']
    assert ask(client, **body, digest=response.json['digest']).status_int == 200


def test_the_digest_does_not_depend_on_time_or_state(client):
    client.node(name='one')
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook')
    body = {'add': ['CUSTOM_B'], 'where': {}}
    digest = preview(client, **body)['digest']
    client.ask('PUT', '/v1/nodes/one/maintenance')
    client.ask('DELETE', '/v1/nodes/one/traits?source=hook')
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook')
    assert preview(client, **body)['digest'] == digest
    assert preview(client, **body | {'add': ['CUSTOM_C']})['digest'] != digest
    assert preview(client, **body, source='hook')['digest'] != digest


def test_a_name_that_os_traits_has_dropped(app, client):
    """A name that os-traits has dropped can be renamed and removed, but not added."""
    trait_edits.insert_nodes(app.service, 2, ['HW_DROPPED'])
    assert ask(client, add=['HW_DROPPED'], where={}, preview=True).status_int == 400
    assert ask(client, remove=['HW_UNKNOWN'], where={}, preview=True).status_int == 400
    assert edit(client, rename={'HW_DROPPED': 'CUSTOM_KEPT'}, nodes=['node-000000'])['changed'] == 1
    assert edit(client, remove=['HW_DROPPED'], where={})['changed'] == 1
    assert [node['traits'] for node in state(client).values()] == [['CUSTOM_KEPT'], []]
    # Other tests with this database expect the names of os-traits.
    with app.service.write() as connection:
        connection.execute(sa.delete(tables.traits).where(tables.traits.c.name == 'HW_DROPPED'))


def test_a_valid_name_that_is_not_stored_can_be_removed(client):
    client.node(name='one')
    assert edit(client, remove=['CUSTOM_NEVER_USED'], where={})['changed'] == 0


def test_pages_of_a_preview(client):
    names = [f'node-{number}' for number in range(5)]
    for name in names:
        client.node(name=name)
    client.ask('PUT', '/v1/nodes/node-2/traits/CUSTOM_A')
    body, pages, path = {'add': ['CUSTOM_A'], 'where': {}, 'preview': True}, [], f'{PATH}?limit=2'
    while path:
        page = client.ask('POST', path, body).json
        pages.append(page)
        path = page.get('next')
    assert [[node['name'] for node in page['nodes']] for page in pages] == [['node-0', 'node-1'], ['node-3', 'node-4']]
    assert len({page['digest'] for page in pages}) == 1
    assert {(page['matched'], page['changed']) for page in pages} == {(5, 4)}
    unknown = client.ask('POST', f'{PATH}?marker=5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a999', body)
    assert unknown.status_int == 404


def _lock(app, name, host):
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.name == name).values(reservation=host))


def test_a_node_that_a_worker_has_locked(database_url):
    with make_app(database_url, deploy__node_locked_retry_attempts=0) as app:
        client = Client(app)
        for name in ('one', 'two'):
            client.node(name=name)
        client.ask('PUT', '/v1/nodes/two/traits/CUSTOM_A')
        _lock(app, 'two', 'host')
        # A locked node that the edit does not change is allowed.
        assert edit(client, add=['CUSTOM_A'], where={})['changed'] == 1
        before = state(client)
        shown = preview(client, add=['CUSTOM_B'], where={})
        assert (shown['locked'], [node['name'] for node in shown['locked_nodes']]) == (1, ['two'])
        response = ask(client, add=['CUSTOM_B'], where={}, digest=shown['digest'])
        assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked')
        assert state(client) == before


def test_an_edit_of_no_trait_is_refused_without_a_preview(client):
    """The name is the reason, and not the digest."""
    refused = ask(client, remove=['HW_UNKNOWN'], where={}, digest='0' * 64)
    assert (refused.status_int, refused.json['code']) == (400, 'baremetal.trait.invalid')


def test_an_edit_waits_for_a_worker(app, client):
    client.node(name='one')
    _lock(app, 'one', 'host')
    timer = threading.Timer(0.5, _lock, (app, 'one', None))
    timer.start()
    try:
        assert edit(client, add=['CUSTOM_A'], where={})['changed'] == 1
    finally:
        timer.join()


def test_providers_move_exactly_with_their_traits(client):
    changing, unchanged, foreign, swapped = (golden(client) for _ in range(4))
    client.ask('PUT', f'/v1/nodes/{unchanged}/traits/HW_CPU_X86_VMX')
    put_traits(client, foreign, ['HW_CPU_X86_VMX', 'COMPUTE_NODE'])
    put_traits(client, swapped, ['HW_CPU_X86_VMX'])
    client.ask('PUT', f'/v1/nodes/{swapped}/traits/CUSTOM_A')
    with (
        moves(client, changing, 1, traits=['HW_CPU_X86_VMX']),
        moves(client, unchanged, 0, traits=['HW_CPU_X86_VMX']),
        moves(client, foreign, 0, traits=['COMPUTE_NODE', 'HW_CPU_X86_VMX']),
        moves(client, swapped, 1, traits=['HW_CPU_X86_VMX']),
    ):
        assert edit(client, add=['HW_CPU_X86_VMX'], remove=['CUSTOM_A'], where={})['changed'] == 3
    # The foreign trait is the node's own now, so it is removed with the node's trait.
    with moves(client, foreign, 1, traits=['COMPUTE_NODE']), moves(client, swapped, 1, traits=[]):
        edit(client, remove=['HW_CPU_X86_VMX'], nodes=[foreign, swapped])
    # Only the sources change.
    with moves(client, changing, 0, traits=['HW_CPU_X86_VMX']):
        assert edit(client, add=['HW_CPU_X86_VMX'], source='hook', nodes=[changing])['gains'] == {}
    assert provider(client, changing)[1]['traits']['traits'] == ['HW_CPU_X86_VMX']


def test_single_writes_beside_an_edit_lose_nothing(clients):
    """No write is lost if clients PUT single traits while edits rename a trait of all nodes back and forth."""
    names = [f'node-{number}' for number in range(10)]
    for name in names:
        clients[0].node(name=name)
        clients[0].ask('PUT', f'/v1/nodes/{name}/traits/CUSTOM_X')
    finished = threading.Event()

    def write(client, number):
        for name in names:
            assert client.ask('PUT', f'/v1/nodes/{name}/traits/CUSTOM_{number}').status_int == 204

    def rename():
        count, digest, pair = 0, '0' * 64, ['CUSTOM_X', 'CUSTOM_Y']
        while True:
            response = ask(clients[0], rename=dict([pair]), where={}, digest=digest)
            if response.status_int == 200:
                count += 1
                if finished.is_set() and count % 2 == 0:
                    return
                pair = pair[::-1]
            assert response.status_int in (200, 409), response.text
            digest = response.json.get('digest', '0' * 64)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        edits = pool.submit(rename)
        writers = [pool.submit(write, client, number) for number, client in enumerate(clients[1:5])]
        concurrent.futures.wait(writers)
        finished.set()
        edits.result(60)
    for writer in writers:
        writer.result()
    expected = sorted(['CUSTOM_X', *(f'CUSTOM_{number}' for number in range(4))])
    assert {name: node['traits'] for name, node in state(clients[0]).items()} == dict.fromkeys(names, expected)


def test_many_nodes(app, client):
    """An edit works with several batches of nodes. benchmarks.edits has 10,000 nodes and more."""
    trait_edits.insert_nodes(app.service, MANY)
    body = {'add': ['CUSTOM_NEW'], 'rename': {'CUSTOM_1': 'CUSTOM_MOVED'}, 'remove': ['CUSTOM_2']}
    result = edit(client, **body, where={'resource_class': 'gold'})
    assert (result['matched'], result['changed']) == (MANY, MANY)
    assert result['gains'] == {'CUSTOM_MOVED': MANY, 'CUSTOM_NEW': MANY}
    with app.service.read() as connection:
        counts = sa.select(tables.node_traits.c.trait, sa.func.count()).group_by(tables.node_traits.c.trait)
        assert dict(map(tuple, connection.execute(counts))) == {
            trait: MANY for trait in ('CUSTOM_0', 'CUSTOM_MOVED', 'CUSTOM_NEW')
        }
        generations = sa.select(tables.resource_providers.c.generation).distinct()
        assert connection.execute(generations).scalars().all() == [1]
    entries = _entries(app)
    assert {entry[1:] for entry in entries} == {('operator', 'CUSTOM_MOVED,CUSTOM_NEW', 'CUSTOM_1,CUSTOM_2')}
    assert len({entry[0] for entry in entries}) == len(entries) == MANY


#: A service in its own process. It executes an edit, whose body is the second argument, and stops in the third batch.
_STUCK = """
import json, sys, time
from ironic_traits.db.statements import joined
from tests.support.client import Client
from tests.support.service import make_app
execute, calls = joined.execute, []
def stop(*arguments):
    execute(*arguments)
    calls.append(arguments)
    if len(calls) == 3:
        print('in the middle', flush=True)
        time.sleep(300)
joined.execute = stop
with make_app(sys.argv[1]) as app:
    print(Client(app).ask('POST', '/v1/traits/edits', json.loads(sys.argv[2])).text, flush=True)
"""


def test_kill_in_the_middle_leaves_nothing(app, client, database_url):
    trait_edits.insert_nodes(app.service, MANY)
    body = {'add': ['CUSTOM_NEW'], 'remove': ['CUSTOM_1'], 'where': {}}
    before, shown = state(client), preview(client, **body)
    arguments = [database_url, json.dumps(body | {'digest': shown['digest']})]
    process = subprocess.Popen(
        [sys.executable, '-c', _STUCK, *arguments], stdout=subprocess.PIPE, text=True, cwd=CHECKOUT
    )
    try:
        assert process.stdout.readline() == 'in the middle\n'
    finally:
        process.kill()
        process.wait()
    assert state(client) == before
    assert _entries(app) == []
    assert preview(client, **body)['digest'] == shown['digest']
    # The locks have ended with the process.
    assert ask(client, **body, digest=shown['digest']).json['changed'] == MANY


def _as(ask, persona, **body):
    return ask(persona, f'POST {PATH}', body)


def test_only_nodes_that_the_caller_may_change(ask):
    """An edit is refused unless the caller may change all of its nodes. Filters select only visible nodes."""
    body = {'add': ['CUSTOM_B'], 'where': {}, 'preview': True}
    assert _as(ask, 'owner_admin', **body).json['matched'] == 2
    assert _as(ask, 'stranger_admin', **body).json['matched'] == 0
    refused = _as(ask, 'lessee_admin', **body)
    assert refused.status_int == 403
    assert '2 of the 2 selected nodes' in message(refused)
    shown = _as(ask, 'owner_admin', add=['CUSTOM_B'], nodes=[NODE, RESERVED], preview=True).json
    # They leave no name behind.
    assert ask('owner_admin', 'GET /v1/traits/CUSTOM_B').status_int == 404
    for persona, status in (('lessee_admin', 403), ('stranger_admin', 404), ('owner_member', 403)):
        execution = _as(ask, persona, add=['CUSTOM_B'], nodes=[NODE, RESERVED], digest=shown['digest'])
        assert execution.status_int == status
        assert ask('owner_admin', 'GET /v1/traits/CUSTOM_B').status_int == 404
    assert _as(ask, 'owner_admin', add=['CUSTOM_B'], where={}, digest=shown['digest']).json['changed'] == 2


@pytest.mark.parametrize(
    ('rule', 'statuses'),
    [
        ('baremetal:node:traits:delete', [200, 403, 403]),
        ('baremetal:node:traits:set', [403, 200, 403]),
        ('baremetal:trait:edit', [403, 403, 403]),
    ],
)
def test_a_bulk_edit_allows_no_more_than_single_writes(access_template, tmp_path, rule, statuses):
    """If policy forbids to remove or to set single traits, an edit cannot do it either."""
    shutil.copy(access_template[0], tmp_path / 'copy.sqlite')
    (tmp_path / 'policy.yaml').write_text(f'"{rule}": "rule:system_admin"\n')
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    edits = {'add': ['CUSTOM_B']}, {'remove': ['CUSTOM_A']}, {'rename': {'CUSTOM_A': 'CUSTOM_B'}}
    with make_app(f'sqlite:///{tmp_path}/copy.sqlite', **options) as app:
        for persona, expected in (('owner_admin', statuses), ('system_admin', [200, 200, 200])):
            bodies = [{'nodes': [NODE], 'preview': True, **each} for each in edits]
            responses = [Client(app).ask('POST', PATH, body, headers=headers(persona)) for body in bodies]
            assert [response.status_int for response in responses] == expected


def test_policy_may_allow_edits_of_some_nodes(access_template, tmp_path):
    shutil.copy(access_template[0], tmp_path / 'copy.sqlite')
    (tmp_path / 'policy.yaml').write_text(
        '"baremetal:trait:edit": "project_id:%(node.owner)s"\n"baremetal:node:traits:set": "role:admin"\n'
    )
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    with make_app(f'sqlite:///{tmp_path}/copy.sqlite', **options) as app:
        body = {'nodes': [NODE], 'preview': True, 'add': ['CUSTOM_B']}
        asked = {
            persona: Client(app).ask('POST', PATH, body, headers=headers(persona))
            for persona in ('owner_admin', 'lessee_admin')
        }
        assert {persona: response.status_int for persona, response in asked.items()} == {
            'owner_admin': 200,
            'lessee_admin': 403,
        }
