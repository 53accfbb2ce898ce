"""Promises of nodes: whether they can be kept, compared with all ways to give the nodes to them."""

import itertools
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ironic_traits.matching.promises import Flow

#: Nodes as sets of the promises that they match, and {promise: number}.
NODES = st.lists(st.frozensets(st.integers(0, 3), min_size=1, max_size=3), max_size=6)
ASKED = st.lists(st.integers(0, 3), min_size=4, max_size=4).map(lambda numbers: dict(enumerate(numbers)))


def ways(nodes, asked):
    """Return {(number of nodes that a promise gets, …), …} of all ways to give nodes to promises."""
    found = itertools.product(*([None, *sorted(node)] for node in nodes))
    numbers = {tuple(way.count(promise) for promise in asked) for way in found}
    return {way for way in numbers if all(number <= asked[promise] for promise, number in zip(asked, way, strict=True))}


def most(nodes, asked):
    """Return the largest number of nodes that promises can get together."""
    return max(map(sum, ways(nodes, asked)))


def kept(flow):
    """Return (number of nodes that a promise gets, …)."""
    return tuple(map(flow.kept, flow.asked))


def can_take(before, used_up, nodes, asked):
    """Whether a way to give the nodes that are left takes nothing from a promise, but one from that which is used up.

    :param before: the result of ``kept`` before a node is taken.
    """
    least = [number - (promise == used_up) for promise, number in zip(asked, before, strict=True)]
    return any(all(number >= most for number, most in zip(way, least, strict=True)) for way in ways(nodes, asked))


def flow_of(nodes, asked):
    """Return the flow of nodes to promises."""
    return Flow(asked, Counter(nodes))


@given(NODES, ASKED)
def test_the_largest_flow(nodes, asked):
    """No way gives more nodes to promises. If not all can be kept, the first ones are."""
    flow = flow_of(nodes, asked)
    check(flow, nodes, asked)
    assert flow.value == most(nodes, asked)
    assert kept(flow) == max(ways(nodes, asked))


def check(flow, nodes, asked):
    """Check that a flow is one of nodes to promises."""
    assert flow.asked == asked
    assert sum(kept(flow)) == flow.value
    assert all(flow.kept(promise) <= asked[promise] for promise in asked)
    assert all(flow.used[of] <= Counter(nodes)[of] for of in flow.used)


def test_a_node_is_given_by_a_promise_that_has_it():
    """Not by another one that matches it, and that has a spare node."""
    flow = flow_of([frozenset([1, 2, 3]), frozenset([2]), frozenset([1])], {1: 0, 2: 1, 3: 1})
    assert flow.value == 2


@given(NODES.filter(bool), ASKED, st.data())
def test_nodes_are_taken(nodes, asked, data):
    """A node can be taken exactly if no promise gets less, besides the one that it is taken for."""
    flow = flow_of(nodes, asked)
    for _ in range(data.draw(st.integers(1, len(nodes)))):
        taken = _take_one(flow, nodes, asked, data)
        if taken:
            flow, nodes, asked = taken


def test_each_node_of_each_small_inventory():
    """The same as above, for all inventories of three promises of one node at most, and for all choices."""
    kinds = [frozenset(kind) for size in (1, 2, 3) for kind in itertools.combinations(range(3), size)]
    for size, numbers in itertools.product((1, 2, 3), itertools.product((0, 1), repeat=3)):
        asked = dict(enumerate(numbers))
        for nodes in itertools.combinations_with_replacement(kinds, size):
            before = flow_of(nodes, asked)
            for node, used_up in itertools.product(set(nodes), (None, *(each for each in asked if asked[each]))):
                if used_up is not None and used_up not in node:
                    continue
                rest = list(nodes)
                rest.remove(node)
                less = asked if used_up is None else asked | {used_up: 0}
                after = before.after(node, used_up)
                assert (after is not None) == can_take(kept(before), used_up, rest, less)
                if after:
                    check(after, rest, less)


def _take_one(flow, nodes, asked, data):
    """Take a node. Return the flow after it, the nodes and what is asked for; None if it cannot be taken."""
    node = data.draw(st.sampled_from(nodes))
    used_up = data.draw(st.sampled_from([None, *(promise for promise in sorted(node) if asked[promise])]))
    rest = list(nodes)
    rest.remove(node)
    less = asked if used_up is None else asked | {used_up: asked[used_up] - 1}
    after = flow.after(node, used_up)
    assert (after is not None) == can_take(kept(flow), used_up, rest, less)
    if after:
        check(after, rest, less)
        return after, rest, less
    if used_up is None:
        # Each of them gets all that it asks for, or as many as there are nodes that match one of them.
        needing = flow.needing(node)
        matching = [each for each in nodes if each & set(needing)]
        assert needing
        assert node in matching
        assert sum(flow.kept(promise) for promise in needing) == len(matching)
    return None


def test_a_promise_is_kept_although_another_one_is_not():
    """A claim for one's own promise takes no node from another one that a third would then get instead."""
    flow = Flow({0: 1, 1: 1, 2: 1}, Counter([frozenset([0, 1]), frozenset([0, 2])]))
    assert kept(flow) == (1, 1, 0)
    assert flow.after(frozenset([0, 1]), 0) is None
    after = flow.after(frozenset([0, 2]), 0)
    assert after
    assert kept(after) == (0, 1, 0)
