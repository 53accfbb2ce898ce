"""The wheel is complete and works in any directory."""

import configparser
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import setuptools

CHECKOUT = pathlib.Path(__file__).parents[2]


def test_every_package_is_named():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / 'setup.cfg')
    listed = set(setup['options']['packages'].split())
    packages = {f'ironic_traits.{name}' for name in setuptools.find_packages(CHECKOUT / 'ironic_traits')}
    packages |= {'ironic_traits', 'ironic_traits.db.alembic', 'ironic_traits.db.alembic.versions'}
    assert listed == packages, 'Add the package to "packages" in setup.cfg, or remove it there.'


@pytest.fixture(scope='module')
def source(tmp_path_factory):
    """A copy of the checkout: setuptools writes into the source, where tox may build a wheel at the same time."""
    ignored = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'dist', 'doc', 'tests')
    return shutil.copytree(CHECKOUT, tmp_path_factory.mktemp('source') / 'copy', ignore=ignored)


@pytest.fixture(scope='module')
def installed(source, tmp_path_factory):
    """A directory with only the content of the wheel."""
    target = tmp_path_factory.mktemp('wheel')
    subprocess.run([sys.executable, '-m', 'build', '-q', '-w', '-o', target / 'dist', source], check=True)
    (wheel,) = (target / 'dist').iterdir()
    install = [sys.executable, '-m', 'pip', 'install', '-q', '--no-deps', '--target', target / 'lib', wheel]
    subprocess.run(install, check=True)
    return target / 'lib'


def test_the_wheel_has_the_migrations(installed, tmp_path):
    command = 'from ironic_traits.cmd import manage; manage.main()'
    done = subprocess.run(
        [sys.executable, '-c', command, '--database', f'sqlite:///{tmp_path}/new.sqlite', 'db', 'upgrade'],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {'PYTHONPATH': str(installed)},
    )
    assert done.returncode == 0, done.stderr
    versions = sorted(path.stem.split('_')[0] for path in (CHECKOUT / 'alembic' / 'versions').glob('*.py'))
    assert done.stdout.strip() == versions[-1]


def test_the_wheel_has_the_tables_of_facts(installed, tmp_path):
    inventory = tmp_path / 'node.json'
    inventory.write_text('{"inventory": {"cpu": {"architecture": "x86_64", "flags": ["avx2"]}}}')
    command = 'from ironic_traits.cmd import manage; manage.main()'
    done = subprocess.run(
        [sys.executable, '-c', command, 'rules', 'check', '--inventory', inventory],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {'PYTHONPATH': str(installed)},
    )
    assert done.returncode == 0, done.stderr
    assert 'HW_CPU_X86_AVX2' in done.stdout
    names = {path.name for path in (CHECKOUT / 'ironic_traits' / 'matching' / 'fact_tables').iterdir()}
    assert names == {path.name for path in (installed / 'ironic_traits' / 'matching' / 'fact_tables').iterdir()}


def test_an_old_python_is_refused_before_anything_is_searched(source, tmp_path):
    """pip would look for versions of the requirements first, for minutes."""
    (tmp_path / 'sitecustomize.py').write_text(
        'import collections, sys\n'
        'fields = "major minor micro releaselevel serial"\n'
        'sys.version_info = collections.namedtuple("version", fields)(3, 10, 13, "final", 0)\n'
    )
    install = [
        sys.executable,
        '-m',
        'pip',
        'install',
        '--no-index',
        '--no-build-isolation',
        '--target',
        tmp_path / 'lib',
    ]
    environment = os.environ | {'PYTHONPATH': str(tmp_path)}
    done = subprocess.run([*install, f'{source}[client]'], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert f'ironic-traits needs Python 3.11 or later. This is Python 3.10.13: {sys.executable}' in done.stderr


def test_the_library_is_not_shadowed(installed):
    assert not (installed / 'alembic').exists()
    assert not (CHECKOUT / 'alembic' / '__init__.py').exists()


@pytest.mark.parametrize(('generator', 'kind'), [
    ('oslo-config-generator', 'config'),
    ('oslopolicy-sample-generator', 'policy'),
])  # fmt: skip
def test_samples_are_what_the_generators_write(generator, kind, tmp_path):
    """The samples equal the output of the generators. Only our own options count: libraries change theirs."""
    generated = tmp_path / 'sample'
    namespace = ['--namespace', 'ironic_traits', '--output-file', str(generated)]
    wrap = ['--wrap-width', '79'] if kind == 'config' else []
    subprocess.run([pathlib.Path(sys.executable).parent / generator, *namespace, *wrap], check=True, cwd=tmp_path)
    name = {'config': 'ironic-traits.conf.sample', 'policy': 'policy.yaml.sample'}[kind]
    sample = (CHECKOUT / 'etc' / name).read_text()
    for paragraph in generated.read_text().split('\n\n'):
        assert paragraph.strip() in sample, f'etc/{name} is out of date. Write it with: tox -e genconfig'
