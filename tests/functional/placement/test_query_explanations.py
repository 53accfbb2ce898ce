"""Explanations of queries for allocation candidates, compared with the queries without each clause."""

import contextlib
import functools
import itertools
import random
import re
import urllib.parse

import pytest

from tests.conftest import empty
from tests.functional.search.test_matches import allocate
from tests.support import placement_suite
from tests.support.client import Client
from tests.support.reservations import available, instance, reserve
from tests.support.rows import set_exclusive
from tests.support.service import make_app, upgraded

FILES = [path for path in placement_suite.FILES if 'allocation_candidates?' in path.read_text()]
#: Parameters whose values are lists of names.
_LISTS = ('required', 'root_required', 'member_of')


class Filler(Client):
    """Creates the rows that the files need, through the Placement API below /placement."""

    def ask(self, method, path, document=None, **rest):
        return super().ask(method, f'/placement{path}', document, **rest)


def explain(client, query):
    """Request the explanation of a query, and return it; None if the query is not valid."""
    response = client.ask('POST', '/v1/explanations', {'query': query})
    assert response.status_int in (200, 400), response.text
    return response.json if response.status_int == 200 else None


def count(client, query, units):
    """Send a query, and return the number of providers or trees of its candidates; None if it is not valid."""
    response = client.placement('GET', f'/allocation_candidates?{query}')
    if response.status_int == 400:
        return None
    assert response.status_int == 200, response.text
    taken = {uuid for each in response.json['allocation_requests'] for uuid in each['allocations']}
    summaries = response.json['provider_summaries']
    return len(taken if units == 'providers' else {summaries[uuid]['root_provider_uuid'] for uuid in taken})


def dropped(query, clause):
    """Return a query without a clause."""
    key, _, value = clause.partition(':')
    pairs = []
    for name, text in urllib.parse.parse_qsl(query, keep_blank_values=True):
        if name == key and key.startswith(_LISTS):
            # "!in:A,B" means !A,!B.
            left = [part for part in _parts(text) if _canonical(part) != _canonical(value)]
            texts = left if key.startswith('member_of') else [','.join(left)] if left else []
            pairs += [(name, part) for part in texts]
        elif name == key == 'group_policy':
            pairs.append((name, 'none'))
        elif not (name == key and (key.startswith('in_tree') or _canonical(text) == _canonical(value))):
            pairs.append((name, text))
    return urllib.parse.urlencode([pair for pair in pairs if pair[0] != 'limit'])


def _parts(text):
    """Return the clauses of a value of a parameter."""
    if text.startswith('in:'):
        return [text]
    return [f'!{each}' for each in text[4:].split(',')] if text.startswith('!in:') else text.split(',')


def _canonical(text):
    """Return a part of a value in canonical form, with sorted sets."""
    if not text.startswith('in:'):
        return text.strip()
    return f'in:{",".join(sorted(each.strip() for each in text[3:].split(",")))}'


class Exclusive:
    """Exclusive traits."""

    def __init__(self, service, names):
        self._service, self.names = service, names
        set_exclusive(service, names)

    @contextlib.contextmanager
    def without(self, clauses):
        """Make the traits of some clauses not exclusive: an explanation is of what the whole query asks for."""
        names = {name for clause in clauses for name in re.split('[:,]', clause)} & set(self.names)
        if names:
            set_exclusive(self._service, set(self.names) - names)
        yield
        if names:
            set_exclusive(self._service, self.names)


def check(client, query, exclusive=None):
    """Compare the explanation of a query with the responses without each clause, and without each relaxation."""

    def again_without(clauses):
        relaxed = functools.reduce(dropped, clauses, query)
        with exclusive.without(clauses) if exclusive else contextlib.nullcontext():
            return count(client, relaxed, units)

    query = dropped(query, 'nothing:')
    explanation = explain(client, query)
    if explanation is None:
        return None
    units, matched = explanation['units'], explanation['matched']
    drops = [set(relaxation['drop']) for relaxation in explanation['relaxations']]
    assert not any(one < other for one, other in itertools.permutations(drops, 2)), query
    assert matched == count(client, query, units), query
    for clause in explanation['clauses']:
        if not clause['clause'].startswith('resources'):
            again = again_without([clause['clause']])
            # Some clauses cannot be dropped, because others depend on them.
            assert again in (None, matched + clause['rejected_only']), (query, clause)
    for relaxation in explanation['relaxations']:
        assert again_without(relaxation['drop']) in (None, relaxation['matched']), (query, relaxation)
    return units


@pytest.fixture(scope='module')
def url(tmp_path_factory):
    """The URL of a database for all files. One kind is enough, because the search is tested on all."""
    return upgraded(f'sqlite:///{tmp_path_factory.mktemp("explanations")}/x.sqlite')


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_fixtures_of_placement(url, path):
    """The explanations are right for all queries of Placement's own tests."""
    empty(url)
    with make_app(url) as app, placement_suite.filled(path, Filler(app)) as urls:
        queries = {each.partition('?')[2] for each in urls if 'allocation_candidates?' in each}
        queries = sorted(query for query in queries if '$' not in query)
        explained = [check(Client(app), query) for query in queries]
    assert explained


def test_nodes_and_providers(database_url):
    """Each count is right on random nodes and providers with own and foreign traits, aggregates and holders."""
    traits, aggregates = [f'CUSTOM_{letter}' for letter in 'ABC'], [instance(900 + number) for number in range(2)]
    choose = random.Random(5)
    empty(database_url)
    with make_app(database_url) as app:
        client = Client(app)
        for name in (*traits, 'COMPUTE_NODE'):
            client.placement('PUT', f'/traits/{name}')
        for number in range(12):
            uuid = available(client)
            client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
            client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': choose.sample(traits, 2)})
            foreign = client.placement('GET', f'/resource_providers/{uuid}/traits').json
            body = foreign | {'traits': [*foreign['traits'], *choose.sample(['COMPUTE_NODE', 'HW_CPU_X86_VMX'], 1)]}
            assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200
            body = choose.sample(aggregates, choose.randint(0, 2))
            assert client.placement('PUT', f'/resource_providers/{uuid}/aggregates', body, '1.1').status_int == 200
            if number % 4 == 0:
                allocate(client, instance(number), uuid, 'CUSTOM_GOLD')
            elif number % 4 == 1:
                reserve(client, number, uuid)
            elif number % 4 == 2:
                client.ask('PUT', f'/v1/nodes/{uuid}/maintenance', {})
        queries = [
            'resources=CUSTOM_GOLD:1',
            'resources=CUSTOM_GOLD:1&required=CUSTOM_A,!CUSTOM_B',
            'resources=CUSTOM_GOLD:1&required=CUSTOM_A,CUSTOM_B,CUSTOM_C',
            'resources=CUSTOM_GOLD:1&required=in:CUSTOM_A,CUSTOM_C&required=COMPUTE_NODE',
            f'resources1=CUSTOM_GOLD:1&required1=!COMPUTE_NODE&member_of1={aggregates[0]}&member_of1=!{aggregates[1]}',
            f'resources=CUSTOM_GOLD:1&member_of=in:{",".join(aggregates)}&in_tree={uuid}&required=HW_CPU_X86_VMX',
            'resources=CUSTOM_GOLD:1&root_required=CUSTOM_A,!COMPUTE_NODE',
            'resources=CUSTOM_GOLD:2',
        ]
        assert [check(client, query) for query in queries] == ['providers'] * len(queries)
        everything = explain(client, queries[0])
        assert everything['nodes'] == {
            'matching': 12,
            'free': 3,
            'held': 6,
            'unavailable': {'maintenance': 3},
        }
        # The same, while other providers have children: each node is a candidate alone.
        parent, child = instance(800), instance(801)
        for body in ({'name': 'a', 'uuid': parent}, {'name': 'b', 'uuid': child, 'parent_provider_uuid': parent}):
            assert client.placement('POST', '/resource_providers', body).status_int == 200
        assert [check(client, query) for query in queries] == ['providers'] * len(queries)
        # With a client's provider of the same class, the search must look at trees.
        body = {'resource_class': 'CUSTOM_GOLD', 'total': 3}
        assert client.placement('POST', f'/resource_providers/{child}/inventories', body).status_int == 201
        assert [check(client, query) for query in queries] == ['trees'] * len(queries)
        # The rules for a whole candidate: two units of a class, in one subtree.
        more = 'required1=CUSTOM_A&group_policy=none&same_subtree=1,2'
        for second in (1, 2):
            query = f'resources1=CUSTOM_GOLD:1&resources2=CUSTOM_GOLD:{second}&{more}'
            assert check(client, query) == 'trees'

        exclusive = Exclusive(app.service, ['CUSTOM_B', 'COMPUTE_NODE'])
        assert [check(client, query, exclusive) for query in queries] == ['trees'] * len(queries)
        assert client.placement('DELETE', f'/resource_providers/{child}/inventories').status_int == 204
        assert [check(client, query, exclusive) for query in queries] == ['providers'] * len(queries)
        # A trait of a child counts for the node, too.
        body = {'name': 'c', 'uuid': instance(802), 'parent_provider_uuid': uuid}
        assert client.placement('POST', '/resource_providers', body).status_int == 200
        body = {'resource_provider_generation': 0, 'traits': ['HW_CPU_X86_VMX']}
        assert client.placement('PUT', f'/resource_providers/{instance(802)}/traits', body).status_int == 200
        exclusive = Exclusive(app.service, ['CUSTOM_B', 'HW_CPU_X86_VMX'])
        assert [check(client, query, exclusive) for query in queries] == ['providers'] * len(queries)


@pytest.mark.parametrize(
    'query', ['', 'resources=', 'resources=VCPU:1&x=1', 'resources=CUSTOM_X:1', 'required=CUSTOM_A']
)
def test_bad_queries(client, query):
    assert client.ask('POST', '/v1/explanations', {'query': query}).status_int == 400
    assert client.ask('POST', '/v1/explanations', {'query': 5}).status_int == 400
