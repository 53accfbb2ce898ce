"""ironic-traits-manage rules reads files, and prints a report, without a database."""

import json
import os

import pytest
import yaml

from tests.support import commands

INVENTORY = {
    'inventory': {
        'cpu': {'architecture': 'x86_64', 'flags': ['avx2'], 'model_name': 'x\x1b[2J'},
        'disks': [{'rotational': True}],
        'bmc_password': 'hush',
    },
    'plugin_data': {},
}
ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
COMPUTED = {'op': 'add-trait', 'args': {'name': '{inventory[cpu][model_name]}', 'format': True}}
EXPECT = {'op': 'expect', 'args': {'conditions': [{'op': 'is-true', 'args': {'value': '{node.x}'}}], 'msg': 'x is on'}}


@pytest.fixture
def home(tmp_path):
    (tmp_path / 'node.json').write_text(json.dumps(INVENTORY))
    return tmp_path


def manage(home, *arguments):
    environment = {**os.environ, 'HOME': str(home)}
    return commands.run('ironic-traits-manage', *arguments, env=environment, cwd=home)


def check(home, rules, *arguments):
    """Check rules in a file on the inventory."""
    (home / 'my rules.yaml').write_text(yaml.safe_dump(rules))
    return manage(home, 'rules', 'check', 'my rules.yaml', '--inventory', 'node.json', *arguments)


def test_the_standard_rules(home):
    done = manage(home, 'rules', 'check', '--inventory', 'node.json', '-i', 'node.json')
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('HW_CPU_X86_AVX2  (standard.cpu-flags)') == 2
    assert done.stdout.count('STORAGE_DISK_HDD  (standard.disks)') == 2
    assert list(home.glob('*.sqlite')) == []


def test_rules_of_a_file(home):
    rules = [{'name': 'a', 'actions': [ADD]}]
    done = check(home, rules)
    assert (done.returncode, done.stderr) == (0, '')
    assert 'my-rules.a: matched: 1 trait\n' in done.stdout
    assert 'CUSTOM_A  (my-rules.a)' in done.stdout
    assert 'standard' not in done.stdout
    assert 'HW_CPU_X86_AVX2  (standard.cpu-flags)' in check(home, rules, '--standard').stdout
    done = manage(home, 'rules', 'check', 'my rules.yaml')
    assert (done.returncode, done.stdout) == (0, 'my rules.yaml: 1 valid rule\n')


@pytest.mark.parametrize(('actions', 'line'), [
    ([ADD, COMPUTED], "my-rules.a: failed: 'x\\x1b[2J' is not a trait"),
    ([EXPECT], 'my-rules.a: not what it expects: x is on: is-true (node.x is not known)'),
    ([{'op': 'fail', 'args': {'msg': 'no {inventory[cpu][model_name]}'}}], 'The inspection fails: no x\\x1b[2J'),
])  # fmt: skip
def test_rules_that_fail_on_a_node(home, actions, line):
    """No control character of an inventory reaches the terminal."""
    done = check(home, [{'name': 'a', 'actions': actions}])
    assert done.returncode == 1
    assert line in done.stdout
    assert '\x1b' not in done.stdout


def test_what_rules_change(home):
    actions = [
        {'op': 'set-attribute', 'args': {'path': 'extra/a', 'value': '{inventory[bmc_password]}'}},
        {'op': 'remove-trait', 'args': {'name': 'CUSTOM_B'}},
        {'op': 'log', 'args': {'msg': 'a'}},
    ]
    lines = check(home, [{'name': 'a', 'actions': actions}]).stdout
    for line in ("set node extra.a = '******'", 'remove CUSTOM_B', 'log info: a'):
        assert line in lines
    lines = check(home, [{'name': 'a', 'actions': actions, 'sensitive': True}]).stdout
    assert 'change of node' in lines
    assert 'hush' not in lines


def test_fields_of_the_node(home):
    (home / 'fields.json').write_text('{"x": true}')
    assert check(home, [{'actions': [EXPECT]}], '--node', 'fields.json').returncode == 0
    (home / 'fields.json').write_text('[]')
    done = check(home, [{'actions': [EXPECT]}], '--node', 'fields.json')
    assert (done.returncode, done.stderr) == (2, 'fields.json: it is not an object with the fields of a node\n')


@pytest.mark.parametrize(('arguments', 'message'), [
    ((), 'Name a file with rules'),
    (('none.yaml',), 'none.yaml: No such file or directory\n'),
    (('.',), '.: Is a directory\n'),
    (('empty.yaml',), 'empty.yaml: the file is empty\n'),
    (('binary.yaml',), 'binary.yaml: the file is not text in UTF-8\n'),
    (('wrong.yaml',), "wrong.yaml: rule 1: action 1 (add-trait): 'gold node!' is not a trait"),
    (('wrong.yaml',), "wrong.yaml: rule 2: action 1: 'frob' is not one of"),
    (('--inventory', 'none.json'), 'none.json: No such file or directory\n'),
    (('--inventory', 'empty.yaml'), 'empty.yaml: the file is empty\n'),
    (('--inventory', 'wrong.yaml'), 'wrong.yaml: it is not JSON'),
    (('--inventory', 'node.json', '--node', 'none.json'), 'No such file'),
    (('good.yaml', 'good.yaml'), 'Two rules have the name good.1'),
])  # fmt: skip
def test_files_that_cannot_be_used(home, arguments, message):
    wrong = [
        {'actions': [{'op': 'add-trait', 'args': {'name': 'gold node!'}}]},
        {'actions': [{'op': 'frob', 'args': {}}]},
    ]
    (home / 'wrong.yaml').write_text(yaml.safe_dump(wrong))
    (home / 'good.yaml').write_text(yaml.safe_dump([{'actions': [ADD]}]))
    (home / 'empty.yaml').write_text('')
    (home / 'binary.yaml').write_bytes(b'\xff\xfe')
    done = manage(home, 'rules', 'check', *arguments)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.parametrize('dump', [json.dumps, yaml.safe_dump])
def test_rules_of_inspector(home, dump):
    """The printed rules can be checked without changes."""
    rule = {
        'description': 'Big',
        'scope': 'x',
        'conditions': [{'op': 'eq', 'field': 'inventory.disks[*].rotational', 'value': True, 'multiple': 'all'}],
        'actions': [{'action': 'add-trait', 'name': 'CUSTOM_{data[inventory][cpu][architecture]}'}],
    }
    (home / 'old').write_text(dump([rule]))
    done = manage(home, 'rules', 'import', '--from-inspector', 'old')
    assert done.returncode == 0
    assert "big: the scope 'x' is left out" in done.stderr
    (home / 'new.yaml').write_text(done.stdout.replace('format: true', 'normalize: true'))
    done = manage(home, 'rules', 'check', 'new.yaml', '--inventory', 'node.json')
    assert 'CUSTOM_X86_64  (new.big)' in done.stdout
    (home / 'old').write_text(dump([rule, {'actions': []}]))
    done = manage(home, 'rules', 'import', '--from-inspector', 'old')
    assert (done.returncode, 'rule-2 is left out: it has no actions' in done.stderr) == (1, True)
    (home / 'old').write_text('[' * 1000)
    assert manage(home, 'rules', 'import', '--from-inspector', 'old').returncode == 2
    assert manage(home, 'rules', 'import', '--from-inspector', 'none').returncode == 2
