"""The container image, run by podman on a bare Debian."""

import contextlib
import os
import re
import shutil
import time
import urllib.error
import urllib.request

import pytest
import yaml

from tests.functional.clients.test_guides import as_printed, commands
from tests.support import image
from tests.support.bare_machine import BareMachine
from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make
from tests.support.main_job import do_the_main_job
from tests.support.servers import SERVERS

GUIDE = image.sbom.CHECKOUT / 'doc' / 'source' / 'installation.rst'
BASE = 'http://127.0.0.1:6385'
NAME = image.NAME
#: Containers in a machine that is one share its network, and may not set its limits.
SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
cgroups = "disabled"
netns = "host"
keyring = false
"""
#: A port that only this machine reaches.
OPEN = '--read-only --publish 127.0.0.1:6385:6385 --env OS_API__NOAUTH_BEYOND_LOOPBACK=true'


@pytest.fixture(scope='module')
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp('image') / 'ironic-traits-image.tar.gz'
    image.write(path)
    return path


@pytest.fixture(scope='module')
def machine(archive, bare_debian):
    """A bare Debian with the archive in the home of its user."""
    with BareMachine(bare_debian) as machine:
        (machine.root / 'etc' / 'containers').mkdir()
        (machine.root / 'etc' / 'containers' / 'containers.conf').write_text(SETTINGS)
        shutil.copy(archive, machine.root / 'root')
        yield machine


@pytest.fixture
def podman(machine):
    """The machine, with the image loaded. The containers of the test end with it."""
    if 'podman version' not in machine.attempt('podman --version').stdout:
        machine.run('apt-get install --yes podman')
    machine.run(f'podman image exists {NAME} || gunzip --stdout ironic-traits-image.tar.gz | podman load')
    yield machine
    machine.run('podman rm --all --force --volumes --time 0')


class Container:
    """The service in a container, as the main job takes it."""

    base = BASE

    def __init__(self, machine, name):
        self._machine, self._name = machine, name

    @property
    def output(self):
        return self._machine.run(f'podman logs {self._name} 2>&1')


def clouds(ironic):
    return yaml.safe_dump({'clouds': {'berlin': {'auth_type': 'none', 'auth': {'endpoint': ironic}}}})


def wait_for_answer():
    def answers():
        with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(f'{BASE}/v1'):
            return True
        return False

    wait_until(answers)


def seconds(function):
    """Return how long a function takes."""
    started = time.monotonic()
    function()
    return time.monotonic() - started


def test_the_guide(machine, ironic):
    """The commands of the section, from the archive to a service beside an Ironic."""
    section = re.search(r'^In a container\n=+\n.*?(?=\n=====)', GUIDE.read_text(), re.DOTALL | re.MULTILINE)[0]
    (block,) = re.findall(r'(?<=\.\. code-block:: console\n\n)(?:   .*\n|\n(?=   ))+', section)
    written = list(commands(block))
    assert len(written) <= 12
    home = machine.root / 'root'
    (home / '.config' / 'openstack').mkdir(parents=True)
    (home / '.config' / 'openstack' / 'clouds.yaml').write_text(clouds(ironic))
    for _, command, _ in written[:-1]:
        machine.run(command)
    _, command, printed = written[-1]
    # The mirror starts after the API.
    wait_until(lambda: as_printed(machine.run(command).splitlines()) == printed)
    assert ask(BASE, 'GET', '/v1/nodes')[0] == 401
    # systemd runs the health check of the image.
    wait_until(lambda: '(healthy)' in machine.run('podman ps'), 60)
    machine.run('podman rm --force --volumes ironic-traits')


def test_size_and_user(podman, archive):
    size = int(podman.run(f'podman image inspect --format "{{{{.Size}}}}" {NAME}'))
    print(f'{size / 1e6:.0f} MB, compressed {archive.stat().st_size / 1e6:.0f} MB')
    assert size <= 200e6
    script = "import os; print(os.getuid(), os.access('/opt/ironic-traits', os.W_OK), os.access('.', os.W_OK))"
    assert podman.run(f'podman run --rm --read-only {NAME} python3 -c "{script}"') == '10001 False True\n'


def test_it_does_not_start_without_authentication(podman):
    done = podman.attempt(f'podman run --rm {NAME}')
    assert done.returncode == 1
    assert 'Set it to keystone or http_basic' in done.stdout


def test_the_main_job(podman):
    podman.run(f'podman run --detach --name one {OPEN} {NAME}')
    wait_for_answer()
    do_the_main_job(Container(podman, 'one'))


def test_start_and_stop(podman):
    start = seconds(lambda: podman.run(f'podman run --detach --name one {OPEN} {NAME}') and wait_for_answer())
    stop = seconds(lambda: podman.run('podman stop one'))
    assert podman.run('podman inspect --format "{{.State.ExitCode}}" one') == '0\n'
    print(f'first answer after {start:.1f} s, stopped after {stop:.1f} s, at a load of {os.getloadavg()[0]:.1f}')


def test_a_killed_container(podman):
    podman.run(f'podman run --detach --name one {OPEN} --volume traits:/var/lib/ironic-traits {NAME}')
    wait_for_answer()
    uuid = make(BASE)
    podman.run('podman kill --signal KILL one')
    podman.run('podman start one')
    wait_for_answer()
    assert ask(BASE, 'GET', f'/v1/nodes/{uuid}')[0] == 200


@pytest.mark.parametrize('kind', SERVERS)
def test_one_container_for_each_program(podman, ironic, kind):
    """They share a database server, as with the compose file and the chart."""
    server = SERVERS[kind]()
    try:
        server.start()
        url = server.create('images')
        (podman.root / 'root' / 'clouds.yaml').write_text(clouds(ironic))
        variables = f"--env OS_DATABASE__CONNECTION='{url}' --env OS_DEFAULT__START_WORKER=false"
        variables += ' --volume ./clouds.yaml:/etc/openstack/clouds.yaml:ro'
        variables += ' --env OS_MIRROR__START_MIRROR=false --env OS_MIRROR__CLOUDS=berlin'
        podman.run(f'podman run --rm {OPEN} {variables} {NAME} ironic-traits-manage db upgrade')
        for program in ('api', 'worker', 'mirror'):
            podman.run(f'podman run --detach --name {program} {OPEN} {variables} {NAME} ironic-traits-{program}')
        wait_for_answer()
        do_the_main_job(Container(podman, 'worker'))
        wait_until(lambda: ask(BASE, 'GET', '/v1/nodes/node7')[0] == 200)
        for program in ('api', 'worker', 'mirror'):
            podman.run(f'podman healthcheck run {program}')
            podman.run(f'podman stop {program}')
    finally:
        server.stop()
