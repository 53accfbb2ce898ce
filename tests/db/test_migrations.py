"""The schema: models and migrations say the same, and it comes to be in one way only."""

import concurrent.futures

import alembic.autogenerate
import pytest
from alembic.runtime.migration import MigrationContext

from ironic_traits.db import migrations
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
