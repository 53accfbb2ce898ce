"""Runs commands of the real clients and of this project without a second of imports for each.

A separate process imports the modules of some commands once, and forks for each run of a command. The fork calls the
entry point of the installed command, as its script in ``bin`` would.

Run the script itself (``tests.support.programs``) to test the start of Python, such as its module path, or a command
that does not end.

    >>> run('openstack', '--version').stdout
    'openstack 9.0.0\\n'
"""

import atexit
import contextlib
import functools
import gc
import importlib.metadata
import inspect
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings

#: Maximum duration of a command in seconds.
SECONDS = 300
#: Seconds between two looks whether the process that has started this one still runs.
_PAUSE = 1
CLIENTS = ('baremetal', 'openstack')
OWN = ('ironic-traits-api', 'ironic-traits-manage', 'ironic-traits-status', 'ironic-traits-worker')
#: This one imports openstacksdk, too.
MIRROR = 'ironic-traits-mirror'
#: Prefixes of the groups of entry points that the clients load, most of them each time.
_GROUPS = ('cliff.formatter.', 'keystoneauth1.', 'openstack.')
#: Prefixes of the groups of entry points that our own commands load.
_OWN_GROUPS = ('ironic_traits.',)
#: Modules that our own commands import when they run.
_OWN_MODULES = (
    'ironic_traits.app',
    'ironic_traits.cmd.checks',
    'ironic_traits.cmd.inventory',
    'ironic_traits.cmd.managing',
    'ironic_traits.cmd.placement',
    'ironic_traits.cmd.rules',
    'ironic_traits.cmd.server.serving',
    'ironic_traits.cmd.working',
    'ironic_traits.cmd.importing.local',
    'keystoneauth1.adapter',
    'keystoneauth1.noauth',
    'keystoneauth1.session',
    'keystoneauth1.token_endpoint',
    'psycopg',
    'pymysql',
    'sqlalchemy.dialects.mysql.pymysql',
    'sqlalchemy.dialects.postgresql.psycopg',
    'sqlalchemy.dialects.sqlite.pysqlite',
)


class Forks:
    """A process that forks to run commands. It is started for the first command.

    :param programs: names of their scripts.
    """

    def __init__(self, *programs):
        self._programs = programs

    def run(self, program, *arguments, env, cwd):
        """Run one of the commands.

        :param env: its environment.
        :param cwd: its directory.
        :returns: subprocess.CompletedProcess, with text.
        """
        command = [program, *map(str, arguments)]
        request = {'command': command, 'env': dict(env), 'cwd': str(cwd)}
        with contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile('w+')) for _ in range(2)]
            inputs = stack.enter_context(pathlib.Path(os.devnull).open())
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(SECONDS)
            connection.connect(self.socket)
            socket.send_fds(connection, [b'-'], [file.fileno() for file in (*outputs, inputs)])
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            code = int(connection.recv(20) or -1)
            for output in outputs:
                output.seek(0)
            return subprocess.CompletedProcess(command, code, *(o.read() for o in outputs))

    def start(self, program, *arguments, env, cwd, output):
        """Start one of the commands.

        :param output: file for what it prints.
        :returns: Process.
        """
        request = {'command': [program, *arguments], 'env': dict(env), 'cwd': str(cwd), 'is_waited_for': True}
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.socket)
        socket.send_fds(connection, [b'-'], [output.fileno()] * 2)
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        return Process(connection)

    @functools.cached_property
    def socket(self):
        """Path of the socket of the process. Start the process if necessary."""
        path = str(pathlib.Path(tempfile.mkdtemp(prefix='commands-'), 'socket'))
        # -P and the path keep the checkout out of sys.path, so that the installed packages are imported, as by the
        # scripts.
        command = [sys.executable, '-P', __file__, path, *self._programs]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        atexit.register(self._stop, process, path)
        assert process.stdout.readline() == b'ready\n'
        return path

    @staticmethod
    def _stop(process, path):
        process.kill()
        process.wait()
        process.stdout.close()
        shutil.rmtree(os.path.dirname(path))


class Process:
    """A started command, with the methods of subprocess.Popen.

    :ivar pid: its pid.
    :ivar returncode: its exit code; None while it runs, or before ``poll`` or ``wait`` is called.
    """

    def __init__(self, connection):
        self._connection = connection
        self.pid = int(connection.recv(20, socket.MSG_WAITALL))
        self.returncode = None

    def poll(self):
        """Return the exit code; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """Wait until it ends, and return its exit code."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self.returncode = int(self._connection.recv(20, socket.MSG_WAITALL))
            self._connection.close()
        return self.returncode

    def send_signal(self, number):
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            # A process that has just ended is waited for before its exit code arrives.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self):
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self):
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


_OWN_FORKS = Forks(*OWN)
_FORKS = {program: Forks(program) for program in (*CLIENTS, MIRROR)} | dict.fromkeys(OWN, _OWN_FORKS)


def run(program, *arguments, env=None, cwd=None):
    """Run a command.

    :param program: name of a script that is installed.
    :param env: its environment; that of this process by default.
    :param cwd: its directory; that of this process by default.
    :returns: subprocess.CompletedProcess, with text.
    """
    if program in _FORKS:
        return _FORKS[program].run(program, *arguments, env=env or os.environ, cwd=cwd or pathlib.Path.cwd())
    script = pathlib.Path(sys.executable).parent / program
    return subprocess.run([script, *arguments], capture_output=True, text=True, env=env, cwd=cwd)


def start(program, *arguments, env, cwd, output):
    """Start one of our own commands.

    :param env: its environment.
    :param cwd: its directory; None for that of this process.
    :param output: file for what it prints.
    :returns: Process.
    """
    return _FORKS[program].start(program, *arguments, env=env, cwd=cwd or pathlib.Path.cwd(), output=output)


#: A script for shells that runs a command of this module instead of the command's own script.
_SCRIPT = """\
#!{python} -IS
import json, os, socket, sys
# The shell may have closed the standard input.
inputs = [0] if sys.stdin else []
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({socket!r})
    socket.send_fds(connection, [b'-'], [1, 2, *inputs])
    request = {{'command': [{program!r}, *sys.argv[1:]], 'env': dict(os.environ), 'cwd': os.getcwd()}}
    connection.sendall(json.dumps(request).encode())
    connection.shutdown(socket.SHUT_WR)
    sys.exit(int(connection.recv(20) or -1))
"""


def write_scripts(directory, programs=(*CLIENTS, *OWN)):
    """Write a script for each of the commands, to be first in the PATH of a shell.

    :param directory: pathlib.Path of a directory, which is created.
    :param programs: names of the commands.
    """
    directory.mkdir()
    for program in programs:
        script = directory / program
        script.write_text(_SCRIPT.format(python=sys.executable, socket=_FORKS[program].socket, program=program))
        script.chmod(0o755)


def serve(path, *programs):
    """Run a command for each connection, until the process that has started this one ends.

    :param path: of the socket.
    :param programs: the commands.
    """
    starter = os.getppid()
    # The clients' libraries read the name of the program from here at their import.
    sys.argv = [programs[0]]
    scripts = importlib.metadata.entry_points(group='console_scripts')
    mains = {program: scripts[program].load() for program in programs}
    {**dict.fromkeys(CLIENTS, _import_clients), MIRROR: _import_mirror}.get(programs[0], _import_own)()
    # A fork copies the memory that its garbage collector visits.
    gc.collect()
    gc.freeze()
    # Nothing waits for the children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        # A starter that is killed does not kill this process.
        listening.settimeout(_PAUSE)
        print('ready', flush=True)
        while os.getppid() == starter:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            with connection:
                if os.fork() == 0:
                    listening.close()
                    _run(connection, mains)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def _import_clients():
    _load(_GROUPS)
    importlib.import_module('ironicclient.v1.client')
    # After a 409, the client retries five times, every two seconds.
    importlib.import_module('ironicclient.common.http').DEFAULT_RETRY_INTERVAL = 0.1
    # For this, cliff reads the files of all installed distributions, which takes most of the time of a command.
    importlib.import_module('cliff.command')._get_distributions_by_modules()


def _import_own():
    _load(_OWN_GROUPS)
    for name in _OWN_MODULES:
        importlib.import_module(name)
    # This imports the libraries whose options it lists.
    importlib.import_module('ironic_traits.conf.validation')._schema()


def _import_mirror():
    _import_own()
    _load(('keystoneauth1.',))
    importlib.import_module('ironic_traits.cmd.mirroring')
    importlib.import_module('openstack.connection')


def _load(groups):
    """Load the entry points whose groups begin so."""
    for distribution in importlib.metadata.distributions():
        for point in distribution.entry_points:
            if point.group.startswith(groups):
                with contextlib.suppress(ImportError):
                    point.load()


def _run(connection, mains):
    """Run the command once in this process, and end it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().read())
    is_waited_for = 'is_waited_for' in request
    if is_waited_for:
        _separate(connection)
    _prepare(request, descriptors)
    main = mains[sys.argv[0]]
    try:
        # The clients have set the default of this argument at their import.
        code = main(sys.argv[1:]) if inspect.signature(main).parameters else main()
    except SystemExit as end:
        code = end.code
    except BrokenPipeError:
        # The output goes to a program that has ended, such as head.
        code = 1
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    if is_waited_for:
        # Python ends as it would without this module.
        sys.exit(code)
    connection.sendall(str(code or 0).encode())
    os._exit(0)


def _prepare(request, descriptors):
    """Set the command line, the files, the environment and the directory of this process."""
    os.close(0)
    sys.stdin = None
    for number, descriptor in zip((1, 2, 0), descriptors, strict=False):
        os.dup2(descriptor, number)
        if number == 0:
            sys.stdin = open(0)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request['env'])
    os.chdir(request['cwd'])
    # Python handles these variables at its start.
    if os.environ.get('PYTHONWARNINGS') == 'ignore':
        warnings.simplefilter('ignore')
    if os.environ.get('PYTHONUNBUFFERED'):
        sys.stdout.reconfigure(line_buffering=True)
    sys.argv = request['command']


def _separate(connection):
    """Fork. The fork returns and runs the command; this process sends its pid and its exit code."""
    pid = os.fork()
    if pid == 0:
        connection.close()
        return
    connection.sendall(f'{pid:20}'.encode())
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f'{os.waitstatus_to_exitcode(status):20}'.encode())
    os._exit(0)


if __name__ == '__main__':
    serve(*sys.argv[1:])
