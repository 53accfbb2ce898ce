"""The service as one file, run by a Python that has none of its requirements."""

import json
import os
import subprocess
import sys

import pytest

from tests.support import zipapp
from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make
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
    """The API answers, and its worker moves a node to another state."""
    uuid = make(server.base)
    assert ask(server.base, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_GOLD')[0] == 204
    _, _, page = ask(server.base, 'GET', '/v1/nodes?traits=CUSTOM_GOLD')
    assert [node['uuid'] for node in json.loads(page)['nodes']] == [uuid]
    assert ask(server.base, 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})[0] == 202

    def is_manageable():
        assert 'restarting it' not in server.output
        return json.loads(ask(server.base, 'GET', f'/v1/nodes/{uuid}')[2])['provision_state'] == 'manageable'

    wait_until(is_manageable)
    assert ask(server.base, 'GET', '/ui/')[0] == 200


@pytest.mark.parametrize(
    ('command', 'arguments'), [('manage', ['db', 'upgrade']), ('status', ['--help']), ('mirror', ['--help'])]
)
def test_other_commands(one_file, command, arguments, tmp_path):
    entry_point = {'SHIV_ENTRY_POINT': f'ironic_traits.cmd.{command}:main'}
    subprocess.run([*one_file, *arguments], check=True, cwd=tmp_path, env=os.environ | entry_point, timeout=60)
