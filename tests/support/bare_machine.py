"""A bare Debian for tests of packages: debootstrap unpacks it, and systemd-nspawn boots it.

It has the release of this machine, its processes and files are its own, and its network is that of this machine. So it
reaches the servers of a test on loopback, and its ports must be free here.
"""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import time

from tests.support import servers
from tests.support.terminal import descendants

#: The programs that this module needs, as bindep.txt installs them.
PROGRAMS = ('debootstrap', 'systemd-nspawn')
#: debootstrap refuses /dev/shm on many machines: no devices may be in it.
_PARENT = '/var/tmp'
_ENVIRONMENT = {
    'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'HOME': '/root',
    'LANG': 'C.UTF-8',
}
_CHARACTERS = 10_000


def pack(target):
    """Write a bare Debian into an archive, from which each ``BareMachine`` is unpacked. It takes half a minute.

    :param target: path of a tar file.
    """
    missing = [name for name in PROGRAMS if not servers.program(name)]
    servers.require(servers.ROOT and not missing, f'root and {" and ".join(PROGRAMS)} are needed; missing: {missing}')
    with tempfile.TemporaryDirectory(dir=_PARENT) as folder:
        packages = 'systemd,systemd-sysv,dbus'
        command = ['debootstrap', '--variant=minbase', f'--include={packages}', _release(), f'{folder}/root']
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(done.stdout[-_CHARACTERS:])
        subprocess.run(
            ['tar', '--create', '--file', target, '--directory', f'{folder}/root', '.'], check=True, timeout=300
        )


class BareMachine:
    """A machine that runs during a ``with`` block.

    :param archive: what ``pack`` has written.
    :ivar root: pathlib.Path of its root folder. Files may be written there while it runs.
    """

    def __init__(self, archive):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix='ironic-traits-machine-', dir=_PARENT))
        subprocess.run(['tar', '--extract', '--file', archive, '--directory', self.root], check=True, timeout=300)

    def __enter__(self):
        # This machine need not run systemd, and has no machined then: --register=no, --keep-unit.
        command = ['systemd-nspawn', '--quiet', '--boot', '--register=no', '--keep-unit', '--link-journal=no']
        with (self.root / 'console').open('wb') as console:
            self._process = subprocess.Popen(
                [*command, '--console=pipe', '--directory', self.root],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                preexec_fn=servers.end_with_parent,
            )
        try:
            self._boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.root)

    def run(self, script, **environment):
        """Run a script of bash as root in ``/root``, and return what it prints, with what it prints as errors.

        :param environment: variables beside PATH, HOME and LANG.
        :raises RuntimeError: its exit status is not 0.
        """
        done = self.attempt(script, **environment)
        if done.returncode:
            raise RuntimeError(f'{script}\nended with {done.returncode}:\n{done.stdout[-_CHARACTERS:]}')
        return done.stdout

    def attempt(self, script, **environment):
        """Run a script of bash as root in ``/root``. It may fail.

        :returns: subprocess.CompletedProcess. ``stdout`` also has the errors.
        """
        return subprocess.run(
            [*self.enter, 'bash', '-c', f'cd\n{script}'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_ENVIRONMENT | environment,
            timeout=600,
        )

    @property
    def enter(self):
        """The beginning of a command that runs in the machine."""
        return ['nsenter', '--all', '--target', str(self._init())]

    def _boot(self):
        """Wait until systemd has started everything."""
        deadline = time.monotonic() + 120
        while 'running' not in self._state():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.root / 'console').read_text()[-_CHARACTERS:])
            time.sleep(0.1)

    def _state(self):
        return self.attempt('systemctl is-system-running').stdout if self._init() else ''

    def _init(self):
        """Return the pid, here, of process 1 there; None if it has not started."""
        for pid in descendants(self._process.pid) - {self._process.pid}:
            with contextlib.suppress(OSError):
                status = pathlib.Path(f'/proc/{pid}/status').read_text()
                pids = next(line for line in status.splitlines() if line.startswith('NSpid:')).split()
                if len(pids) > 2 and pids[-1] == '1' and pathlib.Path(f'/proc/{pid}/comm').read_text() == 'systemd\n':
                    return pid
        return None


def _release():
    """Return the code name of the Debian of this machine."""
    lines = pathlib.Path('/etc/os-release').read_text().splitlines()
    return dict(line.split('=', 1) for line in lines if line)['VERSION_CODENAME']
