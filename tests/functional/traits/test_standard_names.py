"""Nodes and traits of an older schema, and standard names, on each database."""

import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.db import migrations, tables
from ironic_traits.db.engine import Database
from ironic_traits.placement import standard
from tests.support.client import Client
from tests.support.concurrency import at_once
from tests.support.providers import golden, provider
from tests.support.service import make_app, make_conf


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client)


def test_migrated_nodes(new_database):
    """The migration creates their providers, and rows for their traits."""
    database = Database(make_conf(new_database()))
    migrations.upgrade(database, '0004')
    documents = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step')
    fixed = {
        **{'driver': 'fake-hardware', 'maintenance': False, 'console_enabled': False, 'provision_state': 'available'},
        **dict.fromkeys((*documents, 'raid_config', 'target_raid_config'), '{}'),
        'power_state': 'power off',
        'created_at': datetime.datetime.fromisoformat('2026-01-01'),
    }
    classes = ['gold', 'Gold!', None, 'silver', '']
    with database.write() as connection:
        old = sa.MetaData()
        old.reflect(connection)
        rows = [
            fixed | {'id': i + 1, 'uuid': f'aaaaaaaa-0000-4000-8000-{i:012}', 'resource_class': class_}
            for i, class_ in enumerate(classes)
        ]
        connection.execute(sa.insert(old.tables['nodes']), rows)
        carried = [(1, 'CUSTOM_A'), (1, 'HW_CPU_X86_VMX'), (3, 'CUSTOM_A'), (4, 'GONE_FROM_OS_TRAITS')]
        connection.execute(sa.insert(old.tables['node_traits']).values(carried))
    migrations.upgrade(database)
    database.close()
    with make_app(database.url.render_as_string(hide_password=False)) as app:
        client = Client(app)
        shown = [provider(client, row['uuid'])[1] for row in rows]
        assert [part and list(part['usages']['usages']) for part in shown] == [
            ['CUSTOM_GOLD'], ['CUSTOM_GOLD_'], None, ['CUSTOM_SILVER'], None,
        ]  # fmt: skip
        assert shown[0]['traits']['traits'] == ['CUSTOM_A', 'HW_CPU_X86_VMX']
        assert shown[0]['inventories']['inventories']['CUSTOM_GOLD']['reserved'] == 0
        assert shown[3]['traits']['traits'] == ['GONE_FROM_OS_TRAITS']
        assert client.get('/v1/nodes/' + rows[2]['uuid'] + '/traits') == {'traits': ['CUSTOM_A']}
        with app.service.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(tables.node_traits)) == len(carried)


def test_standard_trait_that_is_not_synchronised(app, client, node):
    """If os-traits is newer than the table, a node's use of a name adds it, and a sync adds the others."""
    with app.service.write() as connection:
        standard_names = tables.traits.c.name.in_(['HW_CPU_X86_VMX', 'HW_CPU_X86_AVX'])
        assert connection.execute(sa.delete(tables.traits).where(standard_names)).rowcount == 2
    assert client.placement('GET', '/traits/HW_CPU_X86_VMX').status_int == 404
    client.ask('PUT', f'/v1/nodes/{node}/traits/HW_CPU_X86_VMX')
    assert client.placement('GET', '/traits/HW_CPU_X86_VMX').status_int == 204
    assert standard.sync(app.service) == 1
    assert standard.sync(app.service) == 0
    assert client.placement('GET', '/traits/HW_CPU_X86_AVX').status_int == 204


def test_sync_removes_nothing(app, client, caplog):
    with app.service.write() as connection:
        moment = datetime.datetime.fromisoformat('2026-01-01')
        connection.execute(sa.insert(tables.traits).values(name='GONE_FROM_OS_TRAITS', created_at=moment))
    assert standard.sync(app.service) == 0
    assert 'GONE_FROM_OS_TRAITS' in caplog.text
    with app.service.write() as connection:
        assert (
            connection.execute(sa.delete(tables.traits).where(tables.traits.c.name == 'GONE_FROM_OS_TRAITS')).rowcount
            == 1
        )


def test_concurrent_syncs(app, clients):
    with app.service.write() as connection:
        connection.execute(sa.delete(tables.traits))
    inserted = at_once(clients[:8], lambda client, number: standard.sync(client.app.service))
    with app.service.read() as connection:
        assert sum(inserted) == connection.scalar(sa.select(sa.func.count()).select_from(tables.traits))
