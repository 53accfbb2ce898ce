"""A machine behind a BMC through the real commands: sushy-emulator of sushy-tools, and ``baremetal``."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.support import cli
from tests.support.bmc_server import serving
from tests.support.servers import free_port
from tests.support.service import ForkedServer, upgraded

UUID = '0b7bd4f0-43a1-4c6f-9c3e-0d3f4a6f8a31'


@contextlib.contextmanager
def emulator():
    """Run a BMC of sushy-tools with a fake machine, and yield its URL."""
    port = free_port()
    command = [pathlib.Path(sys.executable).parent / 'sushy-emulator', '--fake', '-i', '127.0.0.1', '-p', str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(('127.0.0.1', port)):
                    break
                time.sleep(0.05)
            yield f'http://127.0.0.1:{port}'
        finally:
            process.terminate()


@pytest.fixture
def config(tmp_path):
    path = tmp_path / 'bmc.conf'
    path.write_text(
        '[deploy]\nenabled_hardware_types = redfish,fake-hardware\nlease_seconds = 11\n'
        '[redfish]\nallow_local_addresses = true\npower_sync_interval = 1\nsystem_timeout = 5\n'
    )
    return path


@pytest.fixture
def server(config, tmp_path):
    url = upgraded(f'sqlite:///{tmp_path}/bmc.sqlite')
    with ForkedServer(url, '--config-file', str(config)) as running:
        yield running


def show(server, name, *fields):
    """Return fields of a node."""
    document = cli.rows(server, 'baremetal', 'node', 'show', name, '--fields', *fields)
    return [document[field] for field in fields]


def wait(server, name, field, value):
    """Wait until a field of a node has a value."""
    deadline = time.monotonic() + 30
    while show(server, name, field) != [value]:
        assert time.monotonic() < deadline, (show(server, name, field, 'last_error'), server.output)
        time.sleep(0.2)


def test_from_enroll_to_reserved(server):
    with emulator() as address:
        baremetal = [server, 'baremetal', 'node']
        info = ['--driver-info', f'redfish_address={address}']
        cli.run(*baremetal, 'create', '--driver', 'redfish', '--name', 'one', *info)
        cli.run(*baremetal, 'manage', 'one', '--wait', '30')
        assert show(server, 'one', 'provision_state') == ['manageable']
        cli.run(*baremetal, 'inspect', 'one', '--wait', '30')
        assert cli.rows(server, 'baremetal', 'port', 'list', '--node', show(server, 'one', 'uuid')[0])
        for target, state in (('on', 'power on'), ('off', 'power off')):
            cli.run(*baremetal, 'power', target, 'one', '--power-timeout', '20')
            wait(server, 'one', 'power_state', state)
        cli.run(*baremetal, 'power', 'off', 'one', '--soft', '--power-timeout', '20')
        cli.run(*baremetal, 'reboot', 'one')
        wait(server, 'one', 'power_state', 'power on')
        cli.run(*baremetal, 'boot', 'device', 'set', 'one', 'disk', '--persistent')
        assert cli.rows(*baremetal, 'boot', 'device', 'show', 'one') == {'boot_device': 'disk', 'persistent': True}
        assert 'pxe' in cli.run(*baremetal, 'boot', 'device', 'show', 'one', '--supported')
        cli.run(*baremetal, 'provide', 'one', '--wait', '30')
        cli.run(server, 'baremetal', 'reservation', 'create', UUID, '--node', 'one')
        assert 'only lets a machine boot an ISO image' in cli.run(*baremetal, 'deploy', 'one', code=1)


def test_a_power_state_that_changes_at_the_machine(server):
    with serving() as bmc:
        info = [f'--driver-info={name}={value}' for name, value in bmc.driver_info.items()]
        cli.run(server, 'baremetal', 'node', 'create', '--driver', 'redfish', '--name', 'one', *info)
        cli.run(server, 'baremetal', 'node', 'manage', 'one', '--wait', '30')
        bmc.system['PowerState'] = 'On'
        wait(server, 'one', 'power_state', 'power on')
        assert show(server, 'one', 'health') == ['OK']


def test_a_worker_that_is_killed_while_it_reads(server):
    with serving() as bmc:
        info = [f'--driver-info={name}={value}' for name, value in bmc.driver_info.items()]
        cli.run(server, 'baremetal', 'node', 'create', '--driver', 'redfish', '--name', 'one', *info)
        cli.run(server, 'baremetal', 'node', 'manage', 'one', '--wait', '30')
        bmc.delay = 0.5
        cli.run(server, 'baremetal', 'node', 'inspect', 'one')
        begun = len(bmc.requests)
        server.wait_until(lambda: len(bmc.requests) > begun + 2)
        (pid,) = re.findall(r'Worker .* pid (\d+)\) starts', server.output)
        os.kill(int(pid), signal.SIGKILL)
        bmc.delay = 0
        # The service starts another worker, which begins again when the claim of the first has expired.
        wait(server, 'one', 'provision_state', 'manageable')
        assert show(server, 'one', 'last_error') == [None]
        assert 'HW_ARCH_X86_64' in show(server, 'one', 'traits')[0]
        # The killed worker could not log out. The other one did.
        assert len(bmc.sessions) <= 1
