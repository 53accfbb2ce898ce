"""A real Ironic without keystone: python -m tests.support.ironic_server DIRECTORY PORT

It has SQLite and fake-hardware; API and conductor are one process.  It prints "listening" when it is ready.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

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
BIN = pathlib.Path(sys.executable).parent


def main(directory, port):
    """Create the schema, start the service, and wait for its end."""
    path = directory / 'ironic.conf'
    path.write_text(CONFIGURATION.format(directory=directory, port=port))
    environment = os.environ | {'PYTHONWARNINGS': 'ignore'}
    # "upgrade" cannot make a schema on SQLite from nothing.
    command = [BIN / 'ironic-dbsync', '--config-file', path, 'create_schema']
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    # A group of its own, because the service starts processes.
    ironic = subprocess.Popen([BIN / 'ironic', '--config-file', path], env=environment, process_group=0)
    signal.signal(signal.SIGTERM, lambda *signaled: os.killpg(ironic.pid, signal.SIGKILL))
    wait(f'http://127.0.0.1:{port}')
    print('listening', flush=True)
    ironic.wait()


def wait(url):
    """Wait until the conductor is alive."""
    request = urllib.request.Request(f'{url}/v1/conductors', headers={'X-OpenStack-Ironic-API-Version': '1.49'})
    deadline = time.monotonic() + 50
    while time.monotonic() < deadline:
        with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(request) as response:
            if any(each['alive'] for each in json.load(response)['conductors']):
                return
        time.sleep(0.1)
    raise TimeoutError(url)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
