"""Spans that the programs send to a collector of OpenTelemetry."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys

import bcrypt
import pytest
from oslo_config import cfg

from ironic_traits import extras, span_export
from ironic_traits.cmd import tracing
from tests.support import programs
from tests.support.collector import Collector
from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make
from tests.support.mirror import clouds_file
from tests.support.servers import free_port
from tests.support.service import ForkedServer, make_conf, upgraded

SERVER, CLIENT = 2, 3
TRACE, PARENT = '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'
TRACEPARENT = {'traceparent': f'00-{TRACE}-{PARENT}-01'}
GET_NODE = 'GET /v1/nodes/{node_ident}'
SECRETS = ('SECRET-token', 'SECRET-password', 'SECRET-name', 'SECRET-query', 'SECRET-header')


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """Spans are sent after a moment, and not all together."""
    monkeypatch.setenv('OTEL_BSP_SCHEDULE_DELAY', '20')


@pytest.fixture
def collector():
    with Collector() as running:
        yield running


@pytest.fixture
def configured(tmp_path, collector):
    """A function that returns the options of a program that sends spans, with further lines of configuration."""

    def options(*lines, endpoint=collector.url):
        text = f'[otlp]\nendpoint = {endpoint}\nheaders = X-Key:SECRET-header\n'
        (tmp_path / 'spans.conf').write_text('\n'.join((text, *lines)))
        return '--config-file', str(tmp_path / 'spans.conf')

    return options


@pytest.fixture
def url(tmp_path):
    return upgraded(f'sqlite:///{tmp_path}/x.sqlite')


def test_requests_and_statements(database_url, database_kind, configured, collector):
    with ForkedServer(database_url, *configured(), '--nostart-worker') as server:
        uuid = make(server.base)
        status, headers, _ = ask(server.base, 'GET', f'/v1/nodes/{uuid}?fields=uuid', headers=TRACEPARENT)
        span = collector.wait_for(GET_NODE)
        assert (span['trace'], span['parent'], span['kind']) == (TRACE, PARENT, SERVER)
        assert (span['is_error'], span['events'], span['program']) == (False, 0, 'ironic-traits-api')
        assert {name: span[name] for name in span if '.' in name or '_id' in name} == {
            'http.request.method': 'GET',
            'http.response.status_code': status,
            'http.route': '/v1/nodes/{node_ident}',
            'openstack.request_id': headers['x-openstack-request-id'],
            'url.path': f'/v1/nodes/{uuid}',
            'url.scheme': 'http',
        }
        [statement] = collector.children(span)
        assert (statement['name'], statement['kind'], statement['trace']) == ('SELECT', CLIENT, TRACE)
        assert statement['db.system.name'] == database_kind
        assert statement['db.query.text'].startswith('SELECT nodes.uuid')
        assert uuid not in statement['db.query.text']
        created = collector.children(collector.wait_for('POST /v1/nodes'))
        assert {'INSERT', 'SELECT'} <= {each['name'] for each in created}
        assert collector.headers['X-Key'] == 'SECRET-header'


def test_names_of_requests(url, configured, collector):
    """An unknown path is in no name, because there may be any number of these."""
    with ForkedServer(url, *configured(), '--nostart-worker') as server:
        for method, path in (('GET', '/nowhere'), ('HEAD', '/v1'), ('BREW', '/v1'), ('GET', '/placement/traits')):
            ask(server.base, method, path)
        for path in ('/healthcheck', '/metrics', '/ui/app.js'):
            ask(server.base, 'GET', path)
        collector.wait_for('GET /ui/{file}')
    assert {span['name'] for span in collector.spans if span['kind'] == SERVER} >= {'GET', 'GET /placement/traits'}
    assert all('nowhere' not in span['name'] and 'BREW' not in span['name'] for span in collector.spans)
    assert not [span for span in collector.spans if span.get('url.path') in ('/healthcheck', '/metrics')]
    [unknown] = [span for span in collector.spans if span.get('http.request.method') == '_OTHER']
    assert unknown['name'].startswith('HTTP')


@pytest.mark.parametrize('path', ['/v1/nodes/caf%C3%A9', '/v1/nodes/%FF', '/v1/nodes/a%00b'])
def test_paths(url, configured, collector, path):
    """A path is as in the URL, whatever its encoding."""
    with ForkedServer(url, *configured(), '--nostart-worker') as server:
        assert ask(server.base, 'GET', path)[0] == 400
    assert path in {span.get('url.path') for span in collector.spans}


def test_long_paths(url, configured, collector):
    """Strangers cannot fill the memory, or make the collector refuse the spans of others."""
    with ForkedServer(url, *configured(), '--nostart-worker') as server:
        ask(server.base, 'GET', '/v1/nodes/' + 50_000 * 'x')
    [path] = [span['url.path'] for span in collector.spans if span['kind'] == SERVER and 'xxx' in span['url.path']]
    assert len(path) == 4096


def test_secrets(database_url, configured, collector):
    """No token, password or value is in a span, also if a statement has failed because of the value."""
    with ForkedServer(database_url, *configured(), '--nostart-worker') as server:
        fields = {'name': 'SECRET-name', 'driver_info': {'ipmi_password': 'SECRET-password'}}
        make(server.base, **fields)
        token = {'X-Auth-Token': 'SECRET-token', 'Authorization': 'Basic SECRET-token'}
        assert ask(server.base, 'POST', '/v1/nodes', {'driver': 'fake-hardware', **fields}, token)[0] == 409
        ask(server.base, 'GET', '/v1/nodes?owner=SECRET-query', headers=token)
        collector.wait_for('GET /v1/nodes')
    [failed] = [span for span in collector.spans if span['is_error']]
    assert (failed['name'], failed['events']) == ('INSERT', 0)
    assert failed['error.type'] in ('IntegrityError', 'UniqueViolation')
    assert not [secret for secret in SECRETS if secret.encode() in b''.join(collector.bodies)]


def test_failed_requests(url, configured, collector, tmp_path):
    """A 5xx is an error. A 4xx is none, as the conventions of OpenTelemetry want it."""
    users = tmp_path / 'users'
    users.write_text('a:' + bcrypt.hashpw(b'b', bcrypt.gensalt(4)).decode())
    lines = ('[api]', 'auth_strategy = http_basic', f'http_basic_auth_user_file = {users}')
    with ForkedServer(url, *configured(*lines), '--nostart-worker') as server:
        assert ask(server.base, 'GET', '/v1/nodes')[0] == 401
        users.unlink()
        assert ask(server.base, 'GET', '/v1/nodes', headers={'Authorization': 'Basic YTpi'})[0] == 503
    of_nodes = [span for span in collector.spans if span.get('url.path') == '/v1/nodes']
    assert {(each['http.response.status_code'], each['is_error'], each.get('error.type')) for each in of_nodes} == {
        (503, True, '503'),
        (401, False, None),
    }


def test_transitions(url, configured, collector):
    with ForkedServer(url, *configured('[fake_hardware]', 'failures = power')) as server:
        uuid = make(server.base)
        for target, path in (('manage', 'provision'), ('power off', 'power')):
            wait_until(lambda: b'"target_provision_state":null' in ask(server.base, 'GET', f'/v1/nodes/{uuid}')[2], 60)
            assert ask(server.base, 'PUT', f'/v1/nodes/{uuid}/states/{path}', {'target': target})[0] == 202
        verified, failed = collector.wait_for('transition verify'), collector.wait_for('transition power')
    assert (verified['program'], verified['ironic_traits.node']) == ('ironic-traits-worker', uuid)
    assert (verified['is_error'], failed['is_error'], failed['error.type']) == (False, True, 'WorkFailed')
    assert {'UPDATE', 'SELECT'} <= {span['name'] for span in collector.children(verified)}


def test_mirror(url, configured, collector, tmp_path, monkeypatch):
    """The requests of a round belong to it, and so do the spans that the cloud makes of them."""
    far = upgraded(f'sqlite:///{tmp_path}/far.sqlite')
    with ForkedServer(far, *configured(), '--nostart-worker') as cloud:
        make(cloud.base)
        clouds_file(tmp_path / 'clouds.yaml', far=cloud.base, gone='http://127.0.0.1:1')
        monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
        command = [
            programs.BIN / 'ironic-traits-mirror',
            '--database',
            url,
            *configured(),
            '--cloud',
            'far',
            '--cloud',
            'gone',
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as mirror:
            try:
                collector.wait_for('mirror task', 8)
            finally:
                mirror.terminate()
    tasks = {span['id']: span for span in collector.named('mirror task')}
    assert {each['ironic_traits.cloud'] for each in tasks.values() if each['is_error']} == {'gone'}
    assert {(each['program'], each['ironic_traits.cloud']) for each in tasks.values()} == {
        ('ironic-traits-mirror', 'far'),
        ('ironic-traits-mirror', 'gone'),
    }
    requests = {span['id']: span for span in collector.spans if span['parent'] in tasks and 'url.full' in span}
    assert {each['url.full'].rpartition('/v1/')[0] for each in requests.values()} >= {cloud.base}
    assert all(each['name'] == 'GET' and '?' not in each['url.full'] for each in requests.values())
    assert [span for span in collector.spans if span['parent'] in requests and span['kind'] == SERVER]
    assert [span for span in collector.spans if span['parent'] in tasks and 'db.query.text' in span]
    failed = [span for span in collector.spans if span.get('url.full', '').startswith('http://127.0.0.1:1/')]
    assert {(each['is_error'], each['error.type'], each['events'], each['message']) for each in failed} == {
        (True, 'ConnectionError', 0, '')
    }


def test_a_stop_sends_the_last_spans(url, configured, collector, monkeypatch):
    monkeypatch.setenv('OTEL_BSP_SCHEDULE_DELAY', '600000')
    with ForkedServer(url, *configured()) as server:
        uuid = make(server.base)
        ask(server.base, 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
        server.wait_for('now manageable')
        assert collector.spans == []
    assert {'POST /v1/nodes', 'transition verify'} <= {span['name'] for span in collector.spans}


def test_processes(url, configured, collector):
    """Each process sends its own spans, also one that replaces a killed one."""
    with ForkedServer(url, *configured('[DEFAULT]', 'workers = 2'), '--nostart-worker') as server:

        def pids():
            with contextlib.suppress(OSError, http.client.HTTPException):
                ask(server.base, 'GET', '/v1')
            return {span['pid'] for span in collector.named('GET /v1')}

        wait_until(lambda: len(pids()) == 2, 60)
        before = pids()
        assert server.process.pid not in before
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(pids()) == 3, 60)


def test_no_collector(url, configured):
    """Requests go on, and the log has one line, and another one when the collector is there."""
    port = free_port()
    options = configured(endpoint=f'http://me:SECRET-password@127.0.0.1:{port}/')
    with ForkedServer(url, *options, '--nostart-worker') as server:
        uuid = make(server.base)
        server.wait_for('Spans are lost', 60)
        wait_until(lambda: ask(server.base, 'GET', f'/v1/nodes/{uuid}')[0] == 200)
        with Collector(port) as late:

            def has_recovered():
                ask(server.base, 'GET', f'/v1/nodes/{uuid}')
                return 'Spans are sent' in server.output

            server.wait_until(has_recovered)
            late.wait_for(GET_NODE)
        assert server.output.count('Spans are lost') == 1
        assert f'http://127.0.0.1:{port}/v1/traces' in server.output
        assert 'Connection refused' in server.output
        assert not {word for word in ('Traceback', *SECRETS) if word in server.output}


@pytest.mark.parametrize('status', [401, 503])
def test_a_collector_that_refuses(url, configured, collector, status):
    collector.status = status
    endpoint = collector.url.replace('://', '://ops:SECRETPW@')
    with ForkedServer(url, *configured(endpoint=endpoint), '--nostart-worker') as server:
        make(server.base)
        server.wait_for('Spans are lost')
        for _ in range(20):
            make(server.base)
    assert server.output.count('Spans are lost') == 1
    assert 'SECRET' not in server.output


def test_a_collector_that_does_not_respond(url, configured, monkeypatch):
    """It holds up neither requests, more than fit into the queue, nor the stop. The log has the reason."""
    monkeypatch.setenv('OTEL_BSP_MAX_QUEUE_SIZE', '100')
    monkeypatch.setenv('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '100')
    with socket.create_server(('127.0.0.1', 0)) as deaf:
        options = configured(endpoint=f'http://127.0.0.1:{deaf.getsockname()[1]}')
        with ForkedServer(url, *options) as server:
            uuid = make(server.base)
            assert {ask(server.base, 'GET', f'/v1/nodes/{uuid}')[0] for _ in range(1200)} == {200}
            server.wait_for('Spans are lost')
            server.stop()
        assert server.process.returncode == 0
        assert 'Queue full' not in server.output


@pytest.mark.parametrize('size', [0, 2**46], ids=['threads', 'no threads'])
def test_another_wsgi_server(url, configured, collector, size):
    """Its end sends the last spans. A thread that closes them cannot start if its stack is as large as this."""
    _, path = configured('[database]', f'connection = {url}', '[api]', 'noauth_beyond_loopback = true')
    program = (
        'from ironic_traits.wsgi import application; from wsgiref.util import setup_testing_defaults as defaults\n'
        'environ = {"PATH_INFO": "/v1/nodes"}; defaults(environ)\n'
        'application(environ, lambda status, headers, exc_info=None: print(status))\n'
        f'import threading; threading.stack_size({size})'
    )
    environment = os.environ | {'IRONIC_TRAITS_CONFIG_FILES': path, 'OTEL_BSP_SCHEDULE_DELAY': '600000'}
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, env=environment)
    assert done.stdout == '200 OK\n', done.stderr
    assert collector.children(collector.wait_for('GET /v1/nodes'))


def test_what_to_install(url, monkeypatch):
    monkeypatch.setitem(sys.modules, 'opentelemetry.exporter.otlp.proto.http', None)
    tracing.check(make_conf(url))
    expected = r'\[otlp\] endpoint cannot be used: opentelemetry\S* is not installed. Run: pip install '
    with pytest.raises(cfg.Error, match=expected):
        tracing.check(make_conf(url, otlp__endpoint='http://127.0.0.1:4318'))


def test_a_package_that_is_not_installed():
    assert extras.missing('otlp', 'nowhere.sdk.trace').startswith('nowhere.sdk.trace is not installed. Run: ')


@pytest.mark.parametrize(
    ('statement', 'text'),
    [
        ("SELECT 'a', 'it''s' FROM x", 'SELECT ?, ? FROM x'),
        (r"SELECT 'a\' SECRET' FROM x", 'SELECT ? FROM x'),
        ('SELECT 1' + ' ' * 5000, 'SELECT 1'),
    ],
)
def test_strings_in_statements(statement, text):
    assert span_export._text(statement) == text
