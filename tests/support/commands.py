"""Runs commands, the real clients' and our own, without the second of imports that each of them needs.

A process of its own imports the modules of a command once, and forks each time that the command is run.  What runs in
the fork is the entry point of the command, as its script in ``bin`` would call it.

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
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings

CLIENTS = ('baremetal', 'openstack')
#: How the groups of entry points begin that the clients load, most of them each time.
_GROUPS = ('cliff.formatter.', 'keystoneauth1.', 'openstack.')
#: How the groups of entry points begin that our own commands load.
_OWN_GROUPS = ('ironic_traits.',)
#: Modules that our own commands import when they run.
_OWN_MODULES = (
    'ironic_traits.app',
    'ironic_traits.cmd.checks',
    'ironic_traits.cmd.inventory',
    'ironic_traits.cmd.managing',
    'ironic_traits.cmd.rules',
    'ironic_traits.transfer.local',
    'psycopg2',
    'pymysql',
    'sqlalchemy.dialects.mysql.pymysql',
    'sqlalchemy.dialects.postgresql.psycopg2',
    'sqlalchemy.dialects.sqlite.pysqlite',
)


class Command:
    """A process that runs one of the commands, again and again; started for the first one.

    :param program: name of its script.
    """

    def __init__(self, program):
        self._program = program

    def run(self, *arguments, env, cwd):
        """Run the command.

        :param env: its environment.
        :param cwd: its directory.
        :returns: subprocess.CompletedProcess, with text.
        """
        request = {'arguments': [str(argument) for argument in arguments], 'env': dict(env), 'cwd': str(cwd)}
        with contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile('w+')) for _ in range(2)]
            inputs = stack.enter_context(pathlib.Path(os.devnull).open())
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(self.socket)
            socket.send_fds(connection, [b'-'], [file.fileno() for file in (*outputs, inputs)])
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            code = int(connection.recv(20) or -1)
            for output in outputs:
                output.seek(0)
            return subprocess.CompletedProcess([self._program, *arguments], code, *(o.read() for o in outputs))

    @functools.cached_property
    def socket(self):
        """Path of the socket of the process, which is started now."""
        path = str(pathlib.Path(tempfile.mkdtemp(prefix='commands-'), 'socket'))
        command = [sys.executable, '-m', 'tests.support.commands', path, self._program]
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


_COMMANDS = {program: Command(program) for program in (*CLIENTS, 'ironic-traits-manage', 'ironic-traits-status')}


def run(program, *arguments, env=None, cwd=None):
    """Run a command.

    :param program: name of a script that is installed.
    :param env: its environment; that of this process by default.
    :param cwd: its directory; that of this process by default.
    :returns: subprocess.CompletedProcess, with text.
    """
    if program in _COMMANDS:
        return _COMMANDS[program].run(*arguments, env=env or os.environ, cwd=cwd or pathlib.Path.cwd())
    script = pathlib.Path(sys.executable).parent / program
    return subprocess.run([script, *arguments], capture_output=True, text=True, env=env, cwd=cwd)


#: A script that runs a command of this module in place of the command's own script, for shells.
_SCRIPT = """\
#!{python} -IS
import json, os, socket, sys
# The shell may have closed the standard input.
inputs = [0] if sys.stdin else []
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({socket!r})
    socket.send_fds(connection, [b'-'], [1, 2, *inputs])
    request = {{'arguments': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd()}}
    connection.sendall(json.dumps(request).encode())
    connection.shutdown(socket.SHUT_WR)
    sys.exit(int(connection.recv(20) or -1))
"""


def write_scripts(directory):
    """Write a script for each of the commands, to be first in the PATH of a shell.

    :param directory: pathlib.Path of a directory, which is created.
    """
    directory.mkdir()
    for program, command in _COMMANDS.items():
        script = directory / program
        script.write_text(_SCRIPT.format(python=sys.executable, socket=command.socket))
        script.chmod(0o755)


def serve(path, program):
    """Run a command for each connection, until the process is killed.

    :param path: of the socket.
    :param program: the command.
    """
    # The libraries take the name from here when they are imported.
    sys.argv = [program]
    (script,) = importlib.metadata.entry_points(group='console_scripts', name=program)
    main = script.load()
    for distribution in importlib.metadata.distributions():
        for point in distribution.entry_points:
            if point.group.startswith(_GROUPS if program in CLIENTS else _OWN_GROUPS):
                with contextlib.suppress(ImportError):
                    point.load()
    for name in ('ironicclient.v1.client',) if program in CLIENTS else _OWN_MODULES:
        importlib.import_module(name)
    if program in CLIENTS:
        # After a 409 the client asks five times again, with two seconds in between.
        importlib.import_module('ironicclient.common.http').DEFAULT_RETRY_INTERVAL = 0.1
        # cliff reads the files of all installed distributions for it, which takes most of the time of a command.
        importlib.import_module('cliff.command')._get_distributions_by_modules()
    else:
        # It imports the libraries whose options it knows.
        importlib.import_module('ironic_traits.validation')._schema()
    # A fork copies the memory that its garbage collector looks at.
    gc.collect()
    gc.freeze()
    # Children are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print('ready', flush=True)
        while True:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    _run(connection, main)


def _run(connection, main):
    """Run the command once in this process, and end it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().read())
    os.close(0)
    sys.stdin = None
    for number, descriptor in zip((1, 2, 0), descriptors, strict=False):
        os.dup2(descriptor, number)
        if number == 0:
            sys.stdin = open(0)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request['env'])
    os.chdir(request['cwd'])
    # What Python does with these variables when it starts.
    if os.environ.get('PYTHONWARNINGS') == 'ignore':
        warnings.simplefilter('ignore')
    if os.environ.get('PYTHONUNBUFFERED'):
        sys.stdout.reconfigure(line_buffering=True)
    sys.argv += request['arguments']
    try:
        # The default of the clients' argument was set when they were imported.
        code = main(request['arguments']) if inspect.signature(main).parameters else main()
    except SystemExit as end:
        code = end.code
    except BrokenPipeError:
        # The shell pipes the output to a program that has ended, such as head.
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
    connection.sendall(str(code or 0).encode())
    os._exit(0)


if __name__ == '__main__':
    serve(*sys.argv[1:])
