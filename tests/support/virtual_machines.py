"""A virtual machine with a BMC: qemu, libvirt, and sushy-emulator, which speaks Redfish for it.

qemu emulates the processor (TCG), so that the machine is the same everywhere, with and without /dev/kvm.

sushy-emulator runs with the Python of the tests, and needs libvirt's binding. That of Debian is used, which is for one
version of Python. That of PyPI has to be compiled with the headers of libvirt, when nothing has installed them yet.
"""

import contextlib
import pathlib
import re
import shutil
import socket
import sysconfig
from xml.etree import ElementTree

import bcrypt
import requests

from tests.support import servers
from tests.support.bmc_server import PASSWORD, USER
from tests.support.boot_images import MARK, boot_disk
from tests.support.programs import BIN

_BINDING = (servers.LIBVIRT, servers.LIBVIRT.with_name(f'libvirtmod{sysconfig.get_config_var("EXT_SUFFIX")}'))
UUID = '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a62'
#: What the disk of the machine writes to the serial line.
DISK = 'The disk has booted.'
_BIOS = '/usr/share/seabios/bios-256k.bin'
_UEFI, _UEFI_VARIABLES = (f'/usr/share/OVMF/OVMF_{name}_4M.fd' for name in ('CODE', 'VARS'))
#: It has no CD drive: the emulator adds one when an image is inserted.
_DOMAIN = """
<domain type='qemu'>
  <name>machine</name>
  <uuid>{uuid}</uuid>
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type><loader type='rom' readonly='yes'>{bios}</loader></os>
  <features><acpi/></features>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='{folder}/disk'/>
      <target dev='hda' bus='ide'/>
    </disk>
    <serial type='file'><source path='{folder}/serial' append='on'/></serial>
  </devices>
</domain>
"""
_POOL = "<pool type='dir'><name>default</name><target><path>{folder}/images</path></target></pool>"


def missing():
    """Return what is missing on this machine, as words for ``servers.require``; an empty text if nothing is."""
    names = [name for name in ('libvirtd', 'qemu-system-x86_64', 'unshare') if not servers.program(name)]
    names += [path for path in (_BIOS, _UEFI, str(_BINDING[0])) if not pathlib.Path(path).exists()]
    if names:
        return f'{", ".join(names)}: not installed'
    return '' if _BINDING[1].exists() else f"Debian's libvirt is for another version of Python: no {_BINDING[1]}"


class Libvirt(servers.Server):
    """libvirt with one machine.

    A daemon of root would use the directories of the whole system. Another user's has all of its own.

    :ivar serial: the file with what the machine has written to its serial line.
    """

    user = 'nobody'

    def __init__(self):
        super().__init__()
        self._socket, self.serial = self.directory / 'libvirt-sock', self.directory / 'serial'
        self.url = f'qemu+unix:///session?socket={self._socket}'

    @property
    def printed(self):
        """The texts of images that the machine has written to its serial line, since it exists or ``forget``."""
        written = self.serial.read_text(errors='replace') if self.serial.exists() else ''
        return re.findall(f'{MARK}(.*)\n', written)

    def forget(self):
        """Forget what the machine, which is off, has written."""
        self.serial.unlink(missing_ok=True)

    def start(self):
        """Write what libvirt reads when it starts, and start it."""
        home = self.directory / 'libvirt'
        for folder in ('qemu', 'storage/autostart'):
            (home / folder).mkdir(parents=True)
        for folder in ('data', 'images'):
            (self.directory / folder).mkdir()
        (home / 'libvirtd.conf').write_text(f'unix_sock_dir = "{self.directory}"\nlog_outputs = "3:stderr"\n')
        # Otherwise libvirt starts a daemon that writes the logs, and survives.
        (home / 'qemu.conf').write_text('stdio_handler = "file"\n')
        (home / 'qemu' / 'machine.xml').write_text(_DOMAIN.format(uuid=UUID, bios=_BIOS, folder=self.directory))
        (home / 'storage' / 'default.xml').write_text(_POOL.format(folder=self.directory))
        (home / 'storage' / 'autostart' / 'default.xml').symlink_to(home / 'storage' / 'default.xml')
        (self.directory / 'disk').write_bytes(boot_disk(DISK))
        if servers.ROOT:
            for path in (self.directory, *self.directory.rglob('*')):
                shutil.chown(path, self.user)
        super().start()

    def medium(self, device):
        """Return the content of a medium in the machine, ``cdrom`` or ``floppy``; None without one."""
        domain = ElementTree.parse(self.directory / 'libvirt' / 'qemu' / 'machine.xml')
        source = domain.find(f'.//disk[@device="{device}"]/source')
        return None if source is None else pathlib.Path(source.get('file')).read_bytes()

    def command(self):
        names = ('XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'XDG_RUNTIME_DIR', 'HOME')
        # libvirt detaches qemu, which would survive. In a namespace of processes all end with the first one, the shell,
        # which also waits for the processes that have lost their parent.
        return [
            *('env', *(f'{name}={self.directory}' for name in names)),
            *('unshare', '--user', '--map-current-user', '--pid', '--mount-proc', '--fork', '--kill-child'),
            *('sh', '-c', '"$@" & wait', 'sh', servers.program('libvirtd')),
            *('--config', str(self.directory / 'libvirt' / 'libvirtd.conf')),
            *('--pid-file', str(self.directory / 'pid')),
        ]

    def _answers(self):
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self._socket)) == 0


class Emulator(servers.Server):
    """sushy-emulator, the BMC of the machine.

    :param libvirt: Libvirt.
    """

    def __init__(self, libvirt):
        super().__init__()
        self._libvirt = libvirt
        self.driver_info = {
            'redfish_address': f'http://127.0.0.1:{self.port}',
            'redfish_username': USER,
            'redfish_password': PASSWORD,
        }

    def start(self):
        """Write what the emulator reads when it starts, and start it."""
        for folder in ('data', 'binding'):
            (self.directory / folder).mkdir()
        for path in _BINDING:
            # Nothing else of the system's Python must hide what is installed for the tests.
            (self.directory / 'binding' / path.name).symlink_to(path)
        hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        (self.directory / 'users').write_text(f'{USER}:{hashed}\n')
        settings = {
            'LISTEN_IP': '127.0.0.1',
            'LISTEN_PORT': self.port,
            'LIBVIRT_URI': self._libvirt.url,
            'AUTH_FILE': str(self.directory / 'users'),
            'STATE_DIR': str(self.directory / 'data'),
            'BOOT_LOADER_MAP': {'Legacy': {'x86_64': _BIOS}, 'UEFI': {'x86_64': _UEFI}},
            'SECURE_BOOT_DISABLED_NVRAM': _UEFI_VARIABLES,
        }
        lines = [f'SUSHY_EMULATOR_{name} = {value!r}\n' for name, value in settings.items()]
        (self.directory / 'settings').write_text(''.join(lines))
        super().start()

    def command(self):
        # It leaves images in TMPDIR.
        environment = {'PYTHONPATH': self.directory / 'binding', 'TMPDIR': self.directory / 'data'}
        arguments = [f'{name}={value}' for name, value in environment.items()]
        return ['env', *arguments, str(BIN / 'sushy-emulator'), '--config', str(self.directory / 'settings')]

    def _answers(self):
        url = f'{self.driver_info["redfish_address"]}/redfish/v1/Systems/{UUID}'
        try:
            return requests.get(url, auth=(USER, PASSWORD), timeout=60).ok
        except requests.ConnectionError:
            return False


@contextlib.contextmanager
def running():
    """Run a machine, which is off, and yield (Libvirt, Emulator). Skip the test if that is impossible here."""
    reason = missing()
    servers.require(not reason, f'No virtual machine: {reason}')
    with contextlib.ExitStack() as stack:
        libvirt = Libvirt()
        emulator = Emulator(libvirt)
        try:
            for server in (libvirt, emulator):
                stack.callback(server.stop)
                server.start()
        except (OSError, RuntimeError) as error:
            servers.require(False, f'No virtual machine: {error}')
        yield libvirt, emulator
