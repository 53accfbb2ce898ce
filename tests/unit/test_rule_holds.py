"""The holds of rules on a node, on all small examples that hypothesis finds."""

import doctest

import hypothesis
from hypothesis import strategies as st

from ironic_traits.matching.rules import rule_holds
from ironic_traits.matching.sources import Traits

NAMES = tuple(f'CUSTOM_{letter}' for letter in 'ABCDEF')
RULES = ('a', 'b', 'c')
SOURCES = ('operator', 'hook', 'rule:a', 'rule:b', 'rule:gone')
WANTED = st.dictionaries(st.sampled_from(RULES), st.frozensets(st.sampled_from(NAMES)))
LIMIT = 4


@st.composite
def traits(draw):
    """Generate the traits of a node. No held trait is vetoed."""
    holders = draw(
        st.dictionaries(
            st.sampled_from(NAMES),
            st.dictionaries(st.sampled_from(SOURCES), st.integers(), min_size=1),
            max_size=LIMIT,
        )
    )
    vetoes = draw(st.dictionaries(st.sampled_from(NAMES), st.integers()))
    return Traits(holders, {name: hold for name, hold in vetoes.items() if name not in holders})


def settle(before, wanted, limit=LIMIT):
    return rule_holds.settle(before, wanted, lambda source: 0, limit)


def test_the_example():
    result = doctest.testmod(rule_holds)
    assert result.attempted
    assert result.failed == 0


@hypothesis.given(traits(), WANTED)
def test_each_rule_holds_what_it_says(before, wanted):
    settled = settle(before, wanted)
    after = settled.edit.after
    for name in (*RULES, 'gone'):
        said = wanted.get(name, frozenset())
        if name in settled.excess:
            assert after.of(f'rule:{name}') == before.of(f'rule:{name}') & said
        else:
            assert after.of(f'rule:{name}') == said - before.vetoes.keys()
    for source in ('operator', 'hook'):
        assert after.of(source) == before.of(source)
    assert after.vetoes == before.vetoes
    assert len(after.holders) <= LIMIT
    assert settled.edit.refused <= before.vetoes.keys()


@hypothesis.given(traits(), WANTED)
def test_a_second_run_changes_nothing(before, wanted):
    first = settle(before, wanted)
    second = settle(first.edit.after, wanted)
    assert not second.edit.changes
    assert second.excess == first.excess
    assert not second.changed


@hypothesis.given(traits(), WANTED, st.permutations(RULES))
def test_without_a_limit_the_order_does_not_matter(before, wanted, order):
    shuffled = {name: wanted[name] for name in order if name in wanted}
    assert settle(before, shuffled, 50).edit.after == settle(before, wanted, 50).edit.after


@hypothesis.given(traits(), WANTED, st.sampled_from(RULES))
def test_what_one_rule_no_longer_says_only_that_rule_loses(before, wanted, name):
    first = settle(before, wanted, 50).edit.after
    second = settle(first, {**wanted, name: frozenset()}, 50)
    assert set(second.changed) <= {f'rule:{name}'}
    assert second.edit.after.of(f'rule:{name}') == set()
