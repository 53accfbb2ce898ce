"""The personas of the tests of access, and the database that they use: nodes of the project alpha, leased by beta."""

import pathlib

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.inventory.provisioning import workers
from tests.support import yaml_files
from tests.support.client import Client
from tests.support.service import make_app, upgraded

MATRIX = yaml_files.load(pathlib.Path(__file__).parents[1] / 'data' / 'access.yaml')
PERSONAS = MATRIX['personas']
#: In keystone a role implies the roles below it.
IMPLIED = {
    'admin': 'admin,manager,member,reader',
    'manager': 'manager,member,reader',
    'member': 'member,reader',
    'reader': 'reader',
    'service': 'service',
    'nobody': '',
}
PROJECTS = {'owner': 'alpha', 'lessee': 'beta', 'stranger': 'gamma'}

NODE = 'aaaaaaaa-0000-4000-8000-000000000001'
RESERVED = 'aaaaaaaa-0000-4000-8000-000000000002'
RECORD = 'bbbbbbbb-0000-4000-8000-00000000000'
INSTANCE = 'cccccccc-0000-4000-8000-000000000001'
ALLOCATION = 'cccccccc-0000-4000-8000-000000000003'
PROMISE = 'spring'
VIF = 'dddddddd-0000-4000-8000-000000000001'
PROVIDER = 'eeeeeeee-0000-4000-8000-000000000001'
CONSUMER = 'ffffffff-0000-4000-8000-000000000001'


def headers(persona):
    """Return the headers from which noauth2 takes a persona."""
    whose, _, role = persona.partition('_')
    result = {'X-Roles': IMPLIED[role or whose]}
    if whose == 'system':
        return result | {'X-Auth-Token': 'user', 'OpenStack-System-Scope': 'all'}
    if whose == 'domain':
        return result | {'X-Auth-Token': 'user', 'X-Domain-Id': 'default'}
    project = 'service' if persona == 'service' else PROJECTS.get(whose, 'alpha')
    return result | {'X-Auth-Token': f'user:{project}', 'X-Project-Name': project}


def allocate(client):
    """Create an allocation of the project alpha, of the node NODE if the project owns it."""
    body = {'uuid': ALLOCATION, 'resource_class': 'gold', 'owner': 'alpha', 'candidate_nodes': [NODE]}
    response = client.ask('POST', '/v1/allocations', body, headers=headers('system_admin'))
    assert response.status_int == 201, response.text


def promise(client):
    """Create a capacity reservation for the project alpha, of the node NODE."""
    body = {'name': PROMISE, 'project': 'alpha', 'count': 1, 'required': ['CUSTOM_A']}
    response = client.ask('POST', '/v1/capacity_reservations', body, headers=headers('system_admin'))
    assert response.status_int == 201, response.text


def make_template(path):
    """Create a SQLite database with two nodes, and one record of each kind that can belong to a node.

    :returns: uuid of its reservation.
    """
    with make_app(upgraded(f'sqlite:///{path}')) as app:
        client = Client(app)

        def make(path, document, version='1.115'):
            response = client.ask('POST', path, document, version=version)
            assert response.status_int in (201, 204), response.text
            return response.json if response.body else None

        make('/v1/chassis', {'uuid': f'{RECORD}1'})
        for uuid in (NODE, RESERVED):
            make('/v1/nodes', {'uuid': uuid, 'driver': 'fake-hardware'}, version='1.10')
            patch = [
                {'op': 'add', 'path': f'/{name}', 'value': value}
                for name, value in (
                    *(('owner', 'alpha'), ('lessee', 'beta'), ('resource_class', 'gold'), ('shard', 'one')),
                    *(('chassis_uuid', f'{RECORD}1'), ('driver_info', {'address': 'x', 'password': 'hush-hush'})),
                )
            ]
            assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
        client.ask('PUT', f'/v1/nodes/{NODE}/traits', {'traits': ['CUSTOM_A']})
        client.ask('PUT', f'/v1/nodes/{NODE}/inventory', {'inventory': {}})
        with app.service.write() as connection:
            # No client can reach this state: a trait of the node is vetoed. It lets DELETE of the trait and of its veto
            # succeed.
            node_id = connection.scalar(sa.select(tables.nodes.c.id).where(tables.nodes.c.uuid == NODE))
            connection.execute(sa.insert(tables.node_trait_vetoes).values(node_id=node_id, trait='CUSTOM_A'))
        make('/v1/portgroups', {'uuid': f'{RECORD}2', 'node_uuid': NODE})
        make('/v1/ports', {'uuid': f'{RECORD}3', 'node_uuid': NODE, 'address': '52:54:00:00:00:01'})
        make(
            '/v1/volume/connectors',
            {'uuid': f'{RECORD}4', 'node_uuid': NODE, 'type': 'ip', 'connector_id': '10.0.0.1'},
        )
        make(
            '/v1/volume/targets',
            {'uuid': f'{RECORD}5', 'node_uuid': NODE, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'x'},
        )
        steps = [{'interface': 'bios', 'step': 'factory_reset', 'order': 1}]
        mirror_clouds.take(app.service, mirror_clouds.Turn('berlin', 'a', 60), 'mirror1')
        workers.beat(app.service, f'{RECORD}8', hostname='conductor1', pid=1, drivers=['fake-hardware'])
        template = {'uuid': f'{RECORD}7', 'name': 'CUSTOM_A', 'steps': [steps[0] | {'args': {}, 'priority': 1}]}
        del template['steps'][0]['order']
        make('/v1/deploy_templates', template)
        rule = {'uuid': f'{RECORD}9', 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}]}
        make('/v1/inspection_rules', rule, version='1.96')
        make('/v1/runbooks', {'uuid': f'{RECORD}6', 'name': 'CUSTOM_A', 'steps': steps}, version='1.92')
        patch = [{'op': 'add', 'path': '/owner', 'value': 'alpha'}]
        assert client.ask('PATCH', f'/v1/runbooks/{RECORD}6', patch, version='1.92').status_int == 200
        client.ask('POST', f'/v1/nodes/{NODE}/vifs', {'id': VIF})
        held = make('/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': RESERVED})
        for method, path_, document in (
            ('POST', '/resource_providers', {'uuid': PROVIDER, 'name': 'storage'}),
            ('POST', f'/resource_providers/{PROVIDER}/inventories', {'resource_class': 'DISK_GB', 'total': 1}),
            ('PUT', '/traits/CUSTOM_FREE', None),
            ('PUT', '/resource_classes/CUSTOM_FREE', None),
        ):
            assert client.placement(method, path_, document).status_int < 300
    return held['reservation']['uuid']
