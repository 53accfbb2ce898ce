"""The options for nodes relative to each other."""

import argparse
import types

import pytest
from osc_lib import exceptions

from ironic_traits.osc import capacity, matches, reservations, topology

RACK, ROW = 'trait:CUSTOM_RACK_', 'properties/row'
INSTANCES = [f'a8b2c1c0-0000-4000-8000-00000000000{number}' for number in range(4)]
ONE, TWO, THREE, FOUR = INSTANCES


def parsed(command, text):
    """Return the parsed options of a command."""
    parser = argparse.ArgumentParser()
    command(types.SimpleNamespace(), None).add_arguments(parser)
    return parser.parse_args(text.split())


def request(text, command=matches.Match):
    return topology.request(parsed(command, text))


def items(text):
    """Return the items of a topology, each as (key, policy, …)."""
    return [tuple(item.values()) for item in request(text)['topology']]


def test_the_order_is_that_of_the_command_line():
    text = f'--prefer-spread {RACK} --same {ROW} --spread owner --prefer-same shard'
    assert items(text) == [
        (RACK, 'soft-anti-affinity'),
        (ROW, 'affinity'),
        ('owner', 'anti-affinity'),
        ('shard', 'soft-affinity'),
    ]
    assert items('--same owner --same shard') == [('owner', 'affinity'), ('shard', 'affinity')]


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (f'--same {RACK} --pack', [{'key': RACK, 'policy': 'affinity', 'prefer': 'fullest'}]),
        (f'--spread {RACK} --pack', [{'key': RACK, 'policy': 'anti-affinity', 'prefer': 'fullest'}]),
        (f'--prefer-same {RACK} --max-per-group 2', [{'key': RACK, 'policy': 'soft-affinity', 'max_per_group': 2}]),
        (
            f'--spread {RACK} --same {ROW} --pack --max-per-group 2',
            [
                {'key': RACK, 'policy': 'anti-affinity', 'max_per_group': 2},
                {'key': ROW, 'policy': 'affinity', 'prefer': 'fullest'},
            ],
        ),
        (f'--same {RACK} --max-per-group 0', [{'key': RACK, 'policy': 'affinity', 'max_per_group': 0}]),
    ],
)
def test_options_of_keys(text, expected):
    assert request(text) == {'topology': expected}


def test_instances_and_count():
    text = f'--same {RACK} --relative-to {ONE} {TWO} --relative-to {THREE} --count 2'
    item = {'key': RACK, 'policy': 'affinity'}
    assert request(text) == {'topology': [item], 'relative_to': [ONE, TWO, THREE], 'count': 2}
    assert request('--count 2') == {'count': 2}
    assert request('', reservations.CreateReservation) == {}


@pytest.mark.parametrize('command', [matches.Match, capacity.Capacity, reservations.CreateReservation])
@pytest.mark.parametrize('option', ['--pack', '--max-per-group 0', f'--relative-to {ONE}'])
def test_options_that_need_a_key(command, option):
    with pytest.raises(exceptions.CommandError, match=f'Use {option.split()[0]} together with a key: --same, '):
        request(option, command)


def test_used():
    text = f'--spread {RACK} --same {RACK} --pack --count 2'
    assert topology.used(parsed(capacity.Capacity, text)) == ['--same', '--spread', '--pack', '--count']


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (f'{ONE} {TWO} --same {RACK}', [ONE, TWO]),
        (f'--same {RACK} {ONE} {TWO}', [ONE, TWO]),
        (f'--trait A B {ONE} {TWO}', [ONE, TWO]),
        (f'{ONE} --trait A {TWO} --not-trait B {THREE} --prefer C --trait-any D E {FOUR}', INSTANCES),
        (f'--relative-to {FOUR} --trait A {ONE}', [ONE]),
        (f'{ONE} --same {RACK} --relative-to {FOUR}', [ONE]),
        (f'--same {RACK} --relative-to {FOUR} -- {ONE} {TWO}', [ONE, TWO]),
    ],
)
def test_instances_beside_lists(text, expected):
    """argparse takes instances after a list of traits for traits."""
    options = parsed(reservations.CreateReservationGroup, text)
    assert reservations._instances(options) == expected
    assert {*options.trait, *options.not_trait, *options.prefer}.isdisjoint(INSTANCES)
    assert options.relative_to in (None, [FOUR])


def test_instances_after_relative_to():
    """Which of these are to be reserved is not clear."""
    options = parsed(reservations.CreateReservationGroup, f'--same {RACK} --relative-to {ONE} {TWO}')
    with pytest.raises(exceptions.CommandError, match='Write it before --relative-to'):
        reservations._instances(options)


def test_flavors_of_a_file(tmp_path):
    path = tmp_path / 'flavors.yaml'
    item = {'key': RACK, 'policy': 'affinity'}
    path.write_text(f'rack: {{extra_specs: {{a: b}}, topology: [{item}], count: 18}}\nsingle: {{a: b, count: 1}}\n')
    assert capacity.flavors(None, parsed(capacity.Capacity, f'--flavors {path}'))['flavors'] == [
        {'name': 'rack', 'extra_specs': {'a': 'b'}, 'topology': [item], 'count': 18},
        {'name': 'single', 'extra_specs': {'a': 'b', 'count': 1}},
    ]
