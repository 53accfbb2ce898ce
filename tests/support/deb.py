"""The Debian package: python -m tests.support.deb, or ``tox -e deb``.

The commit must have a tag with the version. The package is for the Debian and the kind of machine on which it is built,
because some of the pinned libraries are written in C.
"""

import pathlib
import re
import shutil
import sys
import tempfile

from tests.support import release

_CHANGELOG = """ironic-traits ({version}) unstable; urgency=medium

  * Release {version}. Its release notes are in CHANGELOG.rst of the release.

 -- {maintainer}  {time}
"""


def write(target, checkout):
    """Write the package of the commit of a checkout into a folder, and return its path.

    :raises ValueError: the commit has no version.
    """
    target.mkdir(parents=True, exist_ok=True)
    version = release.version(checkout)
    with tempfile.TemporaryDirectory() as folder:
        source = release.copy(checkout, pathlib.Path(folder, 'ironic-traits'), version)
        debian = shutil.copytree(source / 'packaging' / 'debian', source / 'debian')
        (maintainer,) = re.findall(r'^Maintainer: (.*)', (debian / 'control').read_text(), re.MULTILINE)
        time = release.run('git', 'log', '-1', '--format=%cD', cwd=source).strip()
        # Debian sorts 1.0~rc1 before 1.0, and 1.0rc1 after it.
        number = re.sub(r'\.?(a|b|rc|dev)(?=\d)', r'~\1', version)
        (debian / 'changelog').write_text(_CHANGELOG.format(version=number, maintainer=maintainer, time=time))
        release.run('dpkg-buildpackage', '--build=binary', '--no-sign', cwd=source, umask=0o022)
        (package,) = pathlib.Path(folder).glob('ironic-traits_*.deb')
        return pathlib.Path(shutil.copy(package, target))


if __name__ == '__main__':
    print(write(pathlib.Path(sys.argv[1]).absolute(), release.CHECKOUT))
