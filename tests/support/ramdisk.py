"""Ironic's ramdisk on this machine: python -m tests.support.ramdisk URL DIRECTORY

The real ironic-python-agent inspects this machine, and posts its data to the URL. Commands that would change
the machine are replaced with ones that do nothing. Missing commands are replaced with ones that describe a small
machine.
"""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

ARCHITECTURE = os.uname().machine
NETWORK = pathlib.Path('/sys/class/net')
_MEMORY = {'id': 'memory', 'class': 'memory', 'units': 'bytes', 'size': 8 * 2**30}
_SYSTEM = {
    'id': 'host',
    'class': 'system',
    'product': 'Testbed',
    'vendor': 'Acme',
    'serial': 'S1',
    'children': [{'id': 'core', 'class': 'bus', 'children': [_MEMORY]}],
}
#: Commands that must not run here, and commands that may be missing: {name: output}.
_HARMFUL = ('iscsiadm', 'iscsistart', 'mdadm', 'modprobe', 'mpathconf', 'multipath', 'multipathd', 'udevadm')
_USEFUL = {'biosdevname': '', 'dmidecode': '', 'lshw': json.dumps(_SYSTEM)}


def interfaces():
    """Return the network interfaces that the ramdisk finds: {name: MAC address}."""
    names = [path.name for path in NETWORK.iterdir() if path.name != 'lo' and (path / 'address').exists()]
    # In a container no interface has hardware.
    real = [name for name in names if (NETWORK / name / 'device').exists()] or names
    return {name: (NETWORK / name / 'address').read_text().strip() for name in sorted(real)}


def run(url, directory):
    """Run the ramdisk as a process, and return its output.

    :param url: URL to post the data to.
    :param directory: empty directory for its commands.
    """
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.ramdisk', url, str(directory)]
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert finished.returncode == 0, finished.stdout
    return finished.stdout


def _write_commands(directory):
    missing = {name: text for name, text in _USEFUL.items() if not shutil.which(name)}
    for name, text in (dict.fromkeys(_HARMFUL, '') | missing).items():
        path = directory / name
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n" if text else '#!/bin/sh\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    os.environ['PATH'] = f'{directory}:{os.environ["PATH"]}'


def _inspect(url):
    from ironic_python_agent import config, inspector, netutils
    from oslo_config import cfg
    from oslo_log import log

    log.register_options(cfg.CONF)
    cfg.CONF([], project='ironic-python-agent', default_config_files=[])
    log.setup(cfg.CONF, 'ironic-python-agent')
    assert config
    for name, value in (
        ('inspection_callback_url', url),
        ('inspection_dhcp_wait_timeout', 0),
        ('inspection_collectors', 'default'),
        # There are no disks to wait for.
        ('disk_wait_attempts', 1),
        ('disk_wait_delay', 0),
    ):
        cfg.CONF.set_override(name, value)
    netutils.is_network_device = interfaces().__contains__
    print('The node is', inspector.inspect())


if __name__ == '__main__':
    _write_commands(pathlib.Path(sys.argv[2]))
    _inspect(sys.argv[1])
