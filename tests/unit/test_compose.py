"""The compose file, as podman-compose reads it."""

import configparser
import shutil
import subprocess

import pytest
import yaml

from ironic_traits import conf
from tests.support.checkout import CHECKOUT
from tests.support.programs import BIN

SOURCE = CHECKOUT / 'packaging' / 'image' / 'compose.yaml'


def read(folder, variables='DATABASE_PASSWORD=secret\n'):
    """Return what podman-compose makes of the file."""
    shutil.copy(SOURCE, folder)
    (folder / '.env').write_text(variables)
    command = [BIN / 'podman-compose', '--profile', 'mirror', 'config']
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def services(tmp_path):
    done = read(tmp_path, 'DATABASE_PASSWORD=secret\nCLOUDS=berlin,paris\n')
    assert done.returncode == 0, done.stderr
    return yaml.safe_load(done.stdout)['services']


def test_services(services):
    assert set(services) == {'database', 'upgrade', 'api', 'worker', 'mirror'}
    ours = {name: each for name, each in services.items() if name != 'database'}
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / 'setup.cfg')
    for name, each in ours.items():
        assert each['read_only'], name
        assert each['cap_drop'] == ['ALL'], name
        # The image's own command is that of the API.
        program = each.get('command', ['ironic-traits-api'])[0]
        assert f'\n{program} = ' in setup['options.entry_points']['console_scripts']
        awaited = {'upgrade': 'service_completed_successfully'}
        if name == 'upgrade':
            awaited = {'database': 'service_healthy'}
        assert {other: how['condition'] for other, how in each['depends_on'].items()} == awaited


@pytest.mark.parametrize('name', ['upgrade', 'api', 'worker', 'mirror'])
def test_the_configuration(services, name, monkeypatch, tmp_path):
    for variable, value in services[name]['environment'].items():
        monkeypatch.setenv(variable, value)
    # As in the image.
    monkeypatch.setenv('OS_DEFAULT__HOST', '0.0.0.0')
    monkeypatch.setenv('HOME', str(tmp_path))
    configuration = conf.make()
    assert configuration.database.connection == 'postgresql+psycopg://ironic_traits:secret@database/ironic_traits'
    assert configuration.mirror.clouds == ['berlin', 'paris']
    assert not any([configuration.start_worker, configuration.mirror.start_mirror])


def test_a_missing_password(tmp_path):
    assert 'DATABASE_PASSWORD' in read(tmp_path, '').stderr
