"""The rules of sources and vetoes, on all small examples that hypothesis finds."""

import doctest

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits.matching import sources
from ironic_traits.matching.sources import OPERATOR, Traits

NAMES = ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')
SOURCES = (OPERATOR, 'hook', 'rule:cpu')
some = st.frozensets(st.sampled_from(NAMES))
source = st.none() | st.sampled_from(SOURCES)


@st.composite
def traits(draw):
    """Generate the traits of a node. No held trait is vetoed."""
    holders = draw(
        st.dictionaries(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(SOURCES), st.integers(), min_size=1))
    )
    vetoes = draw(st.dictionaries(st.sampled_from(NAMES), st.integers()))
    return Traits(holders, {name: hold for name, hold in vetoes.items() if name not in holders})


def check(edit):
    """Check the invariants after an edit."""
    assert all(edit.after.holders.values())
    assert edit.after.holders.keys().isdisjoint(edit.after.vetoes)
    assert edit.changes == bool(edit.before != edit.after)


def test_the_examples():
    result = doctest.testmod(sources)
    assert result.attempted
    assert result.failed == 0


@hypothesis.given(traits(), some)
def test_a_plain_replacement_leaves_exactly_these(before, names):
    edit = sources.replace(before, 0, names)
    check(edit)
    assert edit.after.holders.keys() == names
    assert all(OPERATOR in edit.after.holders[name] for name in names)
    taken = {name for name, holds in before.holders.items() if holds.keys() - {OPERATOR}} - names
    assert edit.after.vetoes.keys() == (before.vetoes.keys() | taken) - names
    assert not edit.refused


@hypothesis.given(traits(), some, st.sampled_from(SOURCES))
def test_a_source_replaces_only_its_own(before, names, writer):
    edit = sources.replace(before, 0, names, writer)
    check(edit)
    for name in NAMES:
        for other in set(SOURCES) - {writer}:
            assert (other in edit.after.holders.get(name, {})) == (other in before.holders.get(name, {}))
    vetoed = set() if writer == OPERATOR else before.vetoes.keys()
    assert edit.refused == names & vetoed
    assert edit.after.of(writer) == names - vetoed


@hypothesis.given(traits(), some, some, source)
def test_a_second_time_changes_nothing(before, add, remove, writer):
    once = sources.edit(before, 0, add=add, remove=remove, source=writer)
    check(once)
    assert not sources.edit(once.after, 1, add=add, remove=remove, source=writer).changes


@hypothesis.given(traits(), some, source)
def test_a_hold_keeps_its_time(before, names, writer):
    edit = sources.replace(before, 'new', names, writer)
    for name, holds in edit.after.holders.items():
        for holder, hold in holds.items():
            assert hold == before.holders.get(name, {}).get(holder, 'new')


@hypothesis.given(traits())
def test_renaming_keeps_holds(before):
    edit = sources.rename(before, {'CUSTOM_A': 'CUSTOM_NEW'})
    check(edit)
    assert edit.after.holders.get('CUSTOM_NEW') == before.holders.get('CUSTOM_A')
    assert 'CUSTOM_A' not in {*edit.after.holders, *edit.after.vetoes}
    back = sources.rename(edit.after, {'CUSTOM_NEW': 'CUSTOM_A'})
    assert back.after == before


@hypothesis.given(traits())
def test_renaming_to_a_present_trait_joins_the_sources(before):
    edit = sources.rename(before, {'CUSTOM_A': 'CUSTOM_B'})
    check(edit)
    both = before.holders.get('CUSTOM_A', {}).keys() | before.holders.get('CUSTOM_B', {}).keys()
    assert edit.after.holders.get('CUSTOM_B', {}).keys() == both


@pytest.mark.parametrize(
    ('name', 'is_source', 'is_reserved'),
    [
        ('operator', True, False),
        ('terraform', True, False),
        ('a.b_c:d-e', True, False),
        ('rule:cpu', True, True),
        ('import:cmdb', True, True),
        ('mirror:east', True, True),
        ('placement', True, True),
        ('rules', True, True),
        ('a' * 64, True, False),
        ('a' * 65, False, False),
        ('', False, False),
        ('a b', False, False),
        ('a\n', False, False),
        ('ä', False, False),
    ],
)
def test_names(name, is_source, is_reserved):
    assert sources.is_source(name) == is_source
    assert sources.is_reserved(name) == is_reserved
