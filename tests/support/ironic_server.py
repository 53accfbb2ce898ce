"""A real Ironic without keystone: python -m tests.support.ironic_server DIRECTORY PORT

It has SQLite and fake-hardware. API and conductor are one process. More options are in DIRECTORY/more.conf, if it
exists. It prints "listening" when it is ready.

Its commands are forks of this process, because importing Ironic takes seconds.
"""

import contextlib
import gc
import importlib.metadata
import json
import os
import signal
import sqlite3
import sys
import time
import urllib.request
import warnings

from tests.support.wsgi_server import run

CONFIGURATION = """
[DEFAULT]
auth_strategy = noauth
host = 127.0.0.1
my_ip = 127.0.0.1
state_path = {directory}
log_file = {directory}/ironic.log
enabled_hardware_types = fake-hardware
enabled_bios_interfaces = no-bios
enabled_boot_interfaces = fake
enabled_console_interfaces = no-console
enabled_deploy_interfaces = fake
enabled_firmware_interfaces = no-firmware
enabled_inspect_interfaces = no-inspect,agent
default_inspect_interface = no-inspect
enabled_management_interfaces = fake
enabled_network_interfaces = noop
enabled_power_interfaces = fake
enabled_raid_interfaces = no-raid
enabled_rescue_interfaces = no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = no-vendor
default_network_interface = noop
rpc_transport = none
[database]
connection = sqlite:///{directory}/ironic.sqlite
[api]
host_ip = 127.0.0.1
port = {port}
api_workers = 1
[oslo_concurrency]
lock_path = {directory}
[conductor]
automated_clean = False
sync_power_state_interval = 0
[deploy]
http_root = {directory}/http
[pxe]
tftp_root = {directory}/tftp
tftp_master_path = {directory}/tftp_master
images_path = {directory}/images
instance_master_path = {directory}/image_master
[oslo_messaging_notifications]
driver = noop
[inspector]
require_managed_boot = False
[sensor_data]
send_sensor_data = False
"""


def main(directory, port):
    """Create the schema, start the service, and wait for its end."""
    path = directory / 'ironic.conf'
    path.write_text(CONFIGURATION.format(directory=directory, port=port))
    more = directory / 'more.conf'
    arguments = ['--config-file', str(path), *(['--config-file', str(more)] if more.exists() else [])]
    warnings.simplefilter('ignore')
    create_schema, serve = _entry_point('ironic-dbsync'), _entry_point('ironic')
    gc.freeze()
    gc.enable()
    # "upgrade" cannot create a new schema on SQLite.
    schema = _start(create_schema, 'ironic-dbsync', *arguments, 'create_schema')
    if os.waitpid(schema, 0)[1]:
        raise RuntimeError('ironic-dbsync failed')
    ironic = _start(serve, 'ironic', *arguments)
    signal.signal(signal.SIGTERM, lambda *signaled: os.killpg(ironic, signal.SIGKILL))
    url = f'http://127.0.0.1:{port}'
    wait(url, _has_conductor(directory / 'ironic.sqlite') if more.exists() else None)
    print('listening', flush=True)
    os.waitpid(ironic, 0)


def _entry_point(command):
    """Import a command, and return its function."""
    return importlib.metadata.entry_points(group='console_scripts')[command].load()


def _start(entry_point, *command):
    """Run a command in a fork, and return its pid. It has its own process group because Ironic starts processes."""
    pid = os.fork()
    if pid:
        # Both processes set it, because either may be first.
        os.setpgid(pid, pid)
        return pid
    os.setpgid(0, 0)
    sys.argv = list(command)
    sys.exit(entry_point())


def wait(url, is_ready=None):
    """Wait until the conductor is alive.

    :param is_ready: predicate; None to query the API, if clients need not authenticate.
    """
    deadline = time.monotonic() + 110
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if (is_ready or shows_conductor)(url):
                return
        time.sleep(0.1)
    raise TimeoutError(url)


def shows_conductor(url):
    """Whether the API shows a conductor that is alive."""
    request = urllib.request.Request(f'{url}/v1/conductors', headers={'X-OpenStack-Ironic-API-Version': '1.49'})
    with urllib.request.urlopen(request) as response:
        return any(each['alive'] for each in json.load(response)['conductors'])


def _has_conductor(database):
    """Return a function that returns whether the API responds, and the database has a conductor."""

    def is_ready(url):
        urllib.request.urlopen(url).close()
        with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection:
            return bool(connection.execute('SELECT 1 FROM conductors WHERE online').fetchall())

    return is_ready


if __name__ == '__main__':
    run(main)
