"""Provision states of nodes: requests, and the times of transitions."""

import time

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.deploy import states
from ironic_traits.inventory.provisioning import transitions as carried

LONG = 300


def ask(client, uuid, target, **more):
    """Request a provision state, which must be accepted."""
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': target, **more})
    assert response.status_int == 202, response.text


def state(client, uuid):
    """Return the provision state of a node."""
    return client.get(f'/v1/nodes/{uuid}/states')['provision_state']


def until(client, uuid, names, seconds=30):
    """Wait until a node is in one of some states, and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        node = client.get(f'/v1/nodes/{uuid}')
        if node['provision_state'] in names:
            return node
        time.sleep(0.02)
    raise TimeoutError(node)


@retried
def pass_time(app, seconds=LONG):
    """Move the times of all transitions back, as if some seconds had passed. Return how many there are."""
    with app.service.write() as connection:
        rows = connection.execute(sa.select(tables.transitions)).all()
        for row in rows:
            earlier = {
                name: getattr(row, name) - carried.datetime.timedelta(seconds=seconds)
                for name in ('due_at', 'leased_until')
                if getattr(row, name)
            }
            connection.execute(
                sa.update(tables.transitions).where(tables.transitions.c.node_id == row.node_id).values(earlier)
            )
        return len(rows)


MORE = {
    'clean': {'clean_steps': [{'interface': 'bios', 'step': 'factory_reset'}]},
    'rescue': {'rescue_password': 'hush-hush'},
}


def put_in(app, uuid, name):
    """Put a node into a provision state."""
    with app.service.write() as connection:
        changes = {'provision_state': name, 'power_state': states.POWER_OFF}
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
