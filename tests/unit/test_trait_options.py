"""The options that take traits: lists, repeated options and commas."""

import argparse
import io
import types

import pytest
from osc_lib import exceptions

from ironic_traits.osc import nodes, requests, trait_options
from ironic_traits.osc.traits import TraitList

#: Three ways to name two traits.
SPELLINGS = ['{} A B', '{0} A {0} B', '{} A,B']


class Http:
    """A replacement of python-ironicclient's HTTP client."""

    def json_request(self, method, url, params=None):
        """Return the query parameters."""
        return params


class ListedNodes(nodes.NodeList):
    """The hook of 'node list', without its command."""

    _http = Http()
    app = types.SimpleNamespace(stdout=io.StringIO(), stderr=io.StringIO())

    def __init__(self):
        pass


class ListedTraits(TraitList):
    """The hook of 'trait list', without its command."""

    app = ListedNodes.app

    def __init__(self):
        pass


def query(text):
    """Return the query parameters for options of 'node list'."""
    hook = ListedNodes()
    hook._http = Http()
    parser = argparse.ArgumentParser()
    hook.get_parser(parser)
    hook.before(parser.parse_args(text.split()))
    return hook._http.json_request('GET', '/v1/nodes')


def request(text):
    """Return the request for options of 'match' and 'reservation create'."""
    parser = argparse.ArgumentParser()
    requests.add_options(parser)
    return requests.request(None, parser.parse_args(text.split()))


FILTERS = {
    '--trait': 'traits',
    '--trait-any': 'traits-any',
    '--not-trait': 'not-traits-any',
    '--not-trait-any': 'not-traits-any',
    '--not-all-traits': 'not-traits',
}
KEYS = {'--trait': 'required', '--not-trait': 'forbidden', '--prefer': 'preferred'}


@pytest.mark.parametrize('spelling', SPELLINGS)
def test_spellings(spelling):
    for option, name in FILTERS.items():
        assert query(spelling.format(option)) == {name: 'A,B'}
    for option, key in KEYS.items():
        assert request(spelling.format(option)) == {key: ['A', 'B']}
    parser = argparse.ArgumentParser()
    parser.add_argument('--name')
    ListedTraits().get_parser(parser)
    assert ListedTraits().before(parser.parse_args(spelling.format('--name-in').split())).name == 'in:A,B'


def test_aliases_are_combined():
    assert query('--not-trait A --not-trait-any B') == {'not-traits-any': 'A,B'}
    assert query('') is None


@pytest.mark.parametrize('text', ['--trait-any A B --trait-any C,D', '--trait-any A,B --trait-any C D'])
def test_choices(text):
    assert request(text) == {'required_any': [['A', 'B'], ['C', 'D']]}


@pytest.mark.parametrize(
    ('parse', 'text'),
    [
        (request, '--trait-any A --trait-any B'),
        (request, '--trait-any A B --trait-any C'),
        (query, '--trait-any A B --trait-any C'),
        (query, '--trait-any A B --trait-any C D'),
    ],
)
def test_ambiguous_options(parse, text):
    with pytest.raises(exceptions.CommandError, match="write '--trait-any A B' for A or B"):
        parse(text)


def test_uuids_after_lists():
    uuids, names, others = [f'a8b2c1c0-0000-4000-8000-00000000000{number}' for number in range(3)], ['A'], ['B']
    assert trait_options.take_uuids(names, others) == []
    names += uuids[:2]
    others += uuids[2:]
    assert trait_options.take_uuids([], names, others) == uuids
    assert (names, others) == (['A'], ['B'])
