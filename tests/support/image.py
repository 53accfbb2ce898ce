"""The container image: python -m tests.support.image, or ``tox -e image``.

No registry is needed. mmdebstrap unpacks Debian's packages of Python, pip installs what ``requirements/service.txt``
pins, and buildah writes an archive for ``podman load`` or ``docker load``. No program runs inside the image while it is
built.
"""

import compileall
import configparser
import os
import pathlib
import py_compile
import shutil
import subprocess
import sys
import tempfile

from tests.support import sbom


def _version():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(sbom.CHECKOUT / 'setup.cfg')
    return setup['metadata']['version']


#: The name of the image.
NAME = f'localhost/ironic-traits:{_version()}'
SOURCES = sbom.CHECKOUT / 'packaging' / 'image'
#: The release of Debian that has this version of Python, for which pip chooses the packages.
SUITES = {(3, 11): 'bookworm', (3, 13): 'trixie'}
#: Where the service is in the image.
HOME = pathlib.PurePath('opt', 'ironic-traits')
#: What Debian's packages have, and the service does not use.
_LEFT_OUT = (
    *('/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*', '/usr/share/zoneinfo/*', '/usr/share/lintian/*'),
    *('/usr/lib/*/gconv/*', '/usr/lib/python3*/ensurepip/*', '/usr/lib/python3*/lib2to3/*', '/usr/lib/python3*/test/*'),
    *('/usr/lib/python3*/pydoc_data/*', '/usr/bin/dpkg*', '/usr/share/perl5/*', '/bin/tar', '/usr/bin/tar'),
)
#: What the libraries have, and the service does not use. psycopg serves PostgreSQL; some libraries need setuptools only
#: to build packages.
_SUPERFLUOUS = (
    *('__pycache__', 'tests', 'test', 'testing', 'oui.txt', 'iab.txt', '*.pyi', '*.pyx', '*.pxd'),
    *('setuptools*', '_distutils_hack', 'distutils-precedence.pth', 'psycopg2', 'psycopg2_binary*'),
)
#: What scanners read to find known vulnerabilities. Without it they would not see Debian's packages.
_STATUS = (
    'for package in "$1"/var/cache/apt/archives/*.deb; do '
    'dpkg-deb --field "$package" | sed "1a Status: install ok installed"; echo; '
    'done > "$1/var/lib/dpkg/status"'
)


def write(target):
    """Write the image of this checkout into a compressed archive."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, 'root')
        _unpack(SUITES[sys.version_info[:2]], root)
        _install(root, pathlib.Path(folder))
        _compile(root)
        _pack(pathlib.Path(folder), target)


def _unpack(suite, root):
    """Unpack Debian's Python, and what it depends on."""
    options = ['--variant=extract', '--include=base-files,libstdc++6,python3', f'--extract-hook={_STATUS}']
    options += [f'--dpkgopt=path-exclude={path}' for path in _LEFT_OUT]
    _run('mmdebstrap', '--quiet', *options, '--dpkgopt=path-include=/usr/share/doc/*/copyright', suite, root)
    # Those of the machine that builds the image.
    for path in ('resolv.conf', 'hostname', 'fstab'):
        (root / 'etc' / path).unlink(missing_ok=True)
    shutil.rmtree(root / 'etc' / 'apt')
    shutil.copytree(SOURCES / 'etc', root / 'etc', dirs_exist_ok=True)


def _install(root, folder):
    """Install the service."""
    built, home = sbom.installed(folder).parents[1], root / HOME
    shutil.copytree(built, home, symlinks=True, ignore=shutil.ignore_patterns(*_SUPERFLUOUS))
    for script in home.glob('bin/*'):
        if not script.name.startswith('ironic-traits-'):
            script.unlink()
            continue
        script.write_text(script.read_text().replace(str(built), f'/{HOME}'))
    (home / 'pyvenv.cfg').write_text('home = /usr/bin\ninclude-system-site-packages = false\n')
    (home / 'bin' / 'python').symlink_to('/usr/bin/python3')
    # Those in *.libs have other section tables, and no debug information.
    _run('strip', '--strip-debug', *(path for path in home.rglob('*.so') if '.libs' not in str(path)))
    shutil.copy(SOURCES / 'healthcheck.py', home)


def _compile(root):
    """Compile the modules: in the image they cannot be written, and each start would take seconds longer."""
    # The archive has other timestamps than the files here.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for folder in (*root.glob('usr/lib/python3*'), root / HOME):
        compileall.compile_dir(folder, quiet=2, stripdir=root, prependdir='/', workers=0, invalidation_mode=mode)


def _pack(folder, target):
    """Build the image from its root file system, and write its archive."""
    (folder / 'data').mkdir()
    # OCI's own format has no health check.
    build = ['build', '--quiet', '--format', 'docker', '--file', SOURCES / 'Containerfile', '--tag', NAME, folder]
    _run('buildah', *build)
    target.parent.mkdir(parents=True, exist_ok=True)
    archive = target.with_suffix('')
    archive.unlink(missing_ok=True)
    _run('buildah', 'push', '--quiet', NAME, f'docker-archive:{archive}:{NAME}')
    _run('gzip', '--no-name', '--force', archive)


def _run(*command):
    subprocess.run(command, check=True, timeout=900, env=os.environ | {'BUILDAH_ISOLATION': 'chroot'})


if __name__ == '__main__':
    write(pathlib.Path(sys.argv[1]))
