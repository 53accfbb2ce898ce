"""ironic-traits-manage placement import|export, from and to a real Placement."""

import pathlib
import re
import textwrap

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import Remote, Unusable
from tests.support import placement_suite
from tests.support.cleaning import empty
from tests.support.client import Client
from tests.support.peers import peer
from tests.support.placement_peer import Placement
from tests.support.placement_server import TOKEN
from tests.support.placement_transfers import (
    INVENTORY,
    Killed,
    allocate,
    bring,
    fill,
    kill_after,
    manage,
    provider,
    put,
    take,
    uuid,
)
from tests.support.providers import GOLD, golden, put_traits
from tests.support.reservations import instance, reserve
from tests.support.servers import free_port
from tests.support.service import make_app, upgraded

GUIDE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'moving-placement.rst'
#: A command in the guide, without its first words, and its output.
_SHOWN = re.compile(r'^ *\$ ironic-traits-manage placement (.*)\n((?: {6}[^ $].*\n)+)', re.MULTILINE)
#: Files of Placement's own suite, which create trees, sharing providers, consumer types, ….
SUITE = ('granular', 'allocation-candidates-mappings-numa', 'consumer-types-1.38', 'shared-resources')


@pytest.fixture(scope='module')
def placements(tmp_path_factory):
    """Two real Placements."""
    one, other = (tmp_path_factory.mktemp('placement') for _ in range(2))
    module = 'tests.support.placement_server'
    with peer(module, one, free_port()) as first, peer(module, other, free_port()) as second:
        yield Placement(one, first), Placement(other, second)


@pytest.fixture(scope='module')
def module_url(tmp_path_factory):
    return upgraded(f'sqlite:///{tmp_path_factory.mktemp("database")}/ironic-traits.sqlite')


@pytest.fixture
def sqlite_url(module_url):
    """The URL of an empty SQLite database, for tests that do not depend on the database."""
    empty(module_url)
    return module_url


@pytest.fixture
def sqlite_app(sqlite_url):
    with make_app(sqlite_url) as application:
        yield application


@pytest.fixture
def source(placements):
    placements[0].clear()
    return placements[0]


@pytest.fixture
def target(placements):
    placements[1].clear()
    return placements[1]


def test_the_guide(sqlite_url, source, target):
    """The guide shows the output of the commands. An export returns the imported data."""
    fill(source)
    shown = _SHOWN.findall(GUIDE.read_text())
    assert len(shown) == 4
    for command, output in shown:
        url = target.url if command.startswith('export') else source.url
        arguments = command.replace('https://placement.example.org', url).split()
        assert manage(sqlite_url, *arguments)[0].replace(url, 'https://placement.example.org') == textwrap.dedent(
            output
        )
    assert target.rows() == source.rows()
    output, _ = manage(sqlite_url, 'export', target.url, '--jobs', '1')
    assert 'Nothing had to be changed.\n' in output


def test_generations_are_those_of_the_source(sqlite_app, source):
    fill(source)
    bring(sqlite_app, source)
    for number in range(1, 6):
        path = f'/resource_providers/{uuid(number)}'
        here, there = Client(sqlite_app).placement('GET', path).json, source.send('GET', path)
        assert here | {'links': None} == there | {'links': None}
    for number in range(1, 5):
        path = f'/allocations/{instance(number)}'
        assert Client(sqlite_app).placement('GET', path).json == source.send('GET', path)


def change(source):
    """Change everything that ``fill`` creates, in ways that depend on the order of the writes."""
    for number, name in ((1, 'x'), (4, 'host1'), (1, 'shared')):
        path = f'/resource_providers/{uuid(number)}'
        parent = {'parent_provider_uuid': None}
        source.send('PUT', path, {'name': name, **parent})
    # Its child gets another root, too.
    source.send('PUT', f'/resource_providers/{uuid(2)}', {'name': 'below', 'parent_provider_uuid': uuid(4)})
    allocate(source, 3, {uuid(4): {'DISK_GB': 1}}, 'INSTANCE')
    allocate(source, 4, {}, None)
    put(source, uuid(5), inventories={'CUSTOM_FPGA': INVENTORY}, traits=['CUSTOM_A'], aggregates=[uuid(102)])
    put(source, uuid(1), traits=[], aggregates=[])
    provider(source, 6, 'new', uuid(3), inventories={'VCPU': INVENTORY})
    allocate(source, 5, {uuid(6): {'VCPU': 1}, uuid(5): {'CUSTOM_FPGA': 2}})
    allocate(source, 1, {uuid(1): {'VCPU': 1}})


def test_what_has_changed_is_brought(app, source, target):
    fill(source)
    bring(app, source)
    take(app, target)
    change(source)
    transfer, differences = bring(app, source)
    gone = f'consumer {instance(4)}: is here, but not in the source (--prune deletes it)'
    assert gone in differences
    assert all(uuid(5) in line or line == gone for line in differences), differences
    transfer, differences = bring(app, source, prune=True, batch=1)
    assert differences == []
    assert f'- consumer {instance(4)}' in transfer.plan.lines
    assert not bring(app, source, prune=True)[0].plan
    _, differences = take(app, target, prune=True)
    assert differences == []
    assert target.rows() == source.rows()


def test_deleted_providers(sqlite_app, source, target):
    fill(source)
    provider(source, 7, parent=uuid(3))
    bring(sqlite_app, source)
    take(sqlite_app, target)
    for number in (7, 3):
        source.send('DELETE', f'/resource_providers/{uuid(number)}')
    assert bring(sqlite_app, source)[1] == []
    assert take(sqlite_app, target)[1] == []
    transfer, differences = bring(sqlite_app, source, prune=True)
    assert (transfer.plan.lines, differences) == (
        [f'- provider host1_numa0_fpga ({uuid(3)})', f'- provider provider 7 ({uuid(7)})'],
        [],
    )
    take(sqlite_app, target, prune=True)
    assert target.rows() == source.rows()


@pytest.mark.parametrize('number', [1, 4])
def test_a_transfer_that_was_killed_goes_on(sqlite_app, source, target, number):
    fill(source)
    with pytest.raises(Killed):
        bring(sqlite_app, source, kill_after(number), batch=1)
    assert bring(sqlite_app, source)[1] == []
    with pytest.raises(Killed):
        take(sqlite_app, target, kill_after(number))
    assert take(sqlite_app, target)[1] == []
    assert target.rows() == source.rows()


def test_another_client_writes_during_an_export(sqlite_app, source, target):
    """After a conflict with another client, the export reads the provider again, and writes its own state."""
    fill(source)
    bring(sqlite_app, source)
    take(sqlite_app, target)
    change(source)
    bring(sqlite_app, source, prune=True)

    def write():
        put(target, uuid(1), traits=['CUSTOM_B'], inventories={'VCPU': INVENTORY, 'PCPU': INVENTORY})
        allocate(target, 1, {uuid(4): {'DISK_GB': 2}})
        provider(target, 6, 'newer')

    assert take(sqlite_app, target, meanwhile=write, prune=True)[1] == []
    assert target.rows() == source.rows()


def test_nodes(app, client, source, target):
    """Inventories and own traits of nodes come from the nodes. Everything else is imported."""
    free, active, other, reserved, taken = (golden(client) for _ in range(5))
    bare = client.node()['uuid']
    client.ask('PUT', f'/v1/nodes/{free}/traits/CUSTOM_OWN')
    client.ask('PATCH', f'/v1/nodes/{active}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    client.ask('PATCH', f'/v1/nodes/{other}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(8)}])
    reserve(client, 9, [reserved])
    one = {GOLD: INVENTORY | {'total': 1, 'reserved': 0, 'max_unit': 1, 'allocation_ratio': 1.0}}
    for node in (free, active, other, reserved, taken, bare):
        source.send('POST', '/resource_providers', {'uuid': node, 'name': node})
        put(source, node, inventories=one)
    put(source, free, traits=['COMPUTE_NODE', 'CUSTOM_OWN', 'CUSTOM_ELSE'], aggregates=[uuid(100)])
    put(source, taken, inventories={'CUSTOM_SILVER': one[GOLD]})
    for number, node in ((1, active), (2, other), (3, reserved), (5, bare)):
        allocate(source, number, {node: {GOLD: 1}})
    allocate(source, 4, {taken: {'CUSTOM_SILVER': 1}})
    expected = [
        f'provider {bare}: cannot be imported: it is a node without a resource class: set one, then import again',
        f'provider {free}: trait CUSTOM_ELSE is missing',
        f'provider {taken}: inventory of CUSTOM_GOLD is surplus',
        f'provider {taken}: inventory of CUSTOM_SILVER is missing',
        f'consumer {instance(2)}: cannot be imported: node {other} has the instance {instance(8)}',
        f'consumer {instance(3)}: cannot be imported: node {reserved} is reserved for {instance(9)}',
        f'consumer {instance(4)}: cannot be imported: node {taken} is 1 CUSTOM_GOLD',
        f'consumer {instance(5)}: cannot be imported: its provider {bare} is missing',
    ]
    _, differences = bring(app, source)
    assert sorted(differences) == sorted(expected)
    document = client.placement('GET', f'/resource_providers/{free}/traits').json
    assert document['traits'] == ['COMPUTE_NODE', 'CUSTOM_OWN']
    assert client.placement('GET', f'/allocations/{instance(1)}').json['allocations'].keys() == {active}
    assert not bring(app, source)[0].plan
    # Export: in the real Placement, the nodes are ordinary providers.
    _, differences = take(app, target)
    assert differences == []
    inventories = {row[0]: row[1:4] for row in target.rows()['inventories']}
    reservation = {node: int(node in (active, other, reserved)) for node in (free, active, other, reserved, taken)}
    assert inventories == {node: (GOLD, 1, number) for node, number in reservation.items()}
    assert [row[1] for row in target.rows()['allocations']] == [active]


def test_a_consumer_that_changes_its_node(app, client, source):
    """An import follows two consumers that exchange their nodes, although foreign traits differ."""
    nodes = [golden(client) for _ in range(2)]
    for number, node in enumerate(nodes):
        source.send('POST', '/resource_providers', {'uuid': node, 'name': node})
        put(source, node, inventories={GOLD: INVENTORY | {'total': 1, 'reserved': 0, 'max_unit': 1}})
        put(source, node, traits=['COMPUTE_NODE'])
        allocate(source, number, {node: {GOLD: 1}})
        put_traits(client, node, ['HW_CPU_X86_AVX'])
    assert all('allocation_ratio' in line for line in bring(app, source)[1])
    for number in range(2):
        allocate(source, number, {})
    for number in range(2):
        allocate(source, number, {nodes[1 - number]: {GOLD: 1}})
    assert all('allocation_ratio' in line for line in bring(app, source, batch=1)[1])
    for number in range(2):
        document = client.placement('GET', f'/allocations/{instance(number)}').json
        assert document['allocations'].keys() == {nodes[1 - number]}


def test_collisions(sqlite_app, source, target):
    """A provider whose name is in use is reported, and the other provider keeps the name."""
    Client(sqlite_app).placement('POST', '/resource_providers', {'uuid': uuid(50), 'name': 'host1'})
    fill(source)
    problem = f'provider host1 ({uuid(1)}): cannot be imported: provider {uuid(50)} has its name, host1'
    _, differences = bring(sqlite_app, source)
    assert differences == [
        problem,
        f'provider host1_numa0 ({uuid(2)}): cannot be imported: its parent {uuid(1)} cannot be imported',
        f'provider host1_numa0_fpga ({uuid(3)}): cannot be imported: its parent {uuid(2)} cannot be imported',
        f'consumer {instance(1)}: cannot be imported: its provider {uuid(1)} is missing',
    ]
    provider(target, 51, 'shared')
    _, differences = take(sqlite_app, target)
    assert [line.partition(':')[0] for line in differences] == [
        f'provider shared ({uuid(4)})',
        f'consumer {instance(2)}',
    ]
    assert {row[1] for row in target.rows()['providers']} == {'host1', 'shared', 'host2'}


def test_names_of_a_newer_library(sqlite_app, source, target):
    """Standard names of a newer library are imported. An older Placement refuses them."""
    fill(source)
    future = "('HW_FUTURE', '2026-01-01'), ('CUSTOM_C', '2026-01-01')"
    with source._engine.begin() as connection:
        connection.exec_driver_sql(f'INSERT INTO traits (name, created_at) VALUES {future}')
    put(source, uuid(1), traits=['HW_FUTURE'])
    transfer, differences = bring(sqlite_app, source)
    assert (transfer.unknown_names(), differences) == (['HW_FUTURE'], [])
    _, differences = take(sqlite_app, target)
    assert differences == [
        'trait HW_FUTURE: is missing: it is not in the version of the library there',
        f'provider host1 ({uuid(1)}): trait HW_FUTURE is missing',
    ]
    with sqlite_app.service.write() as connection:
        connection.execute(sa.delete(tables.resource_provider_traits))
        connection.execute(sa.delete(tables.traits).where(tables.traits.c.name == 'HW_FUTURE'))
    with source._engine.begin() as connection:
        connection.exec_driver_sql('DELETE FROM resource_provider_traits')
        connection.exec_driver_sql("DELETE FROM traits WHERE name = 'HW_FUTURE'")


def test_a_source_that_changes_while_it_is_read(source):
    """Providers that change during an import are read again."""
    fill(source)
    remote = Remote(source.url, token=TOKEN)
    reader = Reader(remote)
    original, calls = remote.get, []

    def get(path):
        document = original(path)
        calls.append(path)
        if len(calls) == 5:
            put(source, uuid(1), traits=['CUSTOM_B'])
            source.send('DELETE', f'/resource_providers/{uuid(3)}')
            allocate(source, 4, {})
            provider(source, 8)
        return document

    remote.get = get
    snapshot = reader.read()
    assert reader.unsettled == []
    again = Reader(Remote(source.url, token=TOKEN)).read()
    assert (snapshot.providers, snapshot.consumers) == (again.providers, again.consumers)


def test_the_data_of_the_suite_survive(sqlite_url, source, target):
    for path in placement_suite.FILES:
        if path.stem in SUITE:
            placement_suite.run(path, source.app, Administrator(source))
            source.rename_all()
    manage(sqlite_url, 'import', source.url)
    manage(sqlite_url, 'export', target.url)
    assert target.rows() == source.rows()
    assert len(source.rows()['providers']) > 25


class Administrator:
    """Creates the rows that the files need."""

    def __init__(self, placement):
        self._placement = placement

    def ask(self, method, path, document, version, headers):
        return self._placement.ask(method, path, document, version=version, headers={**headers, 'X-Auth-Token': TOKEN})


def test_addresses_and_clouds(sqlite_url, source, tmp_path):
    (tmp_path / 'clouds.yaml').write_text(
        'clouds:\n'
        f'  far: {{auth_type: admin_token, auth: {{endpoint: "{source.url}", token: {TOKEN}}}}}\n'
        f'  moved: {{auth_type: admin_token, auth: {{endpoint: "http://127.0.0.1:1", token: {TOKEN}}}}}\n'
    )
    environment = {'OS_CLIENT_CONFIG_FILE': str(tmp_path / 'clouds.yaml'), 'token': ''}
    for arguments in (('--cloud', 'far'), ('--cloud', 'moved', source.url)):
        output, _ = manage(sqlite_url, 'import', *arguments, **environment)
        assert 'Nothing had to be changed.' in output
    for arguments, message in (
        ((), 'Name the URL of the other Placement, or its --cloud in clouds.yaml.\n'),
        (('--cloud', 'none'), 'Nothing was imported: Cloud none was not found.\n'),
        (('nowhere',), 'Nothing was imported: '),
        (('http://127.0.0.1:1',), 'Nothing was imported: Unable to establish connection to http://127.0.0.1:1/'),
        ((source.url,), 'Nothing was imported: The response to GET /'),
    ):
        _, errors = manage(sqlite_url, 'import', *arguments, code=1, **environment)
        assert errors.startswith(message), errors


@pytest.mark.parametrize(
    ('path', 'document'),
    [
        ('/', {'versions': [{'max_version': '1.27'}]}),
        ('/', {'versions': []}),
        ('/resource_providers', {'resource_providers': [{'uuid': 'x'}]}),
        ('/traits', {'traits': ['trait\n']}),
        ('/traits', []),
    ],
)
def test_a_source_that_is_no_placement(source, path, document):
    class Strange(Remote):
        def send(self, method, asked, *arguments):
            return document if asked == path else super().send(method, asked, *arguments)

    with pytest.raises(Unusable):
        Reader(Strange(source.url, token=TOKEN)).read()
