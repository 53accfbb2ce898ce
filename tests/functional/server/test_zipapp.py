"""The service as one file, run by a Python that has none of its requirements."""

import os
import subprocess
import sys

import pytest

from tests.support import zipapp
from tests.support.http_client import ask
from tests.support.main_job import do_the_main_job
from tests.support.service import Server


@pytest.fixture(scope='module')
def one_file(tmp_path_factory):
    """The command that runs the file."""
    path = tmp_path_factory.mktemp('zipapp') / 'ironic-traits.pyz'
    zipapp.write(path)
    return [sys._base_executable, path]


@pytest.fixture(scope='module', autouse=True)
def unpacked(tmp_path_factory):
    """A folder for what the file unpacks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv('PYTHONPATH', raising=False)
        patch.setenv('SHIV_ROOT', str(tmp_path_factory.mktemp('unpacked')))
        yield


@pytest.fixture
def server(one_file, tmp_path):
    class OneFile(Server):
        def _start(self, arguments, output, env, cwd):
            return subprocess.Popen([*one_file, *arguments], stdout=output, stderr=subprocess.STDOUT, cwd=cwd, env=env)

    with OneFile(None, cwd=tmp_path) as server:
        yield server


def test_the_main_job(server):
    do_the_main_job(server)
    assert ask(server.base, 'GET', '/ui/')[0] == 200


@pytest.mark.parametrize(
    ('command', 'arguments'), [('manage', ['db', 'upgrade']), ('status', ['--help']), ('mirror', ['--help'])]
)
def test_other_commands(one_file, command, arguments, tmp_path):
    entry_point = {'SHIV_ENTRY_POINT': f'ironic_traits.cmd.{command}:main'}
    subprocess.run([*one_file, *arguments], check=True, cwd=tmp_path, env=os.environ | entry_point, timeout=60)
