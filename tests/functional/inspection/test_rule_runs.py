"""Runs of inspection rules on nodes, on each database."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.concurrency import at_once
from tests.support.providers import provider
from tests.support.rule_runs import DATA, add, data, expect, has_flag, history, rule, run, sources, store_rules


@pytest.fixture
def uuid(client):
    return client.node(name='one', resource_class='gold')['uuid']


def test_the_standard_rules_need_no_rule(app, client, uuid):
    report = run(app, uuid, whole=True)
    assert sources(client, uuid) == {
        'CUSTOM_CPU_VENDOR_INTEL': ['rule:standard.cpu-vendor'],
        'HW_ARCH_X86_64': ['rule:standard.architecture'],
        'HW_CPU_X86_AVX': ['rule:standard.cpu-flags'],
        'HW_CPU_X86_AVX2': ['rule:standard.cpu-flags'],
        'STORAGE_DISK_SSD': ['rule:standard.disks'],
    }
    names = 'CUSTOM_CPU_VENDOR_INTEL, HW_ARCH_X86_64, HW_CPU_X86_AVX, HW_CPU_X86_AVX2, STORAGE_DISK_SSD'
    event = f'Rules standard.architecture, standard.cpu-flags, standard.cpu-vendor, standard.disks: added {names}.'
    assert history(client, uuid) == [('INFO', 'rules', event)]
    assert report.is_changing
    assert not report.failures
    (entry,) = client.get(f'/v1/history?node={uuid}&event_type=trait')['history']
    assert entry['conductor'] == app.service.conf.host
    assert entry['added'] == names.split(', ')


def test_a_second_run_changes_nothing(app, client, uuid):
    """A second run leaves no history entry, and keeps the provider's generation. It does not report failures again."""
    rules = [add('a', 'CUSTOM_A'), expect('cpus', 16), add('bad', '{node.x}')]
    rules[2]['actions'][0]['args']['format'] = True
    run(app, uuid, rules=rules)
    before, entries = provider(client, uuid), history(client, uuid)
    assert [severity for severity, _, _ in entries] == ['INFO', 'ERROR', 'WARNING']
    assert not run(app, uuid, rules=rules).is_changing
    assert provider(client, uuid) == before
    assert history(client, uuid) == entries
    # An inspection reports the failure again.
    run(app, uuid, rules=rules, whole=True)
    assert history(client, uuid) == [*entries, ('ERROR', None, 'Rule bad failed: add-trait: node.x is not known.')]


def test_the_trait_goes_with_its_fact(app, client, uuid):
    rules = [add('a', 'CUSTOM_AVX2', conditions=has_flag('avx2')), add('b', 'CUSTOM_AVX', conditions=has_flag('avx'))]
    run(app, uuid, rules=rules)
    client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_MINE')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits?source=hook', {'traits': ['CUSTOM_HOOK', 'CUSTOM_AVX2']})
    run(app, uuid, data(cpu={'flags': ['avx']}), rules)
    expected = {
        'CUSTOM_AVX': ['rule:b'],
        'CUSTOM_AVX2': ['hook'],
        'CUSTOM_HOOK': ['hook'],
        'CUSTOM_MINE': ['operator'],
    }
    assert sources(client, uuid) == expected
    assert history(client, uuid)[-1] == ('INFO', 'rule:a', 'Source rule:a: no change of the effective traits.')
    # A rule that is no longer in force holds nothing.
    run(app, uuid, data(cpu={'flags': ['avx']}), rules[:1])
    assert sources(client, uuid) == {name: expected[name] for name in expected if name != 'CUSTOM_AVX'}
    assert history(client, uuid)[-1] == ('INFO', 'rule:b', 'Source rule:b: removed CUSTOM_AVX.')


def test_a_veto_holds(app, client, uuid):
    run(app, uuid, rules=[add('a', 'CUSTOM_A'), add('b', 'CUSTOM_B')])
    client.ask('DELETE', f'/v1/nodes/{uuid}/traits/CUSTOM_A')
    report = run(app, uuid, rules=[add('a', 'CUSTOM_A'), add('b', 'CUSTOM_B'), add('c', 'CUSTOM_C')])
    assert sources(client, uuid) == {'CUSTOM_B': ['rule:b'], 'CUSTOM_C': ['rule:c']}
    assert report.settled.edit.refused == {'CUSTOM_A'}


def test_traits_of_nova_stay(app, client, uuid):
    """A foreign trait of the provider stays. If a rule adds it, it becomes the node's own."""
    generation = client.placement('GET', f'/resource_providers/{uuid}').json['generation']
    body = {'resource_provider_generation': generation, 'traits': ['COMPUTE_NODE', 'HW_CPU_X86_AVX2']}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200
    run(app, uuid)
    shown = sources(client, uuid)
    assert shown['COMPUTE_NODE'] == ['placement']
    assert shown['HW_CPU_X86_AVX2'] == ['rule:standard.cpu-flags']


def test_the_limit(app, client, uuid):
    """A rule that would exceed the limit adds nothing, and keeps its traits. Other rules are not affected."""
    app.service.conf.set_override('max_traits_per_node', 4, group='inventory')
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_1', 'CUSTOM_2']})
    names = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']
    many = rule('many', ('add-traits', {'names': names}))
    run(app, uuid, rules=[many, add('z', 'CUSTOM_Z')])
    assert sources(client, uuid).keys() == {'CUSTOM_1', 'CUSTOM_2', 'CUSTOM_Z'}
    sentence = 'Rule many failed: the node would have more than 4 traits with CUSTOM_A, CUSTOM_B, CUSTOM_C.'
    assert ('ERROR', None, sentence) in history(client, uuid)
    client.ask('DELETE', f'/v1/nodes/{uuid}/traits/CUSTOM_1')
    one = rule('many', ('add-traits', {'names': names[:1]}))
    run(app, uuid, rules=[one, add('z', 'CUSTOM_Z')])
    assert run(app, uuid, rules=[many, add('z', 'CUSTOM_Z')]).failures.keys() == {'many'}
    assert sources(client, uuid)['CUSTOM_A'] == ['rule:many']


def test_a_rule_that_ends_the_inspection_leaves_everything(app, client, uuid):
    run(app, uuid, rules=[add('a', 'CUSTOM_A'), expect('cpus', 16)])
    entries = history(client, uuid)
    fail = rule('fail', ('fail', {'msg': 'no {node.name}'}), priority=5)
    report = run(app, uuid, rules=[fail, add('b', 'CUSTOM_B')])
    assert report.evaluation.failure == 'no one'
    assert sources(client, uuid) == {'CUSTOM_A': ['rule:a']}
    assert history(client, uuid) == entries
    assert client.get(f'/v1/nodes/{uuid}/validate')['inspect']['result'] is False


def test_fields_that_rules_see(app, client, uuid):
    """Rules see the fields as the API shows them, with secrets only if the rule is sensitive. They see no traits."""
    patch = [{'op': 'add', 'path': '/driver_info', 'value': {'token': 'CUSTOM_HUSH', 'address': 'CUSTOM_BMC'}}]
    client.ask('PATCH', f'/v1/nodes/{uuid}', patch)

    def failures(value, **fields):
        seen = rule('a', ('add-traits', {'names': [value], 'format': True}), **fields)
        return run(app, uuid, rules=[seen]).failures.get('a', '')

    assert failures('{node.driver_info[address]}') == ''
    assert "'******' is not a trait" in failures('{node.driver_info[token]}')
    assert failures('{node.driver_info[token]}', sensitive=True) == ''
    assert sources(client, uuid) == {'CUSTOM_HUSH': ['rule:a']}
    assert failures('{node.traits[0]}') == 'add-traits: node.traits[0] is not known'
    assert failures('{node.configdrive}') == 'add-traits: node.configdrive is not known'
    created = client.get(f'/v1/nodes/{uuid}')['created_at']
    assert f"'{created}' is not a trait" in failures('{node.created_at}')


def test_rules_that_are_stored(app, client, uuid):
    store_rules(app, add('gold', 'CUSTOM_GOLD'), {'actions': add('', 'CUSTOM_NAMELESS')['actions']})
    run(app, uuid, data(cpu=None, disks=None))
    nameless = 'rule:aaaaaaaa-0000-4000-8000-000000000001'
    assert sources(client, uuid) == {'CUSTOM_GOLD': ['rule:gold'], 'CUSTOM_NAMELESS': [nameless]}
    store_rules(app)
    run(app, uuid, data(cpu=None, disks=None))
    assert sources(client, uuid) == {}


def test_concurrent_runs(app, clients, uuid):
    """Each of eight concurrent runs is atomic, and leaves one history entry if it changed something."""

    def work(client, number):
        name = f'CUSTOM_{number % 4}'
        return [run(app, uuid, DATA, [add('a', name), add('b', f'{name}_B')]).is_changing for _ in range(3)]

    changes = sum(each for results in at_once(clients[:8], work) for each in results)
    shown = sources(clients[0], uuid)
    (name,) = (trait for trait, holders in shown.items() if holders == ['rule:a'])
    assert shown == {name: ['rule:a'], f'{name}_B': ['rule:b']}
    assert len(history(clients[0], uuid)) == changes
    with app.service.read() as connection:
        statement = sa.select(sa.func.count()).select_from(tables.trait_writers)
        writers = statement.where(tables.trait_writers.c.source.in_(['rule:a', 'rule:b']))
        assert connection.scalar(writers) == 2
