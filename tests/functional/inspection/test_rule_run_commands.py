"""Previews of inspection rules, and runs over stored data, by the commands and the Python library."""

import json

import pytest
import yaml
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from tests.support.cli import run
from tests.support.terminal import Terminal

NODES = ('one', 'two')
INVENTORY = {'inventory': {'cpu': {'flags': ['avx2'], 'architecture': 'x86_64'}, 'disks': [{'name': '/dev/nvme0'}]}}
HAS = {'op': 'has', 'args': {'value': '{inventory[cpu][flags]}', 'member': 'avx2'}}
ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_AVX2'}}
EXPECT = {
    'op': 'expect',
    'args': {'conditions': [{'op': 'eq', 'args': {'values': ['{inventory[cpu][architecture]}', 'arm']}}]},
}
FAILS = {'op': 'add-trait', 'args': {'name': '{inventory[cpu][model\x1b]}', 'format': True}}
RULES = '/v1/inspection_rules'
PREVIEW, APPLY = (('baremetal', 'inspection', 'rule', verb) for verb in ('preview', 'apply'))


@pytest.fixture
def client(server):
    """A client of the service. Both nodes have data, and no rules are stored."""
    client = Client(session.Session(noauth.NoAuth()), endpoint_override=server.base)
    for rule in client.ask('GET', RULES)['inspection_rules']:
        client.ask('DELETE', f'{RULES}/{rule["uuid"]}')
    for name in NODES:
        client.set_traits(name, [])
        for veto in client.trait_details(name)['vetoes']:
            client.lift_veto(name, veto['trait'])
        client.ask('PUT', f'/v1/nodes/{name}/inventory', INVENTORY)
    return client


def traits(client):
    return {node['name']: node['traits'] for node in client.nodes(fields='name,uuid,traits')}


@pytest.fixture
def rules(tmp_path):
    """The path of a file with rules."""
    path = tmp_path / 'site.yaml'
    path.write_text(yaml.safe_dump([{'name': 'avx', 'conditions': [HAS], 'actions': [ADD]}, {'actions': [EXPECT]}]))
    return str(path)


def test_preview(server, client, rules):
    lines = run(server, *PREVIEW, rules, '--where', 'traits=HW_ARCH_X86_64', '--without', 'standard.disks').splitlines()
    assert lines[:2] == ['Selected: 2 nodes.', '  CUSTOM_AVX2: 2 nodes would get it']
    assert '  rule site.avx matches 2 nodes' in lines
    assert '  rule site.2 matches 2 nodes, finds a mismatch on 2 nodes' in lines
    assert '  one: +CUSTOM_AVX2' in lines
    assert sum('site.2: not what it expects: eq (values: ' in line for line in lines) == 2
    assert lines[-1] == 'Would change: 2 nodes.'
    assert traits(client)['one'] == ['HW_ARCH_X86_64', 'HW_CPU_X86_AVX2']


def test_long_preview(server, client, rules):
    output = run(server, *PREVIEW, rules, '--nodes', 'one', '--long', '--stored')
    assert '  one: +CUSTOM_AVX2\n' in output
    assert '    avx: matched\n      CUSTOM_AVX2\n' in output
    assert '    standard.cpu-flags: matched\n      HW_CPU_X86_AVX2\n' in output
    assert 'site.' not in output


def test_preview_of_a_file(server, client, rules, tmp_path):
    path = tmp_path / 'node.json'
    path.write_text(json.dumps(INVENTORY | {'plugin_data': {}}))
    output = run(server, *PREVIEW, rules, '--inventory', str(path))
    assert output.splitlines()[:2] == ['  CUSTOM_AVX2: 1 node would get it', '  HW_ARCH_X86_64: 1 node would get it']
    assert '  the inventory: +CUSTOM_AVX2 +HW_ARCH_X86_64 +HW_CPU_X86_AVX2' in output


def test_apply(server, client):
    client.ask('POST', RULES, {'name': 'avx', 'conditions': [HAS], 'actions': [ADD, EXPECT]})
    client.ask('POST', RULES, {'name': 'model', 'actions': [FAILS]})
    assert 'stdin is not a terminal. Use --yes' in run(server, *APPLY, '--all', code=1)
    assert traits(client)['one'] == ['HW_ARCH_X86_64', 'HW_CPU_X86_AVX2']
    assert run(server, *APPLY, '--all', '--yes').splitlines() == [
        '  rule avx finds a mismatch on 2 nodes',
        '  rule model fails on 2 nodes',
        'Done: the rules ran on 2 nodes, 2 of them changed.',
    ]
    assert traits(client) == dict.fromkeys(NODES, ['CUSTOM_AVX2', 'HW_ARCH_X86_64', 'HW_CPU_X86_AVX2'])
    assert run(server, *APPLY, '--all', '--yes').splitlines()[-1].endswith('2 nodes, 0 of them changed.')
    output = run(server, *PREVIEW, '--nodes', 'one', '--without', 'avx')
    assert '  one: -CUSTOM_AVX2\n' in output
    assert 'model: failed: add-trait: inventory[cpu][model\\x1b] is not known' in output


def test_nodes_without_data(server, client):
    client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'bare'})
    sentence = '0 of 1 node have data of an inspection: the rules ran on none.'
    assert run(server, *APPLY, '--nodes', 'bare', '--yes').splitlines() == [sentence]
    assert run(server, *APPLY, '--nodes', 'bare').splitlines() == [
        'Selected: 1 node; 1 node without inspection data left out.',
        'Would change: 0 nodes.',
        sentence,
    ]
    client.ask('DELETE', '/v1/nodes/bare')


def test_bad_options(server, tmp_path):
    def refusal(*options):
        return run(server, *PREVIEW, *options, code=1)

    path = tmp_path / 'site.yaml'
    assert refusal(str(path), '--all').strip() == f'{path}: No such file or directory'
    for text, reason in (
        ('- [', 'while parsing'),
        ('', 'the file is empty'),
        ('5', 'rules are a list of objects'),
        ('- 5', 'rules are a list of objects'),
        ('- {name: &a [*a]}', 'Circular reference'),
        ('- {name: x}', 'rule site.x: it has no actions'),
    ):
        path.write_text(text)
        assert reason in refusal(str(path), '--all')
    assert '--node needs --inventory' in refusal('--all', '--node', str(path))
    assert 'it is not JSON' in refusal('--inventory', str(path))
    assert "'without' names rules that are not in force: x" in refusal('--all', '--without', 'x')


def test_the_library(client):
    rule = {'name': 'avx', 'conditions': [HAS], 'actions': [ADD]}
    pages = list(client.preview_rules(rules=[rule], where={}, limit=1))
    assert [[node['added'] for node in page['nodes']] for page in pages] == [[['CUSTOM_AVX2']]] * 2
    uuid = client.ask('POST', RULES, rule)['uuid']
    digest = next(client.preview_rules(where={}))['digest']
    first, second = client.apply_rules(digest, where={}, limit=1)
    assert (first['applied'], first['changed'], second['applied'], second.get('next')) == (1, 1, 1, None)
    # Resumed: the second node again.
    assert [done['changed'] for done in client.apply_rules(digest, where={}, marker=first['next'])] == [0]
    client.ask('PATCH', f'{RULES}/{uuid}', [{'op': 'replace', 'path': '/priority', 'value': 7}])
    with pytest.raises(Failed) as caught:
        list(client.apply_rules(digest, where={}))
    assert (caught.value.status, caught.value.code) == (409, 'baremetal.inspection.outdated')
    assert caught.value.digest == next(client.preview_rules(where={}))['digest']


def test_a_preview_that_is_outdated_meanwhile(client):
    pages = client.preview_rules(where={}, limit=1)
    next(pages)
    client.ask('PUT', '/v1/nodes/two/inventory', INVENTORY)
    with pytest.raises(Failed, match='have changed in the meantime') as caught:
        next(pages)
    assert caught.value.code == 'baremetal.inspection.outdated'


def test_on_a_terminal(server, client, tmp_path):
    client.ask('POST', RULES, {'name': 'avx', 'conditions': [HAS], 'actions': [ADD]})
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    with Terminal(*APPLY, '--all', cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('Run the inspection rules on 2 nodes? [y/N] ')
        client.ask('PUT', '/v1/nodes/two/inventory', INVENTORY)
        terminal.press(b'y\n')
        assert terminal.end() == 1
        assert 'The rules ran on 0 nodes of 2. Run the command again.' in terminal.printed()
    with Terminal(*APPLY, '--all', cwd=tmp_path, **environment) as terminal:
        terminal.wait_for('[y/N] ')
        terminal.press(b'y\n')
        assert terminal.end() == 0
        assert 'Done: the rules ran on 2 nodes, 1 of them changed.' in terminal.printed()
