"""Writes to the providers of clients: the generation, and the time of the last change."""

import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.placement import inventories, single_provider


@pytest.fixture
def put(client):
    """Function that replaces the inventories of a provider, which is ``put.path``, and returns the response."""
    path = f'/resource_providers/{client.placement("POST", "/resource_providers", {"name": "client"}).json["uuid"]}'

    def send(generation):
        body = {'inventories': {'VCPU': {'total': 1}}, 'resource_provider_generation': generation}
        return client.placement('PUT', f'{path}/inventories', body)

    send.path = path
    return send


def test_a_write_is_the_last_change(app, client, put):
    before = datetime.datetime.fromisoformat('2026-01-01')
    with app.service.write() as connection:
        connection.execute(sa.update(tables.resource_providers).values(created_at=before, updated_at=before))
    assert client.placement('GET', put.path).last_modified.replace(tzinfo=None) == before
    assert put(0).status_int == 200
    assert client.placement('GET', put.path).last_modified.replace(tzinfo=None) > before


def test_a_write_is_overtaken_on_another_machine(client, monkeypatch, put):
    """As on a Galera cluster, where another machine can raise the generation in spite of the lock."""

    def take(connection, uuid, generation=None):
        provider = single_provider.take(connection, uuid, generation)
        single_provider.bump(connection, provider)
        return provider

    with monkeypatch.context() as patched:
        patched.setattr(inventories, 'take', take)
        response = put(0)
    (error,) = response.json['errors']
    assert (response.status_int, error['code']) == (409, 'placement.concurrent_update')
    assert 'Another thread concurrently updated the resource provider data' in error['detail']
    assert client.placement('GET', put.path).json['generation'] == 0
    assert put(0).json['resource_provider_generation'] == 1


def test_the_reshaper_does_not_check_what_is_reserved(client, put):
    """As in Placement: an inventory that PUT refuses can be written by the reshaper. It has no room."""
    provider = put.path.removeprefix('/resource_providers/')
    inventory = {'inventories': {'VCPU': {'total': 10, 'reserved': 11}}, 'resource_provider_generation': 0}
    assert client.placement('PUT', f'{put.path}/inventories', inventory).status_int == 400
    body = {'inventories': {provider: inventory}, 'allocations': {}}
    assert client.placement('POST', '/reshaper', body).status_int == 204
    assert client.placement('GET', f'{put.path}/inventories/VCPU').json['reserved'] == 11
    assert client.placement('GET', '/resource_providers?resources=VCPU:1').json['resource_providers'] == []
    assert client.placement('GET', '/allocation_candidates?resources=VCPU:1').json['allocation_requests'] == []


@pytest.mark.parametrize(
    ('reserved', 'ratio', 'status'), [(1, -1, 200), (1, -3.4e38, 200), (1, -1e39, 400), (0, -1, 400)]
)
def test_negative_allocation_ratios(client, put, reserved, ratio, status):
    """As in Placement, they are refused only if they make the capacity negative."""
    inventory = {'total': 1, 'reserved': reserved, 'allocation_ratio': ratio}
    body = {'inventories': {'VCPU': inventory}, 'resource_provider_generation': 0}
    assert client.placement('PUT', f'{put.path}/inventories', body).status_int == status
    assert client.placement('GET', '/allocation_candidates?resources=VCPU:1').json['allocation_requests'] == []
