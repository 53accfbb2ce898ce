"""Read many BMCs with one worker: python -m benchmarks.inspection [URL] [-n NODES] [--delay SECONDS]

The BMCs are one server, which answers each request after a delay. The database is empty, and has the schema; without a
URL, it is a SQLite file. All BMCs are read twice: the second time, nothing has changed.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.inventory.inspection import refreshes
from tests.support.bmc_nodes import OPTIONS
from tests.support.bmc_server import tree
from tests.support.client import Client
from tests.support.redfish_trees import V1, collection, to
from tests.support.servers import free_port
from tests.support.service import make_app, upgraded


def documents():
    """Return the documents of a server with 2 CPUs, 16 DIMMs, 10 disks, 4 ports and 24 kinds of firmware."""
    names = {'Memory': 16, 'Storage/1/Drives': 10, 'PCIeDevices': 12}
    system = {name: to(f'/Systems/1/{name}') for name in ('Memory', 'Storage', 'Bios', 'SecureBoot')}
    dimm = {'CapacityMiB': 32768, 'MemoryDeviceType': 'DDR4'}
    drive = {'CapacityBytes': 10**12, 'MediaType': 'SSD', 'Protocol': 'NVMe', 'Model': 'A'}
    nics = {f'n{each}': {'MACAddress': f'52:54:00:00:00:{each:02x}'} for each in range(4)}
    firmware = {f'f{each}': {'Name': f'Part {each}', 'Version': f'{each}.0'} for each in range(24)}
    result = tree(**system) | {
        '/Systems/1/Bios': {'Attributes': {f'Option{each}': 'Enabled' for each in range(300)}},
        '/Systems/1/SecureBoot': {'SecureBootEnable': True},
        '/UpdateService': {'FirmwareInventory': to('/UpdateService/FirmwareInventory')},
        **collection('/Systems/1/Memory', **{f'd{each}': dimm for each in range(names['Memory'])}),
        **collection(
            '/Systems/1/Storage', **{'1': {'Drives': [to(f'/Systems/1/Storage/1/Drives/{n}') for n in range(10)]}}
        ),
        **{f'/Systems/1/Storage/1/Drives/{each}': drive for each in range(10)},
        **collection('/Systems/1/EthernetInterfaces', **nics),
        **collection('/UpdateService/FirmwareInventory', **firmware),
    }
    cpu = result['/Systems/1/Processors/cpu']
    return result | collection('/Systems/1/Processors', cpu1=cpu, cpu2=cpu)


def serve(port, delay, counter):
    """Serve the BMC until the process ends."""
    answers = {V1 + path: json.dumps(document).encode() for path, document in documents().items()}

    async def talk(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b'\r\n\r\n')).decode()
                method, path, _ = head.split(' ', 2)
                length = [line.split(':')[1] for line in head.lower().splitlines() if line.startswith('content-length')]
                await reader.readexactly(int(length[0]) if length else 0)
                await asyncio.sleep(delay)
                with counter.get_lock():
                    counter.value += 1
                body = answers.get(path.rstrip('/'), b'{}')
                status = '200 OK' if path.rstrip('/') in answers else '404 Not Found'
                more = f'X-Auth-Token: t\r\nLocation: {V1}/SessionService/Sessions/1\r\n' if method == 'POST' else ''
                status = {'POST': '201 Created', 'DELETE': '200 OK'}.get(method, status)
                writer.write(f'HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n'.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run():
        server = await asyncio.start_server(talk, '127.0.0.1', port, backlog=1000)
        await server.serve_forever()

    asyncio.run(run())


def peak(pid):
    """Return the peak memory of a process in MiB."""
    with open(f'/proc/{pid}/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmHWM')) // 1024


def count(app, table):
    """Return the number of rows of a table."""
    with app.service.read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(table))


def read_all(app, uuids, worker, counter):
    """Read all BMCs once, and print what it took."""
    before = [count(app, table) for table in (tables.node_history, tables.changes)]
    counter.value = 0
    for uuid in uuids:
        refreshes.request(Context(app.service, None, 0, ''), uuid)
    begin = time.monotonic()
    while count(app, tables.inventory_refreshes):
        time.sleep(0.2)
    seconds = time.monotonic() - begin
    entries, changes = (
        count(app, table) - old for table, old in zip((tables.node_history, tables.changes), before, strict=True)
    )
    print(
        f'{len(uuids)} BMCs: {seconds:.0f} s, {counter.value} requests, worker at most {peak(worker.pid)} MiB; '
        f'{entries} entries in the history, {changes} changes in the feed',
        flush=True,
    )


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('url', nargs='?')
    parser.add_argument('-n', '--nodes', type=int, default=1000)
    parser.add_argument('--delay', type=float, default=0.1)
    options = parser.parse_args()
    counter, port = multiprocessing.Value('q', 0), free_port()
    bmc = multiprocessing.Process(target=serve, args=(port, options.delay, counter), daemon=True)
    bmc.start()
    with tempfile.TemporaryDirectory() as folder:
        url = upgraded(options.url or f'sqlite:///{folder}/inspection.sqlite')
        environment = {'OS_DEPLOY__ENABLED_HARDWARE_TYPES': 'redfish', 'OS_REDFISH__ALLOW_LOCAL_ADDRESSES': 'true'}
        with make_app(url, **OPTIONS) as app:
            info = {'redfish_address': f'http://127.0.0.1:{port}', 'redfish_username': 'u', 'redfish_password': 'p'}
            client = Client(app)
            uuids = [client.node(driver='redfish', driver_info=info)['uuid'] for _ in range(options.nodes)]
            command = [sys.executable, '-m', 'ironic_traits.cmd.worker', '--database', url]
            with subprocess.Popen(command, env=os.environ | environment) as worker:  # noqa: S603 (our own program)
                for _ in range(2):
                    read_all(app, uuids, worker, counter)
                worker.terminate()


if __name__ == '__main__':
    main()
