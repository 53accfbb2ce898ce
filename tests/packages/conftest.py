"""What the tests of packages share: bare machines, the Debian package, and an Ironic."""

import socket
import subprocess

import pytest

from tests.support import bare_machine, checkout, deb
from tests.support.concurrency import wait_until
from tests.support.mirror import Ironic
from tests.support.peers import peer
from tests.support.servers import free_port, program, require

#: A migration of a later release.
MIGRATION = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = '9999', '{before}'

def upgrade():
    op.create_table('later', sa.Column('id', sa.Integer, primary_key=True))
"""


@pytest.fixture(scope='session')
def archive_of_debian(tmp_path_factory):
    path = tmp_path_factory.mktemp('debian') / 'debian.tar'
    bare_machine.pack(path)
    return path


@pytest.fixture(scope='module')
def bare_debian(archive_of_debian):
    """An archive from which each ``BareMachine`` is unpacked. The port of the service is free.

    The machines share the network of this one, on which another test may use the port.
    """
    wait_until(is_free, 300)
    return archive_of_debian


def is_free():
    with socket.socket() as probe:
        return probe.connect_ex(('127.0.0.1', 6385)) != 0


@pytest.fixture(scope='session')
def package(tmp_path_factory):
    """The package of version 9.8.7."""
    tools = [name for name in ('dpkg-buildpackage', 'dh', 'lintian') if not program(name)]
    require(not tools, f'not installed: {tools}')
    folder = checkout.repository(tmp_path_factory.mktemp('repository') / 'copy')
    subprocess.run([*checkout.GIT, 'tag', '9.8.7'], check=True, cwd=folder)
    return deb.write(tmp_path_factory.mktemp('packages'), folder)


@pytest.fixture(scope='session')
def newer(package, tmp_path_factory):
    """The package of a later release: with a migration, and another default configuration."""
    folder = tmp_path_factory.mktemp('newer')
    subprocess.run(['dpkg-deb', '--raw-extract', package, folder / 'root'], check=True)
    control = folder / 'root' / 'DEBIAN' / 'control'
    control.write_text(control.read_text().replace('Version: 9.8.7', 'Version: 9.9.0'))
    (migrations,) = (folder / 'root' / 'usr' / 'lib').glob('**/ironic_traits/db/alembic/versions')
    before = max(path.name[:4] for path in migrations.glob('[0-9]*.py'))
    (migrations / '9999_later.py').write_text(MIGRATION.format(before=before))
    with (folder / 'root' / 'etc' / 'ironic-traits' / 'ironic-traits.conf').open('a') as file:
        file.write('# Of the later release.\n')
    subprocess.run(['dpkg-deb', '--build', '-Znone', folder / 'root', folder / 'newer.deb'], check=True)
    return folder / 'newer.deb'


@pytest.fixture(scope='session')
def ironic(tmp_path_factory):
    """A real Ironic with one node."""
    with peer('tests.support.ironic_server', tmp_path_factory.mktemp('ironic'), free_port()) as url:
        client = Ironic(url)
        uuid = client.node(name='node7')
        client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_GOLD')
        yield url
