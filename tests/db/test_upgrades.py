"""Upgrades of the schema next to another upgrade, after a kill, and with services of the previous release."""

import itertools
import os
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import migrations, revisions, tables
from tests.support import commands
from tests.support.schemas import Column, contractions, differences, inspect
from tests.support.service import ForkedServer, database, upgraded

#: Later revisions only add to the schema, or raise the oldest compatible revision.
FIRST = '0024'


@pytest.fixture
def opened(new_database):
    """A database without a schema."""
    with database(new_database()) as opened:
        yield opened


def url_of(opened):
    """Return the URL of a Database as text."""
    return opened.url.render_as_string(hide_password=False)


def begin_newer(opened, oldest):
    """Make a database look as if a newer release had upgraded it. Releases since ``oldest`` can use it."""
    migrations.upgrade(opened)
    with opened.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.execute(sa.update(tables.schema_compatibility).values(oldest_revision=oldest))


def test_upgrade_waits_for_another(opened, database_kind):
    """It fails if the other upgrade does not end in time. It never continues without the lock."""
    if database_kind == 'sqlite':
        pytest.skip('only one transaction can write at a time')
    name, number = migrations.LOCK
    lock = sa.func.pg_advisory_xact_lock(number) if database_kind == 'postgresql' else sa.func.get_lock(name, 0)
    with opened.write_for_long() as connection:
        connection.execute(sa.select(lock))
        with pytest.raises(revisions.UpgradeInProgress):
            migrations.upgrade(opened, max_wait=1)
        assert revisions.current(opened) is None
    migrations.upgrade(opened, max_wait=1)
    assert revisions.current(opened) == revisions.newest()


def test_killed_upgrades(opened, tmp_path):
    """``db upgrade`` can be run again after each kill (-9). The kills come later and later, until it succeeds."""
    with (tmp_path / 'output').open('w+') as output:
        for number in itertools.count(1):
            arguments = ['--database', url_of(opened), 'db', 'upgrade']
            process = commands.start('ironic-traits-manage', *arguments, env=os.environ, cwd=None, output=output)
            time.sleep(0.15 * number)
            if process.poll() is not None:
                break
            process.kill()
            process.wait(30)
    assert process.returncode == 0, (tmp_path / 'output').read_text()
    assert number > 1
    assert revisions.current(opened) == revisions.newest()
    assert differences(opened) == []


def test_newer_schema_that_can_be_used(opened, tmp_path):
    """A service of the previous release can be restarted after the upgrade. It does not change the schema."""
    begin_newer(opened, revisions.newest())
    with ForkedServer(url_of(opened), '--nostart-worker', cwd=tmp_path) as server:
        server.wait_for('This release can use it')
    assert revisions.current(opened) == '9999'


def test_newer_schema_that_cannot_be_used(opened, tmp_path):
    begin_newer(opened, '9998')
    server = ForkedServer(url_of(opened), cwd=tmp_path)
    assert server.process.wait(60) == 1
    assert 'which belongs to a newer release' in server.output
    assert 'db upgrade' not in server.output
    assert 'Traceback' not in server.output


def test_older_release_refuses_to_upgrade(opened):
    begin_newer(opened, revisions.newest())
    done = commands.run('ironic-traits-manage', '--database', url_of(opened), 'db', 'upgrade')
    assert done.returncode == 1
    assert 'which belongs to a newer release: upgrade it with that release' in done.stderr


def test_migrations_only_add(opened):
    """A migration that removes something declares it in schema_compatibility."""
    names = sorted(revisions.names())
    migrations.upgrade(opened, FIRST)
    before = inspect(opened)
    for name in names[names.index(FIRST) + 1 :]:
        migrations.upgrade(opened, name)
        after = inspect(opened)
        with opened.read() as connection:
            oldest = connection.scalar(sa.select(tables.schema_compatibility.c.oldest_revision))
        assert not contractions(before, after) or oldest == name, name
        before = after


def test_contractions_are_found(new_database):
    """The check finds a table, a column or a value that a running release would miss."""
    with database(upgraded(new_database())) as opened:
        before = inspect(opened)
        with opened.write() as connection:
            for change in (
                'DROP TABLE trait_notes',
                'ALTER TABLE traits DROP COLUMN created_at',
                'ALTER TABLE traits ADD COLUMN one INTEGER',
                'ALTER TABLE traits ADD COLUMN two INTEGER DEFAULT 2 NOT NULL',
            ):
                connection.exec_driver_sql(change)
        after = inspect(opened)
    lost = ['table trait_notes is gone', 'column traits.created_at is gone']
    assert contractions(before, after) == lost
    after['traits']['one'] = Column(is_required=True, has_default=False)
    assert contractions(before, after) == [*lost, 'column traits.one needs a value']
    assert contractions(before, before) == []
