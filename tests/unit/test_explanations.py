"""The numbers in explanations, compared with a simple count."""

import itertools
from collections import Counter

import hypothesis
from hypothesis import strategies as st

from ironic_traits.matching.explanations import MAX_LISTED, Explanation, TraitClauses
from ironic_traits.matching.requests import understand

CLAUSES = ['a', 'b', 'c', 'd']
#: The clauses that each node of an inventory fails.
FAILING = st.lists(st.sets(st.sampled_from(CLAUSES)).map(frozenset), max_size=30)


def explanation(nodes):
    """Return the explanation for nodes that fail these sets of clauses."""
    return Explanation(CLAUSES, Counter(sum(1 << CLAUSES.index(clause) for clause in failed) for failed in nodes))


@hypothesis.given(FAILING)
def test_figures(nodes):
    explained = explanation(nodes)
    assert explained.considered == len(nodes)
    assert explained.matched == sum(not failed for failed in nodes)
    assert explained.rejected() == [
        {
            'clause': clause,
            'rejected': sum(clause in failed for failed in nodes),
            'rejected_only': sum(failed == {clause} for failed in nodes),
        }
        for clause in CLAUSES
    ]


@hypothesis.given(FAILING, st.integers(min_value=1, max_value=10))
def test_relaxations(nodes, needed):
    """Relaxations are the minimal sets of clauses to drop so that enough nodes match: none contains another one."""
    matched = sum(not failed for failed in nodes)

    def gained(dropped):
        return sum(failed <= dropped for failed in nodes) - matched

    subsets = [frozenset(names) for size in range(1, 5) for names in itertools.combinations(CLAUSES, size)]
    helpful = [dropped for dropped in subsets if matched + gained(dropped) >= needed]
    minimal = [dropped for dropped in helpful if not any(other < dropped for other in helpful)]
    relaxations = explanation(nodes).relaxations(needed)
    if matched >= needed:
        assert relaxations == []
    else:
        assert {frozenset(each['drop']): each['nodes'] for each in relaxations} == {
            dropped: matched + gained(dropped) for dropped in minimal
        }
        assert [len(each['drop']) for each in relaxations] == sorted(len(each['drop']) for each in relaxations)


@hypothesis.given(FAILING)
def test_near_misses(nodes):
    explained = explanation(nodes)
    nearest = explained.near_misses()
    sizes = [len(explained.names(mask)) for mask in nearest]
    assert sizes == sorted(sizes)
    assert 0 not in sizes
    rest = [len(failed) for failed in nodes if failed and failed not in [set(explained.names(m)) for m in nearest]]
    assert not rest or min(rest) >= max(sizes)
    assert sum(explained.failing[mask] for mask in nearest) >= min(MAX_LISTED, sum(map(bool, nodes)))


def test_maximum_size():
    """The lists have a maximum length, even if nodes fail many different combinations of clauses."""
    clauses = [f'clause {number}' for number in range(200)]
    failing = Counter(sum(1 << bit for bit in bits) for bits in itertools.combinations(range(40), 3))
    explained = Explanation(clauses, failing)
    assert len(explained.relaxations()) == len(explained.near_misses()) == MAX_LISTED


def test_clauses_of_traits():
    request = understand(required=['CUSTOM_B'], required_any=[['CUSTOM_A', 'CUSTOM_C']], forbidden=['CUSTOM_D'])
    clauses = TraitClauses(request)
    assert clauses.names == ['required:CUSTOM_B', 'required_any:CUSTOM_A,CUSTOM_C', 'forbidden:CUSTOM_D']
    assert sorted(clauses.traits) == ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D']
    for carried in range(16):
        names = {name for bit, name in enumerate(clauses.traits) if carried >> bit & 1}
        failed = ['CUSTOM_B' not in names, names.isdisjoint({'CUSTOM_A', 'CUSTOM_C'}), 'CUSTOM_D' in names]
        assert clauses.failed(carried) == sum(1 << bit for bit, each in enumerate(failed) if each)
        assert (not any(failed)) == request.filter.matches(names)
