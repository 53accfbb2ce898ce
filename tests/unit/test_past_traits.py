"""The traits at a past time, computed from the current ones and the changes since."""

import itertools

import hypothesis
from hypothesis import strategies as st

from ironic_traits.matching.past_traits import TraitWrite, before

TRAITS = st.sets(st.sampled_from(['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_VMX']))


@hypothesis.given(st.lists(TRAITS, min_size=1), st.data())
def test_every_past_set(states, data):
    """For any sequence of sets of traits, the changes between them lead back to each set."""
    changes = [TraitWrite(new - old, old - new) for old, new in itertools.pairwise(states)]
    position = data.draw(st.integers(0, len(states) - 1))
    assert before(states[-1], changes[position:][::-1]) == states[position]


def test_nothing_is_changed():
    present = {'CUSTOM_A'}
    assert before(present, [TraitWrite(['CUSTOM_A'], ['CUSTOM_B'])]) == {'CUSTOM_B'}
    assert present == {'CUSTOM_A'}
