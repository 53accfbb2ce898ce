"""Compare explanations of candidate queries with the queries: python -m benchmarks.explanations URL SHAPE

Unless the database at the SQLAlchemy URL has providers, insert 10,000 (-n) providers of clients. SHAPE:

- ``flat``: each provider is its own tree;
- ``trees``: trees of four. Their roots have VCPU, MEMORY_MB and DISK_GB, the others have two SRIOV_NET_VF each;
- ``sharing``: the same, and ten more providers that share DISK_GB with a tenth of the trees each.

Each line has the medians of the CPU time in milliseconds: of this process, and with ``--pid`` of the database server.
The query and its explanation take turns.
"""

import argparse
import contextlib
import random
import statistics
import time
import uuid

import sqlalchemy as sa

from benchmarks.load import cpu_seconds
from ironic_traits import conf
from ironic_traits.api.placement.allocation_candidates import parse
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.db import migrations, names, tables
from ironic_traits.db.statements.types import now
from ironic_traits.placement.candidates import allocation_candidates, explanations
from ironic_traits.service import Service

TRAITS = [f'CUSTOM_T{number}' for number in range(6)]
HOST, DISK, VF = {'VCPU': 64, 'MEMORY_MB': 262144}, {'DISK_GB': 1000}, {'SRIOV_NET_VF': 2}
SHARING, SHARES = 10, 'MISC_SHARES_VIA_AGGREGATE'
TREE = 4
BATCH = 2000
REPEAT = 7
SEVERAL = 'resources=VCPU:4,MEMORY_MB:1024&required=CUSTOM_T0,!CUSTOM_T1'
QUERIES = {
    'flat': {
        'one group': f'{SEVERAL}',
        'several groups': f'{SEVERAL}&resources1=DISK_GB:10&required1=CUSTOM_T2,!CUSTOM_T3&group_policy=none',
    },
    'trees': {
        'one group': f'{SEVERAL},CUSTOM_T2',
        'several groups': f'{SEVERAL}&resources1=SRIOV_NET_VF:1&required1=CUSTOM_T2,!CUSTOM_T3&group_policy=none',
        'four groups': f'{SEVERAL}&resources1=SRIOV_NET_VF:1&required1=CUSTOM_T2&resources2=SRIOV_NET_VF:1'
        '&required2=!CUSTOM_T3&resources3=DISK_GB:1&root_required=!CUSTOM_T4&group_policy=isolate',
    },
    'sharing': {
        'one group': 'resources=VCPU:4,DISK_GB:10&required=CUSTOM_T0,!CUSTOM_T1',
        'several groups': f'{SEVERAL}&resources1=DISK_GB:10&required1=CUSTOM_T2&group_policy=none',
    },
}
#: Added to each query to leave it without candidates.
NOTHING = '&in_tree=00000000-0000-4000-8000-000000000000'


def fill(service, shape, count):
    """Insert providers with inventories and traits."""
    choose = random.Random(1)
    with service.write() as connection:
        names.ensure(connection, tables.traits, [*TRAITS, SHARES])
        trait_ids = names.ids(connection, tables.traits, [*TRAITS, SHARES])
        class_ids = names.ids(connection, tables.resource_classes, [*HOST, *DISK, *VF])
    rows = {table: [] for table in (tables.resource_providers, tables.inventories, tables.resource_provider_traits)}
    members, root = [], ''

    def add(id, resources, traits, parent=None):
        own = str(uuid.UUID(int=choose.getrandbits(128), version=4))
        stamp = {'created_at': now(), 'updated_at': None}
        tree = {'parent_provider_uuid': parent, 'root_provider_uuid': parent or own}
        rows[tables.resource_providers].append({'id': id, 'uuid': own, 'name': own} | tree | stamp)
        for name, total in resources.items():
            amounts = {'total': total, 'max_unit': total, 'reserved': 0, 'min_unit': 1, 'step_size': 1}
            key = {'resource_provider_id': id, 'resource_class_id': class_ids[name], 'allocation_ratio': 1.0}
            rows[tables.inventories].append(key | amounts | stamp)
        ids = [{'resource_provider_id': id, 'trait_id': trait_ids[name]} for name in traits]
        rows[tables.resource_provider_traits].extend(ids)
        return own

    aggregates = [str(uuid.UUID(int=choose.getrandbits(128), version=4)) for _ in range(SHARING)]
    for id in range(1, count + 1):
        traits = choose.sample(TRAITS, 3)
        if shape == 'flat' or id % TREE == 1:
            root = add(id, HOST | DISK, traits)
            members.append((id, aggregates[id // TREE % SHARING]))
        else:
            add(id, VF, traits, root)
    if shape == 'sharing':
        for place, aggregate in enumerate(aggregates):
            add(count + 1 + place, DISK, [SHARES, *choose.sample(TRAITS, 2)])
            members.append((count + 1 + place, aggregate))
        values = [{'resource_provider_id': id, 'aggregate_uuid': aggregate} for id, aggregate in members]
        rows[tables.resource_provider_aggregates] = values
    with service.write() as connection:
        for table, values in rows.items():
            for begin in range(0, len(values), BATCH):
                connection.execute(sa.insert(table), values[begin : begin + BATCH])
        if connection.dialect.name == 'postgresql':
            connection.exec_driver_sql('ANALYZE')


def measure(name, works, pids):
    """Print the medians of the CPU time of works that take turns."""
    times = [[] for _ in works]
    for _ in range(REPEAT):
        for work, found in zip(works, times, strict=True):
            start, server = time.process_time(), cpu_seconds(pids)
            work()
            found.append((time.process_time() - start + cpu_seconds(pids) - server) * 1000)
    medians = [statistics.median(each) for each in times]
    print(f'{name:<36} {" ".join(f"{each:9.1f}" for each in medians)} ms {medians[1] / medians[0]:6.1f}', flush=True)


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='SQLAlchemy URL of the database')
    parser.add_argument('shape', choices=QUERIES)
    parser.add_argument('-n', type=int, default=10000, help='number of providers')
    parser.add_argument('--pid', type=lambda text: {int(pid) for pid in text.split(',')}, default=set())
    arguments = parser.parse_args()
    with contextlib.closing(Service(conf.make(['--database', arguments.url]))) as service:
        migrations.upgrade(service.database)
        with service.read() as connection:
            is_empty = connection.scalar(sa.select(sa.func.count()).select_from(tables.resource_providers)) == 0
        if is_empty:
            fill(service, arguments.shape, arguments.n)
        context = Context(service, BARE_METAL, 80, '')
        print(f'{arguments.shape:<36} {"query":>9} {"explained":>9}')
        for name, query in QUERIES[arguments.shape].items():
            for kind, text in ((name, query), (f'{name}, no candidates', query + NOTHING)):
                works = (
                    lambda text=text: allocation_candidates.find(context, parse(text)),
                    lambda text=text: explanations.explain(context, Grant(()), parse(text)),
                )
                measure(kind, works, arguments.pid)


if __name__ == '__main__':
    main()
