"""Edits of the traits of many nodes: their rules, and their digest."""

import hypothesis
from hypothesis import strategies as st

from ironic_traits.matching.sources import Traits
from ironic_traits.matching.trait_edits import BulkEdit, Digest

NAMES = [f'CUSTOM_{letter}' for letter in 'ABCD']
SOURCES = ['operator', 'terraform', 'rule:cpu']
NAME, SETS = st.sampled_from(NAMES), st.frozensets(st.sampled_from(NAMES), max_size=3)
#: The hold is a number instead of a time.
HOLDS = st.dictionaries(st.sampled_from(SOURCES), st.integers(0, 3), min_size=1)


@st.composite
def traits(draw):
    """Generate traits with sources, and vetoes of other traits."""
    holders = draw(st.dictionaries(NAME, HOLDS))
    vetoed = draw(SETS) - holders.keys()
    return Traits(holders, {name: draw(st.integers(0, 3)) for name in vetoed})


@st.composite
def edits(draw):
    """Generate edits without contradictions."""
    rename = {} if draw(st.booleans()) else draw(st.dictionaries(NAME, NAME, max_size=2))
    add = draw(SETS) - rename.keys() - set(rename.values())
    remove = draw(SETS) - add - rename.keys() - set(rename.values())
    return BulkEdit(add, remove, rename, None if rename else draw(st.sampled_from([None, 'operator', 'terraform'])))


@hypothesis.given(traits(), edits())
def test_an_edit_does_what_it_says(before, edit):
    assert edit.contradictions == []
    after = edit.of(before, 9).after
    assert after.vetoes.keys().isdisjoint(after.holders)
    assert edit.add <= after.holders.keys() | edit.of(before, 9).refused
    if edit.source in (None, 'operator'):
        assert not edit.of(before, 9).refused
    if edit.source is None:
        assert edit.remove.isdisjoint(after.holders)
    else:
        assert all(edit.source not in after.holders.get(name, {}) for name in edit.remove)
    kept = before.holders.keys() - edit.add - edit.remove - edit.rename.keys() - set(edit.rename.values())
    assert {name: after.holders[name] for name in kept} == {name: before.holders[name] for name in kept}


@hypothesis.given(traits(), edits())
def test_a_renamed_trait_keeps_its_sources(before, edit):
    after = edit.of(before, 9).after
    for name, new in edit.rename.items():
        for source, hold in before.holders.get(name, {}).items():
            assert after.holders[new].keys() >= before.holders[name].keys()
            others = [other for other in before.holders if edit.rename.get(other, other) == new]
            if others == [name]:
                assert after.holders[new][source] == hold
        if name not in edit.rename.values():
            assert name not in after.holders


@hypothesis.given(traits())
def test_a_swap_and_back_changes_nothing(before):
    there = BulkEdit(rename={'CUSTOM_A': 'CUSTOM_B', 'CUSTOM_B': 'CUSTOM_A'})
    assert there.of(there.of(before, 1).after, 2).after == before


@hypothesis.given(traits(), edits())
def test_an_edit_is_idempotent_without_renames(before, edit):
    once = BulkEdit(edit.add, edit.remove, {}, edit.source)
    assert not once.of(once.of(before, 8).after, 9).changes


def _digest(edit, *nodes):
    digest = Digest(edit)
    for uuid, each in nodes:
        digest.add(uuid, each)
    return digest.text()


def _without_times(each):
    return {name: set(holds) for name, holds in each.holders.items()}, set(each.vetoes)


@hypothesis.given(traits(), traits(), edits())
def test_the_digest_is_that_of_the_traits(one, other, edit):
    same = _without_times(one) == _without_times(other)
    assert (_digest(edit, ('a', one)) == _digest(edit, ('a', other))) == same


@hypothesis.given(traits(), traits(), edits(), edits())
def test_the_digest_is_that_of_the_nodes_and_of_the_edit(one, other, edit, second):
    nodes = [('a', one), ('b', other)]
    digest = _digest(edit, *nodes)
    assert digest == _digest(edit, *nodes)
    assert len({digest, _digest(edit), _digest(edit, *nodes[:1]), _digest(edit, *nodes[1:])}) == 4
    assert digest != _digest(edit, ('a', one), ('c', other))
    assert (_digest(second, *nodes) == digest) == (edit == second)


def test_contradictions_are_named():
    edit = BulkEdit(frozenset('AB'), frozenset('BC'), {'C': 'D', 'E': 'F'})
    assert edit.contradictions == ['B', 'C']
    assert BulkEdit(rename={'A': 'B', 'B': 'A', 'C': 'A'}).contradictions == []


def test_a_source_takes_only_its_own():
    before = Traits({'CUSTOM_A': {'operator': 1, 'terraform': 2}})
    after = BulkEdit(remove=frozenset({'CUSTOM_A'}), source='terraform').of(before, 3).after
    assert after == Traits({'CUSTOM_A': {'operator': 1}})
    assert BulkEdit(remove=frozenset({'CUSTOM_A'})).of(before, 3).after == Traits({}, {'CUSTOM_A': 3})
    assert not BulkEdit(remove=frozenset({'CUSTOM_A'}), source='other').of(before, 3).changes
