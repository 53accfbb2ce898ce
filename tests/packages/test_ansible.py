"""The Ansible role on a bare Debian: the commands of the guide, and what they do to a machine that has the service.

Each test goes on where the one before has ended.
"""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from tests.support import guides
from tests.support.bare_machine import BareMachine
from tests.support.checkout import CHECKOUT
from tests.support.concurrency import wait_until
from tests.support.programs import BIN

#: The first test builds the package.
pytestmark = pytest.mark.timeout(1800)
GUIDE = CHECKOUT / 'doc' / 'source' / 'installation.rst'
HOST, PORT = 'inventory1.example.org', 6385
#: The Ironic that the guide shows.
SHOWN = 'http://192.0.2.10:6385'
UNITS = ('ironic-traits-api', 'ironic-traits-worker', 'ironic-traits-mirror')
#: In place of ssh: a shell in the machine. The last argument is the command.
SSH = """#!/bin/sh
for command; do :; done
exec {enter} env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$command"
"""


class Site:
    """A machine, and the folder with the inventory of Ansible."""

    def __init__(self, machine, folder):
        self.machine, self._folder = machine, folder
        ssh = folder / 'ssh'
        ssh.write_text(SSH.format(enter=' '.join(machine.enter)))
        ssh.chmod(0o755)
        shutil.copytree(CHECKOUT / 'packaging', folder / 'packaging')
        self._environment = os.environ | {
            'PATH': f'{BIN}:{os.environ["PATH"]}',
            'ANSIBLE_SSH_EXECUTABLE': str(ssh),
            'ANSIBLE_SSH_TRANSFER_METHOD': 'piped',
            'ANSIBLE_HOME': str(folder / 'ansible'),
        }

    def run(self, command):
        """Run a command on the machine with Ansible, and return what it prints."""
        done = subprocess.run(
            ['bash', '-euo', 'pipefail', '-c', command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
            env=self._environment,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def play(self):
        """Run the playbook, and return the counts of its last line: {'ok': …, 'changed': …}."""
        output = self.run('ansible-playbook -i inventory.yml packaging/ansible/site.yml')
        assert 'WARNING' not in output
        return {name: int(number) for name, number in re.findall(r'(\w+)=(\d+)', output.splitlines()[-2])}

    @property
    def variables(self):
        """The variables of the inventory."""
        return yaml.safe_load((self._folder / 'inventory.yml').read_text())['ironic_traits']['vars']

    def write(self, variables):
        """Write the inventory."""
        inventory = {'ironic_traits': {'hosts': {HOST: {}}, 'vars': variables}}
        (self._folder / 'inventory.yml').write_text(yaml.safe_dump(inventory))

    def ask(self, path):
        """Return the body of a response of the service."""
        header = 'OpenStack-API-Version: baremetal 1.82, ironic-traits 1.0'
        return self.machine.attempt(f'curl -s -H "{header}" "http://127.0.0.1:{PORT}{path}"').stdout

    def started_at(self):
        """Return when each unit was started."""
        return [self.machine.run(f'systemctl show -P ActiveEnterTimestampMonotonic {unit}') for unit in UNITS]


@pytest.fixture(scope='module')
def site(bare_debian, package, tmp_path_factory):
    folder = tmp_path_factory.mktemp('ansible')
    shutil.copy(package, folder / 'ironic-traits_0.1.0_amd64.deb')
    with BareMachine(bare_debian) as machine:
        machine.run('apt-get update -q && apt-get install -qy --no-install-recommends python3 curl')
        yield Site(machine, folder)


def test_the_guide(site, ironic):
    steps = list(guides.steps(guides.section(GUIDE, 'With Ansible')))
    assert len(steps) <= 12
    for kind, content, output in steps:
        if kind == 'yaml':
            site.write(yaml.safe_load(content.replace(SHOWN, ironic))['ironic_traits']['vars'])
            continue
        printed = site.run(content)
        assert output == '…\n' or printed.split() == output.split()
    wait_until(lambda: 'node7' in site.ask('/v1/nodes?traits=CUSTOM_GOLD'))
    for unit in UNITS:
        assert site.machine.run(f'systemctl is-enabled {unit}; systemctl is-active {unit}') == 'enabled\nactive\n'


def test_a_second_run_changes_nothing(site):
    before = site.started_at()
    assert site.play()['changed'] == 0
    assert site.started_at() == before


def test_strangers_read_nothing(site):
    for path in ('/etc/ironic-traits/ironic-traits.conf', '/etc/openstack/clouds.yaml'):
        site.machine.run(f'runuser -u ironic-traits -- test -r {path}')
        assert site.machine.attempt(f'runuser -u nobody -- test -r {path}').returncode


def test_a_changed_option(site):
    before = site.started_at()
    variables = site.variables
    variables['ironic_traits_config']['inventory'] = {'max_traits_per_node': 7}
    site.write(variables)
    assert site.play()['changed'] == 3
    assert not set(site.started_at()) & set(before)
    assert 'max_traits_per_node = 7' in site.machine.run('cat /etc/ironic-traits/ironic-traits.conf')


def test_a_mistake_changes_nothing(site):
    """The service keeps the configuration that it has."""
    before, variables = site.started_at(), site.variables
    site.write(variables | {'ironic_traits_config': {'inventory': {'max_trait_per_node': 7}}})
    with pytest.raises(AssertionError, match=r'unknown option \[inventory\] max_trait_per_node'):
        site.play()
    site.write(variables)
    assert site.play()['changed'] == 0
    assert site.started_at() == before


def test_an_upgrade(site, newer):
    site.write(site.variables | {'ironic_traits_package': str(newer)})
    assert site.play()['changed'] > 0
    assert site.machine.run('runuser -u ironic-traits -- ironic-traits-manage db version 2>/dev/null') == '9999\n'
    assert 'max_traits_per_node = 7' in site.machine.run('cat /etc/ironic-traits/ironic-traits.conf')
    assert 'node7' in site.ask('/v1/nodes')
    assert site.play()['changed'] == 0


def test_without_clouds(site):
    site.write(site.variables | {'ironic_traits_clouds': {}})
    site.play()
    assert site.machine.attempt('systemctl is-active ironic-traits-mirror').stdout == 'inactive\n'
    # It has passwords.
    assert not (site.machine.root / 'etc' / 'openstack' / 'clouds.yaml').exists()
    assert 'node7' in site.ask('/v1/nodes')
