"""The files of the checkout, for tests of what is written in them, and of what is built from them."""

import pathlib
import shutil
import subprocess

CHECKOUT = pathlib.Path(__file__).parents[2]
_PATTERNS = (
    *(f'{folder}/**/*' for folder in ('ironic_traits', 'benchmarks', 'doc/source', 'api-ref/source')),
    'releasenotes/notes/*',
)
#: Folders of what others have written.
_FOREIGN = {'vendor', 'node_modules'}
#: Git, with a user who may commit.
GIT = ('git', '-c', 'user.name=Someone', '-c', 'user.email=someone@example.org', '-c', 'init.defaultBranch=main')


def repository(folder):
    """Make a repository with one commit of the files of the checkout, without the tests, and no tag.

    :param folder: a folder that does not exist.
    """
    ignored = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'dist', 'tests')
    shutil.copytree(CHECKOUT, folder, ignore=ignored)
    for command in (['init', '-q'], ['add', '.'], ['commit', '-q', '-m', 'Begin']):
        subprocess.run([*GIT, *command], check=True, cwd=folder)
    return folder


def files(suffixes, *patterns):
    """Return the files of the code and of the documents, and those of further patterns, sorted.

    Each pattern must match such a file. Otherwise it would check nothing.

    :param suffixes: those of the files.
    """
    found = {}
    for pattern in (*_PATTERNS, *patterns):
        paths = [path for path in CHECKOUT.glob(pattern) if path.is_file() and path.suffix in suffixes]
        assert paths, pattern
        found |= dict.fromkeys(path for path in paths if not _FOREIGN & set(path.parts))
    return sorted(found)
