"""Run inspection rules over stored data: python -m benchmarks.rules postgresql+psycopg://… -n 10000

The database is empty, and its schema is created if needed. The benchmark inserts nodes with 20 traits each, their
resource providers, and the data of an inspection for each. Then it previews the standard rules and some more, and runs
them over all nodes twice, in this process, without a web server. It prints the number of nodes per second of CPU of
this process.
"""

import argparse
import contextlib
import time

import orjson
import sqlalchemy as sa
from webob import Request

from benchmarks.edits import insert, peak
from ironic_traits import app, conf
from ironic_traits.db import migrations, tables
from ironic_traits.db.statements.types import now, read_clock
from ironic_traits.inventory.inspection import node_inventories
from ironic_traits.service import Service

_FLAGS = """
fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush dts acpi mmx fxsr sse sse2 ss ht tm pbe
syscall nx pdpe1gb rdtscp lm constant_tsc art arch_perfmon pebs bts rep_good nopl xtopology nonstop_tsc cpuid aperfmperf
pni pclmulqdq dtes64 monitor ds_cpl vmx smx est tm2 ssse3 sdbg fma cx16 xtpr pdcm pcid dca sse4_1 sse4_2 x2apic movbe
popcnt aes xsave avx f16c rdrand lahf_lm abm 3dnowprefetch stibp ibpb bmi1 hle avx2 smep bmi2 rtm mpx avx512f avx512dq
rdseed adx clflushopt clwb avx512cd avx512bw avx512vl
"""
_RULES = 10


def inventory(number):
    """Return the data of an inspection, of about 10 KB."""
    return {
        'inventory': {
            'cpu': {
                'architecture': 'x86_64',
                'count': 64,
                'model_name': 'Intel(R) Xeon(R) Gold',
                'flags': _FLAGS.split(),
            },
            'memory': {'physical_mb': 196608 + 65536 * (number % 3)},
            'disks': [
                {'name': f'/dev/sd{letter}', 'size': 10**12, 'rotational': letter > 'c', 'serial': f'S{number}{letter}'}
                for letter in 'abcdefghijkl'
            ],
            'interfaces': [
                {
                    'name': f'eth{index}',
                    'mac_address': f'52:54:00:{number % 256:02x}:00:{index:02x}',
                    'lldp': [[1, '0a' * 40]],
                }
                for index in range(8)
            ],
            'system_vendor': {
                'manufacturer': 'HPE',
                'product_name': 'ProLiant DL380 Gen10',
                'serial_number': str(number),
            },
        },
        'plugin_data': {'rack': f'r{number % 40}', 'pci_devices': [{'vendor_id': '8086', 'product_id': '1521'}] * 20},
    }


def rules():
    """Yield rules. Each adds a trait if the node has enough memory and is in one of some racks."""
    for number in range(_RULES):
        yield {
            'name': f'rule-{number}',
            'conditions': [
                {'op': 'gt', 'args': {'values': ['{inventory[memory][physical_mb]}', 200000]}},
                {'op': 'one-of', 'args': {'value': '{plugin_data[rack]}', 'values': [f'r{number}', f'r{number + 10}']}},
            ],
            'actions': [{'op': 'add-trait', 'args': {'name': f'CUSTOM_GROUP_{number}'}}],
        }


def ask(application, path, body):
    """Send a request, and return its response."""
    request = Request.blank(f'/v1/inspection_rules{path}', method='POST')
    request.headers['X-OpenStack-Ironic-API-Version'] = '1.96'
    request.body, request.content_type = orjson.dumps(body), 'application/json'
    response = request.get_response(application)
    if response.status_int not in (200, 201):
        raise SystemExit(response.text)
    return response.json


def pages(application, path, body):
    """Send a request for all nodes, page by page; return the responses and the seconds of CPU that they took."""
    start, responses = time.process_time(), []
    while not responses or responses[-1]['next']:
        marker = {'marker': responses[-1]['next']} if responses else {}
        responses.append(ask(application, path, {'where': {}, 'limit': 1000, **body, **marker}))
    return responses, time.process_time() - start


def main():
    """Insert the nodes with their data, and run the rules."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='URL of an empty database')
    parser.add_argument('-n', type=int, default=10000, help='number of nodes')
    arguments = parser.parse_args()
    with contextlib.closing(Service(conf.make(['--database', arguments.url]))) as service:
        migrations.upgrade(service.database)
        application = app.build(service)
        insert(service, arguments.n)
        with service.write() as connection:
            moment = read_clock(connection)
            for number, node_id in enumerate(connection.scalars(sa.select(tables.nodes.c.id)).all()):
                node_inventories.store(connection, node_id, inventory(number), moment)
        for rule in rules():
            ask(application, '', rule)
        print(f'{arguments.n} nodes, {_RULES} rules and the standard rules; {peak():.0f} MiB; {now():%H:%M:%S}')
        previews, seconds = pages(application, '/preview', {})
        print(f'preview        {seconds:6.1f} s, {arguments.n / seconds:6.0f} nodes/s; {peak():.0f} MiB')
        for name in ('first run', 'second run'):
            done, seconds = pages(application, '/apply', {'digest': previews[0]['digest']})
            changed = sum(each['changed'] for each in done)
            print(
                f'{name:14} {seconds:6.1f} s, {arguments.n / seconds:6.0f} nodes/s; {changed} changed; {peak():.0f} MiB'
            )


if __name__ == '__main__':
    main()
