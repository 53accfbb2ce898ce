"""The files of a release, and the service that they install.

The site is left out: ``tox -e docs`` builds it. So is the list of components, which takes a minute.
"""

import hashlib
import subprocess
import sys
import tarfile

import pytest

from tests.support import checkout, release
from tests.support.checkout import GIT
from tests.support.main_job import do_the_main_job
from tests.support.programs import BIN
from tests.support.service import Server


@pytest.fixture(scope='module')
def repository(tmp_path_factory):
    """A repository with the files of the checkout, and no tag."""
    return checkout.repository(tmp_path_factory.mktemp('repository') / 'copy')


@pytest.fixture(scope='module')
def files(repository, tmp_path_factory):
    """The folder with the files of version 9.8.7."""
    target = tmp_path_factory.mktemp('release')
    subprocess.run([*GIT, 'tag', '9.8.7'], check=True, cwd=repository)
    subprocess.run([*GIT, 'tag', 'tried'], check=True, cwd=repository)
    release.write(target, repository, [release.requirements, release.changes])
    return target


def test_a_commit_without_a_version(repository, tmp_path):
    subprocess.run([*GIT, 'commit', '-q', '--allow-empty', '-m', 'Go on'], check=True, cwd=repository)
    with pytest.raises(ValueError, match='name 0 versions'):
        release.write(tmp_path / 'dist', repository, [])


def test_older_files_are_kept(repository, tmp_path):
    (tmp_path / 'older').touch()
    with pytest.raises(ValueError, match='not empty'):
        release.write(tmp_path, repository, [])


def test_the_files(files):
    names = {'CHANGELOG.rst', 'ironic_traits-9.8.7-py3-none-any.whl', 'ironic_traits-9.8.7.tar.gz'}
    names |= {'requirements-client.txt', 'requirements-service.txt'}
    assert {path.name for path in files.iterdir()} == names | {'SHA256SUMS'}
    sums = {name: hashlib.sha256((files / name).read_bytes()).hexdigest() for name in names}
    lines = (files / 'SHA256SUMS').read_text().splitlines()
    assert lines == [f'{sums[name]}  {name}' for name in sorted(names)]
    assert 'Release Notes' in (files / 'CHANGELOG.rst').read_text()


def test_the_sdist_says_nothing_of_the_machine(files):
    with tarfile.open(files / 'ironic_traits-9.8.7.tar.gz') as sdist:
        members = sdist.getmembers()
        assert b'version = 9.8.7' in sdist.extractfile('ironic_traits-9.8.7/setup.cfg').read()
    assert {(member.uid, member.uname, member.gname) for member in members} == {(0, '', '')}
    assert len({member.mtime for member in members}) == 1


def test_the_short_way(files, tmp_path):
    """One command runs the service from the wheel, without an installation."""

    class Run(Server):
        def _start(self, arguments, output, env, cwd):
            (wheel,) = files.glob('*.whl')
            uvx = [BIN / 'uvx', '--quiet', '--python', sys._base_executable, '--from', wheel]
            command = [*uvx, 'ironic-traits-api', *arguments]
            return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=cwd, env=env)

    with Run(None, cwd=tmp_path) as server:
        do_the_main_job(server)
        assert 'ironic-traits 9.8.7 listens' in server.wait_for('listens')
