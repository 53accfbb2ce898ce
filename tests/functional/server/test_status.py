"""ironic-traits-status upgrade check, on each database."""

import contextlib
import json
import pathlib

import pytest
import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.db import migrations, tables
from ironic_traits.db.engine import Database
from ironic_traits.db.statements.types import now
from tests.support import commands
from tests.support.service import make_conf, upgraded


def check(url, *arguments, code):
    """Run the command, and return {check: problem} of the checks that found one."""
    done = commands.run('ironic-traits-status', '--database', url, *arguments, 'upgrade', 'check', '--json')
    assert done.returncode == code, done.stderr
    return {each['check']: each['details'] for each in json.loads(done.stdout)['checks'] if each['result']}


def test_before_and_after_the_schema(new_database, database_kind):
    url = new_database()
    if database_kind == 'sqlite':
        pathlib.Path(sa.make_url(url).database).touch()
    problems = check(url, code=1 if database_kind == 'sqlite' else 2)
    assert 'The database is at version none, this release needs' in problems['Schema of the database']


def test_schemas_of_other_releases(new_database, database_kind):
    url = new_database()
    database = Database(make_conf(url))
    migrations.upgrade(database, '0003')
    problems = check(url, code=1 if database_kind == 'sqlite' else 2)
    assert list(problems) == ['Schema of the database']
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    message = 'The database is at version 9999, which belongs to a newer release.'
    assert check(url, code=2)['Schema of the database'] == message


@pytest.mark.parametrize(
    'text', ['[', '"placement:traits:list": "role:x and ("\n', '"placement:traits:list": 5\n', 'x']
)
def test_invalid_policy_files(tmp_path, text):
    url = upgraded(f'sqlite:///{tmp_path}/new.sqlite')
    (tmp_path / 'policy.yaml').write_text(text)
    (tmp_path / 'one.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    assert 'The policy file' in check(url, '--config-file', f'{tmp_path}/one.conf', code=2)['Policy rules']


def test_inspection_rules(tmp_path):
    url = upgraded(f'sqlite:///{tmp_path}/new.sqlite')
    with contextlib.closing(Database(make_conf(url))) as database, database.write() as connection:
        values = {'created_at': now(), 'priority': 0, 'sensitive': False, 'conditions': [], 'actions': []}
        connection.execute(
            sa.insert(tables.inspection_rules).values(uuid=uuidutils.generate_uuid(), name='x', **values)
        )
    assert check(url, code=1) == {'Inspection rules': 'Inspection rules are not in force: x (it has no actions)'}
    (tmp_path / 'gold.yaml').write_text('5')
    (tmp_path / 'one.conf').write_text(f'[inspection]\nrules_dirs = {tmp_path}\n')
    problem = f'[inspection] rules_dirs: {tmp_path}/gold.yaml: Rules are a list'
    assert check(url, '--config-file', f'{tmp_path}/one.conf', code=2) == {'Inspection rules': problem}


def test_warnings(database_url, client, tmp_path):
    client.node(name='one')
    client.ask('PUT', '/v1/nodes/one/traits', {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']})
    assert check(database_url, code=0) == {}
    (tmp_path / 'policy.yaml').write_text(
        '"baremetal:node:made_up": "@"\n"mine": "role:x"\n"placement:traits:list": "@"\n'
    )
    (tmp_path / 'one.conf').write_text(f'[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n')
    database = Database(make_conf(database_url))
    with database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(driver='gone'))
        connection.execute(sa.delete(tables.traits).where(tables.traits.c.name == 'HW_CPU_X86_AVX'))
    try:
        assert check(database_url, '--config-file', f'{tmp_path}/one.conf', code=1) == {
            'Names of traits and resource classes': 'Names missing from the database: 1, the first is HW_CPU_X86_AVX. '
            'Run: ironic-traits-manage os-traits sync',
            'Drivers of nodes': 'Nodes have drivers that are not in [deploy] enabled_hardware_types: gone',
            'Policy rules': 'The policy file has rules that do not exist: baremetal:node:made_up',
        }
    finally:
        assert commands.run('ironic-traits-manage', '--database', database_url, 'os-traits', 'sync').returncode == 0
        database.close()


def test_output_for_people(tmp_path):
    (tmp_path / 'new.sqlite').touch()
    url = f'sqlite:///{tmp_path}/new.sqlite'
    done = commands.run('ironic-traits-status', '--database', url, 'upgrade', 'check')
    assert (done.returncode, 'Result: Warning' in done.stdout) == (1, True)
    nowhere = 'postgresql+psycopg2://nobody@127.0.0.1:1/nowhere'
    done = commands.run('ironic-traits-status', '--database', nowhere, 'upgrade', 'check')
    assert (done.returncode, done.stderr.startswith('The database cannot be used')) == (1, True)
