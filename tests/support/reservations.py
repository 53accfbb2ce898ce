"""Helpers for tests of reservations."""

import datetime

import sqlalchemy as sa

from ironic_traits.db import tables

PATH = '/v1/reservations'


def instance(number):
    """Return the uuid of an instance."""
    return f'bbbbbbbb-0000-4000-8000-{number:012}'


def available(client, **fields):
    """Create an available node, and return its uuid."""
    response = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields}, version='1.10')
    assert response.status_int == 201, response.text
    return response.json['uuid']


def available_of(client, name, **fields):
    """Create an available node of a class, and return its uuid."""
    uuid = available(client, **fields)
    patch = [{'op': 'add', 'path': '/resource_class', 'value': name}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    return uuid


def reserve(client, number, node_idents, **more):
    """Request a reservation, and return the response."""
    return client.ask('POST', PATH, {'instance_uuid': instance(number), 'node_uuid': node_idents, **more})


def expire(app):
    """Move the ends of all reservations into the past."""
    with app.service.write() as connection:
        ends = tables.reservations.c.expires_at.is_not(None)
        past = datetime.datetime.fromisoformat('2026-01-01')
        connection.execute(sa.update(tables.reservations).where(ends).values(expires_at=past))
