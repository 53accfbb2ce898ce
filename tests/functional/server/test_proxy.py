"""The nginx and haproxy examples of the documentation, with TLS, in front of two running services."""

import contextlib
import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import threading

import openstack
import pytest

from tests.support import cli, commands
from tests.support.concurrency import wait_until
from tests.support.http_client import VERSION, ask
from tests.support.proxies import Proxy, behind
from tests.support.servers import free_port
from tests.support.service import ForkedServer, upgraded

KINDS = ('nginx', 'haproxy')
#: The limits of the service by default: of bodies, and of the data of inspections.
BODY, DATA = 1024 * 1024, 8 * 1024 * 1024
ADDRESSES = (
    *('/v1/nodes/a%2Fb', '/v1/nodes/a%252Fb', '/v1/nodes/%E2%82%AC', '/v1//nodes', '/v1/nodes/../chassis'),
    *('/v1/nodes/', '/v1/nodes/x%2Fy/traits/CUSTOM_A', '/v1/nodes/a%20b?x=%2F'),
    f'/v1/nodes?traits={"CUSTOM_A," * 6000}CUSTOM_A',
)
NEWEST = {'X-OpenStack-Ironic-API-Version': 'latest'}
LIMIT_WRITES = {'#acl': 'acl', '#stick': 'stick', '#http-request track': 'http-request track'}
LIMIT_WRITES |= {'#http-request return': 'http-request return', 'http_req_rate(1s)': 'http_req_rate(1h)'}


@pytest.fixture(scope='module', params=KINDS)
def system(request, tmp_path_factory):
    """A proxy, and two services with few threads."""
    with behind(request.param, tmp_path_factory.mktemp(request.param), 'threads = 2') as running:
        yield running


@pytest.fixture
def proxy(system):
    return system[0]


def make(proxy, **fields):
    """Create a node through a proxy, and return its uuid."""
    status, _, body = proxy.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})
    assert status == 201, body
    return json.loads(body)['uuid']


def dial(proxy):
    """Return a TLS connection to a proxy."""
    context = ssl.create_default_context(cafile=proxy.certificate)
    connection = socket.create_connection(('127.0.0.1', proxy.port), timeout=60)
    return context.wrap_socket(connection, server_hostname='127.0.0.1')


def test_links(proxy):
    """Links are those of public_endpoint, whatever the headers for proxies say."""
    for name in ('X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded', 'X-Forwarded-Prefix', 'X-Forwarded-For'):
        status, headers, body = proxy.ask('GET', '/v1', **{name: 'evil.example.org'})
        links = re.findall(r'"href": ?"([^"]*)', body.decode())
        assert status == 200
        assert links
        assert all(link.startswith(f'{proxy.base}/') or 'docs.openstack.org' in link for link in links), links
        assert headers.get_all('Strict-Transport-Security') == ['max-age=31536000']
    location = proxy.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'})[1]['Location']
    assert location.startswith(f'{proxy.base}/v1/nodes/')


def test_versions_of_tls(proxy):
    for version, is_accepted in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True)):
        context = ssl.create_default_context(cafile=proxy.certificate)
        context.set_ciphers('ALL:@SECLEVEL=0')
        context.minimum_version = context.maximum_version = version
        with contextlib.ExitStack() as stack:
            plain = stack.enter_context(socket.create_connection(('127.0.0.1', proxy.port), timeout=60))
            if not is_accepted:
                stack.enter_context(pytest.raises(ssl.SSLError, match=r'(?i)protocol.version'))
            context.wrap_socket(plain, server_hostname='127.0.0.1').close()


def test_http_2(proxy):
    command = ['curl', '--cacert', proxy.certificate, '-sS', '-w', '%{http_version}', f'{proxy.base}/healthcheck']
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout.removeprefix('OK')) == (0, '', '2')


@pytest.mark.parametrize('path', ['/metrics', '/%6detrics', '/metrics?x', '//metrics', '/x/../metrics', '/metrics/.'])
def test_metrics_stay_inside(system, path):
    proxy, servers = system
    assert b'ironic_traits_requests' in ask(servers[0].base, 'GET', '/metrics')[2]
    status, _, body = proxy.ask('GET', path)
    assert status in (403, 404)
    assert b'ironic_traits_requests' not in body


def test_what_is_served(proxy):
    for path in ('/v1/nodes', '/placement', '/ui/', '/healthcheck', '/openapi.json'):
        assert proxy.ask('GET', path)[0] == 200, path
    page = proxy.ask('GET', '/ui/app.js', **{'Accept-Encoding': 'gzip'})
    assert page[1]['Content-Encoding'] == 'gzip'
    assert proxy.ask('GET', '/ui/app.js', **{'If-None-Match': page[1]['ETag'], 'Accept-Encoding': 'gzip'})[0] == 304


def test_headers(proxy):
    """Versions and ETags pass in both directions, although the client takes compressed responses."""
    path = f'/v1/nodes/{make(proxy)}'
    patch = [{'op': 'add', 'path': '/extra/a', 'value': 1}]
    _, headers, _ = proxy.ask('GET', path, **{'Accept-Encoding': 'gzip', 'X-OpenStack-Ironic-API-Version': '1.50'})
    assert headers['X-OpenStack-Ironic-API-Version'] == '1.50'
    tag = proxy.ask('GET', path, **{'Accept-Encoding': 'gzip'})[1]['ETag']
    assert tag.startswith('"')
    assert proxy.ask('GET', path, **{'If-None-Match': tag})[0] == 304
    assert proxy.ask('PATCH', path, patch, **{'If-Match': tag})[0] == 200
    assert proxy.ask('PATCH', path, patch, **{'If-Match': tag})[0] == 412
    versions = {'OpenStack-API-Version': 'placement 1.10'}
    assert proxy.ask('GET', '/placement/traits', **versions)[1]['OpenStack-API-Version'] == 'placement 1.10'


@pytest.mark.parametrize('path', ADDRESSES, ids=lambda path: path[:30])
def test_addresses(system, path):
    """The service gets the address that the client has sent: the response is the same as without the proxy."""
    proxy, servers = system
    for method in ('GET', 'PUT', 'DELETE', 'PATCH'):
        status, _, body = ask(servers[0].base, method, path)
        assert (status, body) == proxy.ask(method, path)[::2], method


def test_sizes(proxy):
    """The largest body passes. The service refuses one more byte in the format of its API."""
    node = {'driver': 'fake-hardware', 'extra': {}}
    uuid = make(proxy)
    for size, status in ((BODY, 201), (BODY + 1, 413)):
        padding = size - len(json.dumps(node | {'extra': {'a': ''}}))
        response = proxy.ask('POST', '/v1/nodes', node | {'extra': {'a': 'x' * padding}})
        assert response[0] == status
    assert str(BODY) in json.loads(response[2])['error_message']
    data = {'inventory': {}, 'plugin_data': {}}
    for size, status in ((DATA, 200), (DATA + 1, 413)):
        padding = size - len(json.dumps(data | {'plugin_data': {'a': ''}}))
        document = data | {'plugin_data': {'a': 'x' * padding}}
        response = proxy.ask('PUT', f'/v1/nodes/{uuid}/inventory', document, **NEWEST)
        assert response[0] == status
    assert str(DATA) in json.loads(response[2])['error_message']


def test_clients_that_wait_before_the_body(proxy):
    body = json.dumps({'driver': 'fake-hardware'}).encode()
    head = ['POST /v1/nodes HTTP/1.1', 'Host: 127.0.0.1', f'Content-Length: {len(body)}', 'Expect: 100-continue']
    head += [f'{name}: {value}' for name, value in VERSION.items()]
    with dial(proxy) as connection:
        connection.sendall('\r\n'.join([*head, '', '']).encode())
        assert connection.recv(1000).startswith(b'HTTP/1.1 100 ')
        connection.sendall(body)
        assert connection.recv(1000).startswith(b'HTTP/1.1 201 ')


def test_slow_clients(proxy):
    """A client that sends half a header or half a body is refused after the timeout, and occupies no thread."""
    parts = [b'PUT /v1/nodes/x/traits HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"t'] * 8
    parts += [b'GET /v1/nodes HTTP/1.1\r\nHost: x\r\nX-Sl'] * 8
    connections = [dial(proxy) for _ in parts]
    for connection, part in zip(connections, parts, strict=True):
        connection.sendall(part)
    make(proxy)
    for connection in connections:
        response = connection.recv(1000)
        assert response == b'' or response.startswith(b'HTTP/1.1 408 ')
        connection.close()
    make(proxy)


def test_streams(proxy):
    """A change is sent at once on a stream that stays open."""
    context = ssl.create_default_context(cafile=proxy.certificate)
    connection = http.client.HTTPSConnection('127.0.0.1', proxy.port, timeout=60, context=context)
    with contextlib.closing(connection):
        headers = VERSION | {'Accept': 'text/event-stream', 'X-OpenStack-Ironic-API-Version': '1.38'}
        connection.request('GET', '/v1/changes', headers=headers)
        response = connection.getresponse()
        assert response.headers['Content-Type'] == 'text/event-stream'
        uuid = make(proxy)
        assert any(uuid.encode() in line for line in iter(response.readline, b''))


def test_clients(proxy):
    """The command-line client on both APIs, and openstacksdk, verify the certificate."""
    environment = {'OS_CACERT': str(proxy.certificate), 'OS_AUTH_TYPE': 'none', 'OS_PLACEMENT_API_VERSION': '1.39'}
    name = f'behind-{proxy.kind}'
    for path, command in (
        ('', ('openstack', 'baremetal', 'node', 'create', '--driver', 'fake-hardware', '--name', name)),
        ('', ('openstack', 'baremetal', 'node', 'add', 'trait', name, 'CUSTOM_FAST')),
        ('/placement', ('openstack', 'trait', 'list')),
    ):
        done = commands.run(*command, env=environment | cli.without_credentials() | {'OS_ENDPOINT': proxy.base + path})
        assert done.returncode == 0, done.stderr
    assert 'CUSTOM_FAST' in done.stdout
    connection = openstack.connect(
        auth_type='none', baremetal_endpoint_override=proxy.base, cacert=str(proxy.certificate), load_yaml_config=False
    )
    assert connection.baremetal.get_node(name, fields=['traits']).traits == ['CUSTOM_FAST']
    connection.close()


class Broken:
    """A service that receives requests, and closes their connections without a response.

    :ivar requests: the first lines of the requests.
    """

    def __init__(self):
        self.requests = []
        self._socket = socket.create_server(('127.0.0.1', 0))
        self.address = f'127.0.0.1:{self._socket.getsockname()[1]}'
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self._socket.accept()[0]
                with connection:
                    self._respond(connection)

    def _respond(self, connection):
        request = b''
        while not re.search(rb'\r\n\r\n(\{\}|\[\])?\Z', request) and (part := connection.recv(65536)):
            request += part
        if request.startswith(b'GET /healthcheck'):
            connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
        elif request:
            self.requests.append(request.partition(b' HTTP')[0])

    def close(self):
        self._socket.close()


@pytest.mark.parametrize('kind', KINDS)
def test_writes_are_sent_once(kind, tmp_path):
    """A request whose connection breaks off is sent to the other service, if it only reads."""
    broken = Broken()
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with contextlib.closing(broken), ForkedServer(url, '--nostart-worker') as server:
        servers = [broken.address, server.base.removeprefix('http://')]
        # Otherwise nginx leaves the broken one out for a while.
        changes = {f'{server} max_fails=1': f'{server} max_fails=0' for server in servers} if kind == 'nginx' else ()
        with Proxy(kind, tmp_path, free_port(), servers, changes) as proxy:
            check_writes(proxy, broken)


def check_writes(proxy, broken):
    for number, method in enumerate(('GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE') * 2):
        path = f'/v1/nodes/once-{number}'
        statuses = []
        # The first requests may go to either service.
        while f'{method} {path}'.encode() not in broken.requests:
            statuses.append(proxy.ask(method, path, {} if method[0] == 'P' else None)[0])
            assert len(statuses) < 20
        assert statuses[-1] == {'GET': 404, 'HEAD': 405}.get(method, 502), (method, statuses)
        assert broken.requests.count(f'{method} {path}'.encode()) == 1


@pytest.mark.parametrize('kind', KINDS)
def test_a_process_dies(kind, tmp_path):
    """After the death of one service, reads and writes go on, and no write is done twice."""
    with behind(kind, tmp_path) as (proxy, servers):
        uuid, statuses, is_over = make(proxy), [], threading.Event()

        def read():
            while not is_over.is_set():
                statuses.append(proxy.ask('GET', f'/v1/nodes/{uuid}')[0])

        reader = threading.Thread(target=read)
        reader.start()
        created = create(proxy, 'before', 10)
        servers[0].process.send_signal(signal.SIGKILL)
        created += create(proxy, 'meanwhile', 10)
        servers[0].process.wait(30)
        # The forks of a service end after it.
        wait_until(lambda: not servers[0].is_listening(), 60)
        created += create(proxy, 'then', 10)
        is_over.set()
        reader.join(60)
        assert set(statuses) == {200}
        # A create that was repeated would be a 409.
        assert set(created) <= {201, 502}
        assert created.count(502) <= 3
        assert create(proxy, 'after', 10) == [201] * 10


def create(proxy, prefix, number):
    """Create nodes, and return the statuses."""
    nodes = [{'driver': 'fake-hardware', 'name': f'{prefix}-{each}'} for each in range(number)]
    return [proxy.ask('POST', '/v1/nodes', node)[0] for node in nodes]


def test_a_client_writes_too_much(tmp_path):
    """Beyond its limit an address may still read, and others may write."""
    with behind('haproxy', tmp_path, changes=LIMIT_WRITES | {'expire 10s': 'expire 1h'}) as (proxy, _):
        path = f'/v1/nodes/{make(proxy)}/traits'
        # To create the node was a write, too.
        statuses = [send(proxy, 'PUT', f'{path}/CUSTOM_{number}').status for number in range(20)]
        assert statuses == [204] * 19 + [503]
        assert send(proxy, 'PUT', f'{path}/CUSTOM_A').headers['Retry-After'] == '1'
        assert send(proxy, 'PUT', f'{path}/CUSTOM_A', '127.0.0.2').status == 204
        assert send(proxy, 'GET', path).status == 200


def send(proxy, method, path, address='127.0.0.1'):
    """Send a request from an address, and return the response."""
    context = ssl.create_default_context(cafile=proxy.certificate)
    connection = http.client.HTTPSConnection(
        '127.0.0.1', proxy.port, timeout=60, source_address=(address, 0), context=context
    )
    with contextlib.closing(connection):
        connection.request(method, path, headers=VERSION)
        return connection.getresponse()
