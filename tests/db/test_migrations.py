"""The schema: the models equal the migrations, and upgrades preserve rows."""

import concurrent.futures
import contextlib
import datetime
import itertools

import os_traits
import pytest
import sqlalchemy as sa

from ironic_traits.db import migrations, revisions
from ironic_traits.db.engine import Database
from tests.support.schemas import differences
from tests.support.service import make_conf


@pytest.fixture
def database(new_database):
    opened = Database(make_conf(new_database()))
    yield opened
    opened.close()


def read(database, name):
    """Return the rows of a table with its current columns, which may be those of an old schema."""
    with database.read() as connection:
        table = sa.Table(name, sa.MetaData(), autoload_with=connection)
        return connection.execute(sa.select(table).order_by(table.c.id)).all()


def test_models_equal_migrations(database):
    migrations.upgrade(database)
    assert differences(database) == []


def test_upgrade_from_nothing_and_again(database):
    assert revisions.current(database) is None
    migrations.upgrade(database)
    assert revisions.current(database) == revisions.newest()
    migrations.upgrade(database)
    assert revisions.current(database) == revisions.newest()


def test_concurrent_upgrades(database):
    """When several processes start together, the schema is upgraded once, and no process fails."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        databases = [Database(make_conf(database.url.render_as_string(hide_password=False))) for _ in range(4)]
        list(pool.map(migrations.upgrade, databases))
        for each in databases:
            each.close()
    assert revisions.current(database) == revisions.newest()


class Interruption(BaseException):
    """The interruption of an upgrade."""


@contextlib.contextmanager
def interrupted(number):
    """Let upgrades in the block fail after a number of DDL statements."""
    counter = itertools.count(1)

    def count(connection, cursor, statement, parameters, context, executemany):
        if statement.lstrip().startswith(('CREATE', 'ALTER', 'DROP')) and next(counter) == number:
            raise Interruption(statement)

    sa.event.listen(sa.Engine, 'after_cursor_execute', count)
    try:
        yield
    except Interruption:
        pass
    finally:
        sa.event.remove(sa.Engine, 'after_cursor_execute', count)


def test_interrupted_upgrades(database):
    """An upgrade can be interrupted after any DDL statement of any migration, and run again."""
    # MariaDB commits each statement. The other databases roll all of them back, so fewer interruptions suffice.
    step = 1 if database.url.get_backend_name() == 'mysql' else 40
    number, revision = 1, None
    while revision != revisions.newest():
        with interrupted(number):
            migrations.upgrade(database)
        before, revision = revision, revisions.current(database)
        number = number + step if revision == before else 1
    assert differences(database) == []
    names = [row.name for row in read(database, 'traits')]
    assert sorted(names) == sorted(os_traits.get_traits())


def test_records_leave_nodes_and_traits_alone(database):
    """0002 adds a foreign key to nodes.chassis_uuid, and keeps nodes and traits."""
    migrations.upgrade(database, '0001')
    documents = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step')
    fixed = {
        **{'driver': 'fake-hardware', 'provision_state': 'enroll', 'maintenance': False, 'console_enabled': False},
        **dict.fromkeys((*documents, 'raid_config', 'target_raid_config'), '{"a": 1}'),
        'created_at': datetime.datetime(2026, 1, 1),  # noqa: DTZ001 (as the tables store it)
    }
    nodes = [fixed | {'id': i, 'uuid': f'aaaaaaaa-0000-4000-8000-{i:012}', 'name': f'node-{i}'} for i in (1, 2, 7)]
    traits = [(node['id'], 'CUSTOM_A') for node in nodes]
    with database.write() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        connection.execute(sa.insert(tables.tables['nodes']), nodes)
        connection.execute(sa.insert(tables.tables['node_traits']).values(traits))
    migrations.upgrade(database, '0002')
    with database.read() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        after = connection.execute(sa.select(tables.tables['nodes']).order_by(sa.text('id'))).mappings().all()
        assert [{name: row[name] for name in nodes[0]} for row in after] == nodes
        assert {row['chassis_uuid'] for row in after} == {None}
        assert sorted(connection.execute(sa.select(tables.tables['node_traits']))) == traits


def test_provisioning_fills_new_columns(database):
    """0003 sets the defaults of new nodes, and a power state for nodes in use."""
    migrations.upgrade(database, '0002')
    documents = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step')
    fixed = {
        **{'driver': 'fake-hardware', 'maintenance': False, 'console_enabled': False},
        **dict.fromkeys((*documents, 'raid_config', 'target_raid_config'), '{}'),
        'created_at': datetime.datetime.fromisoformat('2026-01-01'),
    }
    before = [('enroll', None), ('available', None), ('available', 'power on')]
    with database.write() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        rows = [
            fixed | {'uuid': f'aaaaaaaa-0000-4000-8000-{i:012}', 'provision_state': state, 'power_state': power}
            for i, (state, power) in enumerate(before)
        ]
        connection.execute(sa.insert(tables.tables['nodes']), rows)
    migrations.upgrade(database, '0003')
    rows = read(database, 'nodes')
    assert [row.power_state for row in rows] == [None, 'power off', 'power on']
    for row in rows:
        assert (row.bios_interface, row.rescue_interface, row.conductor_group) == ('fake', 'fake', '')
        assert (row.protected, row.retired, row.network_data, row.deploy_step) == (False, False, '{}', '{}')
        assert (row.automated_clean, row.shard, row.configdrive) == (None, None, None)


def test_secrets_are_masked_by_the_migration(database):
    """0008 stores the masked texts of existing rows, also of documents that are nested too deeply."""
    migrations.upgrade(database, '0006')
    secret = '{"password": "hush", "a": {"token": "hush"}, "configdrive": "drive"}'
    masked = '{"password":"******","a":{"token":"******"},"configdrive":"******"}'
    deep = '{"a":' * 400 + '{"password": "hush"}' + '}' * 400
    documents = ('properties', 'driver_internal_info', 'extra', 'clean_step', 'raid_config', 'target_raid_config')
    fixed = {
        **{'driver': 'fake-hardware', 'maintenance': False, 'console_enabled': False, 'provision_state': 'enroll'},
        **dict.fromkeys(documents, '{}'),
        'created_at': datetime.datetime.fromisoformat('2026-01-01'),
    }
    count = 1203
    with database.write() as connection:
        nodes, targets = (
            sa.Table(name, sa.MetaData(), autoload_with=connection) for name in ('nodes', 'volume_targets')
        )
        rows = [
            fixed
            | {'uuid': f'aaaaaaaa-0000-4000-8000-{i:012}'}
            | dict.fromkeys(('driver_info', 'instance_info'), deep if i == 7 else secret)
            for i in range(count)
        ]
        connection.execute(sa.insert(nodes), rows)
        target = {'uuid': 'bbbbbbbb-0000-4000-8000-000000000001', 'node_uuid': rows[0]['uuid'], 'volume_id': 'x'}
        target |= {'volume_type': 'iscsi', 'boot_index': 0, 'properties': secret, 'extra': '{}'}
        connection.execute(sa.insert(targets).values(target | {'created_at': fixed['created_at']}))
    migrations.upgrade(database, '0008')
    rows = read(database, 'nodes')
    assert len(rows) == count
    too_deep = rows.pop(7)
    for shown in (too_deep.driver_info_masked, too_deep.instance_info_masked):
        assert 'nested too deep' in shown
        assert 'hush' not in shown
    assert {row.driver_info for row in rows} == {secret}
    assert {row.instance_info_masked for row in rows} == {masked}
    assert {row.driver_info_masked for row in rows} == {masked}
    assert [row.properties_masked for row in read(database, 'volume_targets')] == [masked]
