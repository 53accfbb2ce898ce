"""ironic-traits-manage rules check shows the traits of machines with BMCs, without a service and a database."""

import json
import os

import pytest

from tests.support import commands
from tests.support.bmc_server import PASSWORD, SYSTEM, TOKEN, USER, serving, tree
from tests.support.redfish_trees import V1, to


@pytest.fixture
def bmc():
    with serving() as server:
        yield server


@pytest.fixture
def mockup(tmp_path):
    """A directory with the documents of a BMC."""
    for path, document in tree().items():
        directory = tmp_path / 'mockup' / path.strip('/')
        directory.mkdir(parents=True, exist_ok=True)
        (directory / 'index.json').write_text(json.dumps(document))
    return tmp_path / 'mockup'


def check(home, *arguments, **environment):
    environment = {**os.environ, 'HOME': str(home), **environment}
    return commands.run('ironic-traits-manage', *arguments, env=environment, cwd=home)


def check_bmc(bmc, home, *arguments, password=PASSWORD):
    """Check the standard rules on the machines of a BMC."""
    options = ('rules', 'check', '--redfish', bmc.url, '--redfish-user', USER, *arguments)
    return check(home, *options, REDFISH_PASSWORD=password)


def refusal(done):
    """Return the sentence with which a command is refused."""
    assert (done.returncode, done.stdout) == (2, '')
    [sentence] = done.stderr.splitlines()
    return sentence


def test_a_directory(mockup, tmp_path):
    done = check(tmp_path, 'rules', 'check', '--redfish-tree', 'mockup')
    assert (done.returncode, done.stderr) == (0, '')
    assert f'\nmockup {SYSTEM}:\n' in done.stdout
    assert 'HW_ARCH_X86_64  (standard.architecture)' in done.stdout
    assert "firmware could not be read: There is no document '/redfish/v1/UpdateService'." in done.stdout
    assert list(tmp_path.glob('*.sqlite')) == []


def test_a_bmc(bmc, tmp_path):
    """Loopback is allowed here: the user names the address."""
    done = check_bmc(bmc, tmp_path)
    assert (done.returncode, done.stderr) == (0, '')
    assert f'\n{bmc.url} {SYSTEM}:\n' in done.stdout
    assert 'HW_CPU_X86_AVX512F  (standard.cpu-model)' in done.stdout
    assert not bmc.sessions


def test_the_rules_of_a_file_and_a_node(bmc, tmp_path):
    (tmp_path / 'a.yaml').write_text("""
- name: a
  actions:
  - {op: add-trait, args: {name: 'CUSTOM_{inventory[system_vendor][manufacturer]}_{node.x}', format: true}}
""")
    (tmp_path / 'node.json').write_text('{"x": "R7"}')
    bmc.system['Manufacturer'] = 'ACME'
    done = check_bmc(bmc, tmp_path, 'a.yaml', '--node', 'node.json')
    assert 'CUSTOM_ACME_R7  (a.a)' in done.stdout


def test_several_machines(bmc, tmp_path):
    """A tray that belongs to a host is no machine of its own."""
    bmc.documents['/Systems']['Members'] += [to('/Systems/2'), to('/Systems/tray')]
    chassis = {'Links': {'Chassis': [to('/Chassis/1')]}}
    bmc.documents['/Systems/2'] = {'Boot': {}, 'Manufacturer': 'Acme', **chassis}
    bmc.documents['/Systems/tray'] = {'Name': 'GPUs', **chassis}
    bmc.documents['/Chassis/1'] = {}
    lines = check_bmc(bmc, tmp_path).stdout.splitlines()
    assert [line for line in lines if V1 in line and line.endswith(':')] == [
        f'{bmc.url} {SYSTEM}:',
        f'{bmc.url} {V1}/Systems/2:',
    ]
    lines = check_bmc(bmc, tmp_path, '--system', f'{V1}/Systems/tray').stdout.splitlines()
    assert f'{bmc.url} {V1}/Systems/tray:' in lines
    assert f'{bmc.url} {SYSTEM}:' not in lines


@pytest.mark.parametrize(('path', 'sentence'), [
    ('nowhere', 'nowhere: There is no such directory.'),
    ('file', 'file: There is no such directory.'),
    ('empty', "empty: There is no document '/redfish/v1/Systems'."),
])  # fmt: skip
def test_a_directory_without_documents(tmp_path, path, sentence):
    (tmp_path / 'file').touch()
    (tmp_path / 'empty').mkdir()
    assert refusal(check(tmp_path, 'rules', 'check', '--redfish-tree', path)) == sentence


def test_no_such_system(bmc, mockup, tmp_path):
    system = ('--system', f'{V1}/Systems/9')
    sentence = refusal(check(tmp_path, 'rules', 'check', '--redfish-tree', 'mockup', *system))
    assert sentence == "mockup: There is no document '/redfish/v1/Systems/9'."
    assert refusal(check_bmc(bmc, tmp_path, *system)).endswith("The BMC answers 404 for '/redfish/v1/Systems/9'.")
    bmc.documents['/Systems']['Members'] = []
    assert refusal(check_bmc(bmc, tmp_path)) == f'{bmc.url}: The BMC has no System.'


def test_a_wrong_password(bmc, tmp_path):
    done = check_bmc(bmc, tmp_path, password='another')
    assert refusal(done) == f'{bmc.url}: The BMC refuses the user name or the password (401).'
    options = ('rules', 'check', '--redfish', bmc.url, '--redfish-user', USER)
    sentence = f'{bmc.url}: Set the password of {USER} in the environment variable REDFISH_PASSWORD.'
    assert refusal(check(tmp_path, *options)) == sentence


def test_a_bmc_that_hangs(bmc, tmp_path):
    bmc.delay = 3
    (tmp_path / 'a.conf').write_text('[redfish]\ntimeout = 0.5\n')
    options = ('--config-file', 'a.conf', 'rules', 'check', '--redfish', bmc.url)
    assert refusal(check(tmp_path, *options)) == f'{bmc.url}: The BMC did not answer in time ([redfish] timeout).'


@pytest.mark.parametrize('url', ['https://u:hush@127.0.0.1', 'u:hush@127.0.0.1'])
def test_a_password_in_a_url_is_not_printed(tmp_path, url):
    sentence = refusal(check(tmp_path, 'rules', 'check', '--redfish', url))
    assert sentence == '127.0.0.1: redfish_address must have nothing but a scheme, a host and a port.'


def test_no_secret_is_printed(bmc, tmp_path):
    bmc.answers['/Systems/1/Processors'] = lambda handler: handler.answer({'error': {'message': TOKEN}}, 500)
    done = check_bmc(bmc, tmp_path)
    assert f"processors could not be read: The BMC answers 500 for '{SYSTEM}/Processors'." in done.stdout
    assert not [secret for secret in (PASSWORD, TOKEN) if secret in done.stdout + done.stderr]


def test_control_characters(bmc, tmp_path):
    bmc.documents['/Systems/1/Processors/cpu']['Model'] = 'x\x1b[2J'
    bmc.documents['/Systems']['Members'] = [to('/Systems/1\x1b[2J')]
    done = check_bmc(bmc, tmp_path)
    assert '\x1b' not in done.stdout + done.stderr
