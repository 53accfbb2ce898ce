"""The commands and the library for capacity reservations, against a running service."""

import pytest
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from tests.support.cli import BAREMETAL, OPENSTACK, rows, run
from tests.support.reservations import instance

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
PROJECT = 'spring'


@pytest.fixture
def client(server):
    return Client(session.Session(noauth.NoAuth()), endpoint_override=server.base)


@pytest.fixture
def promise(client):
    """A capacity reservation of the only node with CUSTOM_FAST."""
    created = client.reserve_capacity('spring', PROJECT, 1, required=['CUSTOM_FAST'])
    yield created
    client.release_capacity(created['uuid'])


@BOTH
def test_a_capacity_reservation(server, prefix):
    """The commands work beside ``baremetal capacity``."""
    reservation = (*prefix, 'capacity', 'reservation')
    options = ('--project', PROJECT, '--count', '2', '--expires-at', '2099-01-01T00:00:00+00:00')
    errors = run(server, *reservation, 'create', 'spring', *options, '--trait', 'CUSTOM_FAST', code=1)
    assert 'Not so many nodes can be promised: 2. Free nodes that match: 1.' in errors
    assert '--project' in run(server, *reservation, 'create', 'spring', '--count', '2', code=2)
    created = rows(server, *reservation, 'create', 'spring', *options, '--property', 'trait:CUSTOM_A=required')
    assert [created[name] for name in ('name', 'project', 'count', 'used', 'left', 'free', 'short')] == [
        *('spring', PROJECT, 2, 0),
        *(2, 2, 0),
    ]
    assert created['request'] == {'flavor': {'extra_specs': {'trait:CUSTOM_A': 'required'}}}
    assert rows(server, *reservation, 'show', 'spring') == created
    [listed] = rows(server, *reservation, 'list')
    assert (listed['Name'], listed['Left'], listed['Expires at']) == ('spring', 2, created['expires_at'])
    [every] = rows(server, *reservation, 'list', '--long')
    assert (every['UUID'], every['Request']) == (created['uuid'], created['request'])
    [counted] = rows(server, *prefix, 'capacity', '--trait', 'CUSTOM_A')
    assert counted['Matching'] == 2
    errors = run(server, *reservation, 'delete', 'spring', 'autumn', code=1)
    assert errors.strip() == (
        'Failed to delete capacity reservation autumn: Capacity reservation autumn could not be found.'
    )
    assert rows(server, *reservation, 'list') == []


def test_all_nodes_in_one_group(server, client):
    create = (*BAREMETAL, 'capacity', 'reservation', 'create', 'spring', '--project', PROJECT, '--count', '1')
    created = rows(server, *create, '--same', 'trait:CUSTOM_FA', '--same', 'driver')
    assert created['groups'] == {'trait:CUSTOM_FA': 'CUSTOM_FAST', 'driver': 'fake-hardware'}
    assert [item['policy'] for item in created['request']['topology']] == ['affinity', 'affinity']
    client.release_capacity(created['uuid'])


@BOTH
def test_a_claim_for_it(server, promise, prefix):
    """The nodes of a group count for it, too."""
    create, group = ((*prefix, 'reservation', *verb, 'create') for verb in ((), ('group',)))
    traits = ('--trait', 'CUSTOM_FAST')
    assert 'spring' in run(server, *create, instance(1), *traits, code=1)
    for command in (create, group):
        more = () if command == group else traits
        run(server, *command, instance(1), '--capacity-reservation', 'spring', *more)
        [listed] = rows(server, *prefix, 'capacity', 'reservation', 'list')
        assert (listed['Used'], listed['Left'], listed['Short']) == (1, 0, 0)
        errors = run(server, *create, instance(2), '--capacity-reservation', 'spring', '--trait', 'CUSTOM_A', code=1)
        assert 'spring' in errors
        [held] = rows(server, *prefix, 'reservation', 'list')
        run(server, *prefix, 'reservation', 'delete', held['UUID'])


def test_the_library(client, promise):
    assert client.capacity_reservation('spring') == client.capacity_reservation(promise['uuid']) == promise
    client.reserve_capacity('summer', PROJECT, 1, required=['CUSTOM_A'])
    assert [each['name'] for each in client.capacity_reservations(limit=1, sort_key='name')] == ['spring', 'summer']
    with pytest.raises(Failed) as refused:
        client.reserve(instance(1), required=['CUSTOM_A'])
    assert (refused.value.status, refused.value.code) == (409, 'baremetal.capacity_reservation.promised')
    held = client.reserve(instance(1), required=['CUSTOM_A'], capacity_reservation='summer')
    assert client.capacity_reservation('summer')['used'] == 1
    client.release(held['uuid'])
    client.release_capacity('summer')
    with pytest.raises(Failed, match='could not be found'):
        client.capacity_reservation('summer')
