"""The log: no forged lines, the access and audit logs, and one line for an outage."""

import logging
import re
import time
import urllib.parse

import bcrypt
import pytest

from tests.support.client import Client
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer, finish_work, make_app, upgraded

AUTHORIZATION = {'Authorization': 'Basic b3BlcmF0b3I6aHVzaC1odXNo'}
USER = 'operator:' + bcrypt.hashpw(b'hush-hush', bcrypt.gensalt(4)).decode() + '\n'


@pytest.fixture
def journal(tmp_path, caplog):
    """Function that sends requests as an HTTP Basic user, and returns the lines of a logger."""
    caplog.set_level(logging.INFO)
    (tmp_path / 'users').write_text(USER)
    options = {
        'api__auth_strategy': 'http_basic',
        'api__http_basic_auth_user_file': str(tmp_path / 'users'),
        'api__access_log': True,
        'api__audit_log': True,
    }
    with make_app(upgraded(f'sqlite:///{tmp_path}/own.sqlite'), **options) as app:
        client = Client(app)

        def send(method, path, document=None, headers=AUTHORIZATION):
            client.ask(method, path, document, headers=headers)
            return {
                name: [each.getMessage() for each in caplog.records if each.name == f'ironic_traits.{name}']
                for name in ('access', 'audit')
            }

        yield send


def test_access_and_audit(journal):
    journal('GET', '/v1/nodes?traits=CUSTOM_A')
    journal('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'one', 'driver_info': {'password': 'hush-hush'}})
    journal('PUT', '/v1/nodes/one/traits/CUSTOM_A')
    journal('DELETE', '/v1/nodes/two')
    lines = journal('DELETE', '/v1/nodes/one', headers={'X-User': 'operator', 'X-User-Id': 'operator'})
    access = [re.sub(r'[\d.]+ ms|req-[0-9a-f-]{36}', '…', line) for line in lines['access']]
    assert access == [
        'GET /v1/nodes 200 in …, user operator, …',
        'POST /v1/nodes 201 in …, user operator, …',
        'PUT /v1/nodes/one/traits/CUSTOM_A 204 in …, user operator, …',
        'DELETE /v1/nodes/two 404 in …, user operator, …',
        'DELETE /v1/nodes/one 401 in …, user -, …',
    ]
    audit = [re.sub(r'req-[0-9a-f-]{36}', '…', line) for line in lines['audit']]
    assert audit == [
        'POST /v1/nodes done (201), user operator, …',
        'PUT /v1/nodes/one/traits/CUSTOM_A done (204), user operator, …',
        'DELETE /v1/nodes/two refused (404), user operator, …',
        'DELETE /v1/nodes/one refused (401), user -, …',
    ]


def test_neither_is_on_by_default(app, client, caplog):
    caplog.set_level(logging.INFO)
    client.node()
    assert not [each for each in caplog.records if each.name in ('ironic_traits.access', 'ironic_traits.audit')]


FORGED = '2026-01-01 00:00:00.000 1 CRITICAL forged'


@pytest.mark.parametrize('separator', ['\n', '\r', '\r\n', '\x0b', '\x85', '\u2028', '\x1b[2K\r'])
def test_clients_cannot_forge_lines(separator, tmp_path):
    """A path, a query or a header cannot forge a line in any logger."""
    (tmp_path / 'all.conf').write_text('[api]\naccess_log = true\naudit_log = true\n')
    arguments = ['--debug', '--nostart-worker', '--config-file', 'all.conf']
    with ForkedServer(None, *arguments, cwd=tmp_path) as server:
        text = urllib.parse.quote(f'x{separator}{FORGED}')
        for method, path in (
            ('GET', f'/{text}'),
            ('GET', f'/v1/nodes/{text}'),
            ('DELETE', f'/v1/nodes/{text}'),
            ('GET', f'/v1/nodes?name={text}'),
            ('GET', f'/placement/traits/{text}'),
            ('PUT', f'/placement/traits/{text}'),
        ):
            ask(server.base, method, path)
        ask(server.base, 'GET', '/v1', headers={'X-OpenStack-Request-ID': text, 'X-Auth-Token': text})
        printed = server.stop()
    assert 'forged' in printed
    # Use the line separators of terminals and of str.splitlines.
    assert not [line for line in printed.splitlines() if line.startswith(FORGED)]
    assert '\x1b' not in printed


def test_an_outage_is_two_lines(own_server, tmp_path):
    """An outage is two lines in each process. Requests during the outage fail with 503."""
    server, url = own_server
    (tmp_path / 'often.conf').write_text('[deploy]\nheartbeat_interval = 1\n')
    with ForkedServer(url, '--config-file', 'often.conf', cwd=tmp_path) as service:
        uuid = make(service.base)
        deadline = time.monotonic() + 30
        while b'1 worker is alive' not in ask(service.base, 'GET', '/healthcheck?detailed')[2]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        server.kill()
        for _ in range(20):
            for method, path in (('GET', '/v1/nodes'), ('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')):
                assert ask(service.base, method, path)[0] == 503
            time.sleep(0.1)
        server.start()
        for _ in range(3):
            assert ask(service.base, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')[0] == 204
        time.sleep(2)
        printed = service.stop()
    lines = printed.split('Ctrl-C stops the service.\n')[1].splitlines()
    outages = [line for line in lines if 'The database does not answer' in line]
    recoveries = [line for line in lines if 'The database answers again' in line]
    assert (len(outages), len(recoveries)) == (2, 2), printed
    assert len({line.split()[2] for line in outages}) == 2
    assert 'Traceback' not in printed
    assert len(lines) < 20, printed


def test_log_of_a_worker(app, client, caplog):
    """The log of a worker has the node, the work, and the resulting state."""
    caplog.set_level(logging.INFO)
    named = client.node(name='rack1-1')['uuid']
    nameless = client.node(driver_info={'fake_failures': ['verify']})['uuid']
    later = client.node(name='rack1-3', driver_info={'fake_delays': {'verify': 300}})['uuid']
    for uuid in (named, nameless, later):
        client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    finish_work(app)
    client.ask('PUT', f'/v1/nodes/{named}/states/power', {'target': 'power on'})
    finish_work(app)
    lines = [each.getMessage() for each in caplog.records if each.name == 'ironic_traits.worker.performer']
    assert sorted(lines) == sorted(
        [
            f'Node rack1-1 ({named}): verify finished, now manageable',
            f'Node rack1-1 ({named}): power finished, now power on',
            f'Node rack1-3 ({later}): verify continues in 300 seconds, now verifying',
            f'Node {nameless}: verify failed, now enroll: fake-hardware is configured to fail "verify".',
        ]
    )
