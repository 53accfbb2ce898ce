"""A configuration that may not be read is an error, never an empty one."""

import contextlib
import os
import pathlib
import tempfile

import pytest
from oslo_config import cfg

from ironic_traits import conf

#: A user that owns no file.
_NOBODY = 65534


@contextlib.contextmanager
def _other_user():
    """Run the block as a user without privileges, if this process may change its user."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def home(monkeypatch):
    """A home directory with a configuration in ``.ironic-traits``. Other users may enter it, unlike tmp_path."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        (path / '.ironic-traits' / 'ironic-traits.conf.d').mkdir(parents=True)
        (path / '.ironic-traits' / 'ironic-traits.conf').write_text('[DEFAULT]\nstate_path = /srv/own\n')
        (path / '.ironic-traits' / 'ironic-traits.conf.d' / 'own.conf').write_text('[DEFAULT]\nstate_path = /srv/d\n')
        monkeypatch.setenv('HOME', name)
        yield path
        for each in path.rglob('*'):
            each.chmod(0o700)


@pytest.mark.parametrize('mode', [0, 0o100, 0o400])
@pytest.mark.parametrize('name', ['.ironic-traits', '.ironic-traits/ironic-traits.conf.d'])
def test_unreadable_directory(home, name, mode):
    assert conf.make().state_path == '/srv/d'
    directory = home / name
    directory.chmod(mode)
    with _other_user(), pytest.raises(cfg.Error, match=f'{directory} may not be read by this user'):
        conf.make()


@pytest.mark.parametrize('name', ['ironic-traits.conf', 'ironic-traits.conf.d/own.conf'])
def test_unreadable_file(home, name):
    path = home / '.ironic-traits' / name
    path.chmod(0)
    with _other_user(), pytest.raises(cfg.Error, match=str(path)):
        conf.make()


def test_given_directory(home):
    """The directory of --config-dir is checked like the default one."""
    directory = home / '.ironic-traits' / 'ironic-traits.conf.d'
    assert conf.make(['--config-dir', str(directory)]).state_path == '/srv/d'
    directory.chmod(0)
    with _other_user(), pytest.raises(cfg.Error, match=f'{directory} may not be read'):
        conf.make(['--config-dir', str(directory)])


def test_given_file(home):
    """Who names the file does not depend on the default directories."""
    path, devices = home / 'own.conf', home / 'devices.yaml'
    # The other user may not be able to read the default file, which is in the package.
    devices.write_text('pci_devices: []\n')
    path.write_text(f'[DEFAULT]\nstate_path = /srv/given\n[inspection]\nknown_accelerators = {devices}\n')
    path.chmod(0o644)
    conf.make()
    (home / '.ironic-traits').chmod(0)
    with _other_user():
        assert conf.make(['--config-file', str(path)]).state_path == '/srv/given'
