"""A command in the wrong directory reports the missing database, and does not create one."""

import pytest

from tests.support import commands

COMMANDS = [
    ['ironic-traits-manage', 'db', 'version'],
    ['ironic-traits-manage', 'db', 'check'],
    ['ironic-traits-manage', 'reservations', 'purge'],
    ['ironic-traits-manage', 'history', 'purge'],
    ['ironic-traits-manage', 'os-traits', 'sync'],
    ['ironic-traits-manage', 'inventory', 'export', '-'],
    ['ironic-traits-manage', 'inventory', 'import', 'rack.yaml'],
    ['ironic-traits-status', 'upgrade', 'check'],
    ['ironic-traits-worker'],
]


def run(where, *command):
    """Run a command in a directory."""
    return commands.run(*command, cwd=where)


@pytest.mark.parametrize('command', COMMANDS, ids=' '.join)
def test_missing_database_is_not_created(tmp_path, command):
    (tmp_path / 'rack.yaml').write_text('nodes: []')
    done = run(tmp_path, *command)
    assert (done.returncode, done.stdout) == (1, '')
    [line] = done.stderr.splitlines()
    assert f'there is no database at {tmp_path}/ironic-traits-data/ironic-traits.sqlite' in line
    assert '(set by --database or [database] connection)' in line
    assert [each.name for each in tmp_path.iterdir()] == ['rack.yaml']


def test_upgrade_creates_the_database(tmp_path):
    database = f'Database: sqlite:///{tmp_path}/ironic-traits-data/ironic-traits.sqlite\n'
    for command in ('upgrade', 'version', 'check'):
        done = run(tmp_path, 'ironic-traits-manage', 'db', command)
        assert (done.returncode, done.stderr) == (0, database)
    assert (tmp_path / 'ironic-traits-data' / 'ironic-traits.sqlite').stat().st_mode & 0o777 == 0o600


def test_export_names_its_file_and_overwrites_nothing(tmp_path):
    run(tmp_path, 'ironic-traits-manage', 'db', 'upgrade')
    node = '{name: one, driver: fake-hardware, ports: [{address: "52:54:00:00:00:01"}]}'
    (tmp_path / 'rack.yaml').write_text(f'nodes: [{node}]')
    database = f'sqlite:///{tmp_path}/ironic-traits-data/ironic-traits.sqlite'
    done = run(tmp_path, 'ironic-traits-manage', 'inventory', 'import', 'rack.yaml')
    assert done.stdout == f'nodes: 1 created\nports: 1 created\nImported rack.yaml into {database}.\n'
    export = ['ironic-traits-manage', 'inventory', 'export']
    done = run(tmp_path, *export, 'rack.yaml')
    assert (done.returncode, 'The file exists; --force overwrites it' in done.stderr) == (1, True)
    assert (tmp_path / 'rack.yaml').read_text() == f'nodes: [{node}]'
    for arguments in (['new.json'], ['--force', 'rack.yaml']):
        done = run(tmp_path, *export, *arguments)
        assert (done.returncode, done.stdout) == (0, '')
        assert done.stderr == f'Exported 1 node, 1 port from {database} to {arguments[-1]}.\n'
    assert 'uuid' in (tmp_path / 'rack.yaml').read_text()
