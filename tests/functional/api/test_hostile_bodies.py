"""Hostile bodies: what they contain is limited before it needs memory, and not read if nobody waits for it."""

import json
import pathlib
import socket
import threading
import urllib.parse

import pytest

from ironic_traits.inventory.core import history
from tests.support.client import Client, message
from tests.support.history import entries
from tests.support.http_client import make
from tests.support.inspections import PATH, add_port, ports, post, ramdisk_data, waiting
from tests.support.service import ForkedServer, finish_work, make_app, upgraded

#: MiB that a process may need for eight hostile bodies at a time. It was more than 1,500.
MAX_GROWTH = 400
SIZE = 7_500_000


def node(values):
    """Return the body of a new node with a number of JSON values."""
    return {'driver': 'fake-hardware', 'extra': {'list': ['a, [b], {c} "d" \\'] * (values - 4)}}


def test_the_number_of_values(shared_database_url):
    with make_app(shared_database_url, api__max_request_body_values=50) as app:
        client = Client(app)
        assert client.ask('POST', '/v1/nodes', node(50)).status_int == 201
        response = client.ask('POST', '/v1/nodes', node(51))
        assert (response.status_int, response.json['code']) == (413, 'baremetal.too_many_values')
        assert 'more than 50 JSON values' in message(response)
        uuid = client.node()['uuid']
        data = {'inventory': {'x': [{'a': 1}] * 40}}
        assert client.ask('PUT', f'/v1/nodes/{uuid}/inventory', data).status_int == 413
        for raw in (b'[' * 60, b'{"a":' * 60, b'"' + b'[' * 60, b'[' + b'{},' * 60, b'"\\' + b'"[' * 60):
            assert client.ask('POST', '/v1/nodes', raw=raw).status_int in (400, 413)
        traits = {'traits': [f'CUSTOM_{number}' for number in range(60)], 'resource_provider_generation': 1}
        path = f'/placement/resource_providers/{uuid}/traits'
        headers = {'OpenStack-API-Version': 'placement 1.39'}
        assert client.ask('PUT', path, traits, headers=headers).status_int == 413


@pytest.mark.parametrize('unit', ['[]', '{"a":1}', '[' * 50 + ']' * 50, '{"a":' * 50 + '1' + '}' * 50])
@pytest.mark.parametrize('path', [PATH, '/v1/nodes/{}/inventory'])
def test_memory(tmp_path, path, unit):
    beginning = '{"inventory":{"interfaces":[{"mac_address":"52:54:00:00:00:01"}]},"x":['
    body = beginning + ','.join([unit] * (SIZE // (len(unit) + 1))) + ']}'
    with ForkedServer(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), '--nostart-worker') as server:
        method, path = ('POST' if path == PATH else 'PUT'), path.format(make(server.base))
        before = peak(server)
        clients = [threading.Thread(target=send, args=(server, method, path, body)) for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert peak(server) - before < MAX_GROWTH


def send(server, method, path, body):
    """Send a body, and read the response. The service may close the connection before it has the whole body."""
    with connect(server) as connection:
        try:
            connection.sendall(head(method, path, len(body)) + body.encode())
            while connection.recv(65536):
                pass
        except ConnectionError:
            pass


def connect(server):
    """Return a connection to a service."""
    address = urllib.parse.urlsplit(server.base)
    return socket.create_connection((address.hostname, address.port), timeout=60)


def head(method, path, length):
    """Return the line and the headers of a request."""
    headers = f'Host: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}'
    return f'{method} {path} HTTP/1.1\r\nX-OpenStack-Ironic-API-Version: 1.84\r\n{headers}\r\n\r\n'.encode()


def peak(server):
    """Return the largest peak of the memory of a process of the service, in MiB."""
    root = pathlib.Path(f'/proc/{server.process.pid}')
    children = (root / 'task' / root.name / 'children').read_text().split()
    texts = [(root.parent / pid / 'status').read_text() for pid in (root.name, *children)]
    return max(int(text.partition('VmHWM:')[2].split()[0]) for text in texts) / 1024


def test_data_is_not_read_if_no_node_waits(tmp_path):
    with ForkedServer(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), '--nostart-worker') as server:
        make(server.base)
        with connect(server) as connection:
            connection.sendall(head('POST', PATH, 100_000) + b'{')
            assert b' 404 ' in connection.recv(65536)


def test_a_ramdisk_with_many_network_interfaces(database_url):
    """An inspection adds a limited number of ports. The history has the reason."""
    with make_app(database_url, inspection__max_ports=5, inspection__add_ports='all') as app:
        client = Client(app)
        uuid = waiting(app, client)
        macs = [f'52:54:00:00:00:{number:02x}' for number in range(12)]
        add_port(client, uuid, macs[0])
        assert post(client, ramdisk_data(*macs)).status_int == 202
        finish_work(app)
        assert ports(client, uuid).keys() == set(macs[:5])
        assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'manageable'
        (event,) = [each for each in entries(client, uuid) if 'max_ports' in json.dumps(each)]
        assert '7 network interfaces got no port' in event['event']
        assert event['severity'] == history.WARNING
