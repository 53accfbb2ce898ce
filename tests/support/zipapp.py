"""The service as one file (zipapp): python -m tests.support.zipapp, or ``tox -e zipapp``.

It has what ``requirements/service.txt`` pins. Some of these libraries are written in C. They run on this version of
Python and this kind of machine only. Python cannot import them from an archive, so the file unpacks itself at its first
start.
"""

import pathlib
import subprocess
import sys
import tempfile

from tests.support import sbom


def write(target):
    """Write this checkout into a file."""
    with tempfile.TemporaryDirectory() as folder:
        python = sbom.installed(pathlib.Path(folder))
        (packages,) = python.parents[1].glob('lib/python*/site-packages')
        target.parent.mkdir(parents=True, exist_ok=True)
        shiv = [sys.executable, '-m', 'shiv', '--site-packages', packages, '--console-script', 'ironic-traits-api']
        subprocess.run([*shiv, '--python', '/usr/bin/env python3', '--output-file', target], check=True, timeout=900)


if __name__ == '__main__':
    write(pathlib.Path(sys.argv[1]))
