"""Helpers for tests of bulk edits of traits."""

import uuid

import sqlalchemy as sa

from ironic_traits.db import names, tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_providers

PATH = '/v1/traits/edits'
#: The traits of the nodes of ``insert_nodes``.
TRAITS = ('CUSTOM_0', 'CUSTOM_1', 'CUSTOM_2')


def ask(client, **body):
    """Send an edit, and return the response."""
    return client.ask('POST', PATH, body)


def preview(client, **body):
    """Return the preview of an edit."""
    response = ask(client, **body, preview=True)
    assert response.status_int == 200, response.text
    return response.json


def edit(client, **body):
    """Preview an edit, execute it, and return the response."""
    response = ask(client, **body, digest=preview(client, **body)['digest'])
    assert response.status_int == 200, response.text
    return response.json


def state(client):
    """Return the traits of all nodes: {name: {'uuid': …, 'name': …, 'traits': […]}}."""
    nodes, path = {}, '/v1/nodes?fields=uuid,name,traits'
    while path:
        page = client.get(path)
        nodes |= {node['name']: node for node in page['nodes']}
        path = page.get('next')
    return nodes


def insert_nodes(service, count, traits=TRAITS):
    """Insert nodes of the class gold with their providers and traits.

    :param service: ironic_traits.service.Service.
    """
    json = [column.name for column in tables.nodes.c if column.name in ('properties', 'extra', 'raid_config')]
    json += ['driver_info', 'driver_internal_info', 'instance_info', 'clean_step', 'target_raid_config']
    columns = {'driver': 'fake-hardware', 'provision_state': 'enroll', 'created_at': now(), **dict.fromkeys(json, {})}
    rows = [
        columns | {'uuid': str(uuid.UUID(int=number + 1)), 'name': f'node-{number:06}', 'resource_class': 'gold'}
        for number in range(count)
    ]
    with service.write() as connection:
        names.ensure(connection, tables.traits, traits)
        connection.execute(sa.insert(tables.nodes), rows)
        ids = connection.execute(sa.select(tables.nodes.c.id).order_by(tables.nodes.c.uuid)).scalars().all()
        node_providers.create_all(connection, list(zip(ids, rows, strict=True)))
        holds = [{'node_id': node_id, 'trait': trait} for node_id in ids for trait in traits]
        connection.execute(sa.insert(tables.node_traits), holds)
