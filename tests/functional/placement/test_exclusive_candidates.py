"""Exclusive traits: their trees are candidates only for requests that require them."""

import json
import random
import urllib.parse

import pytest

from tests.conftest import empty
from tests.functional.placement.test_query_explanations import FILES, Exclusive, Filler, check, dropped
from tests.support import placement_suite
from tests.support.client import Client
from tests.support.rows import set_exclusive
from tests.support.service import make_app, upgraded


@pytest.fixture(scope='module')
def url(tmp_path_factory):
    return upgraded(f'sqlite:///{tmp_path_factory.mktemp("exclusive")}/x.sqlite')


def candidates(client, query):
    """Return the candidates of a query as a sorted list of texts, and the trait names of each tree; None if invalid."""
    response = client.placement('GET', f'/allocation_candidates?{query}')
    if response.status_int == 400:
        return None
    assert response.status_int == 200, response.text
    trees = {}
    for summary in response.json['provider_summaries'].values():
        trees.setdefault(summary['root_provider_uuid'], set()).update(summary['traits'])
    roots = {uuid: each['root_provider_uuid'] for uuid, each in response.json['provider_summaries'].items()}
    found = {}
    for each in response.json['allocation_requests']:
        found[json.dumps(each, sort_keys=True)] = set().union(*(trees[roots[uuid]] for uuid in each['allocations']))
    return found


def asked(query):
    """Return the traits that a query asks for."""
    names = set()
    for key, text in urllib.parse.parse_qsl(query):
        if key.startswith(('required', 'root_required')):
            names |= {name for name in text.removeprefix('in:').split(',') if not name.startswith('!')}
    return names


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_fixtures_of_placement(url, path):
    """The candidates are those without exclusive traits but for trees with such a trait; explanations agree."""
    empty(url)
    choose = random.Random(path.stem)
    with make_app(url) as app, placement_suite.filled(path, Filler(app)) as urls:
        client = Client(app)
        queries = {each.partition('?')[2] for each in urls if 'allocation_candidates?' in each}
        queries = sorted(dropped(query, 'nothing:') for query in queries if '$' not in query)
        before = {query: candidates(client, query) for query in queries}
        traits = sorted({name for found in before.values() for names in (found or {}).values() for name in names})
        exclusive = Exclusive(app.service, choose.sample(traits, min(2, len(traits))))
        for query in queries:
            left_out = set(exclusive.names) - asked(query)
            expected = (
                before[query]
                if before[query] is None
                else [text for text, names in before[query].items() if not names & left_out]
            )
            found = candidates(client, query)
            assert (found if found is None else [*found]) == expected, (query, exclusive.names)
            check(client, query, exclusive)
    with make_app(url, placement__exclusive_traits=False) as app:
        set_exclusive(app.service, exclusive.names)
        assert {query: candidates(Client(app), query) for query in queries} == before
