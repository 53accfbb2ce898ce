"""The Ansible role: its playbook, and the configuration that it writes. tests/packages runs it on a machine."""

import os
import subprocess

import pytest
import yaml

from ironic_traits import conf
from tests.support.checkout import CHECKOUT
from tests.support.programs import BIN

ROLE = CHECKOUT / 'packaging' / 'ansible' / 'roles' / 'ironic_traits'
INVENTORY = CHECKOUT / 'packaging' / 'ansible' / 'inventory.example.yml'
SECRETS = {name: 'a$b' for name in ('vault_database_password', 'vault_keystone_password', 'vault_mirror_password')}


def run(folder, program, *arguments):
    environment = os.environ | {'ANSIBLE_HOME': str(folder / 'ansible')}
    done = subprocess.run([BIN / program, *arguments], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_playbook(tmp_path):
    done = run(tmp_path, 'ansible-playbook', '--syntax-check', '-i', INVENTORY, INVENTORY.parent / 'site.yml')
    assert 'WARNING' not in done.stderr


def configuration(tmp_path, variables):
    """Return the configuration that the role writes for variables, as the service reads it."""
    (tmp_path / 'variables.yml').write_text(yaml.safe_dump(variables))
    files = [f'@{path}' for path in (ROLE / 'defaults' / 'main.yml', ROLE / 'vars' / 'main.yml')]
    extra = [each for file in (*files, f'@{tmp_path}/variables.yml') for each in ('-e', file)]
    target = tmp_path / 'ironic-traits.conf'
    template = f'src={ROLE}/templates/ironic-traits.conf.j2 dest={target}'
    run(tmp_path, 'ansible', 'localhost', '-c', 'local', '-m', 'template', '-a', template, *extra)
    run(tmp_path, 'ironic-traits-manage', '--config-file', target, 'config', 'validate')
    return conf.make(['--config-file', str(target)])


def test_the_example(tmp_path):
    (tmp_path / 'state').mkdir()
    example = yaml.safe_load(INVENTORY.read_text())['ironic_traits']['vars']
    example['ironic_traits_config']['DEFAULT']['state_path'] = str(tmp_path / 'state')
    read = configuration(tmp_path, example | SECRETS)
    assert read.workers == 4
    assert read.host == '0.0.0.0'
    assert not any([read.start_worker, read.mirror.start_mirror])
    assert read.mirror.clouds == ['berlin']
    assert read.database.connection == 'postgresql+psycopg://ironic_traits:a$b@db.example.org/ironic_traits'


def test_kinds_of_values(tmp_path):
    sections = {
        'DEFAULT': {'state_path': str(tmp_path), 'host': None, 'debug': True},
        'otlp': {'headers': {'Authorization': 'Bearer TOKEN', 'X-Site': 'berlin'}},
        'cors': {'allowed_origin': ['https://one.example.org', 'https://two.example.org']},
    }
    read = configuration(tmp_path, {'ironic_traits_config': sections, 'ironic_traits_clouds': {}})
    assert read.debug
    assert read.host == '127.0.0.1'
    assert read.otlp.headers == {'Authorization': 'Bearer TOKEN', 'X-Site': 'berlin'}
    assert read.mirror.clouds == []


@pytest.mark.parametrize(
    ('host', 'address'),
    [
        (None, '127.0.0.1'),
        ('0.0.0.0', '127.0.0.1'),
        ('::', '[::1]'),
        ('10.0.0.21', '10.0.0.21'),
        ('2001:db8::1', '[2001:db8::1]'),
    ],
)
def test_where_the_service_answers(tmp_path, host, address):
    section = {} if host is None else {'host': host}
    (tmp_path / 'variables.yml').write_text(yaml.safe_dump({'ironic_traits_config': {'DEFAULT': section}}))
    files = [ROLE / 'vars' / 'main.yml', tmp_path / 'variables.yml']
    extra = [each for file in files for each in ('-e', f'@{file}')]
    done = run(tmp_path, 'ansible', 'localhost', '-m', 'debug', '-a', 'msg={{ ironic_traits_address }}', *extra)
    assert f'"msg": "{address}"' in done.stdout
