"""How claims end, on each database. A race with a real cloud gets to some of these ends only at times."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.core import mirror_exclusions
from ironic_traits.inventory.core.mirror_claim_states import LOST, TAKEN, TAKING, UNDOING
from ironic_traits.inventory.holds import mirror_claims
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_settlements
from ironic_traits.inventory.mirrored.mirror_settlements import Finding
from ironic_traits.placement import allocations
from tests.support.mirrored_nodes import INSTANCE, OTHER, UUIDS, claim, demand


@pytest.fixture
def held(app, far):
    """A mirror with two nodes. An instance has allocated the first one in Placement, and is on it in the cloud."""
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    far.nodes({'instance_uuid': INSTANCE}, {'number': 1})
    allocations.replace(app.service, [demand(INSTANCE, UUIDS[0])])
    return far


def state(app):
    """Return the state of the claim; None if it does not exist."""
    with app.service.read() as connection:
        return connection.scalar(sa.select(tables.mirror_claims.c.state))


def put(app, number, instance):
    """Store the instance of a node, as after a read of the cloud."""
    with app.service.write() as connection:
        same = tables.nodes.c.uuid == UUIDS[number]
        connection.execute(sa.update(tables.nodes).where(same).values(instance_uuid=instance))


def test_an_attempt(app, held):
    claim(app.service, TAKING)
    assert mirror_claims.finish(app.service, [OTHER, UUIDS[8]]) is False
    assert state(app) == TAKING
    assert mirror_claims.finish(app.service, [OTHER]) is True
    assert state(app) == TAKEN


def test_a_node_that_is_lost_in_its_cloud(app, client, held):
    """Its allocation in Placement stays. When the cloud shows the instance again, the claim holds the node again."""
    claim(app.service, TAKEN)
    put(app, 0, None)
    (due,) = mirror_settlements.due(app.service, 'far')
    assert mirror_settlements.end(held.context, due, Finding(None), 'the cloud has removed the instance')
    assert state(app) == LOST
    events = [each['event'] for each in client.get(f'/v1/nodes/{UUIDS[0]}/history?detail=True')['history']]
    assert [each for each in events if 'is held in this service only' in each]
    assert mirror_settlements.forget(held.context, 'far') == 0
    mirror_settlements.confirm(held.context, due)
    assert (state(app), client.get(f'/v1/nodes/{UUIDS[0]}')['instance_uuid']) == (TAKEN, INSTANCE)


def test_a_claim_whose_holder_ends_meanwhile(app, held):
    """Who has ended the holder, settles the claim."""
    claim(app.service, TAKEN)
    put(app, 0, None)
    (due,) = mirror_settlements.due(app.service, 'far')
    allocations.delete(app.service, INSTANCE)
    assert mirror_settlements.end(held.context, due, Finding(None), 'the test ends') is False
    assert state(app) == TAKEN


def test_a_lost_claim_without_a_holder_is_forgotten(app, held):
    claim(app.service, LOST)
    allocations.delete(app.service, INSTANCE)
    assert mirror_settlements.forget(held.context, 'far') == 1
    assert state(app) is None


def test_a_claim_that_could_not_be_settled(app, held):
    """Another process settles it at once. The instance that another node has by then is not taken over."""
    allocations.delete(app.service, INSTANCE)
    claim(app.service, TAKEN)
    assert mirror_settlements.begin(held.context, OTHER)
    assert mirror_settlements.begin(held.context, OTHER) is None
    mirror_settlements.postpone(held.context, OTHER)
    begun = mirror_settlements.begin(held.context, OTHER)
    assert begun.state == UNDOING
    put(app, 1, UUIDS[8])
    assert mirror_settlements.end(held.context, begun, Finding(UUIDS[8]), 'the test ends')
    with app.service.read() as connection:
        instances = connection.scalars(sa.select(tables.nodes.c.instance_uuid).order_by(tables.nodes.c.uuid)).all()
    assert instances == [None, UUIDS[8]]


def test_clouds_that_cannot_be_read(held):
    assert mirror_exclusions.unreadable(held.context) == set()
    mirror_clouds.save(held.context, held.turn, failing_since=mirror_clouds.now(held.context), last_error='It is off.')
    assert mirror_exclusions.unreadable(held.context) == {'far'}
