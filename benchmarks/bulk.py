"""Fill an empty database with nodes, in bulk: for ``benchmarks.seed`` and for tests that need many nodes.

The first node is created through the API. The rows of the others are copies of its rows with other values, in the text
format that both COPY (PostgreSQL) and LOAD DATA (MariaDB) read. They have no history, and are not in the change feed.
"""

import contextlib
import itertools
import random
import re
import tempfile
import uuid

import orjson
import os_resource_classes
import sqlalchemy as sa
from webob import Request

from ironic_traits import app, conf
from ironic_traits.db import migrations, names, tables
from ironic_traits.db.statements.types import now
from ironic_traits.service import Service

#: Number of nodes whose rows are written at once.
BATCH = 20000
#: Shares of the nodes that are in the states of ``_state``, have a description, were changed, or are reserved.
ACTIVE, MANAGEABLE, MAINTENANCE, DESCRIBED, CHANGED, RESERVED = 0.3, 0.05, 0.02, 0.1, 0.8, 0.02
_AVAILABLE = {'provision_state': 'available', 'power_state': 'power off', 'maintenance': False}


def fill(url, nodes, progress=lambda count: None, reserved=None):
    """Fill an empty database, whose schema is created if needed.

    :param url: SQLAlchemy URL.
    :param nodes: [(body of POST /v1/nodes, traits), …], an iterable. Their keys are those of the first one.
    :param progress: function that is called with the number of the nodes so far.
    :param reserved: share of the nodes that are reserved. Then all are available. None for nodes in several states.
    """
    with contextlib.closing(Service(conf.make(['--database', url]))) as service:
        migrations.upgrade(service.database)
        nodes = iter(nodes)
        template = _Template(service, next(nodes), reserved)
        count = 1
        with _bulk(url) as insert:
            while batch := list(itertools.islice(nodes, BATCH)):
                template.insert(insert, batch, count + 1)
                count += len(batch)
                progress(count)


class _Template:
    """The rows of the first node. The rows of the other nodes are copies of them.

    :param service: ironic_traits.service.Service.
    :param first: (body, traits) of the node.
    :param reserved: that of ``fill``.
    """

    def __init__(self, service, first, reserved):
        self._service, self._choose, self._start, self._reserved = service, random.Random(1), now(), reserved
        application, (body, traits) = app.build(service), first
        _ask(application, 'POST', '/v1/nodes', body)
        _ask(application, 'PUT', f'/v1/nodes/{body["uuid"]}/traits', {'traits': traits})
        if reserved is not None:
            with service.write() as connection:
                connection.execute(sa.update(tables.nodes).values(_AVAILABLE))
        with service.read() as connection:
            self._rows = {
                table.name: dict(connection.execute(_all_columns(table)).mappings().one())
                for table in (tables.nodes, tables.resource_providers, tables.node_traits)
            }
        self._names, self._class_ids = set(), {}

    def insert(self, insert, batch, first_id):
        """Insert nodes, their providers, their traits and reservations.

        :param insert: function of a table and rows.
        :param batch: [(body, traits), …].
        :param first_id: id of the first node, and of its provider.
        """
        self._ensure_names(batch)
        nodes = [self._node(first_id + number, body) for number, (body, _) in enumerate(batch)]
        insert(tables.nodes, nodes)
        insert(tables.resource_providers, [self._provider(node) for node in nodes])
        hold = self._rows['node_traits']
        pairs = ((node['id'], traits) for node, (_, traits) in zip(nodes, batch, strict=True))
        insert(tables.node_traits, [hold | {'node_id': id, 'trait': name} for id, traits in pairs for name in traits])
        insert(tables.reservations, [self._reservation(node) for node in nodes if self._is_reserved(node)])

    def _ensure_names(self, batch):
        new = {name for _, traits in batch for name in traits} - self._names
        classes = {os_resource_classes.normalize_name(body['resource_class']) for body, _ in batch}
        if new or not classes <= self._class_ids.keys():
            names.add(self._service, tables.traits, new)
            names.add(self._service, tables.resource_classes, classes)
            with self._service.read() as connection:
                self._class_ids |= names.ids(connection, tables.resource_classes, classes)
            self._names |= new

    def _node(self, node_id, body):
        row = self._rows['nodes'] | {'id': node_id, 'created_at': self._start} | self._state()
        if self._choose.random() < CHANGED:
            row |= {'updated_at': self._start.replace(microsecond=self._choose.randrange(10**6))}
        if self._choose.random() < DESCRIBED:
            row |= {'description': f'in row {node_id % 1000}'}
        row |= {key: orjson.dumps(value).decode() if isinstance(value, dict) else value for key, value in body.items()}
        if 'driver_info' in body:
            row['driver_info_masked'] = re.sub('("[a-z_]*password":)"[^"]*"', r'\1"******"', row['driver_info'])
        return row

    def _state(self):
        if self._reserved is not None:
            return _AVAILABLE
        chance = self._choose.random()
        if chance < ACTIVE:
            instance = str(uuid.UUID(int=self._choose.getrandbits(128), version=4))
            return {'provision_state': 'active', 'power_state': 'power on', 'instance_uuid': instance}
        state = 'manageable' if chance < ACTIVE + MANAGEABLE else 'available'
        in_maintenance = ACTIVE + MANAGEABLE < chance < ACTIVE + MANAGEABLE + MAINTENANCE
        return {'provision_state': state, 'power_state': 'power off', 'maintenance': in_maintenance}

    def _provider(self, node):
        class_id = self._class_ids[os_resource_classes.normalize_name(node['resource_class'])]
        return self._rows['resource_providers'] | {
            'id': node['id'],
            'node_id': node['id'],
            'resource_class_id': class_id,
            **dict.fromkeys(('uuid', 'name', 'root_provider_uuid'), node['uuid']),
        }

    def _is_reserved(self, node):
        free = node['provision_state'] == 'available' and not node['maintenance']
        return free and self._choose.random() < (RESERVED if self._reserved is None else self._reserved)

    def _reservation(self, node):
        row = {'id': node['id'], 'created_at': self._start, 'node_uuid': node['uuid'], 'uuid': node['uuid']}
        return row | {'instance_uuid': str(uuid.UUID(int=self._choose.getrandbits(128), version=4))}


def _all_columns(table):
    # Without the types of the columns: JSON stays text.
    return sa.select(sa.literal_column('*')).select_from(table).limit(1)


def _ask(application, method, path, body):
    request = Request.blank(path, method=method)
    request.headers['X-OpenStack-Ironic-API-Version'] = '1.37'
    request.body, request.content_type = orjson.dumps(body), 'application/json'
    response = request.get_response(application)
    if response.status_int not in (200, 201):
        raise SystemExit(response.text)


@contextlib.contextmanager
def _bulk(url):
    """Yield a function that inserts rows into a table. All rows have the keys of the first one.

    At the end, set the id sequences to follow the inserted ids, and update the statistics of the planner. VACUUM, like
    autovacuum: before that, PostgreSQL's plans are those of a table that was just written.
    """
    url = sa.make_url(url)
    backend = url.get_backend_name()
    if backend == 'postgresql':
        # ``_copy`` needs it.
        url = url.set(drivername='postgresql+psycopg')
    options = {'connect_args': {'local_infile': True}} if backend in ('mysql', 'mariadb') else {}
    engine, ways = sa.create_engine(url, **options), {'postgresql': _copy, 'sqlite': _insert}
    filled = {}
    with engine.begin() as connection:
        # The rows refer to existing rows. Checking each foreign key takes longer than the insert.
        for statement in _UNCHECKED.get(backend, _UNCHECKED['mysql']):
            connection.exec_driver_sql(statement)

        def insert(table, rows):
            if rows:
                filled[table.name] = table
                ways.get(backend, _load_data)(connection.connection.cursor(), table.name, list(rows[0]), rows)

        yield insert
        if backend == 'postgresql':
            for name in [name for name, table in filled.items() if 'id' in table.c]:
                last = sa.select(sa.func.max(filled[name].c.id)).scalar_subquery()
                connection.execute(sa.select(sa.func.setval(f'{name}_id_seq', last)))
    with engine.connect().execution_options(isolation_level='AUTOCOMMIT') as connection:
        for name in [*filled, *(['traits'] if filled else [])]:
            connection.exec_driver_sql(f'{ANALYZE.get(backend, "ANALYZE TABLE")} {name}')
    engine.dispose()


#: {backend: the statement that updates the statistics of a table, before its name}, except for MariaDB and MySQL.
ANALYZE = {'postgresql': 'VACUUM ANALYZE', 'sqlite': 'ANALYZE'}
_UNCHECKED = {
    'postgresql': ('SET LOCAL session_replication_role = replica',),
    'sqlite': ('PRAGMA foreign_keys = OFF', 'PRAGMA synchronous = OFF'),
    'mysql': ('SET SESSION foreign_key_checks = 0', 'SET SESSION unique_checks = 0'),
}


def _copy(cursor, table, columns, rows):
    with cursor.copy(f'COPY {table} ({", ".join(columns)}) FROM STDIN') as copy:
        copy.write(_text(rows))


def _load_data(cursor, table, columns, rows):
    with tempfile.NamedTemporaryFile('w', encoding='utf-8') as file:
        file.write(_text(rows))
        file.flush()
        cursor.execute(
            f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {table} CHARACTER SET utf8mb4 ({', '.join(columns)})"
        )


def _insert(cursor, table, columns, rows):
    places = ', '.join('?' * len(columns))
    values = ([str(value) if hasattr(value, 'year') else value for value in row.values()] for row in rows)
    cursor.executemany(f'INSERT INTO {table} ({", ".join(columns)}) VALUES ({places})', values)  # noqa: S608, constants


def _text(rows):
    return ''.join('\t'.join(map(_value, row.values())) + '\n' for row in rows)


_ESCAPES = str.maketrans({'\\': r'\\', '\t': r'\t', '\n': r'\n'})


def _value(value):
    if value is None:
        return r'\N'
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return value.translate(_ESCAPES)
    return str(value)
