"""The files of a release: python -m tests.support.release, or ``tox -e release``.

The commit must have a tag with the version. The files are those of this commit; what is not committed is left out. The
sdist and the wheel are built twice, in two folders, and must be equal.
"""

import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from packaging.version import InvalidVersion, Version

from tests.support.checkout import CHECKOUT
from tests.support.programs import BIN


def write(target, checkout, parts):
    """Write the files of a release into a new folder.

    :param target: the folder.
    :param checkout: the checkout whose commit is released.
    :param parts: what to write beside the packages. Functions of a copy of the checkout and of the folder.
    :raises ValueError: the commit has no version, the folder is not empty, or two builds differ.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise ValueError(f'{target} is not empty')
    number = version(checkout)
    with tempfile.TemporaryDirectory() as folder:
        dist = pathlib.Path(folder, 'dist')
        dist.mkdir()
        sources = [copy(checkout, pathlib.Path(folder, name), number) for name in ('one', 'two')]
        one, two = [{path.name: path.read_bytes() for path in _packages(source)} for source in sources]
        if one != two:
            raise ValueError(f'two builds of the same commit differ: {", ".join(one)}')
        for name, content in one.items():
            (dist / name).write_bytes(content)
        for part in parts:
            part(sources[0], dist)
        digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(dist.iterdir())}
        (dist / 'SHA256SUMS').write_text(''.join(f'{digest}  {name}\n' for name, digest in digests.items()))
        # All files, or none.
        shutil.copytree(dist, target, dirs_exist_ok=True)


def requirements(source, target):
    """Write the pinned requirements."""
    for name in ('service', 'client'):
        shutil.copy(source / 'requirements' / f'{name}.txt', target / f'requirements-{name}.txt')


def components(source, target):
    """Write what the release consists of."""
    # In an environment of its own: cyclonedx-bom brings a package that makes each import of jsonschema, so each start
    # of the service, a second longer.
    uv = [BIN / 'uv', 'run', '-q', '--no-project', '--python', sys.executable]
    python = [*uv, '--with', 'cyclonedx-bom>=7', '--with', 'pip', 'python']
    run(*python, '-m', 'tests.support.sbom', target / 'ironic-traits.cdx.json', cwd=source)


def changes(source, target):
    """Write the release notes."""
    (target / 'CHANGELOG.rst').write_text(run(BIN / 'reno', '-q', 'report', '--no-show-source', '.', cwd=source))


def site(source, target):
    """Write the documentation as an archive."""
    html = source.parent / 'ironic-traits-doc'
    options = ['-E', '-W', '-q', '-b', 'html', '-d', source.parent / 'cache']
    run(sys.executable, '-m', 'sphinx', *options, 'doc/source', html, cwd=source)
    _pack(html, target / f'{html.name}.tar.gz', _time(source))


def version(checkout):
    """Return the version that the tags of the commit of a checkout name.

    :raises ValueError: they name none, or several.
    """
    tags = run('git', 'tag', '--points-at', 'HEAD', cwd=checkout).split()
    versions = {version_of(tag) for tag in tags} - {None}
    if len(versions) != 1:
        raise ValueError(f'the tags of this commit name {len(versions)} versions. It needs one, such as: git tag 0.2.0')
    return str(versions.pop())


def version_of(tag):
    """Return the Version that a tag names; None if it names none."""
    try:
        return Version(tag)
    except InvalidVersion:
        return None


def copy(checkout, folder, version):
    """Copy the commit of a checkout into a folder, with a version, and return the folder."""
    # The umask decides which modes the files in the packages have.
    run('git', 'clone', '-q', checkout, folder, umask=0o022)
    setup = folder / 'setup.cfg'
    setup.write_text(re.sub(r'^version = .*', f'version = {version}', setup.read_text(), count=1, flags=re.MULTILINE))
    return folder


def _packages(source):
    """Build the sdist and the wheel, check them, and return their paths."""
    time, dist = _time(source), source / 'dist'
    environment = os.environ | {'SOURCE_DATE_EPOCH': str(time)}
    run(sys.executable, '-m', 'build', '-q', cwd=source, env=environment, umask=0o022)
    (sdist,) = dist.glob('*.tar.gz')
    # setuptools writes the time of the build and the user into it.
    unpacked = dist.parent / sdist.name.removesuffix('.tar.gz')
    run('tar', '-xf', sdist, '-C', unpacked.parent, '--no-same-owner')
    _pack(unpacked, sdist, time)
    paths = sorted(dist.iterdir())
    run(sys.executable, '-m', 'twine', 'check', '--strict', *paths)
    return paths


def _time(source):
    """Return the time of the commit, in seconds."""
    return int(run('git', 'log', '-1', '--format=%ct', cwd=source))


def _pack(folder, target, time):
    """Write a folder into an archive that depends only on the files, not on when and by whom they were written.

    :param time: the time of all files, in seconds.
    """

    def anonymous(member):
        member.uid = member.gid = 0
        member.uname = member.gname = ''
        member.mtime = time
        return member

    with (
        target.open('wb') as file,
        gzip.GzipFile('', 'wb', fileobj=file, mtime=time) as packed,
        tarfile.open(fileobj=packed, mode='w') as archive,
    ):
        archive.add(folder, folder.name, filter=anonymous)


def run(*command, **options):
    """Run a command to its end, and return its output."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=900, **options).stdout


if __name__ == '__main__':
    write(pathlib.Path(sys.argv[1]).absolute(), CHECKOUT, [requirements, components, changes, site])
