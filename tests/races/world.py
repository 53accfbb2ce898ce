"""The database of the races: how it is filled, compared and restored."""

import datetime
import json
import re

import sqlalchemy as sa

from ironic_traits.db import tables
from tests.races import accesses
from tests.support.client import VERSION, Client
from tests.support.service import make_app

_UUID = 'aaaaaaaa-0000-4000-8000-{:012}'
#: Two free nodes; nodes that are held by a reservation, by an allocation of Ironic, and by a consumer; a locked node; a
#: node with work for a worker; a node that a capacity reservation needs.
NODES = tuple(_UUID.format(number) for number in range(1, 9))
FREE, OTHER, HELD, ALLOCATED, CONSUMED, LOCKED, POWERED, PROMISED = NODES
#: The name of the capacity reservation.
PROMISE = 'standing'
RECORD = 'bbbbbbbb-0000-4000-8000-00000000000'
#: A resource provider of a client, with disks.
PROVIDER = 'eeeeeeee-0000-4000-8000-000000000001'


def instance(number):
    """Return the uuid of an instance, a consumer or another thing."""
    return f'cccccccc-0000-4000-8000-{number:012}'


ALLOCATION, CONSUMER, RESERVED_FOR, VIF = map(instance, (11, 12, 13, 14))
#: Maximum number of traits of a node.
MAX_TRAITS = 5
OPTIONS = {'inventory__max_traits_per_node': MAX_TRAITS, 'deploy__node_locked_retry_attempts': 0}
HEADERS = {'X-OpenStack-Ironic-API-Version': VERSION, 'OpenStack-API-Version': 'placement 1.39'}


def claim(*nodes, generation=None):
    """Return the body with the allocations of one consumer: of nodes, or without any."""
    return {
        'allocations': {node: {'resources': {'CUSTOM_GOLD': 1}} for node in nodes},
        'consumer_generation': generation,
        **{'project_id': 'p', 'user_id': 'u', 'consumer_type': 'INSTANCE'},
    }


_STEP = {'interface': 'bios', 'step': 'factory_reset'}
_RULE = {'uuid': f'{RECORD}9', 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_C'}}]}
_REQUESTS = (
    ('POST', '/v1/chassis', {'uuid': f'{RECORD}1'}),
    ('PUT', f'/v1/nodes/{FREE}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']}),
    ('PUT', f'/v1/nodes/{OTHER}/traits', {'traits': ['CUSTOM_A']}),
    ('PUT', f'/v1/nodes/{FREE}/traits?source=hook', {'traits': ['CUSTOM_A', 'CUSTOM_H', 'CUSTOM_V']}),
    ('DELETE', f'/v1/nodes/{FREE}/traits/CUSTOM_V', None),
    ('PUT', f'/v1/nodes/{FREE}/inventory', {'inventory': {'cpu': {'architecture': 'x86_64', 'count': 2}}}),
    ('POST', '/v1/portgroups', {'uuid': f'{RECORD}2', 'node_uuid': FREE}),
    ('POST', '/v1/ports', {'uuid': f'{RECORD}3', 'node_uuid': FREE, 'address': '52:54:00:00:00:01'}),
    (
        'POST',
        '/v1/volume/connectors',
        {'uuid': f'{RECORD}4', 'node_uuid': FREE, 'type': 'ip', 'connector_id': '1'},
    ),
    (
        'POST',
        '/v1/volume/targets',
        {'uuid': f'{RECORD}5', 'node_uuid': FREE, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'x'},
    ),
    ('POST', '/v1/runbooks', {'uuid': f'{RECORD}6', 'name': 'CUSTOM_A', 'steps': [{**_STEP, 'order': 1}]}),
    (
        'POST',
        '/v1/deploy_templates',
        {'uuid': f'{RECORD}7', 'name': 'CUSTOM_A', 'steps': [{**_STEP, 'args': {}, 'priority': 1}]},
    ),
    ('POST', '/v1/inspection_rules', _RULE),
    ('POST', f'/v1/nodes/{FREE}/vifs', {'id': VIF}),
    ('POST', '/v1/allocations', {'resource_class': 'gold', 'candidate_nodes': [ALLOCATED], 'uuid': ALLOCATION}),
    ('PUT', f'/placement/allocations/{CONSUMER}', claim(CONSUMED)),
    ('POST', '/placement/resource_providers', {'uuid': PROVIDER, 'name': 'disks'}),
    ('POST', f'/placement/resource_providers/{PROVIDER}/inventories', {'resource_class': 'DISK_GB', 'total': 10}),
    ('PUT', '/placement/traits/CUSTOM_FREE', None),
    ('PUT', '/placement/resource_classes/CUSTOM_FREE', None),
    ('PUT', f'/v1/nodes/{POWERED}/states/power', {'target': 'power on'}),
    ('PUT', f'/v1/nodes/{PROMISED}/traits', {'traits': ['CUSTOM_P']}),
    ('POST', '/v1/capacity_reservations', {'name': PROMISE, 'project': 'p', 'count': 1, 'required': ['CUSTOM_P']}),
)
#: Tables that do not count, and columns that depend on the order of writes that the API does not show.
_IGNORED = {'change_log', 'changes', 'change_numbers', 'workers', 'trait_writers'}
_HIDDEN = {**dict.fromkeys(('nodes', 'capacity_reservations'), {'id', 'generation'}), 'transitions': {'due_at'}}
#: {database: (statement that switches the checks of foreign keys off, statement that switches them on)}.
_UNCHECKED = {
    'sqlite': ('PRAGMA defer_foreign_keys = ON', 'SELECT 1'),
    'postgresql': ('SET LOCAL session_replication_role = replica', 'SELECT 1'),
    'mysql': ('SET foreign_key_checks = 0', 'SET foreign_key_checks = 1'),
}
_UUIDS = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')
#: Places in the change feed. A request may number the changes of an object once, or twice.
_TOKENS = re.compile(r'[0-9a-f]{32}-\d+')
_TIMES = re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?')


class World:
    """A database with the objects that the writers write.

    :param url: of an empty database.
    :param database: ironic_traits.db.engine.Database with this URL.
    :ivar known: {$NAME: value that the database has chosen}.
    """

    def __init__(self, url, database):
        self._database = database
        with make_app(url, **OPTIONS) as app:
            self.known = _fill(app)
        self._base = {table.name: self._rows(table) for table in tables.metadata.sorted_tables}
        self._now = dict(self._base)
        self._uuids = set(_UUIDS.findall(repr(self._base)))

    def restore(self):
        """Undo all writes since the world was created, as far as ``read`` has seen them."""
        changed = [
            table
            for table in tables.metadata.sorted_tables
            # Processes cache the writers of traits, which are never deleted.
            if self._now[table.name] != self._base[table.name] and table is not tables.trait_writers
        ]
        begin, end = _UNCHECKED[self._database.url.get_backend_name()]
        with self._database.write() as connection:
            connection.exec_driver_sql(begin)
            for table in reversed(changed):
                for key in sorted(self._now[table.name].keys() - self._base[table.name].keys(), reverse=True):
                    connection.execute(sa.delete(table).where(*_is(table, key)))
            for table in changed:
                now = self._now[table.name]
                for key, row in self._base[table.name].items():
                    if key not in now:
                        connection.execute(sa.insert(table), row)
                    elif row != now[key]:
                        connection.execute(sa.update(table).where(*_is(table, key)).values(row))
            connection.exec_driver_sql(end)
        self._now = self._base | {'trait_writers': self._now['trait_writers']}

    def read(self, statements):
        """Read the tables that statements may have written.

        :param statements: [SQL, …].
        """
        for name in frozenset().union(*(accesses.of(statement).written for statement in statements)):
            self._now[name] = self._rows(tables.metadata.tables[name])

    def differences(self):
        """Return what differs from the world as it was created: sorted texts, without times and random uuids."""
        result = [f'fed {each}' for each in sorted(self.fed())]
        for name in sorted(self._now.keys() - _IGNORED):
            before, now = self._base[name], self._now[name]
            if before is not now:
                gone = [self._text(name, row, self._base) for key, row in before.items() if now.get(key) != row]
                new = [self._text(name, row, self._now) for key, row in now.items() if before.get(key) != row]
                # The history of a node has an order.
                key = _node if name == 'node_history' else None
                result += [
                    *(f'{name} - {row}' for row in sorted(gone)),
                    *(f'{name} + {row}' for row in sorted(new, key=key)),
                ]
        return tuple(result)

    def plain(self, text):
        """Return a text without times, tokens, and uuids that were chosen at random."""
        text = _UUIDS.sub(lambda match: match[0] if self._is_known(match[0]) else '?', text)
        return _TOKENS.sub('TOKEN', _TIMES.sub('T', text))

    def fed(self):
        """Return the objects in the change feed since the world was created: {'kind uuid', …}."""
        last = next(iter(self._base['change_numbers'].values()))['last']
        rows = [row for row in self._now['changes'].values() if row['number'] > last]
        return {self.plain(f'{row["kind"]} {row["uuid"]}') for row in (*rows, *self._now['change_log'].values())}

    def problems(self):
        """Return the invariants that do not hold: [sentence, …]."""
        return [*self._wrong_nodes(), *self._missed_changes(), *self._unmoved_generations()]

    def _wrong_nodes(self):
        now = self._now
        for node in now['nodes'].values():
            used = [row['consumer_id'] for row in now['allocations'].values() if self._node_id(row) == node['id']]
            holders = {
                *(now['consumers'][consumer,]['uuid'] for consumer in used),
                *(row['instance_uuid'] for row in now['reservations'].values() if row['node_uuid'] == node['uuid']),
                node['instance_uuid'],
            }
            if len(holders - {None}) > 1:
                yield f'double holder of {node["uuid"]}: {holders}'
            if len(self._traits(node['id'], now)) > MAX_TRAITS:
                yield f'too many traits of {node["uuid"]}'

    def _node_id(self, row):
        provider = self._now['resource_providers'].get((row['resource_provider_id'],))
        return provider and provider['node_id']

    def _missed_changes(self):
        for kind, name in (('node', 'nodes'), ('reservation', 'reservations')):
            before, now = self._base[name].items(), self._now[name].items()
            changed = [row for rows, others in ((before, now), (now, before)) for _, row in _minus(rows, dict(others))]
            missing = {self.plain(f'{kind} {row["uuid"]}') for row in changed} - self.fed()
            yield from (f'the change feed missed {each}' for each in missing)

    def _unmoved_generations(self):
        for key, row in self._now['resource_providers'].items():
            before = self._base['resource_providers'].get(key)
            is_same = before and before['generation'] == row['generation']
            if is_same and self._effective(row, self._base) != self._effective(row, self._now):
                yield f'the generation of {row["name"]} has not moved'

    def _effective(self, provider, rows):
        """Return what clients see of a provider: its traits, and what is used."""
        foreign, used = (
            [row for row in rows[name].values() if row['resource_provider_id'] == provider['id']]
            for name in ('resource_provider_traits', 'allocations')
        )
        own = self._traits(provider['node_id'], rows)
        return own, {row['trait_id'] for row in foreign}, sorted(row['used'] for row in used)

    def _traits(self, node_id, rows):
        return {row['trait'] for row in rows['node_traits'].values() if row['node_id'] == node_id}

    def _is_known(self, uuid):
        return '-0000-4000-8000-' in uuid or uuid in self._uuids

    def _text(self, name, row, rows):
        """Return a row as a text, with names in the place of ids."""
        hidden = _HIDDEN.get(name, {'id'})
        columns = tables.metadata.tables[name].c
        values = {key: _value(columns[key], value, rows) for key, value in row.items() if key not in hidden}
        return self.plain(repr(values))

    def _rows(self, table):
        keys = table.primary_key.columns.keys()
        with self._database.read() as connection:
            rows = connection.execute(sa.select(table).order_by(*table.primary_key.columns)).mappings()
            return {tuple(row[key] for key in keys): dict(row) for row in rows}


def _node(text):
    """Return the part of a row of the history that names the node."""
    return text.partition("'node_uuid'")[2][:45]


def _minus(rows, others):
    return [(key, row) for key, row in rows if others.get(key) != row]


def _value(column, value, rows):
    """Return the value of a column: no time, and a name in the place of an id."""
    if value is None or isinstance(column.type, sa.Boolean):
        return value
    if isinstance(value, datetime.datetime):
        return 'T'
    if column.name == 'writer_id':
        return rows['trait_writers'][value,]['source']
    for key in column.foreign_keys:
        if key.column.name == 'id':
            row = rows[key.column.table.name][value,]
            return row.get('uuid') or row['name']
    return json.dumps(value, sort_keys=True) if isinstance(value, (dict, list)) else value


def _is(table, key):
    return [column == value for column, value in zip(table.primary_key.columns, key, strict=True)]


def _fill(app):
    """Fill an empty database, and return the values that the database has chosen."""
    client = Client(app)

    def send(method, path, body=None, version=VERSION):
        headers = HEADERS | {'X-OpenStack-Ironic-API-Version': version}
        response = client.ask(method, path, body, headers=headers)
        assert response.status_int < 300, (method, path, response.text)
        return response.json if response.body else None

    for number, uuid in enumerate(NODES):
        send('POST', '/v1/nodes', {'uuid': uuid, 'driver': 'fake-hardware', 'name': f'n{number}'}, '1.10')
        fields = {'resource_class': 'gold', 'properties/rack': 'one'}
        patch = [{'op': 'add', 'path': f'/{name}', 'value': value} for name, value in fields.items()]
        send('PATCH', f'/v1/nodes/{uuid}', patch)
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(power_state='power off'))
    for request in _REQUESTS:
        send(*request)
    held = send('POST', '/v1/reservations', {'instance_uuid': RESERVED_FOR, 'node_uuid': HELD, 'expires_in': 6000})
    edit = {'nodes': [FREE, OTHER], 'add': ['CUSTOM_C'], 'remove': ['CUSTOM_A'], 'preview': True}
    known = {
        '$RESERVATION': held['reservation']['uuid'],
        '$EDIT': send('POST', '/v1/traits/edits', edit)['digest'],
        '$RULES': send('POST', '/v1/inspection_rules/preview', {'nodes': [FREE]})['digest'],
        '$TOKEN': send('GET', '/v1/changes')['token'],
        '$NODE_GENERATION': send('GET', f'/placement/resource_providers/{FREE}')['generation'],
        '$PROVIDER_GENERATION': send('GET', f'/placement/resource_providers/{PROVIDER}')['generation'],
    }
    with app.service.write() as connection:
        locked = sa.update(tables.nodes).where(tables.nodes.c.uuid == LOCKED)
        connection.execute(locked.values(reservation='gone'))
    return known
