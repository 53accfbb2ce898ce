"""Mirrors of a real Ironic."""

import copy
import time

import pytest

from ironic_traits.mirror.cloud import Cloud, NotAllowed
from ironic_traits.mirror.follower import Follower
from tests.support import cli
from tests.support.client import Client
from tests.support.concurrency import wait_until
from tests.support.hostile_cloud import hostile
from tests.support.lldp import switch
from tests.support.mirror import (
    catch_up,
    clouds_file,
    delete_nodes,
    differences,
    follower,
    make_available,
    nodes_here,
)
from tests.support.service import ForkedServer, make_app, upgraded

INSTANCE = 'dddddddd-0000-4000-8000-000000000001'
_MAC = '52:54:00:00:00:01'
#: Data of a ramdisk.
_DATA = {
    'inventory': {
        'interfaces': [{'name': 'eth0', 'mac_address': _MAC, 'has_carrier': True}],
        'cpu': {'architecture': 'x86_64', 'count': 8, 'flags': ['vmx', 'aes']},
        'memory': {'physical_mb': 4096},
        'disks': [],
        'bmc_address': '',
        'boot': {'current_boot_mode': 'uefi'},
        'system_vendor': {'manufacturer': 'Acme', 'product_name': 'One'},
    }
}
#: Traits that the standard rules add for this data.
_TRAITS = {'HW_CPU_X86_VMX', 'HW_CPU_X86_AESNI'}


@pytest.fixture
def ironic(real_ironic, tmp_path, monkeypatch):
    """A real Ironic without nodes, which is the cloud "far" of clouds.yaml."""
    clouds_file(tmp_path / 'clouds.yaml', far=real_ironic.url, other=real_ironic.url)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    return real_ironic


@pytest.fixture
def new_app(tmp_path):
    """The application on SQLite, because these tests do not test SQL."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/mirror.sqlite')) as application:
        yield application


def test_mirror_has_all_fields(ironic, app, client):
    """The mirror has all fields of nodes, ports and portgroups, after the first pass and after all kinds of changes."""
    uuids = ironic.nodes(25, resource_class='gold')
    chassis = ironic.ask('POST', '/v1/chassis', {'description': 'Rack 1'})['uuid']
    first = ironic.node(
        name='rich', chassis_uuid=chassis, extra={'a': [1, True]}, properties={'cpus': 4}, description='x'
    )
    child, stays = (ironic.node(name=name, parent_node=first) for name in ('child', 'stays'))
    group = ironic.ask('POST', '/v1/portgroups', {'node_uuid': first, 'name': 'bond', 'address': '52:54:00:00:00:01'})
    port = {'node_uuid': first, 'address': '52:54:00:00:00:02', 'portgroup_uuid': group['uuid']}
    port = ironic.ask('POST', '/v1/ports', port)['uuid']
    ironic.ask('PUT', f'/v1/nodes/{uuids[0]}/traits', {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']})
    mirror = follower(app)
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []

    ironic.ask('PUT', f'/v1/nodes/{uuids[0]}/traits/CUSTOM_B')
    ironic.ask('PUT', f'/v1/nodes/{uuids[1]}/maintenance', {'reason': 'broken'})
    for verb in ('manage', 'provide'):
        ironic.ask('PUT', f'/v1/nodes/{uuids[2]}/states/provision', {'target': verb})
        wait_for(ironic, uuids[2], 'manageable' if verb == 'manage' else 'available')
    ironic.patch(f'/v1/nodes/{uuids[2]}', instance_uuid=INSTANCE)
    ironic.patch(f'/v1/nodes/{uuids[3]}', name='passing')
    ironic.patch(f'/v1/nodes/{uuids[4]}', name='node3')
    ironic.patch(f'/v1/nodes/{stays}', parent_node=uuids[1])
    ironic.patch(f'/v1/nodes/{uuids[3]}', name='node4')
    ironic.ask('DELETE', f'/v1/nodes/{uuids[5]}')
    ironic.ask('DELETE', f'/v1/nodes/{child}')
    other = ironic.node(name='other', parent_node=uuids[0])
    ironic.ask('POST', '/v1/ports', {'node_uuid': other, 'address': '52:54:00:00:00:04'})
    ironic.patch(f'/v1/ports/{port}', pxe_enabled=False)
    new = ironic.node(name='node5')
    ironic.ask('POST', '/v1/ports', {'node_uuid': new, 'address': '52:54:00:00:00:03'})
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []


def wait_for(ironic, uuid, state):
    """Wait until a node is in a state, and not locked."""
    deadline = time.monotonic() + 60
    while True:
        node = ironic.ask('GET', f'/v1/nodes/{uuid}')
        if node['provision_state'] == state and node['reservation'] is None:
            return
        assert time.monotonic() < deadline, node['provision_state']
        time.sleep(0.05)


@pytest.fixture
def proxy(ironic, tmp_path):
    """A Hostile server that is the cloud "far"."""
    with hostile(ironic.url) as server:
        clouds_file(tmp_path / 'clouds.yaml', far=server.url)
        yield server


@pytest.mark.parametrize('failure', ['401', '500', 'half', 'silence'])
def test_failures_of_the_cloud(ironic, proxy, new_app, failure):
    """Reads still succeed. The mirror retries after increasing pauses, and continues where it stopped."""
    client = Client(new_app)
    uuids = ironic.nodes(12)
    # On a busy machine, the real Ironic sometimes takes longer than this.
    mirror = follower(new_app, timeout=2 if failure == 'silence' else 30, max_pause=4)
    wait_until(lambda: mirror.work() == 0)
    proxy.failure = failure
    before = len(proxy.requests)
    assert [mirror.work() for _ in range(4)] == [1, 2, 4, 4]
    # These include the requests of openstacksdk's version discovery.
    assert len(proxy.requests) - before <= 12
    shown = client.get('/v1/mirrors/far')
    assert (shown['state'], bool(shown['last_error'])) == ('failing', True)
    assert client.get('/v1/nodes')['nodes'] is not None

    ironic.patch(f'/v1/nodes/{uuids[0]}', description='new')
    proxy.failure = None
    catch_up(mirror)
    assert list(differences(client, ironic, 'far')) == []
    assert client.get('/v1/mirrors/far')['state'] == 'following'
    proxy.failure = failure
    assert not mirror.catch_up()
    assert len(client.get('/v1/nodes')['nodes']) == 12
    proxy.failure = None
    catch_up(mirror)


def test_lists_without_half_of_their_items(ironic, proxy, new_app):
    """Nothing is deleted, and the mirror does not request each missing node."""
    client = Client(new_app)
    ironic.nodes(30)
    mirror = follower(new_app, page_size=100)
    assert mirror.catch_up()
    proxy.failure = 'short'
    before = len(proxy.requests)
    assert not mirror.catch_up()
    assert len(proxy.requests) - before < 40
    assert 'lacks items that exist' in client.get('/v1/mirrors/far')['last_error']
    assert list(differences(client, ironic, 'far')) == []
    proxy.failure = None
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []


def test_new_process_goes_on(ironic, new_app):
    """A new process continues the first read of a killed one. Later, it does not read everything again."""
    client = Client(new_app)
    ironic.nodes(25, maintenance=False)
    killed = follower(new_app)
    for _ in range(3):
        killed.work()
    nodes = len(client.get('/v1/nodes')['nodes'])
    assert 0 < nodes < 25
    new_app.service.conf.set_override('lease_seconds', 5, group='mirror')
    mirror = follower(new_app)
    # The turn has the name of this process, so the mirror considers its old holder ended.
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []
    # The first process notices that it has lost its turn, and takes it back only after the end of the other one.
    requests = client.get('/v1/mirrors/far')['requests']
    again = follower(new_app)
    assert again.catch_up()
    # Everything is read again only once a day.
    assert client.get('/v1/mirrors/far')['requests'] - requests < 20


def test_anchor_that_has_gone(ironic, new_app):
    """The mirror continues correctly after the nodes of its anchor are deleted or changed."""
    client = Client(new_app)
    uuids = ironic.nodes(12)
    mirror = follower(new_app)
    for uuid in uuids[:6]:
        ironic.patch(f'/v1/nodes/{uuid}', description='first')
        assert mirror.catch_up()
    for number in range(3, 6):
        ironic.patch(f'/v1/nodes/{uuids[number]}', description='second')
    ironic.ask('DELETE', f'/v1/nodes/{uuids[2]}')
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []
    for uuid in client.get('/v1/nodes?fields=uuid')['nodes']:
        ironic.patch(f'/v1/nodes/{uuid["uuid"]}', description='third')
    assert mirror.catch_up()
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []


def test_changes_on_many_pages(ironic, new_app):
    client = Client(new_app)
    uuids = ironic.nodes(35)
    mirror = follower(new_app)
    ironic.patch(f'/v1/nodes/{uuids[0]}', description='first')
    assert mirror.catch_up()
    for uuid in uuids:
        ironic.patch(f'/v1/nodes/{uuid}', description='second')
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []


def test_deletion_is_noticed_soon(ironic, new_app):
    """The number of nodes shows a deletion long before all uuids are compared, also when another node was created."""
    client = Client(new_app)
    uuids = ironic.nodes(12)
    mirror = follower(new_app, interval=0.1, deletions_interval=3600)
    assert mirror.catch_up()
    for number in range(2):
        ironic.ask('DELETE', f'/v1/nodes/{uuids[number]}')
        ironic.node(name=f'new{number}')
        deadline = time.monotonic() + 60
        # Compare only the uuids: Ironic may show another conductor without a change of the node.
        while nodes_here(client, 'far').keys() != (there := ironic.all('nodes').keys()):
            assert time.monotonic() < deadline, nodes_here(client, 'far').keys() ^ there
            time.sleep(mirror.work())


def test_uuids_are_not_compared_while_their_number_fits(ironic, new_app, tmp_path):
    """Comparisons are the main load of an idle mirror on its cloud, so they wait while the number of nodes fits."""
    ironic.nodes(3)
    with hostile(ironic.url) as proxy:
        clouds_file(tmp_path / 'clouds.yaml', far=proxy.url)
        mirror = follower(new_app, interval=0.5, deletions_interval=1)
        catch_up(mirror)
        proxy.requests.clear()
        deadline = time.monotonic() + 60
        while sum(_is_comparison(path, 'ports') for _, path in proxy.requests) < 3:
            assert time.monotonic() < deadline
            time.sleep(mirror.work())
    assert not any(_is_comparison(path, 'nodes') for _, path in proxy.requests)


def _is_comparison(path, resource):
    """Whether a request is the first one for the uuids of all items."""
    return path.startswith(f'/v1/{resource}?') and 'sort_dir=asc' in path and 'fields=uuid' in path


def test_deletion_of_most_nodes_is_not_believed(ironic, new_app):
    """The mirror does not trust the deletion of most nodes: its user may have lost the permission to list them."""
    client = Client(new_app)
    ironic.nodes(60)
    mirror = follower(new_app, page_size=100)
    assert mirror.catch_up()
    delete_nodes(ironic.directory)
    assert mirror.catch_up()
    assert client.get('/v1/mirrors/far')['waits_for'] == ['deletions']
    assert len(client.get('/v1/nodes')['nodes']) == 60


def test_allocations(ironic, app, client):
    """Allocations are mirrored with and without a node, after changes, and after deletion with or without the node."""
    nodes = ironic.nodes(2, resource_class='gold')
    ironic.ask('PUT', f'/v1/nodes/{nodes[0]}/traits', {'traits': ['CUSTOM_A']})
    make_available(ironic.directory)
    first = ironic.allocate(resource_class='gold', traits=['CUSTOM_A'], name='first', extra={'a': 1})
    failed = ironic.allocate(resource_class='none', name='failed')
    mirror = follower(app, interval=0.1)
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []
    assert client.get(f'/v1/nodes/{nodes[0]}/allocation') == client.get('/v1/allocations/first')
    shown = client.get('/v1/mirrors/far')
    assert mirror.catch_up()
    assert client.get('/v1/mirrors/far')['changes'] == shown['changes']

    second = ironic.allocate(resource_class='gold', candidate_nodes=[nodes[1]], name='second')
    ironic.patch(f'/v1/allocations/{first["uuid"]}', name='passing')
    ironic.patch(f'/v1/allocations/{second["uuid"]}', name='first')
    ironic.patch(f'/v1/allocations/{first["uuid"]}', name='second', extra={'b': 2})
    for _ in range(2):
        assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []

    ironic.ask('DELETE', f'/v1/allocations/{first["uuid"]}')
    # The mirror needs no list of all uuids for this, because the node has changed.
    deadline = time.monotonic() + 30
    while client.ask('GET', f'/v1/nodes/{nodes[0]}/allocation').status_int == 200:
        assert time.monotonic() < deadline
        time.sleep(min(mirror.work(), 0.1))
    ironic.ask('DELETE', f'/v1/allocations/{failed["uuid"]}')
    third = ironic.allocate(resource_class='gold', candidate_nodes=[nodes[0]])
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []
    assert {each['uuid'] for each in client.get('/v1/allocations')['allocations']} == {second['uuid'], third['uuid']}


#: {field of a node: (value, part of the conflict)}.
_ODD = {
    'traits': (5, '5 is not a list of traits'),
    'name': ({'a': 1}, "name has {'a': 1}, which is of another type"),
    'description': ('a\0b', 'description has a NUL character'),
    'extra': ({'a': 10**400}, 'extra cannot be stored'),
    'properties': ('cpus', 'which is of another type'),
    'updated_at': ('yesterday', "'yesterday' is not a time"),
    'provision_updated_at': (5, '5 is not a time'),
    'resource_class': ('x' * 300, 'resource_class has more than 80 characters'),
    'maintenance': ('no', 'which is of another type'),
    'instance_uuid': (['x'], 'which is of another type'),
    'allocation_uuid': ({'x': 1}, 'which is of another type'),
    'conductor': (7, 'which is of another type'),
}


class _Odd(Cloud):
    """A cloud with odd nodes.

    :ivar odd: {uuid: {field: value}}.
    """

    odd: dict[str, dict] = {}

    def get(self, path, **query):
        document = super().get(path, **query)
        for each in [document, *document.get('nodes', ()), *document.get('ports', ())]:
            each.update({name: value for name, value in self.odd.get(each.get('uuid'), {}).items() if name in each})
        return document


def test_odd_nodes(ironic, app, client):
    """An odd node is a conflict, and stays as it is here. All others are followed."""
    uuids = ironic.nodes(len(_ODD) + 3)
    cloud = _Odd('far', 10)
    follower(app)
    mirror = Follower(app.service, 'far', cloud)
    catch_up(mirror)
    before = nodes_here(client, 'far')
    cloud.odd = {uuid: {name: value} for uuid, (name, (value, _)) in zip(uuids, _ODD.items(), strict=False)}
    cloud.odd[uuids[-1]] = {'traits': [{'a': 1}, 'CUSTOM_A', 7]}
    for uuid in uuids:
        ironic.patch(f'/v1/nodes/{uuid}', extra={'b': 2})
    catch_up(mirror)
    shown = client.get('/v1/mirrors/far')
    assert (shown['state'], shown['last_error']) == ('following', None)
    conflicts = {each['uuid']: each['reason'] for each in shown['conflict_list']}
    assert conflicts.keys() == cloud.odd.keys()
    for uuid, (_, reason) in zip(uuids, _ODD.values(), strict=False):
        assert reason in conflicts[uuid]
    after = nodes_here(client, 'far')
    assert [after[uuid] for uuid in uuids[: len(_ODD)]] == [before[uuid] for uuid in uuids[: len(_ODD)]]
    assert [after[uuid]['extra'] for uuid in uuids[len(_ODD) :]] == [{'b': 2}] * 3
    assert after[uuids[-1]]['traits'] == ['CUSTOM_A']

    cloud.odd = {}
    for uuid in uuids:
        ironic.patch(f'/v1/nodes/{uuid}', extra={'b': 3})
    catch_up(mirror)
    assert client.get('/v1/mirrors/far')['conflict_list'] == []
    assert list(differences(client, ironic, 'far')) == []


def test_odd_nodes_at_first(ironic, new_app):
    """A cloud with odd items is read completely all the same, also with items without a uuid."""
    client = Client(new_app)
    uuids = ironic.nodes(12)
    port = ironic.ask('POST', '/v1/ports', {'node_uuid': uuids[0], 'address': _MAC})['uuid']
    follower(new_app)
    cloud = _Odd('far', 10)
    cloud.odd = {uuids[1]: {'traits': 5}, uuids[2]: {'uuid': None}, port: {'extra': 'x'}}
    catch_up(Follower(new_app.service, 'far', cloud))
    assert nodes_here(client, 'far').keys() == set(uuids) - {uuids[1], uuids[2]}
    conflicts = client.get('/v1/mirrors/far')['conflict_list']
    assert [(each['uuid'], each['resource']) for each in conflicts] == [(uuids[1], 'nodes'), (port, 'ports')]


class _Restricted(Cloud):
    """A cloud whose user may not list allocations."""

    def get(self, path, **query):
        if path.startswith('/allocations'):
            raise NotAllowed('It is forbidden.')
        return super().get(path, **query)


def test_allocations_that_may_not_be_listed(ironic, new_app):
    """If the user may not list allocations, everything else is mirrored."""
    client = Client(new_app)
    node = ironic.node(name='one', resource_class='gold')
    make_available(ironic.directory)
    allocation = ironic.allocate(resource_class='gold')
    follower(new_app)
    mirror = Follower(new_app.service, 'far', _Restricted('far', 10))
    for _ in range(2):
        assert mirror.catch_up()
    assert client.get('/v1/mirrors/far')['state'] == 'following'
    assert client.get(f'/v1/nodes/{node}')['allocation_uuid'] == allocation['uuid']
    assert client.get('/v1/allocations') == {'allocations': []}


def test_service_starts_the_mirror(ironic, tmp_path):
    """The service starts the mirror for ``[mirror] clouds``, and the commands show it."""
    uuid = ironic.node(name='node1')
    (tmp_path / 'mirror.conf').write_text('[mirror]\nclouds = far\ninterval = 0.2\n')
    with ForkedServer(f'sqlite:///{tmp_path}/x.sqlite', '--config-file', str(tmp_path / 'mirror.conf')) as server:
        server.wait_until(lambda: ' has been read' in server.output)
        (listed,) = cli.rows(server, 'baremetal', 'mirror', 'list')
        assert (listed['Name'], listed['State'], listed['Nodes']) == ('far', 'following', 1)
        shown = cli.rows(server, 'baremetal', 'mirror', 'show', 'far')
        assert (shown['endpoint'], shown['conflict_list']) == (f'{ironic.url}/v1/', [])
        assert cli.rows(server, 'baremetal', 'node', 'show', 'node1')['uuid'] == uuid
        assert 'far' in cli.run(server, 'baremetal', 'node', 'power', 'on', 'node1', code=1)


def inspect(ironic, uuid, data):
    """Inspect a node in the cloud: its ramdisk sends data."""
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'inspect'})
    wait_for(ironic, uuid, 'inspect wait')
    ironic.ask('POST', f'/v1/continue_inspection?node_uuid={uuid}', data)
    wait_for(ironic, uuid, 'manageable')


def _held_by_rules(client, uuid):
    detail = client.get(f'/v1/nodes/{uuid}/traits?detail=true')['traits']
    return {each['trait'] for each in detail if any(held['source'].startswith('rule:') for held in each['sources'])}


def _requests_for_data(proxy):
    """Return the uuids of the nodes whose data was requested."""
    return [path.split('/')[3] for _, path in proxy.requests if path.endswith('/inventory')]


def test_rules_run_on_data_of_the_cloud(ironic, proxy, app, client):
    """Rules run once per inspection. Invalid data, or a cloud without data, does not stop the mirror."""
    uuid = ironic.node(name='one', inspect_interface='agent')
    ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': _MAC})
    ironic.node(name='never-inspected')
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    wait_for(ironic, uuid, 'manageable')
    inspect(ironic, uuid, _DATA)
    mirror = follower(app)
    assert mirror.catch_up()
    shown = client.get(f'/v1/nodes/{uuid}/inventory', version='1.81')
    assert shown['inventory'] == ironic.ask('GET', f'/v1/nodes/{uuid}/inventory')['inventory']
    assert _held_by_rules(client, uuid) >= _TRAITS
    assert set(ironic.ask('GET', f'/v1/nodes/{uuid}/traits')['traits']) == set()

    assert mirror.catch_up()
    assert _requests_for_data(proxy) == [uuid]
    without_aes = copy.deepcopy(_DATA)
    without_aes['inventory']['cpu']['flags'] = ['vmx']
    # The hook parse-lldp of this service reads it; that of the cloud does not run by default.
    without_aes['inventory']['interfaces'][0]['lldp'] = switch()
    inspect(ironic, uuid, without_aes)
    assert mirror.catch_up()
    assert _requests_for_data(proxy) == [uuid, uuid]
    assert _held_by_rules(client, uuid) & _TRAITS == {'HW_CPU_X86_VMX'}
    plugin_data = client.get(f'/v1/nodes/{uuid}/inventory', version='1.81')['plugin_data']
    assert plugin_data['parsed_lldp']['eth0']['switch_system_name'] == 'leaf-r7a'

    with_nul = copy.deepcopy(_DATA)
    with_nul['inventory']['system_vendor']['product_name'] = 'a\0b'
    inspect(ironic, uuid, with_nul)
    assert mirror.catch_up()
    assert _held_by_rules(client, uuid) & _TRAITS == {'HW_CPU_X86_VMX'}
    assert client.get(f'/v1/nodes/{uuid}')['inspection_finished_at'] is not None
