"""Empty arguments of commands, as from an unset shell variable, are refused, and nothing changes."""

import json

import pytest

from tests.support.cli import BAREMETAL, OPENSTACK, run
from tests.support.http_client import ask
from tests.support.reservations import instance

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
EMPTY = ('', ',')
#: Commands whose last option gets an empty value.
OPTIONS = [
    *(f'node list {option}' for option in ('--trait', '--trait-any', '--not-trait', '--not-all-traits')),
    *('node list --trait-source', 'node list --without', 'node list --trait CUSTOM_A --not-trait-any'),
    *(f'match {option}' for option in ('--trait', '--trait-any', '--not-trait', '--prefer', '--trait CUSTOM_A')),
    *('match --resource-class', 'match --flavor', 'match --image'),
    *('capacity --flavors', 'capacity --flavors-from-nova', 'capacity --trait', 'capacity --without'),
    *('capacity --nodes one --add', 'capacity --nodes one --remove', 'drift --flavors'),
    *('trait edit --yes --all --add', 'trait edit --yes --all --add CUSTOM_B --remove'),
    'trait edit --yes --add CUSTOM_B --nodes',
    *('trait catalog --starts-with', 'node trait list one --at'),
    *('reservation list --node', 'reservation list --instance', f'reservation create {instance(1)} --trait'),
    *(f'reservation create {instance(1)} --trait CUSTOM_A --node', 'node deploy one --reservation'),
    *('inspection rule preview --all --node', 'inspection rule preview --all --without'),
    *(f'match {option}' for option in ('--same', '--spread', '--prefer-same', '--prefer-spread', '--relative-to')),
    *(f'reservation group create {instance(1)} {option}' for option in ('--trait', '--node', '--same')),
    *('capacity reservation create x --project', 'capacity reservation create x --trait'),
    f'reservation create {instance(1)} --capacity-reservation',
    'inspection rule apply --yes --nodes',
    *(f'discover {option}' for option in ('--range', '--file', '--user', '--resource-class')),
]


def traits(server, node):
    return json.loads(ask(server.base, 'GET', f'/v1/nodes/{node}/traits')[2])['traits']


@BOTH
@pytest.mark.parametrize('empty', EMPTY)
def test_traits_of_a_node(server, prefix, empty):
    """A command with a trait and an empty argument is refused, too."""
    trait = (*prefix, 'node', 'trait')
    for names in ((empty,), ('CUSTOM_B', empty)):
        message = "Name the traits to set. To remove all traits, use 'baremetal node trait unset --all'."
        assert message in run(server, *trait, 'set', 'one', *names, code=1)
        assert 'Name the traits to add.' in run(server, *trait, 'set', 'one', *names, '--add', code=1)
        assert 'Name the traits to remove, or use --all.' in run(server, *trait, 'unset', 'one', *names, code=1)
        errors = run(server, *trait, 'unveto', 'one', *names, code=1)
        assert f"Name the traits whose vetoes to lift. ('{empty}' names no trait)" in errors
    assert traits(server, 'one') == ['CUSTOM_A', 'CUSTOM_FAST']


@pytest.mark.parametrize('option', OPTIONS)
def test_options(server, option):
    errors = run(server, *BAREMETAL, *option.split(), '', code=2)
    *_, name = (word for word in option.split() if word.startswith('--'))
    assert f'argument {name}: ' in errors
    assert 'the value is empty' in errors or "'' names no trait" in errors
    assert traits(server, 'one') == ['CUSTOM_A', 'CUSTOM_FAST']


@pytest.mark.parametrize(
    'command',
    [
        *('reservation show', 'reservation renew', 'reservation delete', 'mirror show', 'trait show'),
        *('capacity reservation show', 'capacity reservation delete'),
        *('trait set --retire', 'node trait set --source cmdb --add', 'node inventory set'),
    ],
)
def test_names(server, tmp_path, command):
    """An empty name is refused: a path that ends in a slash would be that of a list."""
    more = {'node trait set --source cmdb --add': ['CUSTOM_B'], 'node inventory set': [tmp_path / 'data.json']}
    (tmp_path / 'data.json').write_text('{}')
    errors = run(server, *BAREMETAL, *command.split(), '', *more.get(command, ()), code=1)
    assert 'A name or UUID is empty.' in errors


def test_traits_of_placement(server):
    listed = ('openstack', 'trait', 'list')
    for option in ('--starts-with', '--name-in'):
        assert f'argument {option}: ' in run(server, *listed, option, '', path='/placement', code=2)
    for verb in ('add', 'remove'):
        for names in ((instance(1), ''), (instance(1), 'HW_CPU_X86_VMX', ',')):
            assert 'Name the traits.' in run(server, 'openstack', 'trait', verb, *names, path='/placement', code=1)
        errors = run(server, 'openstack', 'trait', verb, '', 'HW_CPU_X86_VMX', path='/placement', code=1)
        assert 'A name or UUID is empty.' in errors
