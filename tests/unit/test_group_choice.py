"""Choices of nodes by their groups, compared with all sets of nodes."""

from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.matching.group_choice import Situation
from ironic_traits.matching.topology import POLICIES, Policy, parse
from tests.support import topology

POLICY = st.builds(
    Policy,
    key=st.just('shard'),
    name=st.sampled_from([None, *POLICIES]),
    max_per_group=st.sampled_from([None, None, 1, 2]),
)


@st.composite
def situations(draw):
    """Draw policies, nodes as cells, and the nodes that policies count already."""
    policies = draw(st.lists(POLICY, min_size=1, max_size=3))
    cell = st.tuples(*(st.sampled_from('abc') for _ in policies))
    related = st.lists(st.sampled_from('abc'), max_size=2).map(Counter)
    return policies, draw(st.lists(cell, max_size=7)), [draw(related) for _ in policies]


@hypothesis.settings(max_examples=2000, derandomize=True)
@hypothesis.given(situations(), st.integers(1, 4))
def test_choices_equal_those_of_all_sets(drawn, count):
    """A choice is found if there is one, it is as good as possible, and the numbers of blocks are exact."""
    policies, cells, related = drawn
    situation = Situation(policies, Counter(cells), related)
    try:
        choice = situation.choose(count)
        figures = situation.largest(), situation.count_blocks(count)
    except failures.InvalidInput:
        # Three limits that overlap are refused.
        assert sum(policy.limit is not None or policy.name == 'soft-anti-affinity' for policy in policies) == 3
        return
    possible = topology.choices(policies, related, cells, count)
    assert (choice is not None) == bool(possible)
    assert figures == (
        topology.largest(policies, related, cells),
        topology.count_blocks(policies, related, cells, count),
    )
    if choice:
        assert choice.total() == count
        assert not Counter(choice) - Counter(cells)
        assert topology.is_possible(policies, related, list(choice.elements()))
        best = min(topology.degrees(policies, related, each) for each in possible)
        assert topology.degrees(policies, related, list(choice.elements())) == best


def test_limits_of_chassis_racks_rows_and_feeds():
    """Limits are exact if the groups of some lie in those of others, and others overlap with all of them."""
    policies = [
        Policy(key, 'anti-affinity', most) for key, most in (('row', 3), ('rack', 2), ('chassis', 1), ('feed', 2))
    ]
    cells = [(f'row{n // 8}', f'rack{n // 4}', f'chassis{n // 2}', f'feed{n % 3}') for n in range(16)]
    situation = Situation(policies, Counter(cells), [{}] * 4)
    assert situation.largest() == topology.largest(policies, [{}] * 4, cells) == 6


@pytest.mark.parametrize(
    ('item', 'sentence'),
    [
        ('rack', "'topology', number 0 must be an object."),
        ({'policy': 'affinity'}, "'topology', number 0 needs a 'key' of 255 characters at most."),
        ({'key': 'trait:', 'policy': 'affinity'}, "'key' may be trait:PREFIX"),
        ({'key': 'trait:custom_rack_', 'policy': 'affinity'}, "'key' may be trait:PREFIX"),
        ({'key': 'properties', 'policy': 'affinity'}, "'key' may be trait:PREFIX"),
        ({'key': 'properties//rack', 'policy': 'affinity'}, "'key' may be trait:PREFIX"),
        ({'key': 'driver_info/ipmi_password', 'policy': 'affinity'}, "'key' may be trait:PREFIX"),
        ({'key': 'chasis_uuid', 'policy': 'affinity'}, "Did you mean 'chassis_uuid'?"),
        ({'key': 'shard'}, "needs 'policy', 'max_per_group' or 'prefer'."),
        ({'key': 'shard', 'policy': 'together'}, "'policy' may be affinity, anti-affinity"),
        ({'key': 'shard', 'prefer': 'first'}, "'prefer' may be fullest, emptiest."),
        ({'key': 'shard', 'max_per_group': 0}, "'max_per_group' is a number of 1 or more."),
        ({'key': 'shard', 'max_per_group': True}, "'max_per_group' is a number of 1 or more."),
        ({'key': 'shard', 'policies': 'affinity'}, 'has unknown keys: policies.'),
        ({'key': 'shard', 'policy': 'affinity', 'relative_to': ['node-1']}, "'relative_to' lists at most 1000 uuids"),
        ({'key': ['shard'], 'policy': 'affinity'}, "needs a 'key'"),
        ({'key': 'shard', 'policy': ['affinity']}, "'policy' may be"),
    ],
)
def test_wrong_policies(item, sentence):
    with pytest.raises(failures.InvalidInput if 'unknown' not in sentence else failures.UnknownKeys) as error:
        parse([item])
    assert sentence in str(error.value)


def test_relative_to_of_the_request():
    """Policies without relative_to get that of the request."""
    one, two = 'bbbbbbbb-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'
    item = {'key': 'shard', 'policy': 'affinity'}
    policies = parse([item, item | {'relative_to': [two]}, item | {'relative_to': []}], [one.upper()])
    assert [policy.relative_to for policy in policies] == [(one,), (two,), ()]
    for wrong in ([one], 0, False, '', {}):
        with pytest.raises(failures.InvalidInput, match="'relative_to' needs 'topology'"):
            parse(None, wrong)
