"""The invariants of the contributor guide under concurrent requests, on each database."""

import concurrent.futures

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import validate
from tests.support.client import Client
from tests.support.concurrency import CLIENTS, at_once
from tests.support.service import make_app


def test_row_lock_times_out(database_url):
    """If another transaction keeps the row of the node, the request fails with 503 and writes nothing."""
    with make_app(database_url, database__lock_timeout=1) as app:
        client = Client(app)
        uuid = client.node()['uuid']
        with app.service.database.write() as connection:
            connection.execute(sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1))
            response = client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')
        assert response.status_int == 503, response.text
        assert response.json['code'] == 'baremetal.database_unavailable'
        assert response.headers['Retry-After']
        assert client.get(f'/v1/nodes/{uuid}/traits') == {'traits': []}
        assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A').status_int == 204


def test_never_more_than_fifty_traits(clients):
    """Concurrent additions succeed only up to the limit."""
    uuid = clients[0].node()['uuid']
    clients[0].ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [f'CUSTOM_{i}' for i in range(40)]})

    def add(client, number):
        return [client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_{number}_{i}').status_int for i in range(4)]

    statuses = [status for results in at_once(clients, add) for status in results]
    assert sorted(set(statuses)) == [204, 400]
    assert statuses.count(204) == 10
    assert len(clients[0].get(f'/v1/nodes/{uuid}/traits')['traits']) == 50


def test_replacing_traits_is_atomic(clients):
    """A concurrent reader sees one of the written lists, never a mixture."""
    uuid = clients[0].node()['uuid']
    lists = [sorted(f'CUSTOM_{number}_{i}' for i in range(10)) for number in range(CLIENTS)]

    def replace(client, number):
        seen = []
        for _ in range(5):
            response = client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': lists[number]})
            assert response.status_int == 200, response.text
            seen.append(client.get(f'/v1/nodes/{uuid}?fields=traits')['traits'])
        return seen

    for seen in at_once(clients, replace):
        assert all(traits in lists for traits in seen)


def test_one_instance_wins(clients):
    """If each client wants the node for another instance, one gets it. The 409 of the others names the winner."""
    for _ in range(3):
        uuid = clients[0].node()['uuid']

        def take(client, number, uuid=uuid):
            instance = f'a8b2c1c0-0000-4000-8000-{number:012}'
            patch = [{'op': 'replace', 'path': '/instance_uuid', 'value': instance}]
            return client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int

        assert sorted(at_once(clients, take)) == [200] + [409] * (CLIENTS - 1)
        assert (
            clients[0].ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}]).status_int == 200
        )


@pytest.fixture
def available(clients):
    """An available node with a trait that its instance requires."""
    node = {'driver': 'fake-hardware', 'instance_info': {'traits': ['CUSTOM_A']}}
    uuid = clients[0].ask('POST', '/v1/nodes', node, version='1.8').json['uuid']
    clients[0].ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    return uuid


def test_one_deploy_wins(clients, available):
    """One deploy wins. The others are refused with 409 because of the lock."""
    path = f'/v1/nodes/{available}/states/provision'
    statuses = at_once(clients, lambda client, number: client.ask('PUT', path, {'target': 'active'}).status_int)
    assert sorted(statuses) == [202] + [409] * (CLIENTS - 1)


class Waiting(validate.Hook):
    """A hook that calls a function during the check of a deploy.

    :param happening: function without arguments. It must not end within a moment.
    """

    def __init__(self, happening):
        self.happening = happening

    def check(self, node):
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.done = self.thread.submit(self.happening)
        with pytest.raises(concurrent.futures.TimeoutError):
            self.done.result(0.3)


@pytest.mark.parametrize('removal', ['one', 'all', 'other'])
def test_a_trait_is_removed_while_a_deploy_is_checked(clients, available, removal):
    """The removal waits until the node is locked, and is then refused. The instance gets its trait."""

    def remove():
        path = f'/v1/nodes/{available}/traits'
        if removal == 'other':
            return clients[1].ask('PUT', path, {'traits': []})
        return clients[1].ask('DELETE', path + ('/CUSTOM_A' if removal == 'one' else ''))

    hook = Waiting(remove)
    clients[0].app.service.hooks.append(hook)
    path = f'/v1/nodes/{available}/states/provision'
    response = clients[0].ask('PUT', path, {'target': 'active'})
    assert response.status_int == 202, response.text
    removed = hook.done.result(20)
    assert (removed.status_int, removed.json['code']) == (409, 'baremetal.node.locked')
    hook.thread.shutdown()
    assert clients[0].get(f'/v1/nodes/{available}?fields=provision_state,traits') == {
        'provision_state': 'deploying',
        'traits': ['CUSTOM_A'],
    }


def test_concurrent_removal_of_a_trait_and_deploy(clients, available):
    """Either the removal or the deploy is refused."""
    seen = set()
    path = f'/v1/nodes/{available}'
    for client in clients[:2]:
        # Here the second request is refused at once.
        client.app.service.conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    for _ in range(30):

        def work(client, number):
            if number:
                return client.ask('DELETE', f'{path}/traits/CUSTOM_A').status_int
            return client.ask('PUT', f'{path}/states/provision', {'target': 'active'}).status_int

        deployed, removed = at_once(clients[:2], work)
        state = clients[0].get(f'{path}?fields=provision_state')['provision_state']
        assert (deployed, removed, state) in {(202, 409, 'deploying'), (400, 204, 'available')}
        seen.add(deployed)
        with clients[0].app.service.write() as connection:
            back = {'provision_state': 'available', 'target_provision_state': None, 'reservation': None}
            connection.execute(sa.update(tables.nodes).values(back))
        clients[0].ask('PUT', f'{path}/traits/CUSTOM_A')
    assert seen <= {202, 400}


def test_one_node_for_an_instance(clients):
    """If each client wants another node for the same instance, it gets one node."""
    uuids = [clients[0].node()['uuid'] for _ in clients]
    patch = [{'op': 'replace', 'path': '/instance_uuid', 'value': 'a8b2c1c0-0000-4000-8000-000000000001'}]
    statuses = at_once(
        clients, lambda client, number: client.ask('PATCH', f'/v1/nodes/{uuids[number]}', patch).status_int
    )
    assert sorted(statuses) == [200] + [409] * (CLIENTS - 1)


def test_one_node_of_a_name(clients):
    body = {'driver': 'fake-hardware', 'name': 'one'}
    statuses = at_once(clients, lambda client, number: client.ask('POST', '/v1/nodes', body).status_int)
    assert sorted(statuses) == [201] + [409] * (CLIENTS - 1)


def test_no_patch_is_lost(clients):
    """If each client adds its own key to the same field, no key is lost."""
    uuid = clients[0].node()['uuid']

    def patch(client, number):
        for i in range(4):
            operations = [{'op': 'add', 'path': f'/extra/key-{number}-{i}', 'value': number}]
            response = client.ask('PATCH', f'/v1/nodes/{uuid}', operations)
            assert response.status_int == 200, response.text

    at_once(clients, patch)
    assert len(clients[0].get(f'/v1/nodes/{uuid}?fields=extra')['extra']) == 4 * CLIENTS


def test_deleted_once(clients):
    """No trait is added to the deleted node."""
    uuid = clients[0].node()['uuid']

    def work(client, number):
        if number % 2:
            return client.ask('DELETE', f'/v1/nodes/{uuid}').status_int
        return client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_{number}').status_int

    statuses = at_once(clients, work)
    assert statuses[1::2].count(204) == 1
    assert set(statuses[1::2]) == {204, 404}
    assert set(statuses[0::2]) <= {204, 404}
    assert clients[0].ask('GET', f'/v1/nodes/{uuid}/traits').status_int == 404


def test_pages_while_nodes_are_created_and_deleted(clients):
    """Each node that exists during the whole walk is on exactly one page."""
    stay = {clients[0].node(name=f'stay-{i:03}')['uuid'] for i in range(30)}

    def work(client, number):
        if number:
            for i in range(6):
                uuid = client.node(name=f'go-{number}-{i}')['uuid']
                client.ask('DELETE', f'/v1/nodes/{uuid}')
            return []
        return [listed for listed in (whole_list(client) for _ in range(8)) if listed]

    def whole_list(client):
        seen, page = [], client.get('/v1/nodes?fields=uuid,name&limit=4&sort_key=name&sort_dir=desc')
        while 'next' in page:
            seen += page['nodes']
            response = client.ask('GET', page['next'])
            if response.status_int == 404:
                # As in Ironic the marker must exist. It may be one of the deleted nodes.
                assert seen[-1]['name'].startswith('go-')
                return None
            page = response.json
        return [node['uuid'] for node in seen + page['nodes'] if node['uuid'] in stay]

    lists = at_once(clients, work)[0]
    assert lists
    assert all(sorted(listed) == sorted(stay) for listed in lists)


def test_one_port_has_an_address(clients):
    """If each client creates a port with the same address on another node, one succeeds."""
    nodes = [client.node()['uuid'] for client in clients]
    for round_ in range(3):
        address = f'aa:bb:cc:00:00:0{round_}'

        def make(client, number, address=address):
            return client.ask('POST', '/v1/ports', {'node_uuid': nodes[number], 'address': address}).status_int

        assert sorted(at_once(clients, make)) == [201] + [409] * (CLIENTS - 1)
        assert len(clients[0].get(f'/v1/ports?address={address}')['ports']) == 1


def test_chassis_is_deleted_while_nodes_are_added(clients):
    """No node is in a deleted chassis."""
    nodes = [client.node()['uuid'] for client in clients]
    for _ in range(5):
        chassis = clients[0].ask('POST', '/v1/chassis', {}).json['uuid']

        def work(client, number, chassis=chassis):
            if number % 2:
                return client.ask('DELETE', f'/v1/chassis/{chassis}').status_int
            patch = [{'op': 'add', 'path': '/chassis_uuid', 'value': chassis}]
            return client.ask('PATCH', f'/v1/nodes/{nodes[number]}', patch).status_int

        statuses = at_once(clients, work)
        placed, deleted = statuses[0::2], statuses[1::2]
        held = {node['chassis_uuid'] for node in clients[0].get('/v1/nodes?fields=chassis_uuid')['nodes']}
        if 204 in deleted:
            assert deleted.count(204) == 1
            assert set(deleted) <= {204, 404}
            assert set(placed) == {400}
            assert chassis not in held
        else:
            assert set(deleted) == {400}
            assert 200 in placed
            assert chassis in held


def test_portgroup_is_deleted_while_ports_are_added(clients):
    """Either the empty port group is deleted, or it stays with its ports."""
    node = clients[0].node()['uuid']
    for round_ in range(5):
        group = clients[0].ask('POST', '/v1/portgroups', {'node_uuid': node}).json['uuid']

        def work(client, number, group=group, round_=round_):
            if number % 2:
                return client.ask('DELETE', f'/v1/portgroups/{group}').status_int
            port = {'node_uuid': node, 'address': f'aa:bb:cc:00:0{round_}:0{number}', 'portgroup_uuid': group}
            return client.ask('POST', '/v1/ports', port).status_int

        statuses = at_once(clients, work)
        placed, deleted = statuses[0::2], statuses[1::2]
        if 204 in deleted:
            assert set(placed) == {400}
        else:
            assert len(clients[0].get(f'/v1/ports?portgroup={group}')['ports']) == placed.count(201) > 0


def test_no_patch_of_a_record_is_lost(clients):
    """If each client adds its own key to the same port and chassis, no key is lost."""
    port = {'node_uuid': clients[0].node()['uuid'], 'address': 'aa:bb:cc:00:00:01'}
    paths = [
        f'/v1/ports/{clients[0].ask("POST", "/v1/ports", port).json["uuid"]}',
        f'/v1/chassis/{clients[0].ask("POST", "/v1/chassis", {}).json["uuid"]}',
    ]

    def patch(client, number):
        for path in paths:
            response = client.ask('PATCH', path, [{'op': 'add', 'path': f'/extra/key-{number}', 'value': number}])
            assert response.status_int == 200, response.text

    at_once(clients, patch)
    for path in paths:
        assert len(clients[0].get(f'{path}?fields=extra')['extra']) == CLIENTS


def test_a_vif_is_attached_once(clients):
    """A VIF is attached once. Ports and VIFs that are added during the deletion of the node do not outlive it."""
    uuid = clients[0].node()['uuid']

    def attach(client, number):
        return client.ask('POST', f'/v1/nodes/{uuid}/vifs', {'id': 'left'}).status_int

    assert sorted(at_once(clients, attach)) == [204] + [409] * (CLIENTS - 1)

    def work(client, number):
        if number == 0:
            return client.ask('DELETE', f'/v1/nodes/{uuid}').status_int
        address = f'aa:bb:cc:00:00:{number:02x}'
        if number % 2:
            return client.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': address}).status_int
        return client.ask('POST', f'/v1/nodes/{uuid}/vifs', {'id': f'vif-{number}'}).status_int

    statuses = at_once(clients, work)
    assert statuses[0] == 204
    assert set(statuses[1:]) <= {201, 204, 400, 404}
    assert clients[0].get('/v1/ports') == {'ports': []}
    with clients[0].app.service.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.node_vifs)) == 0


def test_traits_of_a_locked_node_stay(client, app):
    """Each write to a locked node is refused with 409, even if it would change nothing."""
    app.service.conf.set_override('node_locked_retry_interval', 0.1, group='deploy')
    uuid = client.node()['uuid']
    path = f'/v1/nodes/{uuid}/traits'
    client.ask('PUT', path, {'traits': ['CUSTOM_A']})
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation='one'))
    for method, more, document in (
        ('PUT', '', {'traits': []}),
        ('PUT', '', {'traits': ['CUSTOM_A']}),
        ('PUT', '/CUSTOM_A', None),
        ('PUT', '/CUSTOM_B', None),
        ('DELETE', '/CUSTOM_A', None),
        ('DELETE', '/CUSTOM_B', None),
        ('DELETE', '', None),
    ):
        response = client.ask(method, path + more, document)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked'), (method, more)
    assert client.get(path) == {'traits': ['CUSTOM_A']}
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation=None))
    assert client.ask('DELETE', path).status_int == 204


def test_records_of_a_locked_node_stay(client, app):
    """Writes to ports of a locked node are refused with 409. VIFs can be attached and detached."""
    app.service.conf.set_override('node_locked_retry_interval', 0.1, group='deploy')
    uuid = client.node()['uuid']
    port = client.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': 'aa:bb:cc:00:00:01'}).json['uuid']
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation='one'))
    patch = [{'op': 'add', 'path': '/extra/a', 'value': 1}]
    requests = [
        ('PATCH', f'/v1/ports/{port}', patch),
        ('DELETE', f'/v1/ports/{port}', None),
    ]
    for method, path, document in requests:
        response = client.ask(method, path, document)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked')
    assert client.ask('POST', f'/v1/nodes/{uuid}/vifs', {'id': 'left'}).status_int == 204
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/vifs/left').status_int == 204
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation=None))
    assert client.ask('DELETE', f'/v1/ports/{port}').status_int == 204
