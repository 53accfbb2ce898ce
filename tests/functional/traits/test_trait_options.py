"""The options for traits in each command, and the output when nothing matches."""

import pytest

from tests.support import http_client
from tests.support.cli import BAREMETAL, OPENSTACK, rows, run
from tests.support.reservations import instance
from tests.support.service import ForkedServer

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])


@BOTH
def test_filters_and_matches(server, prefix):
    """'one' has CUSTOM_A and CUSTOM_FAST, 'two' has CUSTOM_A."""
    listed = (*prefix, 'node', 'list', '--fields', 'name')
    assert rows(server, *listed, '--not-trait', 'CUSTOM_X', 'CUSTOM_FAST') == [{'name': 'two'}]
    assert rows(server, *listed, '--not-all-traits', 'CUSTOM_A,CUSTOM_FAST') == [{'name': 'two'}]
    assert len(rows(server, *listed, '--not-all-traits', 'CUSTOM_X', '--not-all-traits', 'CUSTOM_FAST')) == 2
    any_of = ('--trait-any', 'CUSTOM_A', 'CUSTOM_X', '--trait-any', 'CUSTOM_FAST,CUSTOM_Y')
    assert [row['Name'] for row in rows(server, *prefix, 'match', *any_of)] == ['one']
    assert "Did you mean 'CUSTOM_FAST'?" in run(server, *listed, '--trait', 'custom_fast', code=1)


@pytest.fixture(scope='module')
def short_pages(tmp_path_factory):
    """A service with three nodes, whose lists have one node on each page."""
    folder = tmp_path_factory.mktemp('pages')
    (folder / 'pages.conf').write_text('[api]\nmax_limit = 1\n')
    with ForkedServer(None, '--nostart-worker', '--config-file', str(folder / 'pages.conf'), cwd=folder) as running:
        for name in ('one', 'two', 'three'):
            http_client.make(running.base, name=name)
            traits = {'traits': ['CUSTOM_A'] if name != 'two' else ['CUSTOM_B']}
            http_client.ask(running.base, 'PUT', f'/v1/nodes/{name}/traits', traits)
        yield running


@BOTH
@pytest.mark.parametrize(
    'options',
    [
        ('--without', 'owner,lessee', '--trait', 'CUSTOM_A'),
        ('--trait-source', 'operator', '--not-trait', 'CUSTOM_B'),
        ('--trait-any', 'CUSTOM_A', 'CUSTOM_C', '--not-all-traits', 'CUSTOM_B', '--without', 'owner'),
    ],
    ids=lambda options: options[0],
)
def test_filters_apply_to_all_pages(short_pages, prefix, options):
    listed = (*prefix, 'node', 'list', '--limit', '0', '--fields', 'name')
    assert {row['name'] for row in rows(short_pages, *listed, *options)} == {'one', 'three'}


def test_a_reservation_with_lists(server):
    """The instance may follow a list of traits."""
    create = ('baremetal', 'reservation', 'create')
    held = rows(server, *create, '--trait', 'CUSTOM_A', 'CUSTOM_FAST', instance(1))
    assert held['instance_uuid'] == instance(1)
    run(server, 'baremetal', 'reservation', 'delete', held['uuid'])
    assert 'The UUID of an instance is missing' in run(server, *create, '--trait', 'CUSTOM_A', code=1)


def test_no_match_prints_the_reason(server):
    """Without a match, the reason is printed on stderr. The output for programs stays the same."""
    command = ('baremetal', 'match', '--trait', 'CUSTOM_FAST', 'CUSTOM_NOWHERE')
    assert run(server, *command) == ''
    assert rows(server, *command) == []
    errors = errors_of(server, *command)
    assert 'No node has the trait CUSTOM_NOWHERE.' in errors
    assert 'No node matches (0 of 2 nodes).\n' in errors
    assert '"has the trait CUSTOM_NOWHERE" rules out 2 nodes; for 1 of them it is the only reason.\n' in errors
    assert 'Without "has the trait CUSTOM_NOWHERE", 1 node would match.\n' in errors


def errors_of(server, *command):
    """Run a command, and return its stderr."""
    return run(server, *command, stream='stderr')


@BOTH
def test_an_explanation_for_people(server, prefix):
    command = (*prefix, 'match', '--trait', 'CUSTOM_FAST', 'CUSTOM_NOWHERE', '--explain')
    assert run(server, *command).splitlines() == [
        'No node matches (0 of 2 nodes).',
        '+------------------------------+-----------------+-------------+',
        '| Requirement                  | Nodes ruled out | By it alone |',
        '+------------------------------+-----------------+-------------+',
        '| has the trait CUSTOM_FAST    |               1 |           0 |',
        '| has the trait CUSTOM_NOWHERE |               2 |           1 |',
        '+------------------------------+-----------------+-------------+',
        '+--------------+---------------------------------------------------------+',
        '| Closest node | Unmet requirements                                      |',
        '+--------------+---------------------------------------------------------+',
        '| one          | has the trait CUSTOM_NOWHERE                            |',
        '| two          | has the trait CUSTOM_FAST; has the trait CUSTOM_NOWHERE |',
        '+--------------+---------------------------------------------------------+',
        'Without "has the trait CUSTOM_NOWHERE", 1 node would match.',
    ]
