"""Histories of mirrored nodes: entries are in the order of the events, also if the mirror reads at the same time."""

import logging

import pytest

from ironic_traits.mirror.cloud import Cloud
from ironic_traits.mirror.follower import Follower
from tests.support.claims import INSTANCES
from tests.support.mirror import catch_up


class Between(Cloud):
    """A cloud.

    :ivar then: function that is called once, when changes were read, and before they are stored; None for none.
    :ivar before: function that is called once, before the node of a claim is read; None for none.
    """

    then = before = None

    def get(self, path, **query):
        if query.get('fields') == 'instance_uuid,provision_state' and self.before:
            before, self.before = self.before, None
            before()
        document = super().get(path, **query)
        if query.get('sort_key') == 'updated_at' and 'marker' in query and document.get('nodes') and self.then:
            then, self.then = self.then, None
            then()
        return document


@pytest.fixture
def cloud(side):
    """The cloud of a Side."""
    cloud = Between('far', 10)
    side.mirror = Follower(side.app.service, 'far', cloud)
    for node in side.nodes:
        side.ironic.patch(f'/v1/nodes/{node}', description='old')
    catch_up(side.mirror)
    return cloud


def history(side, node):
    entries = side.client.get(f'/v1/nodes/{node}/history?detail=true&limit=1000')['history']
    moments = [each['created_at'] for each in entries]
    assert moments == sorted(moments)
    return [each['event'] for each in entries]


def test_release_between_read_and_store(side, cloud):
    """The mirror has read the instance, which is released before the mirror stores it."""
    reservation = side.reserve()
    node = reservation['node_uuid']
    side.ironic.patch(f'/v1/nodes/{node}', description='new')
    cloud.then = lambda: side.delete(f'/v1/reservations/{reservation["uuid"]}')
    catch_up(side.mirror)
    assert side.is_free(node)
    assert history(side, node)[1:] == [
        f'Reservation {reservation["uuid"]} holds the node for instance {INSTANCES[0]}.',
        f'Reservation {reservation["uuid"]} was deleted.',
    ]


def test_claim_between_read_and_store(side, cloud):
    """The mirror has read the node without an instance, which is reserved before the mirror stores it."""
    node, reserved = side.nodes[0], []
    side.ironic.patch(f'/v1/nodes/{node}', description='new')
    cloud.then = lambda: reserved.append(side.reserve(node_uuid=node))
    catch_up(side.mirror)
    assert (side.there(node), side.here(node)) == (INSTANCES[0], (INSTANCES[0], reserved[0]['uuid']))
    assert history(side, node)[1:] == [f'Reservation {reserved[0]["uuid"]} holds the node for instance {INSTANCES[0]}.']


def test_changes_of_the_cloud(side, cloud):
    """Changes there, and claims here, are in one order."""
    node = side.nodes[0]
    side.ironic.patch(f'/v1/nodes/{node}', instance_uuid=INSTANCES[5])
    catch_up(side.mirror)
    side.ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
    catch_up(side.mirror)
    reservation = side.reserve(node_uuid=node)['uuid']
    side.ironic.ask('PUT', f'/v1/nodes/{node}/maintenance', {'reason': 'broken'})
    catch_up(side.mirror)
    side.delete(f'/v1/reservations/{reservation}')
    catch_up(side.mirror)
    assert history(side, node)[1:] == [
        f'Instance {INSTANCES[5]} was set.',
        f'Instance {INSTANCES[5]} was removed.',
        f'Reservation {reservation} holds the node for instance {INSTANCES[0]}.',
        'Maintenance was set: broken',
        f'Reservation {reservation} was deleted.',
    ]


def test_release_while_a_claim_is_settled(side, cloud, caplog):
    """The mirror compares a claim with the cloud, and its reservation is deleted meanwhile. Nothing is wrong."""
    reservation = side.reserve()
    node = reservation['node_uuid']
    catch_up(side.mirror)
    side.ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
    cloud.before = lambda: side.delete(f'/v1/reservations/{reservation["uuid"]}')
    for _ in range(2):
        catch_up(side.mirror)
    assert side.is_free(node)
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert history(side, node)[-1] == f'Reservation {reservation["uuid"]} was deleted.'
