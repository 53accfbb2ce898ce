"""Edit the traits of many nodes in one request: python -m benchmarks.edits postgresql+psycopg://… -n 10000

The database is empty, and its schema is created if needed. The benchmark inserts nodes with 20 traits each and their
resource providers. Then it previews and executes edits in this process, without a web server, and prints how long each
takes and the peak of the memory of the process.
"""

import argparse
import contextlib
import resource
import time
import uuid

import orjson
import sqlalchemy as sa
from webob import Request

from ironic_traits import app, conf
from ironic_traits.db import migrations, names, tables
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_providers
from ironic_traits.service import Service

TRAITS = [f'CUSTOM_{number:03}' for number in range(20)]
#: {description of an edit: its body}.
EDITS = {
    'add one trait': {'add': ['CUSTOM_NEW']},
    'rename it': {'rename': {'CUSTOM_NEW': 'CUSTOM_OTHER'}},
    'add two, remove two': {'add': ['CUSTOM_X', 'CUSTOM_Y'], 'remove': ['CUSTOM_000', 'CUSTOM_001']},
    'change nothing': {'add': ['CUSTOM_X']},
    'a source adds one': {'add': ['CUSTOM_X'], 'source': 'benchmark'},
}
#: Number of nodes that are inserted at once.
_BATCH = 5000


def insert(service, count):
    """Insert nodes with their providers and traits."""
    json = ['properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step']
    json += ['raid_config', 'target_raid_config']
    columns = {'driver': 'fake-hardware', 'resource_class': 'gold', 'provision_state': 'available'}
    columns |= {'power_state': 'power off', 'created_at': now(), **dict.fromkeys(json, {})}
    names.add(service, tables.traits, TRAITS)
    for start in range(0, count, _BATCH):
        rows = [
            columns | {'uuid': str(uuid.UUID(int=number + 1)), 'name': f'node-{number:06}'}
            for number in range(start, min(start + _BATCH, count))
        ]
        with service.write() as connection:
            connection.execute(sa.insert(tables.nodes), rows)
            last = sa.select(tables.nodes.c.id).order_by(tables.nodes.c.id.desc()).limit(len(rows))
            ids = sorted(connection.execute(last).scalars())
            node_providers.create_all(connection, list(zip(ids, rows, strict=True)))
            holds = [{'node_id': node_id, 'trait': trait} for node_id in ids for trait in TRAITS]
            connection.execute(sa.insert(tables.node_traits), holds)


def ask(application, body):
    """Send an edit. Return its response and its duration in seconds."""
    request = Request.blank('/v1/traits/edits', method='POST')
    request.headers['X-OpenStack-Ironic-API-Version'] = '1.82'
    request.body, request.content_type = orjson.dumps(body), 'application/json'
    start = time.perf_counter()
    response = request.get_response(application)
    seconds = time.perf_counter() - start
    if response.status_int != 200:
        raise SystemExit(response.text)
    return response.json, seconds


def peak():
    """Return the peak of the memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    """Insert the nodes, and edit their traits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='URL of an empty database')
    parser.add_argument('-n', type=int, default=10000, help='number of nodes')
    parser.add_argument('--edits', type=int, default=len(EDITS), help='number of edits to run (default: all)')
    arguments = parser.parse_args()
    with contextlib.closing(Service(conf.make(['--database', arguments.url]))) as service:
        migrations.upgrade(service.database)
        application = app.build(service)
        insert(service, arguments.n)
        print(f'{arguments.n} nodes, {len(TRAITS)} traits each; {peak():.0f} MiB')
        for name, edit in list(EDITS.items())[: arguments.edits]:
            body = edit | {'where': {'resource_class': 'gold'}}
            preview, seconds = ask(application, body | {'preview': True})
            result, execution = ask(application, body | {'digest': preview['digest']})
            changed = f'{result["changed"]} of {result["matched"]} nodes changed'
            print(f'{name:20} preview {seconds:6.1f} s, edit {execution:6.1f} s; {changed}; {peak():.0f} MiB')


if __name__ == '__main__':
    main()
