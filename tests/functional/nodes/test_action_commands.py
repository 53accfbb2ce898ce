"""Actions on many nodes by the command and the Python library, against a running service."""

import json
import time

import pytest
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from tests.support.cli import BAREMETAL, OPENSTACK, run
from tests.support.terminal import Terminal

ACTION = ('node', 'action', 'run')


@pytest.fixture
def client(server):
    client = Client(session.Session(noauth.NoAuth()), endpoint_override=server.base)
    for name in ('three', 'four'):
        client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': name})
    yield client
    for name in ('three', 'four'):
        client.ask('PUT', f'/v1/nodes/{name}/maintenance')
        _wait(client, name)
        client.ask('DELETE', f'/v1/nodes/{name}')


def _wait(client, name):
    """Wait for the worker to end its work on a node."""
    end = time.monotonic() + 30
    while client.ask('GET', f'/v1/nodes/{name}')['reservation']:
        assert time.monotonic() < end
        time.sleep(0.05)


def _manage(client, name):
    """Make a node manageable."""
    client.ask('PUT', f'/v1/nodes/{name}/states/provision', {'target': 'manage'})
    _wait(client, name)


def _reasons(client):
    return {node['name']: node['maintenance_reason'] for node in client.nodes(fields='name,maintenance_reason')}


@pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
def test_an_action(server, client, prefix):
    nodes = ('--nodes', 'three', 'four', '--yes')
    lines = run(server, *prefix, *ACTION, 'maintenance', '--reason', 'fan', *nodes).splitlines()
    assert lines == ['Selected: 2 nodes.', 'maintenance is possible on 2 nodes.', 'Done: 2 nodes.']
    assert _reasons(client) == {'one': None, 'two': None, 'three': 'fan', 'four': 'fan'}
    lines = run(server, *prefix, *ACTION, 'unset_maintenance', '--all', '--yes').splitlines()
    assert lines == [
        'Selected: 4 nodes.',
        'unset_maintenance is possible on 2 nodes; 2 nodes unchanged.',
        'Done: 2 nodes; 2 nodes unchanged.',
    ]
    assert set(_reasons(client).values()) == {None}


def test_a_report(server, client, tmp_path):
    path = tmp_path / 'report.json'
    manage = ('baremetal', *ACTION, 'manage', '--nodes', 'three', 'four', '--yes')
    _manage(client, 'four')
    errors = run(server, *manage, '--report', str(path), code=1)
    assert '1 node refused the action.' in errors
    report = json.loads(path.read_text())
    assert {node['name']: node['outcome'] for node in report['nodes']} == {'three': 'done', 'four': 'refused'}
    # Nothing is possible any more, so nothing is asked or sent. The report says why.
    assert '2 nodes refused the action.' in run(server, *manage, '--report', str(path), code=1)
    assert {node['outcome'] for node in json.loads(path.read_text())['nodes']} == {'refused'}


def test_each_refusal_is_printed_once(server, client, tmp_path):
    _manage(client, 'four')
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    command = (*ACTION, 'manage', '--nodes', 'three', 'four')
    with Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('Run manage on 1 node? [y/N] ')
        assert terminal.printed().count('  four: The requested action') == 1
        terminal.press(b'y\n')
        assert terminal.end() == 1
        assert 'Done: 1 node; 1 node refused.' in terminal.printed()
        assert terminal.printed().count('  four: The requested action') == 1


def test_it_asks(server, client, tmp_path):
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    command = (*ACTION, 'maintenance', '--reason', 'fan', '--nodes', 'three', 'four')
    with Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('Run maintenance on 2 nodes? [y/N] ')
        terminal.press(b'n\n')
        assert terminal.end() == 0
        assert 'Nothing changed.' in terminal.printed()
    with Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('[y/N] ')
        client.ask('PUT', '/v1/nodes/four/maintenance')
        terminal.press(b'y\n')
        assert terminal.end() == 1
        assert 'have changed since the preview. Nothing changed.' in terminal.printed()
        assert 'Run the command again.' in terminal.printed()
    assert _reasons(client)['three'] is None


def test_bad_options(server):
    def refusal(*options):
        return run(server, 'baremetal', *ACTION, *options, code=1)

    assert 'stdin is not a terminal. Use --yes' in refusal('maintenance', '--all')
    assert 'manage' in refusal('mange', '--all', '--yes')
    assert "'reason'" in refusal('manage', '--all', '--reason', 'fan')
    assert 'unknown filters: colour' in refusal('manage', '--where', 'colour=red')


def test_the_library(client):
    request = {'action': 'maintenance', 'nodes': ['three', 'four'], 'reason': 'fan'}
    preview = client.act_on_nodes(**request)
    assert preview['done'] == 2
    client.ask('PUT', '/v1/nodes/four/maintenance')
    with pytest.raises(Failed) as failed:
        client.act_on_nodes(**request, digest=preview['digest'])
    assert (failed.value.status, failed.value.code) == (409, 'baremetal.node.action_outdated')
    assert client.act_on_nodes(**request, digest=failed.value.digest)['done'] == 2
