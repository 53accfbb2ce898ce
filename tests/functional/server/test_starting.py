"""The start of the service: its output, what it refuses, and that it runs no foreign code."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time

import bcrypt
import pytest

from tests.support import commands, servers
from tests.support.http_client import ask, make
from tests.support.programs import BIN, run
from tests.support.service import ForkedServer, Server
from tests.support.terminal import descendants

SECRET = 'hush-hush'


def assert_refused(done, *reasons):
    """Check that a command printed only one line with the reason. Libraries may have warned before."""
    assert done.returncode == 1
    assert done.stdout == ''
    *warnings, line = done.stderr.splitlines()
    assert all(' WARNING keystonemiddleware.' in warning for warning in warnings), done.stderr
    for reason in reasons:
        assert reason in line


def test_the_banner(tmp_path):
    with contextlib.closing(Started(tmp_path, '--nostart-worker')) as started:
        printed = started.server.wait_for('  worker: ')
        # The service already serves requests.
        assert ask(started.server.base, 'GET', '/v1')[0] == 200
    assert printed.startswith('ironic-traits 0.1.0 listens on http://127.0.0.1:')
    assert '  authentication: none: every client' in printed
    assert f'  database: sqlite:///{tmp_path}/ironic-traits-data/ironic-traits.sqlite\n' in printed
    assert '  log: stderr\n' in printed
    assert '  worker: not started' in printed


def test_the_banner_of_others(tmp_path):
    """The banner with an htpasswd file, a log file and a worker."""
    user = 'operator:' + bcrypt.hashpw(SECRET.encode(), bcrypt.gensalt(4)).decode() + '\n'
    (tmp_path / 'users').write_text(user)
    (tmp_path / 'basic.conf').write_text(
        f'[DEFAULT]\nlog_file = {tmp_path}/its.log\nuse_stderr = false\n'
        f'[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = {tmp_path}/users\n'
    )
    with contextlib.closing(Started(tmp_path, '--config-file', 'basic.conf')) as started:
        printed = started.server.wait_for('  worker: ')
    assert f'  authentication: http_basic, with the users in {tmp_path}/users\n' in printed
    assert f'  log: {tmp_path}/its.log\n' in printed
    assert '  worker: started\n' in printed


class Started:
    """A service that may not serve requests yet."""

    def __init__(self, cwd, *arguments):
        self.server = Server(None, *arguments, cwd=cwd)

    def close(self):
        self.server.stop()


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        (
            '[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = nowhere\n',
            'nowhere: cannot be read: No such',
        ),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = .\n', 'cannot be read: Is a directory'),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = empty\n', 'empty: the file has no users'),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = binary\n', 'binary: it is not text in UTF-8'),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = md5\n', 'http_basic_auth_user_file = md5'),
        ('[api]\nauth_strategy = keystone\n', 'auth_type is not set'),
        (
            '[api]\nauth_strategy = keystone\n'
            '[keystone_authtoken]\nauth_type = password\nauth_url = http://x/v3\ncafile = nowhere\n',
            'cafile = nowhere: cannot be read: No such file',
        ),
        ('[api]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_type = passwort\n', 'passwort'),
        ('[api]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_type = password\n', 'auth_url'),
        ('[DEFAULT]\nlog_file = md5/log\n', 'log'),
        ('[DEFAULT]\nlog_config_append = nowhere\n', 'nowhere'),
        ('[DEFAULT]\nuse_syslog = true\nsyslog_log_facility = LOG_NONE\n', 'facility'),
        ('[DEFAULT]\nstate_path = md5/state\n', 'md5/state'),
    ],
)
@pytest.mark.parametrize('workers', ['1', '2'])
def test_wrong_configuration(text, reason, workers, tmp_path):
    """The service prints one line before it listens."""
    write_bad_files(tmp_path)
    (tmp_path / 'wrong.conf').write_text(text)
    port = str(servers.free_port())
    arguments = ['--config-file', 'wrong.conf', '--port', port, '--workers', workers]
    assert_refused(commands.run('ironic-traits-api', *arguments, cwd=tmp_path), 'cannot be used', reason)


def write_bad_files(folder):
    """Write files of users that cannot be used."""
    (folder / 'md5').write_text('operator:$apr1$1Yn6vWqW$7GDHfnXkFnKP1sLhS4jL0/\n')
    (folder / 'empty').write_text('# no users\n')
    (folder / 'binary').write_bytes(b'\xff\xfe')


@pytest.mark.parametrize('program', ['ironic-traits-api', 'ironic-traits-worker'])
def test_rules_that_are_invalid(program, tmp_path):
    commands.run('ironic-traits-manage', 'db', 'upgrade', cwd=tmp_path)
    (tmp_path / 'gold.yaml').write_text('- name: one\n- name: two\n')
    (tmp_path / 'wrong.conf').write_text('[inspection]\nrules_dirs = .\n')
    options = ['--config-file', 'wrong.conf', '--port', str(servers.free_port())]
    problems = '[inspection] rules_dirs: ./gold.yaml: rule one: it has no actions; ./gold.yaml: rule two: it has no'
    assert_refused(commands.run(program, *options, cwd=tmp_path), f'The configuration cannot be used: {problems}')


def test_a_policy_file_that_cannot_be_read(tmp_path):
    (tmp_path / 'policy.yaml').write_text('{')
    (tmp_path / 'wrong.conf').write_text(
        '[api]\nauth_strategy = noauth2\n[oslo_policy]\npolicy_file = policy.yaml\n[DEFAULT]\nuse_stderr = true\n'
    )
    done = commands.run(
        'ironic-traits-api', '--config-file', 'wrong.conf', '--port', str(servers.free_port()), cwd=tmp_path
    )
    assert_refused(done, 'The policy file cannot be used: ')


@pytest.mark.parametrize(
    'command', [['ironic-traits-api'], ['ironic-traits-worker'], ['ironic-traits-manage', 'db', 'check']]
)
def test_file_that_is_not_a_database(command, tmp_path):
    (tmp_path / 'letter').write_text('Dear Sir or Madam,\n')
    program, *arguments = command
    options = ['--database', f'sqlite:///{tmp_path}/letter', '--port', str(servers.free_port())]
    assert_refused(commands.run(program, *options, *arguments, cwd=tmp_path), 'letter is not a SQLite database')
    assert (tmp_path / 'letter').read_text() == 'Dear Sir or Madam,\n'


@pytest.mark.parametrize('program', ['ironic-traits-api', 'ironic-traits-worker'])
def test_a_log_file_that_cannot_be_written(program, tmp_path):
    options = ['--log-file', '/proc/nowhere/log', '--port', str(servers.free_port())]
    assert_refused(commands.run(program, *options, cwd=tmp_path), '/proc/nowhere/log')


@pytest.mark.parametrize(
    ('url', 'module', 'packages'),
    [
        ('postgresql+psycopg://tests:hush-hush@127.0.0.1/x', 'psycopg', "'psycopg[binary]"),
        ('postgresql+psycopg2://tests:hush-hush@127.0.0.1/x', 'psycopg2', "'psycopg[binary]"),
        ('mysql+pymysql://tests:hush-hush@127.0.0.1/x', 'pymysql', "'PyMySQL"),
    ],
)
def test_a_driver_that_is_not_installed(url, module, packages, tmp_path):
    (tmp_path / f'{module}.py').write_text(f'raise ModuleNotFoundError("No module named {module!r}")')
    done = run('ironic-traits-manage', '--database', url, 'db', 'check', cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert_refused(done, f"No module named '{module}'", f'pip install {packages}>=')
    # The name is free on PyPI: another project could register it.
    assert 'install ironic-traits' not in done.stderr.replace("'", '')


def test_port_0(tmp_path):
    """With port 0, the banner and the links have the chosen port."""
    command = [BIN / 'ironic-traits-api', '--port', '0', '--workers', '2']
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        base = process.stdout.readline().split()[-1]
        assert not base.endswith(':0')
        assert [ask(base, 'GET', '/v1')[0] for _ in range(10)] == [200] * 10
        process.terminate()
        assert process.stdout.read().rstrip().endswith('has stopped.')


def test_more_processes_than_processors(tmp_path):
    """The guide recommends them if the database is on another machine, so there is no warning."""
    with ForkedServer(None, '--workers', str(os.cpu_count() + 1), '--nostart-worker', cwd=tmp_path) as server:
        assert 'WARNING' not in server.wait_for('README.rst continues')


def test_no_password_on_a_command_line(tmp_path):
    """All users of the machine see command lines, so they have no password."""
    # A SQLite database has no password. Look for its name instead.
    with Server(f'sqlite:///{tmp_path}/part-of-the-url.sqlite', '--workers', '2', cwd=tmp_path) as server:
        server.wait_until(lambda: len(descendants(server.process.pid)) == 3)
        children = descendants(server.process.pid)
        for pid in children:
            assert 'part-of-the-url' not in pathlib.Path(f'/proc/{pid}/cmdline').read_text()


TRAP = """
import pathlib
pathlib.Path({path!r}).write_text('executed')
from importlib import metadata
raise ImportError('not ours')
"""


def test_no_code_of_the_current_directory(tmp_path):
    """Neither the API nor its worker runs code of the current directory."""
    trap = tmp_path / 'trap'
    for name in ('orjson', 'ironic_traits', 'pecan', 'sqlalchemy'):
        (tmp_path / f'{name}.py').write_text(TRAP.format(path=str(trap)))
    with Server(None, cwd=tmp_path) as server:
        uuid = make(server.base)
        ask(server.base, 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
        deadline = time.monotonic() + 30
        while b'"manageable"' not in ask(server.base, 'GET', f'/v1/nodes/{uuid}/states')[2]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert not trap.exists()


@pytest.mark.parametrize('program', ['api', 'worker', 'manage', 'status'])
def test_version(program, tmp_path):
    done = run(f'ironic-traits-{program}', '--version', cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, '0.1.0\n')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('program', ['api', 'worker', 'manage', 'status'])
def test_shell_completion(program, tmp_path):
    """If a release of oslo.config has no templates, the message says so."""
    done = commands.run(f'ironic-traits-{program}', '--shell_completion', 'bash', cwd=tmp_path)
    assert 'Traceback' not in done.stderr
    assert len(done.stderr.splitlines()) == done.returncode


def wsgi(tmp_path, text):
    """Import ironic_traits.wsgi as a WSGI server does, and request the nodes."""
    (tmp_path / 'ironic-traits.conf').write_text(f'[DEFAULT]\nstate_path = {tmp_path}\n{text}')
    program = (
        'from wsgiref.simple_server import make_server\n'
        'import threading, urllib.request\n'
        'from ironic_traits.wsgi import application\n'
        'server = make_server("127.0.0.1", 0, application)\n'
        'threading.Thread(target=server.handle_request).start()\n'
        'print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/v1/nodes").read().decode())\n'
    )
    environment = os.environ | {'IRONIC_TRAITS_CONFIG_FILES': str(tmp_path / 'ironic-traits.conf')}
    command = [sys.executable, '-P', '-c', program]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60)


@pytest.mark.parametrize('text', ['', '[api]\nauth_strategy = noauth2\nnoauth_beyond_loopback = true\n'])
def test_noauth_behind_another_wsgi_server(text, tmp_path):
    """noauth is refused there, because the service does not know which clients reach that server."""
    assert_not_loaded(wsgi(tmp_path, text), 'behind a WSGI server', 'noauth_beyond_loopback = true')


def test_noauth_behind_another_wsgi_server_when_allowed(tmp_path):
    done = wsgi(tmp_path, '[api]\nnoauth_beyond_loopback = true\n')
    assert '{"nodes":[]}' in done.stdout, done.stderr


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('[api]\nauth_strategy = keystone\n', 'auth_type is not set'),
        (
            '[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = nowhere\n',
            'nowhere: cannot be read: No such',
        ),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = .\n', 'cannot be read: Is a directory'),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = empty\n', 'empty: the file has no users'),
        ('[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = binary\n', 'binary: it is not text in UTF-8'),
    ],
)
def test_another_wsgi_server_and_a_wrong_configuration(text, reason, tmp_path):
    write_bad_files(tmp_path)
    assert_not_loaded(wsgi(tmp_path, text), reason)


def assert_not_loaded(done, *reasons):
    """Check that the import failed and the process did not exit. WSGI servers restart processes that exit."""
    assert done.returncode == 1
    assert done.stdout == ''
    line, *_ = [line for line in done.stderr.splitlines() if 'RuntimeError: The configuration cannot be used: ' in line]
    for reason in reasons:
        assert reason in line


def test_a_locale_without_utf8(tmp_path):
    """Containers may have no other locale."""
    done = run('ironic-traits-manage', 'db', 'upgrade', cwd=tmp_path, LC_ALL='C')
    assert done.returncode == 0, done.stderr
