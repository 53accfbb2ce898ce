"""The index of nodes is never stale, and it is ready when there are many nodes."""

import collections
import random
import threading
import time

import hypothesis
import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core import eligibility
from ironic_traits.inventory.search import node_groups, node_index, node_sets
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.matching import bitsets
from ironic_traits.matching.topology import AFFINITY, Policy
from tests.conftest import empty
from tests.functional.search.test_matches import CLASSES, TRAITS
from tests.support.client import Client
from tests.support.concurrency import wait_until
from tests.support.reservations import PATH, available, available_of, instance, reserve
from tests.support.service import ForkedServer, make_app, upgraded

KEYS = ('trait:CUSTOM_A', 'trait:CUSTOM_', 'properties/rack', 'resource_class')


def count(client):
    """Return the number of nodes that match a flavor that requires nothing."""
    response = client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'one', 'required': []}]})
    assert response.status_int == 200, response.text
    return response.json['flavors'][0]['matching']


def differing(view, context):
    """Return the differences of the sets of a view from the database in the same snapshot: [(name, set), …]."""
    nodes, connection = Nodes(context, Grant(()), view), view.connection
    found = []

    def check_set(name, bits, condition):
        ids = connection.scalars(sa.select(tables.nodes.c.id).where(condition)).all()
        assert view.of_ids(ids).bit_count() == len(ids)
        found.append((name, bits ^ view.of_ids(ids)))

    check_set('all', nodes.all, sa.true())
    check_set('free', nodes._parts['free'], eligibility.ELIGIBLE)
    for clause in eligibility.explained(context.conf):
        check_set(clause.name, view.unavailable(clause.name), clause.failed(None))
    for name in TRAITS:
        rows = sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait == name)
        check_set(name, nodes.trait(name), tables.nodes.c.id.in_(rows))
    for name in CLASSES:
        check_set(name, view.get('resource_class', name), tables.nodes.c.resource_class == name)
    return [*found, *differing_groups(nodes, view)]


def differing_groups(nodes, view):
    """Return the differences of the groups of nodes, as ``differing`` does."""
    policies = tuple(Policy(key, AFFINITY) for key in KEYS)
    rows = view.connection.execute(sa.select(tables.nodes.c.id, *node_groups.columns(policies))).all()
    cells = {row.id: node_groups.cell(policies, row) for row in rows}
    groups = view.groups(KEYS)
    assert groups.cells_of(nodes.all) == collections.Counter(cells.values())
    for some in (nodes.all, nodes.free):
        numbers = dict(zip(groups.cells, groups.counts(some), strict=True))
        assert {cell: number for cell, number in numbers.items() if number} == groups.cells_of(some)
    shares = {place: share for share, places in groups.by_share(nodes.free, nodes.all).items() for place in places}
    both = zip(groups.counts(nodes.free), groups.counts(nodes.all), strict=True)
    assert shares == dict(enumerate(both))
    for cell, members in zip(groups.cells, groups.members, strict=True):
        ids = view.of_ids(node_id for node_id, each in cells.items() if each == cell)
        yield f'group {cell}', ids ^ bitsets.from_positions(members, view.size) & nodes.all


def compare(app):
    """Compare the index of an application with its database."""
    context = Context(app.service, BARE_METAL, 80, '')
    with app.service.read() as connection:
        began = read_clock(connection)
    with app.service.node_index.now(context) as view:
        found = differing(view, context)
        # A snapshot does not stop the clock, so a node may differ if its reservation has expired since.
        expired = tables.reservations.c.expires_at >= began, eligibility.EXPIRED
        holds = tables.reservations.c.node_uuid == tables.nodes.c.uuid
        ids = view.connection.scalars(sa.select(tables.nodes.c.id).join(tables.reservations, holds).where(*expired))
        excused = {'free': view.of_ids(ids)}
    excused['reserved'] = excused['free']
    assert not [(name, bin(bits)) for name, bits in found if bits & ~excused.get(name, 0)]


def write(client, number, stop):
    """Write at random until the end: nodes, traits, classes, states, reservations and allocations."""
    choose = random.Random(number)
    uuids = [available_of(client, choose.choice(CLASSES)) for _ in range(3)]
    holder = instance(1000 + number)

    deleted = []

    def create():
        # Create a new node, or a deleted one again.
        old = {'uuid': deleted.pop()} if deleted and choose.random() < 0.5 else {}
        uuids.append(available_of(client, choose.choice(CLASSES), **old))

    def delete():
        if len(uuids) > 1 and client.ask('DELETE', f'/v1/nodes/{uuids[0]}').status_int == 204:
            deleted.append(uuids.pop(0))

    def patch():
        path = choose.choice(['/resource_class', '/properties/rack'])
        change = {'op': 'add', 'path': path, 'value': choose.choice(CLASSES)}
        client.ask('PATCH', f'/v1/nodes/{choose.choice(uuids)}', [change])

    def hold():
        response = reserve(client, 1000 + number, choose.choice(uuids), expires_in=choose.choice([1, 3600]))
        if response.status_int == 201 and choose.random() < 0.7:
            client.ask('DELETE', f'/v1/reservations/{response.json["reservation"]["uuid"]}')

    def use():
        uuid = choose.choice(uuids)
        inventories = client.placement('GET', f'/resource_providers/{uuid}/inventories').json.get('inventories')
        body = {
            'allocations': {uuid: {'resources': dict.fromkeys(inventories or ['CUSTOM_GOLD'], 1)}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        if client.placement('PUT', f'/allocations/{holder}', body).status_int == 204:
            client.placement('DELETE', f'/allocations/{holder}')

    works = [
        lambda: client.ask('PUT', f'/v1/nodes/{choose.choice(uuids)}/traits', {'traits': choose.sample(TRAITS, 2)}),
        lambda: client.ask('PUT', f'/v1/nodes/{choose.choice(uuids)}/maintenance', {}),
        lambda: client.ask('DELETE', f'/v1/nodes/{choose.choice(uuids)}/maintenance'),
        *(create, delete, patch, hold, use),
    ]
    # The readers share this interpreter. Without pauses, the writers would wait for it while they hold locks. With
    # shorter pauses, the readers compare less often in three times the time.
    while not stop.wait(choose.random() / 5):
        choose.choice(works)()


def test_nothing_is_stale_beside_writers(database_url, monkeypatch):
    """With 8 writers and 2 readers in two applications, each read of the index equals the database at that moment."""
    # Each change counts as small, as it is among many nodes.
    monkeypatch.setattr(node_groups, '_SIMILAR', 0)
    stop, problems = threading.Event(), []

    def guarded(work, *arguments):
        try:
            work(*arguments)
        except Exception as error:
            problems.append(error)
            stop.set()

    def read(app, times):
        for _ in range(times):
            if stop.is_set():
                return
            compare(app)

    with make_app(database_url) as first, make_app(database_url) as second:
        apps = (first, second)
        writers = [
            threading.Thread(target=guarded, args=(write, Client(apps[number % 2]), number, stop), daemon=True)
            for number in range(8)
        ]
        readers = [threading.Thread(target=guarded, args=(read, each, 100), daemon=True) for each in apps]
        for thread in (*writers, *readers):
            thread.start()
        deadline = time.monotonic() + 60
        for thread in readers:
            thread.join(max(0, deadline - time.monotonic()))
        stop.set()
        for thread in (*writers, *readers):
            thread.join(60)
            assert not thread.is_alive()
        assert not problems, problems
        # At the end, it equals a new index.
        for each in apps:
            compare(each)


def test_a_failed_refresh_leaves_no_index(app, client, monkeypatch):
    """A partial refresh is not used."""
    available(client)
    assert count(client) == 1
    index = app.service.node_index
    available(client)
    monkeypatch.setattr(index._nodes, 'add', lambda rows: 1 / 0)
    assert client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'one', 'required': []}]}).status_int == 500
    assert index._nodes is None
    assert count(client) == 2


def test_many_deletions(client):
    """The index is right after more deletions than it looks up one by one. It is rebuilt if most nodes are deleted."""
    uuids = [available(client) for _ in range(30)]
    assert count(client) == 30
    for uuid in uuids[:25]:
        assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
    assert count(client) == 5


#: None is a read of the index. A number is the creation or deletion of the node with this number.
_STEPS = st.lists(st.none() | st.integers(1, 3), max_size=12)


@hypothesis.settings(max_examples=25, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(_STEPS)
@hypothesis.example([1, None, 1, None, 1, None, 1, None])
@hypothesis.example([1, None, 1, 1, None])
def test_nodes_that_are_created_again(database_url, app, client, steps):
    """The index is right for a node with the uuid of a deleted one, whether or not it was read in between."""
    empty(database_url)
    app.service.node_index._forget()
    there = set()
    for step in (*steps, None):
        if step is None:
            assert count(client) == len(there)
            compare(app)
        elif step in there:
            assert client.ask('DELETE', f'/v1/nodes/{instance(step)}').status_int == 204
        else:
            available(client, uuid=instance(step))
        there ^= {step} - {None}


def test_many_nodes_that_are_created_again(app, client):
    """The index is right for more such nodes than it looks up one by one."""
    for _ in range(2):
        for number in range(25):
            available(client, uuid=instance(number))
        assert count(client) == 25
        compare(app)
        for number in range(25):
            assert client.ask('DELETE', f'/v1/nodes/{instance(number)}').status_int == 204
    assert count(client) == 0


def test_a_refusal_explains_nodes_that_are_created_again(client):
    uuid = available(client)
    assert count(client) == 1
    assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
    available(client, uuid=uuid)
    response = client.ask('POST', '/v1/matches', {'required': ['CUSTOM_X'], 'explain': True})
    assert (response.status_int, response.json['explanation']['considered']) == (200, 1)
    assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
    response = client.ask('POST', PATH, {'instance_uuid': instance(1), 'required': []})
    assert (response.status_int, response.json['explanation']['considered']) == (409, 0)


def test_a_search_ends_whatever_the_index_says(app, client):
    """A search ends even if a bug makes the index contradict the database."""
    uuid = available(client)
    assert count(client) == 1
    with app.service.write() as connection:
        # This write records no change, so the index misses it.
        connection.execute(sa.delete(tables.nodes).where(tables.nodes.c.uuid == uuid))
    assert count(client) == 1
    response = client.ask('POST', PATH, {'instance_uuid': instance(1), 'required': []})
    assert response.status_int == 409


def test_a_process_keeps_the_index_of_many_nodes_ready(app, client, monkeypatch):
    """The index is ready without a request, and after more changes than a request would read."""
    monkeypatch.setattr(node_index, 'FIRST_PAUSE', 0)
    monkeypatch.setattr(node_index, 'PAUSE', 0.01)
    monkeypatch.setattr(node_index, 'MIN_NODES', 3)
    monkeypatch.setattr(node_index, '_BATCH', 10)
    available(client)
    available(client)
    context = Context(app.service, BARE_METAL, 80, '')
    app.service.node_index.keep(app.service)
    time.sleep(0.1)
    assert ready(context) is None, 'with few nodes'
    available(client)
    wait_until(lambda: ready(context) == 3)
    for _ in range(11):
        available(client)
    wait_until(lambda: ready(context) == 14)
    app.service.node_index.close()
    assert not app.service.node_index._keeper.is_alive()


def ready(context):
    """Return the number of nodes in the index if it is ready, or None."""
    with context.service.node_index.if_ready(context) as view:
        return view and view.get(node_sets.ALL).bit_count()


def test_a_service_makes_the_index_of_many_nodes(tmp_path):
    """A service with many nodes builds the index before a request needs it, and logs that."""
    url = f'sqlite:///{tmp_path}/many.sqlite'
    upgraded(url)
    with make_app(url) as app:
        available(Client(app))
        columns = ', '.join(column.name for column in tables.nodes.c if column.name not in ('id', 'uuid', 'name'))
        series = 'WITH RECURSIVE series (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM series WHERE n <= 20000)'
        select = f"SELECT printf('00000000-0000-4000-8000-%012d', n), {columns} FROM nodes, series"
        with app.service.write() as connection:
            connection.exec_driver_sql(f'INSERT INTO nodes (uuid, {columns}) {series} {select}')
    with ForkedServer(url, '--nostart-worker') as server:
        server.wait_for('Made the index of 20001 nodes')
