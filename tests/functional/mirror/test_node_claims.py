"""Which allocations need that their node is held in its cloud first, and for which it is."""

import functools

import pytest

from ironic_traits.inventory.core.mirror_claim_states import LOST, TAKEN, TAKING, UNDOING, WATCHED
from ironic_traits.placement import allocations, failures, node_claims
from tests.support.client import message
from tests.support.mirrored_nodes import INSTANCE, OTHER, UUIDS, Store, claim, demand


def _far(cloud):
    return cloud == 'far'


@pytest.fixture
def check(app):
    """Function that returns the reason why a consumer cannot get nodes, or None."""

    def check(consumer, *nodes, needs_claim=_far):
        with app.service.write() as connection:
            try:
                node_claims.check(connection, [demand(consumer, *nodes)], needs_claim)
            except failures.NodeNotHeld as failure:
                return str(failure)
        return None

    return check


@pytest.fixture
def missing(app):
    """Function that returns the uuids of the nodes that must be held in their clouds for a consumer."""

    def missing(consumer, *nodes, needs_claim=_far):
        with app.service.read() as connection:
            found = node_claims.missing(connection, [demand(consumer, *nodes)], needs_claim)
        assert {each for each, _ in found} <= {consumer}
        return [node.uuid for _, node in found]

    return missing


def test_nodes_that_need_a_claim(app, client, far, check, missing):
    """Own nodes, nodes of other clouds, and providers that are not nodes need none."""
    far.nodes({}, {'number': 1, 'instance_uuid': INSTANCE}, {'number': 2})
    Store(app.service, 'near').nodes({'number': 3})
    own = client.node(resource_class='gold')['uuid']
    others = (own, UUIDS[3], UUIDS[8])
    assert (missing(OTHER, *others), check(OTHER, *others)) == ([], None)
    assert missing(OTHER, UUIDS[0], *others) == [UUIDS[0]]
    assert f'node {UUIDS[0]} cannot be held in its cloud far: it is not held there' in check(OTHER, *others, UUIDS[0])
    assert missing(OTHER, UUIDS[0], own, needs_claim=lambda cloud: True) == [UUIDS[0]]
    # Its capacity is checked later.
    assert (missing(OTHER, UUIDS[1]), check(OTHER, UUIDS[1])) == ([], None)
    assert (missing(OTHER, UUIDS[0], needs_claim=node_claims.never), missing(OTHER)) == ([], [])


@pytest.mark.parametrize(
    ('state', 'reason'),
    [
        (TAKING, 'the end of an attempt before this one is not known yet'),
        (TAKEN, None),
        (UNDOING, 'the end of an attempt before this one is not known yet'),
        (WATCHED, 'it is not held there'),
        (LOST, 'it is not held there'),
    ],
)
def test_state_of_the_claim(app, far, check, state, reason):
    """Only the claim of this node for this consumer counts."""
    far.nodes({}, {'number': 1})
    claim(app.service, state)
    found = check(INSTANCE, UUIDS[0])
    assert found is None if reason is None else reason in found
    for consumer, node in ((OTHER, UUIDS[0]), (INSTANCE, UUIDS[1])):
        assert 'it is not held there' in check(consumer, node)


def test_nodes_that_the_consumer_has(app, far, check, missing):
    """A consumer that already has a node may change its allocations. Other consumers and nodes are not affected."""
    far.nodes({}, {'number': 1}, {'number': 2})
    allocations.replace(app.service, [demand(INSTANCE, UUIDS[0]), demand(OTHER, UUIDS[1])])
    assert (check(INSTANCE, UUIDS[0]), missing(INSTANCE, UUIDS[0])) == (None, [])
    for consumer, node in ((OTHER, UUIDS[0]), (INSTANCE, UUIDS[1]), (INSTANCE, UUIDS[2]), (UUIDS[7], UUIDS[0])):
        assert missing(consumer, node) == [node]
        assert 'it is not held there' in check(consumer, node)


@pytest.mark.parametrize('write', [allocations.replace, functools.partial(allocations.reshape, reshapes={})])
def test_each_write_checks_the_claims(app, far, write):
    """Under the locks, after the layer above has looked."""
    far.nodes({})
    with pytest.raises(failures.NodeNotHeld):
        write(app.service, demands=[demand(OTHER, UUIDS[0])], needs_claim=_far)


def test_an_instance_that_has_allocated_its_node_needs_no_reservation(app, client, far):
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    far.nodes({'instance_uuid': INSTANCE}, {'number': 1})
    claim(app.service, TAKEN)
    allocations.replace(app.service, [demand(INSTANCE, UUIDS[0])])
    response = client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': UUIDS[1]})
    assert (response.status_int, 'It needs no reservation' in message(response)) == (409, True)
