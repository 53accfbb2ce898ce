"""The release before this checkout, as it may be installed on another machine during an upgrade.

It is that of the newest tag with a version. Without one, it is the commit before the one that added the newest
migration.
"""

import os
import subprocess
import sys
import venv

from ironic_traits.db import revisions
from tests.support import commands, release
from tests.support.checkout import CHECKOUT


def previous(directory):
    """Extract the files of the previous release. Return whether that was possible, because only a full clone has it.

    :param directory: pathlib.Path, for its files.
    """
    commit = last()
    archive = commit and _git('archive', commit)
    if archive is None:
        return False
    subprocess.run(['tar', '-x', '-C', directory, '--no-same-owner'], input=archive, check=True)
    return True


def last():
    """Return the commit of the previous release; None if this is not a full clone."""
    tags = (_git('tag', '--merged', 'HEAD', '--no-contains', 'HEAD') or b'').decode().split()
    versions = {tag: release.version_of(tag) for tag in tags if release.version_of(tag)}
    if versions:
        return max(versions, key=versions.__getitem__)
    [newest] = (CHECKOUT / 'alembic' / 'versions').glob(f'{revisions.newest()}_*.py')
    added = _git('log', '--diff-filter=A', '--format=%H', '-1', '--', str(newest))
    # A migration that is not committed yet comes after the last commit.
    return None if added is None else f'{added.decode().strip()}^' if added.strip() else 'HEAD'


def install(commit, folder):
    """Build the wheel of a commit, and install it as an operator does. Return the environment, a folder.

    :param commit: a tag, or another name of a commit.
    :param folder: a new folder.
    """
    source, environment = folder / 'source', folder / 'environment'
    release.run('git', 'clone', '-q', CHECKOUT, source)
    release.run('git', 'checkout', '-q', commit, cwd=source)
    release.run(sys.executable, '-m', 'build', '-q', '--wheel', cwd=source)
    venv.create(environment, with_pip=False)
    pip = [sys.executable, '-m', 'pip', '--python', environment / 'bin' / 'python', 'install', '-q']
    release.run(*pip, '--require-hashes', '-r', source / 'requirements' / 'service.txt')
    release.run(*pip, '--no-deps', *source.glob('dist/*.whl'))
    return environment


def start(directory, program, *arguments, output):
    """Start a program of a release.

    :param directory: that of ``previous``, or the environment of ``install``; None for the release of this checkout.
    :param program: ``api``, ``manage`` or ``worker``.
    :param output: file for what it prints.
    :returns: subprocess.Popen, or ``commands.Process``.
    """
    environment = os.environ | {'PYTHONUNBUFFERED': '1'}
    if directory is None:
        return commands.start(f'ironic-traits-{program}', *arguments, env=environment, cwd=None, output=output)
    command = [directory / 'bin' / f'ironic-traits-{program}']
    if not command[0].exists():
        code = f'from ironic_traits.cmd import {program}; import sys; sys.argv[0] = "{program}"; {program}.main()'
        command, environment['PYTHONPATH'] = [sys.executable, '-c', code], str(directory)
    return subprocess.Popen(
        [*command, *arguments], cwd=directory, env=environment, stdout=output, stderr=subprocess.STDOUT
    )


def _git(*arguments):
    """Return what git prints; None if it fails."""
    try:
        done = subprocess.run(['git', '-C', str(CHECKOUT), *arguments], capture_output=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout
