"""Edits of traits by the command and the Python library, against a running service."""

import contextlib
import sqlite3

import pytest
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from tests.support import http_client
from tests.support.cli import BAREMETAL, OPENSTACK, run
from tests.support.service import ForkedServer
from tests.support.terminal import Terminal

NODES = {'one': ['CUSTOM_A', 'CUSTOM_FAST'], 'two': ['CUSTOM_A']}


@pytest.fixture
def client(server):
    client = Client(session.Session(noauth.NoAuth()), endpoint_override=server.base)
    yield client
    for name, traits in NODES.items():
        client.ask('PUT', f'/v1/nodes/{name}/traits', {'traits': traits})


def _traits(client):
    return {node['name']: node['traits'] for node in client.nodes(fields='name,uuid,traits')}


@pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
def test_an_edit(server, client, prefix):
    edit = (*prefix, 'trait', 'edit', '--add', 'CUSTOM_B', '--rename', 'CUSTOM_A=CUSTOM_Z', '--remove', 'CUSTOM_FAST')
    assert run(server, *edit, '--where', 'traits=CUSTOM_A', 'maintenance=false', '--yes').splitlines() == [
        'Selected: 2 nodes.',
        '  CUSTOM_B: 2 nodes would get it',
        '  CUSTOM_Z: 2 nodes would get it',
        '  CUSTOM_A: 2 nodes would lose it',
        '  CUSTOM_FAST: 1 node would lose it',
        '  one: +CUSTOM_B +CUSTOM_Z -CUSTOM_A -CUSTOM_FAST',
        '  two: +CUSTOM_B +CUSTOM_Z -CUSTOM_A',
        'Would change: 2 nodes.',
        'Done: 2 nodes changed; 2 nodes got CUSTOM_B; 2 nodes got CUSTOM_Z; 2 nodes lost CUSTOM_A; '
        '1 node lost CUSTOM_FAST.',
    ]
    assert _traits(client) == dict.fromkeys(NODES, ['CUSTOM_B', 'CUSTOM_Z'])


def test_selections(server, client):
    edit = ('baremetal', 'trait', 'edit', '--add', 'CUSTOM_B', '--yes')
    assert 'Selected: 1 node.' in run(server, *edit, '--nodes', 'two')
    assert _traits(client) == NODES | {'two': ['CUSTOM_A', 'CUSTOM_B']}
    assert 'Selected: 2 nodes.' in run(server, *edit, '--all', '--source', 'hook')
    assert [each['source'] for each in _sources(client, 'two', 'CUSTOM_B')] == ['operator', 'hook']
    output = run(server, *edit, '--where', 'traits=CUSTOM_A', '--where', 'traits=CUSTOM_FAST')
    assert output.splitlines() == [
        'Selected: 1 node.',
        '  one: sources only',
        'Would change: 1 node.',
        'Done: 1 node changed.',
    ]
    assert run(server, *edit, '--all').splitlines() == ['Selected: 2 nodes.', 'Would change: 0 nodes.']


def _sources(client, node, trait):
    traits = client.ask('GET', f'/v1/nodes/{node}/traits?detail=true')['traits']
    return next(each['sources'] for each in traits if each['trait'] == trait)


def test_bad_options(server):
    def refusal(*options):
        return run(server, 'baremetal', 'trait', 'edit', *options, code=1)

    assert 'stdin is not a terminal. Use --yes' in refusal('--add', 'CUSTOM_B', '--all')
    assert 'Nothing to do: use --add, --remove or --rename.' in refusal('--all')
    assert "--rename expects key=value, not 'CUSTOM_B'" in refusal('--rename', 'CUSTOM_B', '--all')
    assert '--rename names CUSTOM_A twice' in refusal('--rename', 'CUSTOM_A=CUSTOM_B', 'CUSTOM_A=CUSTOM_C', '--all')
    assert "--where expects key=value, not 'gold'" in refusal('--add', 'CUSTOM_B', '--where', 'gold')
    assert '--where names owner twice' in refusal('--add', 'CUSTOM_B', '--where', 'owner=a', 'owner=b')
    assert 'unknown filters: colour' in refusal('--add', 'CUSTOM_B', '--where', 'colour=red')
    assert "Did you mean 'CUSTOM_B'?" in refusal('--add', 'custom_b', '--all')
    assert 'belongs to the service itself' in refusal('--add', 'CUSTOM_B', '--source', 'rule:x', '--all')


def test_it_asks(server, client, tmp_path):
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    command = ('trait', 'edit', '--add', 'CUSTOM_B', '--all')
    for keys, printed, traits in (
        (b'\n', 'Nothing changed.', NODES),
        (b'n\n', 'Nothing changed.', NODES),
        (b'\x04', 'Nothing changed.', NODES),
        (b'y\n', 'Done: 2 nodes changed', {name: sorted([*names, 'CUSTOM_B']) for name, names in NODES.items()}),
    ):
        with Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
            terminal.wait_for('Edit the traits of 2 nodes? [y/N] ')
            terminal.press(keys)
            assert terminal.end() == 0
            assert printed in terminal.printed()
        assert _traits(client) == traits


def test_it_counts_the_seconds(tmp_path):
    """The command shows the seconds while another process has the lock of the database."""
    with ForkedServer(None, '--nostart-worker', cwd=tmp_path) as running:
        http_client.make(running.base, name='one')
        lock = sqlite3.connect(tmp_path / 'ironic-traits-data' / 'ironic-traits.sqlite', isolation_level=None)
        environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': running.base}
        command = ('trait', 'edit', '--add', 'CUSTOM_A', '--all')
        with contextlib.closing(lock), Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
            terminal.wait_for('[y/N] ')
            lock.execute('BEGIN IMMEDIATE')
            terminal.press(b'y\n')
            terminal.wait_for('Editing 1 node … 2 s')
            lock.execute('ROLLBACK')
            assert terminal.end() == 0
            assert 'Done: 1 node changed' in terminal.printed()


def test_the_set_changes_while_it_asks(server, client, tmp_path):
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    command = ('trait', 'edit', '--add', 'CUSTOM_B', '--all')
    with Terminal('baremetal', *command, cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('[y/N] ')
        client.ask('PUT', '/v1/nodes/two/traits/CUSTOM_C')
        terminal.press(b'y\n')
        assert terminal.end() == 1
        assert 'have changed since the preview. Nothing changed.' in terminal.printed()
        assert 'Run the command again.' in terminal.printed()
    assert _traits(client) == NODES | {'two': ['CUSTOM_A', 'CUSTOM_C']}


def test_the_library(client):
    edit = {'add': ['CUSTOM_B'], 'where': {'traits': ['CUSTOM_A']}}
    preview = client.edit_traits(**edit, limit=1)
    assert [node['name'] for node in preview['nodes']] == ['one']
    second = client.edit_traits(**edit, limit=1, marker=preview['nodes'][0]['uuid'])
    assert [node['name'] for node in second['nodes']] == ['two']
    client.ask('PUT', '/v1/nodes/two/traits/CUSTOM_C')
    with pytest.raises(Failed) as failed:
        client.edit_traits(**edit, digest=preview['digest'])
    assert (failed.value.status, failed.value.code) == (409, 'baremetal.trait.edit_outdated')
    assert client.edit_traits(**edit, digest=failed.value.digest)['changed'] == 2
