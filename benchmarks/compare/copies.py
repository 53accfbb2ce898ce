"""The data: the nodes of the benchmark, and copies of them in the databases of a real Ironic and a real Placement."""

import collections
import configparser
import datetime
import itertools
import random
from dataclasses import dataclass, field

import os_resource_classes
import sqlalchemy as sa

from benchmarks import bulk, seed
from benchmarks.placement import FIFTH, HALF
from ironic_traits.db import tables
from tests.support.ironic_server import CONFIGURATION

BATCH = 5000
#: If there were sharing providers, the real Placement would search for trees of providers. There are none.
_SHARING = 'MISC_SHARES_VIA_AGGREGATE'
_SAMPLE = 500


@dataclass
class Sample:
    """Facts about the nodes that the requests need.

    :ivar uuids: of some nodes, evenly distributed.
    :ivar traits: the traits of these nodes, the most common first, without HALF and FIFTH.
    :ivar classes: resource classes.
    :ivar free: uuids of some nodes without a holder. They are the same for all services.
    """

    uuids: list = field(default_factory=list)
    traits: list = field(default_factory=list)
    classes: tuple = seed.CLASSES
    free: list = field(default_factory=list)


def nodes(count, sample):
    """Generate (body of POST /v1/nodes, traits) of each node, and fill in a Sample."""
    choose, counts = random.Random(7), collections.Counter()
    for number, (body, traits) in enumerate(seed.generate(count, 42)):
        traits = [name for name in traits if name != _SHARING]
        if number % max(count // _SAMPLE, 1) == 0:
            sample.uuids.append(body['uuid'])
            counts.update(traits)
        traits += [name for name, share in ((HALF, 0.5), (FIFTH, 0.2)) if choose.random() < share]
        yield body, traits
    sample.traits = sorted(counts, key=lambda name: (-counts[name], name))


def to_ironic(source, target):
    """Copy the nodes and their traits into the empty database of an Ironic.

    :param source: SQLAlchemy URL of this service's database.
    :param target: URL of the Ironic's database. It has the schema.
    """
    from ironic.common import release_mappings

    versions = {name: each[0] for name, each in release_mappings.RELEASE_MAPPING['master']['objects'].items()}
    with _Copy(source, target) as copy:
        shared = [column.name for column in copy.tables['nodes'].c if column.name in tables.nodes.c]
        # The interfaces must be those that Ironic's configuration enables.
        fixed = _interfaces() | {'version': versions['Node']}
        rows = copy.read('SELECT * FROM nodes')
        copy.write('nodes', ({name: row[name] for name in shared} | fixed for row in rows))
        copy.write('node_traits', ({**row, 'version': versions['Trait']} for row in copy.read(_TRAITS)))


def to_placement(source, target):
    """Copy the nodes into the empty database of a Placement, as the providers that nova would create.

    :param source: SQLAlchemy URL of this service's database.
    :param target: URL of the Placement's database. It has the schema.
    """
    with _Copy(source, target) as copy:
        # Placement numbers custom classes from 10,000.
        ids = {name: 10000 + number for number, name in enumerate(seed.CLASSES)}
        normalized = os_resource_classes.normalize_name
        copy.write('resource_classes', ({'id': id, 'name': normalized(name)} for name, id in ids.items()))
        rows = copy.read('SELECT id, uuid, uuid AS name, id AS root_provider_id, 1 AS generation FROM nodes')
        copy.write('resource_providers', rows)
        copy.write('inventories', (_inventory(ids, **row) for row in copy.read(_FREE)))
        traits = copy.names('traits', 'SELECT DISTINCT trait AS name FROM node_traits')
        rows = (
            {'resource_provider_id': row['node_id'], 'trait_id': traits[row['trait']]} for row in copy.read(_TRAITS)
        )
        copy.write('resource_provider_traits', rows)


def _inventory(class_ids, id, resource_class, free):
    return {
        'resource_provider_id': id,
        'resource_class_id': class_ids[resource_class],
        'total': 1,
        'reserved': 0 if free else 1,
        'min_unit': 1,
        'max_unit': 1,
        'step_size': 1,
        'allocation_ratio': 1.0,
    }


_TRAITS = 'SELECT DISTINCT node_id, trait FROM node_traits ORDER BY node_id'
#: A node counts as free under the same conditions as in nova's driver and in this service.
_FREE = """SELECT id, resource_class, provision_state = 'available' AND instance_uuid IS NULL
    AND NOT maintenance AND power_state IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM reservations WHERE reservations.node_uuid = nodes.uuid) AS free
    FROM nodes ORDER BY id"""


def _interfaces():
    """Return {column: value} of the interfaces that the configuration of Ironic enables."""
    parser = configparser.ConfigParser()
    parser.read_string(CONFIGURATION)
    enabled = [name for name in parser['DEFAULT'] if name.startswith('enabled_') and name.endswith('_interfaces')]
    return {name.removeprefix('enabled_').removesuffix('s'): parser['DEFAULT'][name].split(',')[0] for name in enabled}


class _Copy:
    """An open copy from one database to another, in one transaction."""

    def __init__(self, source, target):
        self._engines = [sa.create_engine(url, poolclass=sa.pool.NullPool) for url in (source, target)]
        metadata = sa.MetaData()
        metadata.reflect(self._engines[1])
        self.tables = metadata.tables
        self._written = []
        now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
        self._times = {'created_at': now, 'updated_at': now}

    def __enter__(self):
        self._source, self._target = (engine.connect() for engine in self._engines)
        return self

    def __exit__(self, *error):
        self._source.close()
        if not error[0]:
            self._continue_ids()
            self._target.commit()
        self._target.close()
        if not error[0]:
            self._analyze()

    def read(self, statement):
        """Generate the rows of a statement, as dictionaries."""
        result = self._source.execution_options(stream_results=True).execute(sa.text(statement))
        return (dict(row) for row in result.mappings().yield_per(BATCH))

    def write(self, table, rows):
        """Insert rows: dictionaries with the same keys. Rows without times get the time of the copy."""
        rows = (self._times | row for row in rows)
        self._written.append(self.tables[table])
        while batch := list(itertools.islice(rows, BATCH)):
            self._target.execute(self.tables[table].insert(), batch)

    def names(self, table, statement):
        """Add the missing names of a statement to a table, and return {name: id}."""
        columns = self.tables[table].c
        query = sa.select(columns.name, columns.id)
        existing = dict(self._target.execute(query).tuples().all())
        self.write(table, (row for row in self.read(statement) if row['name'] not in existing))
        return dict(self._target.execute(query).tuples().all())

    def _continue_ids(self):
        """Set PostgreSQL's sequences to follow the inserted ids."""
        if self._target.dialect.name == 'postgresql':
            for name in {table.name for table in self._written if 'id' in table.c}:
                statement = f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name}))"  # noqa: S608
                self._target.execute(sa.text(statement))

    def _analyze(self):
        analyze = bulk.ANALYZE.get(self._target.dialect.name, 'ANALYZE TABLE')
        with self._engines[1].connect().execution_options(isolation_level='AUTOCOMMIT') as connection:
            for table in self._written:
                connection.execute(sa.text(f'{analyze} {table.name}'))
