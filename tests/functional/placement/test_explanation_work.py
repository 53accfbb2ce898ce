"""Explanations of queries with very many combinations of providers end after bounded work, counted in calls."""

import itertools
import random
import sys

import pytest

from tests.functional.placement.test_query_explanations import explain
from tests.support.client import Client
from tests.support.service import make_app, upgraded

TRAITS = [f'CUSTOM_T{number}' for number in range(12)]
LIMIT = 'have more combinations of providers than [placement] max_candidate_combinations allows'


def add_tree(client, children):
    """Create a provider with children that differ in their traits."""
    choose = random.Random(1)
    root = client.placement('POST', '/resource_providers', {'name': 'root'}).json['uuid']
    for number in range(children):
        body = {'name': f'{number}', 'parent_provider_uuid': root}
        path = '/resource_providers/' + client.placement('POST', '/resource_providers', body).json['uuid']
        client.placement('POST', f'{path}/inventories', {'resource_class': 'VGPU', 'total': 8})
        body = {'traits': choose.sample(TRAITS, 6), 'resource_provider_generation': 1}
        assert client.placement('PUT', f'{path}/traits', body).status_int == 200


def calls(function, *arguments):
    """Return (result of a function, number of the calls of Python functions in it)."""
    events = []
    sys.setprofile(lambda frame, event, argument: events.append(1) if event == 'call' else None)
    try:
        result = function(*arguments)
    finally:
        sys.setprofile(None)
    return result, len(events)


def query(groups, traits):
    every = [f'resources{n}=VGPU:1&required{n}={",".join(TRAITS[:traits])}' for n in range(groups)]
    return '&'.join([*every, 'group_policy=none'])


@pytest.fixture
def clients(tmp_path):
    """Function of the limit of combinations that returns a client of the same providers."""
    url = upgraded(f'sqlite:///{tmp_path}/a.sqlite')
    with make_app(url) as app, make_app(url, placement__max_candidate_combinations=2000) as limited:
        for name in TRAITS:
            Client(app).placement('PUT', f'/traits/{name}')
        add_tree(Client(app), 40)
        yield Client(app), Client(limited)


def test_work_is_bounded(clients):
    """No combination of 64,000 has all traits, and each of them needs other clauses to be dropped."""
    few, number_of_few = calls(explain, clients[1], query(1, 12))
    assert (few['matched'], few['warnings']) == (0, [])
    for groups in (3, 5, 7):
        many, number = calls(explain, clients[1], query(groups, 12))
        assert (many['considered'], many['matched'], len(many['relaxations'])) == (1, 0, 20)
        (warning,) = many['warnings']
        assert LIMIT in warning
        assert number - number_of_few < 2000 * 50


def test_combinations_within_the_limit(clients):
    """The relaxations are the smallest combinations of what each group lacks."""
    (alone, _), (explained, number) = (calls(explain, clients[0], query(groups, 6)) for groups in (1, 3))
    sizes = [len(each['drop']) for each in alone['relaxations']]
    assert explained['warnings'] == []
    together = sorted(map(sum, itertools.product(sizes, repeat=3)))[:20]
    assert [len(each['drop']) for each in explained['relaxations']] == together
    assert number < 64_000 * 50
