"""The Debian package on a bare Debian: installed by the commands of the guide, upgraded and removed.

Each test goes on where the one before has ended.
"""

import re
import shutil
import subprocess
import time

import pytest

from tests.support import checkout, guides
from tests.support.bare_machine import BareMachine
from tests.support.concurrency import wait_until

#: To build the package takes minutes, and to check it another one.
pytestmark = pytest.mark.timeout(1800)
GUIDE = checkout.CHECKOUT / 'doc' / 'source' / 'installation.rst'
#: The Ironic and the port of the service that the guide shows.
SHOWN, PORT = 'http://192.0.2.10:6385', 6385
CONFIGURATION = '/etc/ironic-traits/ironic-traits.conf'
UNITS = ('ironic-traits-api', 'ironic-traits-worker', 'ironic-traits-mirror')
APT = 'DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Options::=--force-confold'


@pytest.fixture(scope='module')
def machine(bare_debian, package):
    """A bare Debian with the package in the home of root, where nothing is installed yet."""
    with BareMachine(bare_debian) as machine:
        shutil.copy(package, machine.root / 'root')
        yield machine


def printed(machine, command, expected):
    """Run a command until it prints what is expected, for a minute at most, and return what it prints."""
    deadline = time.monotonic() + 60
    while (last := machine.attempt(command).stdout.strip()) != expected.strip() and time.monotonic() < deadline:
        time.sleep(0.2)
    return last


def wait_for_node(machine):
    """Wait until the service answers, and has the node."""
    command = f"curl -s -H 'X-OpenStack-Ironic-API-Version: 1.82' http://127.0.0.1:{PORT}/v1/nodes/node7"
    wait_until(lambda: '"CUSTOM_GOLD"' in machine.attempt(command).stdout)


def test_lintian(package):
    command = ['lintian', '--allow-root', '--fail-on', 'error,warning', '--tag-display-limit', '0', package]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def test_the_guide(machine, ironic):
    text = guides.section(GUIDE, 'On Debian')
    steps = list(guides.steps(text))
    assert len(steps) <= 12
    for kind, content, output in steps:
        if kind == 'yaml':
            (machine.root / 'etc' / 'openstack' / 'clouds.yaml').write_text(content.replace(SHOWN, ironic))
        elif output == '…\n':
            machine.run(content)
        else:
            last = printed(machine, content, output)
            assert last == output.strip(), machine.run('journalctl -n 50 -u "ironic-traits*"')


def test_the_units(machine):
    for unit in UNITS:
        assert machine.run(f'systemctl is-enabled {unit}; systemctl is-active {unit}') == 'enabled\nactive\n'
        assert machine.run(f'systemctl show -P NRestarts {unit}') == '0\n'


def test_the_log_is_in_the_journal(machine):
    for unit in UNITS:
        assert 'ironic-traits' in machine.run(f'journalctl --output cat -u {unit} _UID=$(id -u ironic-traits)')


def test_strangers_read_nothing(machine):
    for path in (CONFIGURATION, '/etc/openstack/clouds.yaml', '/var/lib/ironic-traits'):
        machine.run(f'runuser -u ironic-traits -- test -r {path}')
        assert machine.attempt(f'runuser -u nobody -- test -r {path}').returncode
    for path in (CONFIGURATION, '/usr/lib/ironic-traits'):
        assert machine.attempt(f'runuser -u ironic-traits -- test -w {path}').returncode


def test_the_drivers_of_databases(machine):
    """The compiled libraries work, though the build has stripped them."""
    imports = 'import psycopg, psycopg2, pymysql; print(psycopg.pq.__impl__)'
    assert machine.run(f'/usr/lib/ironic-traits/bin/python -c "{imports}"') == 'binary\n'


@pytest.mark.parametrize('unit', UNITS)
def test_a_killed_service_comes_back(machine, unit):
    machine.run(f'kill -KILL $(systemctl show -P MainPID {unit})')
    wait_until(lambda: machine.run(f'systemctl show -P NRestarts {unit}').strip() == '1')
    wait_until(lambda: machine.attempt(f'systemctl is-active {unit}').returncode == 0)
    wait_for_node(machine)


def test_a_newer_version(machine, newer):
    machine.run(f"sed -i 's/^.DEFAULT.$/&\\ndebug = true/' {CONFIGURATION}")
    before = machine.run(f'cat {CONFIGURATION}')
    shutil.copy(newer, machine.root / 'root' / 'newer.deb')
    machine.run(f'{APT} install -y ./newer.deb')
    wait_for_node(machine)
    test_the_units(machine)
    assert machine.run('runuser -u ironic-traits -- ironic-traits-manage db version 2>/dev/null') == '9999\n'
    assert machine.run(f'cat {CONFIGURATION}') == before
    assert 'Of the later release.' in machine.run(f'cat {CONFIGURATION}.dpkg-dist')


def test_removed_and_installed_again(machine):
    machine.run(f'{APT} remove -y ironic-traits')
    assert machine.attempt('systemctl is-active ironic-traits-api').returncode
    assert machine.run('find /usr -path "*ironic-traits*" -o -path "*ironic_traits*"') == ''
    machine.run(f'{APT} install -y ./newer.deb')
    wait_for_node(machine)
    assert 'debug = true' in machine.run(f'cat {CONFIGURATION}')


def test_purged(machine):
    printed = machine.run(f'{APT} purge -y ironic-traits')
    assert '/var/lib/ironic-traits' in printed
    left = machine.run('find / -xdev -path /proc -prune -o -name "*ironic[-_]traits*" -print').split()
    ours = {path for path in left if not re.match(r'/(root|proc|sys|tmp|run|var/(log|cache|tmp))/', path)}
    assert '/var/lib/ironic-traits/ironic-traits.sqlite' in ours
    assert [path for path in ours if not path.startswith('/var/lib/ironic-traits')] == []
