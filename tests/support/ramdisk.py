"""Ironic's ramdisk on this machine: python -m tests.support.ramdisk URL DIRECTORY [FRAME]

The real ironic-python-agent inspects this machine, and posts its data to the URL. Commands that would change
the machine are replaced with ones that do nothing. Missing commands are replaced with ones that describe a small
machine. With a frame of LLDP, in hexadecimal, each network interface receives it.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
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


def run(url, directory, frame=b''):
    """Run the ramdisk as a process, and return its output.

    :param url: URL to post the data to.
    :param directory: empty directory for its commands.
    :param frame: frame of LLDP that each network interface receives; empty if none does.
    """
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.ramdisk', url, str(directory), frame.hex()]
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


@contextlib.contextmanager
def _receiving(frame, names):
    """Yield [(name of an interface, socket that has received the frame), …]."""
    with contextlib.ExitStack() as stack:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in names]
        for ours, theirs in pairs:
            stack.enter_context(ours)
            stack.enter_context(theirs)
            theirs.send(frame)
        yield list(zip(names, (ours for ours, _ in pairs), strict=True))


def _inspect(url, frame):
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
        ('inspection_collectors', 'default,lldp' if frame else 'default'),
        # There are no disks to wait for.
        ('disk_wait_attempts', 1),
        ('disk_wait_delay', 0),
    ):
        cfg.CONF.set_override(name, value)
    netutils.is_network_device = interfaces().__contains__
    netutils.RawPromiscuousSockets = lambda names, protocol: _receiving(frame, names)
    print('The node is', inspector.inspect())


if __name__ == '__main__':
    _write_commands(pathlib.Path(sys.argv[2]))
    _inspect(sys.argv[1], bytes.fromhex(sys.argv[3]))
