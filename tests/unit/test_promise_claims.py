"""What a request may take beside capacity reservations, compared with all ways to give the nodes to them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.inventory.holds.promise_claims import Claim, Stale
from ironic_traits.inventory.holds.promised_nodes import Promise, PromisedNodes
from tests.unit.test_promises import can_take, most, ways

#: The id of the first node; its position is 0.
FIRST = 100
#: The promises, and the project of each.
PROJECTS = {1: 'p', 2: 'q', 3: 'p'}
PROJECT = st.sampled_from(['p', 'q', 'r', None])
#: Nodes as sets of the promises that they match, and {promise: number}.
NODES = st.lists(st.frozensets(st.sampled_from(sorted(PROJECTS))), min_size=1, max_size=6)
ASKED = st.fixed_dictionaries(dict.fromkeys(PROJECTS, st.integers(0, 3)))


def bits(places):
    """Return a set of nodes."""
    return sum(1 << place for place in places)


def places(nodes):
    """Return the positions of a set of nodes."""
    return [place for place in range(nodes.bit_length()) if nodes >> place & 1]


def promised(nodes, asked, gone=(), before=None):
    """Return the promises and the nodes.

    :param gone: positions of the nodes that have changed since ``before`` was read.
    """
    free = [place for place in range(len(nodes)) if place not in gone]
    every = [
        Promise(
            id=promise,
            uuid=f'uuid-{promise}',
            name=f'name-{promise}',
            project=PROJECTS[promise],
            number=number,
            generation=0,
            used=0,
            left=number,
            free=bits(place for place in free if promise in nodes[place]),
            lasting=0,
            request=None,
        )
        for promise, number in asked.items()
    ]

    def position(ident):
        return ident - FIRST if 0 <= ident - FIRST < len(nodes) else None

    def ids(chosen, limit):
        return [FIRST + place for place in places(chosen)][:limit]

    return PromisedNodes(every, bits(free), position, ids, before)


class Model:
    """What is free, and what promises ask for.

    :param nodes: {id: the promises that it matches}.
    """

    def __init__(self, nodes, asked):
        # If not all can be kept, the first ones are.
        self.nodes, self.asked, self._kept = dict(nodes), dict(sorted(asked.items())), None

    def fits(self, ident, promise=None):
        """Whether no promise gets less without a node than before the request, besides the one that it is taken for."""
        if self._kept is None:
            self._kept = dict(zip(self.asked, max(ways(list(self.nodes.values()), self.asked)), strict=True))
        rest = [each for other, each in self.nodes.items() if other != ident]
        less = self.asked if promise is None else self.asked | {promise: self.asked[promise] - 1}
        return can_take(tuple(self._kept.values()), promise, rest, less)

    def take(self, ident, project, named=None):
        """Take a node, and return whether it was possible."""
        matching = [promise for promise in sorted(self.nodes[ident]) if self.asked[promise]]
        if named:
            options = [named] if named in matching else []
        else:
            options = [*(promise for promise in matching if PROJECTS[promise] == project), None]
        for promise in options:
            if self.fits(ident, promise):
                del self.nodes[ident]
                if promise:
                    self.asked[promise] -= 1
                    self._kept[promise] = max(self._kept[promise] - 1, 0)
                return True
        return False


def by_id(nodes):
    """Return the nodes by their ids."""
    return {FIRST + place: node for place, node in enumerate(nodes)}


def test_each_node_of_a_request_counts():
    """Two of four nodes are promised, so a request of another project gets two."""
    claim = Claim(promised([frozenset([1])] * 4, {1: 2}))
    assert [claim.take(FIRST + place, 'r') for place in range(3)] == [True, True, False]


@given(NODES, ASKED, st.sampled_from([None, *PROJECTS]), st.data())
def test_a_claim(nodes, asked, named, data):
    """Each node can be taken exactly if the promises can be kept without it."""
    claim, model = Claim(promised(nodes, asked), named and f'uuid-{named}'), Model(by_id(nodes), asked)
    project = data.draw(PROJECT)
    alike, refused, broken = {}, set(), {}
    for ident, node in model.nodes.items():
        alike.setdefault(frozenset(promise for promise in node if asked[promise]), []).append(ident)
    for ident in data.draw(st.permutations(sorted(model.nodes))):
        node = model.nodes[ident]
        is_taken = claim.take(ident, project)
        assert is_taken == model.take(ident, project, named)
        if not is_taken and not named:
            refused.add(frozenset(promise for promise in node if asked[promise]))
            for promise in claim.broken.keys() - broken.keys():
                free = sum(promise in each for each in model.nodes.values())
                broken[promise] = {'name': f'name-{promise}', 'left': model.asked[promise], 'free': free}
            assert broken
    if not named:
        assert claim.broken == broken
        assert sorted(claim.refused) == sorted(ident for of in refused for ident in alike[of])


@given(NODES, ASKED, st.data())
def test_an_estimate_without_a_change(nodes, asked, data):
    """It says the same as a reading to projects without promises, and nothing to others."""
    claim, model = Claim(promised(nodes, asked, before=promised(nodes, asked))), Model(by_id(nodes), asked)
    for ident in data.draw(st.permutations(sorted(model.nodes))):
        try:
            assert claim.take(ident, 'r')
        except Stale:
            assert not model.take(ident, 'r')
            break
        assert model.take(ident, 'r')
    for project in 'pq':
        if any(asked[promise] for promise in asked if PROJECTS[promise] == project):
            with pytest.raises(Stale):
                claim.take(FIRST, project)


@given(NODES, ASKED, st.data())
def test_an_estimate_is_careful(nodes, asked, data):
    """What can be taken according to an estimate can be taken, whatever the nodes are that have changed."""
    gone = data.draw(st.sets(st.sampled_from(range(len(nodes)))))
    claim = Claim(promised(nodes, asked, gone, before=promised(nodes, asked)))
    model = Model(by_id(nodes), {promise: data.draw(st.integers(0, number)) for promise, number in asked.items()})
    for place in gone:
        del model.nodes[FIRST + place]
        if data.draw(st.booleans()):
            model.nodes[FIRST + place] = data.draw(st.frozensets(st.sampled_from(sorted(PROJECTS))))
    for ident in data.draw(st.permutations(sorted(model.nodes))):
        try:
            assert claim.take(ident, 'r')
        except Stale:
            break
        assert model.take(ident, 'r')


@given(NODES, ASKED)
def test_how_far_promises_are_kept(nodes, asked):
    """As many nodes as all promises can get together, and these nodes are enough for them."""
    found = promised(nodes, asked)
    kept = found.kept()
    assert kept.keys() == asked.keys()
    assert sum(kept.values()) == most(nodes, asked)
    parts = {found.part(promise) for promise in found.asking}
    ids = [ident for part in parts for ident in found.sufficient(min(part))]
    assert len(ids) == len(set(ids)) == most(nodes, asked)
    assert most([by_id(nodes)[ident] for ident in ids], asked) == most(nodes, asked)


def test_a_node_that_is_not_free():
    """The request begins again a limited number of times. After that, the node counts for no promise."""
    found = promised([frozenset([1])], {1: 1})
    for _ in range(100):
        with pytest.raises(Stale):
            Claim(found).take(FIRST + 7, 'r')
    claim = Claim(found)
    assert claim.take(FIRST + 7, 'r')
    assert not claim.take(FIRST, 'r')
    assert not Claim(found, 'uuid-1').take(FIRST + 7, 'p')


def test_an_own_node():
    """A node that the instance has allocated is not free, and not asked about."""
    claim = Claim(promised([frozenset([1])], {1: 1}))
    assert claim.take(FIRST, 'r', is_own=True)
    assert not claim.take(FIRST, 'r')


def test_a_promise_that_is_not_there():
    with pytest.raises(failures.CapacityReservationNotFound):
        Claim(promised([], {1: 1}), 'uuid-2')


def test_many_promises_that_do_not_overlap():
    """Each is a part of its own."""
    found = promised([frozenset([1]), frozenset([2, 3]), frozenset([3])], {1: 1, 2: 1, 3: 1})
    assert Counter(found.part(promise) for promise in PROJECTS) == {frozenset([1]): 1, frozenset([2, 3]): 2}
