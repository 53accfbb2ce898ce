"""Two worlds for tests of visibility, and the requests to compare them with.

In both worlds, the project gamma has nodes and records. In one of them, the project alpha has some, too: those of
``personas.make_template``, with names. A request names them in its path, in a query parameter, or in its body.
"""

import json
import re
import shutil
import urllib.parse

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import states
from tests.support import personas
from tests.support.client import Client
from tests.support.described import description
from tests.support.personas import ALLOCATION, INSTANCE, MATRIX, NODE, RECORD, RESERVED
from tests.support.service import make_app

OWN = 'aaaaaaaa-0000-4000-8000-0000000000a1'
OWN_RECORD = 'bbbbbbbb-0000-4000-8000-0000000000a'
ON_NODE = 'aaaaaaaa-0000-4000-8000-0000000000b1'
ON_INSTANCE = 'cccccccc-0000-4000-8000-0000000000b1'
NAMES = {f'nodes/{NODE}': 'foreign-node', f'portgroups/{RECORD}2': 'foreign-group', f'ports/{RECORD}3': 'foreign-port'}
ADDRESS = '52:54:00:00:00:01'
_OTHER_UUID = 'cccccccc-0000-4000-8000-0000000000a9'


def make(template, folder):
    """Create the databases of the two worlds from the database of ``personas.make_template``.

    :returns: (path of the world with the project alpha, path of the other one).
    """
    paths = [folder / name / 'template.sqlite' for name in ('with', 'without')]
    for path in paths:
        path.parent.mkdir()
    shutil.copy(template, paths[0])
    with make_app(f'sqlite:///{paths[0]}') as app:
        _fill(app)
    shutil.copy(*paths)
    with make_app(f'sqlite:///{paths[1]}') as app:
        _remove(app)
    return paths


def _fill(app):
    client = Client(app)

    def send(method, path, body=None):
        response = client.ask(method, f'/v1/{path}', body)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

    for path, name in NAMES.items():
        send('PATCH', path, [{'op': 'add', 'path': '/name', 'value': name}])
    on = {'uuid': ON_NODE, 'driver': 'fake-hardware', 'owner': 'alpha', 'instance_uuid': ON_INSTANCE}
    send('POST', 'nodes', on)
    own = {'driver': 'fake-hardware', 'owner': 'gamma', 'resource_class': 'gold'}
    for number in (1, 2):
        send('POST', 'nodes', own | {'uuid': f'{OWN[:-1]}{number}', 'name': f'own{number}'})
    send('PUT', f'nodes/{OWN}/traits', {'traits': ['CUSTOM_A']})
    send('PUT', f'nodes/{OWN}/inventory', {'inventory': {}})
    send('POST', 'portgroups', {'uuid': f'{OWN_RECORD}2', 'node_uuid': OWN})
    send('POST', 'ports', {'uuid': f'{OWN_RECORD}3', 'node_uuid': OWN, 'address': '52:54:00:00:00:0a'})
    send(
        'POST',
        'volume/connectors',
        {'uuid': f'{OWN_RECORD}4', 'node_uuid': OWN, 'type': 'ip', 'connector_id': '10.0.0.10'},
    )
    target = {'node_uuid': OWN, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'y'}
    send('POST', 'volume/targets', target | {'uuid': f'{OWN_RECORD}5'})
    steps = [{'interface': 'bios', 'step': 'factory_reset', 'order': 1}]
    send('POST', 'runbooks', {'uuid': f'{OWN_RECORD}6', 'name': 'CUSTOM_OWN', 'steps': steps})
    send('PATCH', f'runbooks/{OWN_RECORD}6', [{'op': 'add', 'path': '/owner', 'value': 'gamma'}])
    with app.service.write() as connection:
        of_gamma = tables.nodes.c.owner == 'gamma'
        usable = {'provision_state': states.AVAILABLE, 'power_state': states.POWER_OFF}
        connection.execute(sa.update(tables.nodes).where(of_gamma).values(usable))
    send('POST', 'reservations', {'instance_uuid': _OTHER_UUID, 'node_uuid': 'own2'})
    promise = {'name': 'foreign-promise', 'project': 'alpha', 'count': 1, 'owner': 'alpha', 'required': ['CUSTOM_A']}
    send('POST', 'capacity_reservations', promise)
    personas.allocate(client)
    send('PATCH', f'allocations/{ALLOCATION}', [{'op': 'add', 'path': '/name', 'value': 'foreign-allocation'}])


def _remove(app):
    with app.service.write() as connection:
        gone = sa.select(tables.nodes.c.uuid).where(tables.nodes.c.owner == 'alpha')
        connection.execute(sa.delete(tables.node_history).where(tables.node_history.c.node_uuid.in_(gone)))
        ids = sa.select(tables.nodes.c.id).where(tables.nodes.c.owner == 'alpha')
        connection.execute(sa.delete(tables.resource_providers).where(tables.resource_providers.c.node_id.in_(ids)))
        for name in ('node_allocations', 'runbooks', 'nodes'):
            table = tables.metadata.tables[name]
            connection.execute(sa.delete(table).where(table.c.owner == 'alpha'))
        connection.execute(sa.delete(tables.capacity_reservations))


class Requests:
    """The requests of all routes.

    :param in_path: {placeholder: value that names something in the template}.
    """

    def __init__(self, in_path):
        records = {
            'portgroup_ident': [f'{RECORD}2', 'foreign-group'],
            'port_ident': [f'{RECORD}3', 'foreign-port'],
            'connector_uuid': [f'{RECORD}4'],
            'target_uuid': [f'{RECORD}5'],
            'runbook_ident': [f'{RECORD}6', 'CUSTOM_A'],
        }
        self._foreign = {
            'node_ident': [NODE, 'foreign-node', RESERVED, ON_NODE],
            'allocation_ident': [ALLOCATION, 'foreign-allocation'],
            'capacity_reservation_ident': ['foreign-promise'],
            'reservation_uuid': [in_path['reservation_uuid']],
            'event_uuid': [in_path['event_uuid']],
            **records,
        }
        self._values = sorted(
            {INSTANCE, ON_INSTANCE, ADDRESS, *(each for some in self._foreign.values() for each in some)}
        )
        own = {name: f'{OWN_RECORD}{values[0][-1]}' for name, values in records.items()}
        self._in_path = {**in_path, 'node_ident': OWN, **own}

    def of(self, route, part, parts):
        """Generate (path, body) of each request of a route.

        :param route: ironic_traits.api.description.operations.Operation.
        :param part: number of the part of the requests with a name in a query parameter or in the body, from 0.
        :param parts: number of these parts. Each of them has each parameter, each field, and each name.
        """
        body = json.loads(json.dumps(MATRIX['routes'].get(str(route), {}).get('body')).replace(NODE, OWN))
        for name in re.findall(r'{(\w+)}', route.path):
            for value in self._foreign.get(name, ()):
                yield route.path.format(**self._in_path | {name: value}), body
        path = route.path.format(**self._in_path)
        yield path, body
        parameters, fields = self._names(route)
        for name, value in self._part(parameters, part, parts):
            yield f'{path}?{urllib.parse.urlencode({name: value})}', body
        for name, value in self._part(fields if body is not None else (), part, parts):
            if isinstance(body, list):
                yield path, [{'op': 'add', 'path': f'/{name}', 'value': value}]
            else:
                yield path, body | {name: value}
                yield path, body | {name: [value]}

    def _part(self, names, part, parts):
        for place, name in enumerate(names):
            for number, value in enumerate(self._values):
                if (place + number) % parts == part:
                    yield name, value

    def _names(self, route):
        """Return the query parameters of a route, and the fields of its body, that may have a text."""
        for each in (description('baremetal', 115), description('placement', 39)):
            operation = each['paths'].get(route.path, {}).get(route.method.lower())
            if operation:
                parameters = [one for one in operation['parameters'] if one.get('in') == 'query']
                # A JSON patch changes the fields of the response.
                place = operation['responses']['200'] if route.method == 'PATCH' else operation.get('requestBody', {})
                schema = place.get('content', {}).get('application/json', {}).get('schema', {})
                schema = each['components']['schemas'].get(schema.get('$ref', '').rpartition('/')[2], schema)
                fields = schema.get('properties', {})
                return [one['name'] for one in parameters if _is_text(one['schema'])], [
                    name for name, schema in fields.items() if _is_text(schema)
                ]
        return [], []


def _is_text(schema):
    """Whether a value with a schema may be a text, or a list of texts."""
    types = schema.get('type', 'string')
    return 'enum' not in schema and bool({'string', 'array'}.intersection([types] if isinstance(types, str) else types))
