"""The inspection rules in force: the stored ones, those in files, and the standard ones."""

import json
import logging

import pytest
import sqlalchemy as sa
from oslo_config import cfg

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.records import inspection_rules
from ironic_traits.matching.rules.inspection_rules import standard
from tests.support.service import make_app, make_conf

TABLE = tables.inspection_rules
UUID = 'aaaaaaaa-0000-4000-8000-00000000000{}'
STANDARD = {rule.name for rule in standard()}


def document(trait='CUSTOM_A', **fields):
    return {'actions': [{'op': 'add-trait', 'args': {'name': trait}}], **fields}


def store(connection, number, **fields):
    """Store a rule, as another process of the service would."""
    values = {'uuid': UUID.format(number), 'created_at': now(), 'priority': 0, 'sensitive': False, 'conditions': []}
    connection.execute(sa.insert(TABLE).values(values | document() | fields))


def traits(app):
    """Return {name: trait} of the rules in force, without the standard ones."""
    with app.service.read() as connection:
        rules = inspection_rules.in_force(app.service, connection)
    return {rule.name: rule.actions[0].args['name'] for rule in rules if rule.name not in STANDARD}


def test_stored_rules(app):
    with app.service.write() as connection:
        store(connection, 1, name='gold')
        store(connection, 2)
    assert traits(app) == {'gold': 'CUSTOM_A', UUID.format(2): 'CUSTOM_A'}
    with app.service.write() as connection:
        changed = document('CUSTOM_B')['actions']
        connection.execute(
            sa.update(TABLE).where(TABLE.c.name == 'gold').values(actions=changed, name='silver', updated_at=now())
        )
        connection.execute(sa.delete(TABLE).where(TABLE.c.uuid == UUID.format(2)))
        store(connection, 2, name='again')
        assert {'silver', 'again'} <= {rule.name for rule in inspection_rules.in_force(app.service, connection)}
    assert traits(app) == {'silver': 'CUSTOM_B', 'again': 'CUSTOM_A'}


def test_each_version_of_a_rule_is_parsed_once(app):
    with app.service.write() as connection:
        store(connection, 1)
        first, second = (inspection_rules.in_force(app.service, connection) for _ in range(2))
    assert [rule is other for rule, other in zip(first, second, strict=True)] == [True] * len(first)


def test_a_stored_rule_that_is_invalid_is_not_in_force(app, caplog):
    with app.service.write() as connection:
        store(connection, 1, actions=[{'op': 'nope', 'args': {}}])
        store(connection, 2)
    assert list(traits(app)) == list(traits(app)) == [UUID.format(2)]
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert (
        f"The stored inspection rule {UUID.format(1)} is not in force: action 1: 'nope' is not one of" in record.message
    )


@pytest.fixture
def folder(tmp_path):
    """A directory with two files of rules and one other file."""
    (tmp_path / 'site.yaml').write_text(json.dumps([document('CUSTOM_SITE', name='gold')]))
    (tmp_path / 'more.json').write_text(json.dumps({'inspection_rules': [document('CUSTOM_MORE')]}))
    (tmp_path / 'README.txt').write_text('no rules')
    return tmp_path


def test_rules_in_files(database_url, folder, caplog):
    with make_app(database_url, inspection__rules_dirs=[str(folder)]) as app:
        assert traits(app) == {'site.gold': 'CUSTOM_SITE', 'more.1': 'CUSTOM_MORE'}
        with app.service.write() as connection:
            store(connection, 1, name='site.gold')
        assert traits(app) == traits(app) == {'site.gold': 'CUSTOM_SITE', 'more.1': 'CUSTOM_MORE'}
    assert (
        caplog.text.count('The stored inspection rule site.gold is not in force: a file has a rule of the same name')
        == 1
    )


def names(conf):
    return {rule.name for rule in inspection_rules.built_in(conf)}


def test_standard_rules():
    assert names(make_conf('sqlite://')) == STANDARD
    assert names(make_conf('sqlite://', inspection__standard_rules=False)) == set()


def test_all_problems_of_files_are_named(folder):
    (folder / 'bad.yaml').write_text(json.dumps([document('no trait'), {'name': 'x'}]))
    (folder / 'worse.yaml').write_text('- [')
    (folder / 'standard.yaml').mkdir()
    other = folder / 'other'
    other.mkdir()
    (other / 'site.json').write_text(json.dumps([document(name='gold')]))
    directories = [str(folder), f'{folder}/missing', str(other)]
    with pytest.raises(cfg.Error) as caught:
        inspection_rules.built_in(make_conf('sqlite://', inspection__rules_dirs=directories))
    text = str(caught.value)
    assert text.startswith('[inspection] rules_dirs: ')
    for problem in (
        f"{folder}/bad.yaml: rule 1: action 1 (add-trait): 'no trait' is not a trait",
        f'{folder}/bad.yaml: rule x: it has no actions',
        f'{folder}/worse.yaml: while parsing',
        f'{folder}/standard.yaml: Is a directory',
        f'{folder}/missing: No such file or directory',
        f'{other}/site.json: another file has a rule site.gold, too',
    ):
        assert problem in text


def test_a_file_cannot_replace_a_standard_rule(folder):
    (folder / 'standard.yaml').write_text(json.dumps([document(name='disks')]))
    with pytest.raises(cfg.Error, match=r'standard rules have the names standard\.disks'):
        inspection_rules.built_in(make_conf('sqlite://', inspection__rules_dirs=[str(folder)]))
