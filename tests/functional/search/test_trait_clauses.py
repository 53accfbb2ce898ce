"""The terms of trait filters, compared with a plain predicate on random nodes, on each database.

Each encoding of a term is compared: its condition, its set in the index of nodes, the bits of explanations, the result
of rebuilds, and lists. Each one, changed or left out, is noticed.
"""

import itertools
import random

import pytest
import sqlalchemy as sa

from ironic_traits import clauses
from ironic_traits.context import Grant
from ironic_traits.db import tables
from ironic_traits.inventory.core import trait_filters
from ironic_traits.inventory.search import explanations, index_explanations
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import rebuilds, traits
from ironic_traits.matching.requests import Request
from ironic_traits.matching.traits import Filter, TraitTerm
from ironic_traits.placement import trait_conditions
from tests.functional.search.test_index_explanations import context_of, prepare
from tests.support.client import Client

NAMES = [f'CUSTOM_{letter}' for letter in 'ABCDEFGH']
#: {trait: who may give it to a provider: its node, or a client that sets it}.
PLACES = {
    'HW_CPU_X86_VMX': ('', 'own', 'set'),
    'CUSTOM_A': ('', 'own'),
    'COMPUTE_NODE': ('', 'set'),
    'HW_CPU_HYPERTHREADING': ('',),
}
#: {kind: function of the set of a node's traits, and of those of a term: whether the node fulfils the term}.
PLAIN = {
    traits.REQUIRED: lambda carried, named: len(carried & named) == len(named),
    traits.REQUIRED_ANY: lambda carried, named: len(carried & named) > 0,
    traits.NOT_ALL: lambda carried, named: len(carried & named) < len(named),
    traits.FORBIDDEN: lambda carried, named: len(carried & named) == 0,
}


@pytest.fixture
def fleet(app):
    """Nodes with each set of the first three traits, and with random ones: {uuid: {trait, …}}."""
    client, choose = Client(app), random.Random(1)
    sets = [set(names) for size in range(4) for names in itertools.combinations(NAMES[:3], size)]
    sets += [set(choose.sample(NAMES, choose.randrange(len(NAMES) + 1))) for _ in range(30)]
    nodes = {client.node()['uuid']: names for names in sets}
    for uuid, names in nodes.items():
        assert client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': sorted(names)}).status_int == 200
    return nodes


def filters(choose):
    """Yield filters with one term of each kind, with many terms of one kind, and with random ones."""
    yield Filter()
    some, others = set(NAMES[:2]), set(NAMES[1:3])
    for all_of, any_of, not_all_of, none_of in (
        (some, (), (), ()),
        (NAMES, (), (), ()),
        (NAMES[:7], (), (), ()),
        ((), (some, others), (), ()),
        ((), (), (some, others), ()),
        ((), (), (), some),
    ):
        yield Filter(frozenset(all_of), any_of, not_all_of, frozenset(none_of))
    for _ in range(20):
        sets = [set(choose.sample(NAMES, choose.choice([0, 0, 1, 2, 3]))) for _ in range(6)]
        yield Filter.of(sets[:1], [each for each in sets[1:3] if each], [each for each in sets[3:5] if each], sets[5:])


def plain(trait_filter, carried):
    """Whether a node passes a filter, read from its four fields alone."""
    return (
        PLAIN[traits.REQUIRED](carried, trait_filter.all_of)
        and all(PLAIN[traits.REQUIRED_ANY](carried, names) for names in trait_filter.any_of)
        and all(PLAIN[traits.NOT_ALL](carried, names) for names in trait_filter.not_all_of)
        and PLAIN[traits.FORBIDDEN](carried, trait_filter.none_of)
    )


def test_terms(app, fleet):
    """The encodings of single terms. One that is changed into another kind differs in each of them."""
    with app.service.node_index.now(app.service) as view:
        nodes = Nodes(context_of(app), Grant(()), view)
        for kind, size in itertools.product(PLAIN, (1, 2, 3)):
            named = frozenset(NAMES[:size])
            expected = {uuid for uuid, carried in fleet.items() if PLAIN[kind](carried, named)}
            assert encoded(view, nodes, fleet, TraitTerm(kind, named)) == [expected] * 3
            for other in PLAIN:
                is_same = size == 1 and other.wants == kind.wants
                if other is not kind and not is_same:
                    assert expected not in encoded(view, nodes, fleet, TraitTerm(other, named))


def encoded(view, nodes, fleet, term):
    """Return the nodes that fulfil a term: as the condition, the index and the predicate say."""
    ids = dict(view.connection.execute(sa.select(tables.nodes.c.id, tables.nodes.c.uuid)).all())
    return [
        selected(view.connection, trait_filters.condition(term)),
        {ids[each] for each in view.ids(term.of_sets(nodes.trait, nodes.all), len(fleet))},
        {uuid for uuid, carried in fleet.items() if term.passes(carried)},
    ]


def selected(connection, *conditions):
    return set(connection.scalars(sa.select(tables.nodes.c.uuid).where(*conditions)))


@pytest.fixture
def providers(app):
    """Providers whose own traits, and those that clients set, are each set of traits: {uuid: {trait, …}}."""
    client, found = Client(app), {}
    for places in itertools.product(*PLACES.values()):
        own, foreign = (
            {name for name, place in zip(PLACES, places, strict=True) if place == each} for each in ('own', 'set')
        )
        node = client.node(resource_class='gold')['uuid']
        assert client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': sorted(own)}).status_int == 200
        found[node] = own | foreign
        if not own:
            created = client.placement('POST', '/resource_providers', {'name': f'client {places}'})
            found[created.json['uuid']] = foreign
    for provider, names in found.items():
        _set(client, provider, names)
    return found


def _set(client, provider, names):
    generation = client.placement('GET', f'/resource_providers/{provider}').json['generation']
    body = {'traits': sorted(names), 'resource_provider_generation': generation}
    assert client.placement('PUT', f'/resource_providers/{provider}/traits', body).status_int == 200


def test_terms_of_providers(app, providers):
    """The condition of each term on providers, in each of its forms. Another kind of term differs in each of them."""
    forms = [{'few': few, 'joins': joins} for few in (False, True) for joins in (False, True)]
    columns = tables.resource_providers.c
    with app.service.read() as connection:
        holders = trait_conditions.holders(connection, PLACES)

        def found(kind, names, form):
            term = TraitTerm(kind, frozenset(names))
            where = trait_conditions.condition(holders, term, **form)
            return set(connection.scalars(sa.select(columns.uuid).where(where))) & providers.keys()

        sets = [set(names) for size in range(1, 4) for names in itertools.combinations(PLACES, size)]
        for kind, named, form in itertools.product(PLAIN, sets, forms):
            expected = {uuid for uuid, carried in providers.items() if PLAIN[kind](carried, named)}
            assert found(kind, named, form) == expected
            for other in PLAIN:
                if other is not kind and not (len(named) == 1 and other.wants == kind.wants):
                    assert found(other, named, form) != expected


def test_required_and_forbidden_providers(app, providers):
    """What Placement's ``required`` and its ``!`` select, with traits that nobody, one kind or both kinds have."""
    client, choose = Client(app), random.Random(4)
    for _ in range(40):
        sets = [set(choose.sample(list(PLACES), choose.choice([1, 1, 2, 3]))) for _ in range(choose.randrange(3))]
        forbidden = set(choose.sample(list(PLACES), choose.randrange(3))) - set().union(
            *(s for s in sets if len(s) == 1)
        )
        if any(names <= forbidden for names in sets):
            continue
        expected = {
            uuid
            for uuid, carried in providers.items()
            if all(carried & names for names in sets) and not carried & forbidden
        }
        query = '&'.join(
            [f'required=in:{",".join(sorted(names))}' for names in sets] + [f'required=!{name}' for name in forbidden]
        )
        listed = client.placement('GET', f'/resource_providers?{query}').json['resource_providers']
        assert {each['uuid'] for each in listed} & providers.keys() == expected


def test_filters(app, fleet):
    """What is derived from the terms of a filter: statements, sets of the index, and lists."""
    client = Client(app)
    for trait_filter in filters(random.Random(2)):
        expected = {uuid for uuid, carried in fleet.items() if plain(trait_filter, carried)}
        assert {uuid for uuid, carried in fleet.items() if trait_filter.matches(carried)} == expected
        with app.service.node_index.now(app.service) as view:
            connection, nodes = view.connection, Nodes(context_of(app), Grant(()), view)
            assert selected(connection, *trait_filters.where(trait_filter)) == expected
            begun = trait_filters.begin_with(sa.select(tables.nodes.c.uuid), connection.dialect.name, trait_filter)
            assert set(connection.scalars(begun)) == expected
            assert nodes.with_traits(nodes.all, trait_filter).bit_count() == len(expected)
        query = [
            *(('traits', names) for names in [trait_filter.all_of] if names),
            *(('traits-any', names) for names in trait_filter.any_of),
            *(('not-traits', names) for names in trait_filter.not_all_of),
            *(('not-traits-any', names) for names in [trait_filter.none_of] if names),
        ]
        listed = client.get('/v1/nodes?' + '&'.join(f'{name}={",".join(sorted(names))}' for name, names in query))
        assert {node['uuid'] for node in listed['nodes']} == expected


def test_requests(app, fleet):
    """The bits of both explanations, and the result of rebuilds, follow the terms of the request."""
    context = context_of(app)
    prepare(app)
    for trait_filter in filters(random.Random(3)):
        request = Request(
            required=trait_filter.all_of,
            required_any=tuple(dict.fromkeys(map(frozenset, trait_filter.any_of))),
            # A request never has a trait that is both.
            forbidden=trait_filter.none_of - trait_filter.all_of,
        )
        terms = {
            **{f'required:{name}': (traits.REQUIRED, {name}) for name in request.required},
            **{
                f'required_any:{",".join(sorted(names))}': (traits.REQUIRED_ANY, names)
                for names in request.required_any
            },
            **{f'forbidden:{name}': (traits.FORBIDDEN, {name}) for name in request.forbidden},
        }
        failing = {
            uuid: {name for name, (kind, named) in terms.items() if not PLAIN[kind](carried, named)}
            for uuid, carried in fleet.items()
        }
        node_request = NodeRequest(Grant(()), request)
        by_sql = explanations.rejections(context, node_request)
        expected = {uuid: sorted(names) for uuid, names in failing.items()}
        assert {uuid: sorted(each for each in names if each in terms) for uuid, names in by_sql.items()} == expected
        by_index = index_explanations.explain(context, node_request, ()).explanation
        for clause in by_index.rejected():
            if clause['clause'] in terms:
                assert clause['rejected'] == sum(clause['clause'] in names for names in failing.values())
        for uuid, carried in fleet.items():
            (result,) = rebuilds.check(request, [rebuilds.HeldProvider(uuid, frozenset(carried), True)])
            assert rebuilds.fulfilled([result]) == (not failing[uuid])
            assert {f'required:{name}' for name in result['missing']} <= failing[uuid]


def test_each_kind_has_words():
    for kind in PLAIN:
        assert clauses.requirement(TraitTerm(kind, {'CUSTOM_A'}).name).endswith(' CUSTOM_A')


def test_a_term_left_out_is_noticed(app, fleet, monkeypatch):
    """Filters without one of their kinds of terms differ from the plain predicate."""
    terms = Filter.terms
    for kind in PLAIN:
        monkeypatch.setattr(
            Filter, 'terms', lambda own, kind=kind: (each for each in terms(own) if each.kind is not kind)
        )
        for check in (test_filters, test_requests):
            if check is test_filters or kind is not traits.NOT_ALL:
                with pytest.raises((AssertionError, LookupError)):
                    check(app, fleet)
