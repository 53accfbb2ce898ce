"""Which allocations need that their node is held in its cloud first, and for which it is."""

import functools

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core.mirror_claim_states import LOST, TAKEN, TAKING, UNDOING, WATCHED
from ironic_traits.inventory.mirrored import mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.placement import allocations, failures, node_claims
from ironic_traits.placement.consumers import Demand
from tests.support.client import message
from tests.support.mirrored_nodes import INSTANCE, OTHER, UUIDS, Store


def _demand(consumer, *nodes):
    return Demand(consumer, {node: {'CUSTOM_GOLD': 1} for node in nodes}, 'p', 'u')


def _claim(app, state):
    """Insert a claim of the first node, by an allocation in Placement."""
    row = {'uuid': OTHER, 'holder_uuid': OTHER, 'cloud': 'far', 'created_at': now()}
    row |= {'node_uuid': UUIDS[0], 'instance_uuid': INSTANCE, 'state': state}
    with app.service.write() as connection:
        connection.execute(sa.insert(tables.mirror_claims).values(row))


def _far(cloud):
    return cloud == 'far'


@pytest.fixture
def check(app):
    """Function that returns the reason why a consumer cannot get nodes, or None."""

    def check(consumer, *nodes, needs_claim=_far):
        with app.service.write() as connection:
            try:
                node_claims.check(connection, [_demand(consumer, *nodes)], needs_claim)
            except failures.NodeNotHeld as failure:
                return str(failure)
        return None

    return check


@pytest.fixture
def missing(app):
    """Function that returns the uuids of the nodes that must be held in their clouds for a consumer."""

    def missing(consumer, *nodes, needs_claim=_far):
        with app.service.read() as connection:
            found = node_claims.missing(connection, [_demand(consumer, *nodes)], needs_claim)
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
    _claim(app, state)
    found = check(INSTANCE, UUIDS[0])
    assert found is None if reason is None else reason in found
    for consumer, node in ((OTHER, UUIDS[0]), (INSTANCE, UUIDS[1])):
        assert 'it is not held there' in check(consumer, node)


def test_nodes_that_the_consumer_has(app, far, check, missing):
    """A consumer that already has a node may change its allocations. Other consumers and nodes are not affected."""
    far.nodes({}, {'number': 1}, {'number': 2})
    allocations.replace(app.service, [_demand(INSTANCE, UUIDS[0]), _demand(OTHER, UUIDS[1])])
    assert (check(INSTANCE, UUIDS[0]), missing(INSTANCE, UUIDS[0])) == (None, [])
    for consumer, node in ((OTHER, UUIDS[0]), (INSTANCE, UUIDS[1]), (INSTANCE, UUIDS[2]), (UUIDS[7], UUIDS[0])):
        assert missing(consumer, node) == [node]
        assert 'it is not held there' in check(consumer, node)


@pytest.mark.parametrize('write', [allocations.replace, functools.partial(allocations.reshape, reshapes={})])
def test_each_write_checks_the_claims(app, far, write):
    """Under the locks, after the layer above has looked."""
    far.nodes({})
    with pytest.raises(failures.NodeNotHeld):
        write(app.service, demands=[_demand(OTHER, UUIDS[0])], needs_claim=_far)


def test_an_instance_that_has_allocated_its_node_needs_no_reservation(app, client, far):
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    far.nodes({'instance_uuid': INSTANCE}, {'number': 1})
    _claim(app, TAKEN)
    allocations.replace(app.service, [_demand(INSTANCE, UUIDS[0])])
    response = client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': UUIDS[1]})
    assert (response.status_int, 'It needs no reservation' in message(response)) == (409, True)


def test_a_claim_that_could_not_be_settled(app, far):
    """Another process settles it at once. The instance that another node has by then is not taken over."""
    far.nodes({'instance_uuid': INSTANCE}, {'number': 1})
    _claim(app, TAKEN)
    assert mirror_settlements.begin(far.context, OTHER)
    assert mirror_settlements.begin(far.context, OTHER) is None
    mirror_settlements.postpone(far.context, OTHER)
    claim = mirror_settlements.begin(far.context, OTHER)
    assert claim.state == UNDOING
    elsewhere = {'number': 1, 'instance_uuid': UUIDS[8]}
    far.nodes(elsewhere)
    assert mirror_settlements.end(far.context, claim, Finding(UUIDS[8]), 'the test ends')
    with app.service.read() as connection:
        instances = connection.scalars(sa.select(tables.nodes.c.instance_uuid).order_by(tables.nodes.c.uuid)).all()
    assert instances == [None, UUIDS[8]]
