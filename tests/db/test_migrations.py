"""The schema: models and migrations say the same, and it comes to be in one way only."""

import concurrent.futures
import datetime

import alembic.autogenerate
import pytest
import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext

from ironic_traits.db import migrations, models
from ironic_traits.db.engine import Database
from ironic_traits.db.models import metadata
from tests.service import make_conf


@pytest.fixture
def database(new_database):
    made = Database(make_conf(new_database()))
    yield made
    made.close()


def test_models_equal_migrations(database):
    """alembic finds nothing to change, types and defaults included."""
    migrations.upgrade(database)
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={'compare_type': True, 'compare_server_default': True, 'target_metadata': metadata}
        )
        assert alembic.autogenerate.compare_metadata(context, metadata) == []


def test_upgrade_from_nothing_and_again(database):
    assert migrations.version(database) is None
    migrations.upgrade(database)
    assert migrations.version(database) == migrations.head()
    migrations.upgrade(database)
    assert migrations.version(database) == migrations.head()


def test_upgrades_at_once(database):
    """Several processes that start together bring the schema up once, and none of them fails."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        databases = [Database(make_conf(database.url.render_as_string(hide_password=False))) for _ in range(4)]
        list(pool.map(migrations.upgrade, databases))
        for each in databases:
            each.close()
    assert migrations.version(database) == migrations.head()


def test_records_leave_nodes_and_traits_alone(database):
    """0002 gives nodes.chassis_uuid a foreign key: every node stays, and so do its traits."""
    migrations.upgrade(database, '0001')
    documents = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step')
    fixed = {
        **{'driver': 'fake-hardware', 'provision_state': 'enroll', 'maintenance': False, 'console_enabled': False},
        **dict.fromkeys((*documents, 'raid_config', 'target_raid_config'), '{"a": 1}'),
        'created_at': datetime.datetime(2026, 1, 1),  # noqa: DTZ001 (as the tables keep it)
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


def test_provisioning_makes_nodes_whole(database):
    """0003 gives the nodes that are there what new ones begin with, and a power state to those that can be used."""
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
    with database.read() as connection:
        rows = connection.execute(sa.select(models.nodes).order_by(models.nodes.c.id)).all()
    assert [row.power_state for row in rows] == [None, 'power off', 'power on']
    for row in rows:
        assert (row.bios_interface, row.rescue_interface, row.conductor_group) == ('fake', 'fake', '')
        assert (row.protected, row.retired, row.network_data, row.deploy_step) == (False, False, {}, {})
        assert (row.automated_clean, row.shard, row.configdrive) == (None, None, None)
