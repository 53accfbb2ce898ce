"""The code of the release before the newest migration, as it may be installed on another machine.

Releases are not tagged for each migration. So the previous release is the commit before the one that added the newest
migration. Its services may still run during the upgrade of the schema.
"""

import io
import os
import pathlib
import subprocess
import sys
import tarfile

from ironic_traits.db import revisions
from tests.support import commands

_ROOT = pathlib.Path(__file__).parents[2]


def previous(directory):
    """Extract the previous release. Return whether that was possible, because only a full clone has it.

    :param directory: pathlib.Path, for its files.
    """
    [newest] = (_ROOT / 'alembic' / 'versions').glob(f'{revisions.newest()}_*.py')
    added = _git('log', '--diff-filter=A', '--format=%H', '-1', '--', str(newest))
    if added is None:
        return False
    # A migration that is not committed yet comes after the last commit.
    archive = _git('archive', f'{added.decode().strip()}^' if added.strip() else 'HEAD')
    if archive is None:
        return False
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(directory, filter='data')
    return True


def start(directory, program, *arguments, output):
    """Start a program of a release.

    :param directory: that of ``previous``; None for the release of this checkout.
    :param program: ``api``, ``manage`` or ``worker``.
    :param output: file for what it prints.
    :returns: subprocess.Popen, or ``commands.Process``.
    """
    environment = os.environ | {'PYTHONUNBUFFERED': '1'}
    if directory is None:
        return commands.start(f'ironic-traits-{program}', *arguments, env=environment, cwd=None, output=output)
    code = f'from ironic_traits.cmd import {program}; import sys; sys.argv[0] = "{program}"; {program}.main()'
    return subprocess.Popen(
        [sys.executable, '-c', code, *arguments],
        cwd=directory,
        env=environment | {'PYTHONPATH': str(directory)},
        stdout=output,
        stderr=subprocess.STDOUT,
    )


def _git(*arguments):
    """Return what git prints; None if it fails."""
    try:
        done = subprocess.run(['git', '-C', str(_ROOT), *arguments], capture_output=True)
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout
