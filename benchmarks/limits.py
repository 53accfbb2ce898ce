"""Measure the most expensive requests that a client can send.

    python -m benchmarks.limits http://127.0.0.1:6385

Fill the service with ``benchmarks.seed`` (10,000 nodes) first. No request should take more than two seconds, because a
worker process answers only a few at once. The benchmark changes the first node, and creates a tree of providers.
"""

import argparse
import time
import uuid

import os_traits

from benchmarks import seed
from benchmarks.http import Connection

CUSTOM = seed.CUSTOM[:100]
STANDARD = sorted(os_traits.get_traits())[:100]
ROOT = '00000000-0000-4000-8000-000000000000'


def groups(count, resource='CUSTOM_GOLD', more=''):
    """Return the query for candidates with a number of groups; ``more`` is added to each, with {0} for its number."""
    return '&'.join(f'resources{i}={resource}:1{more.format(i)}' for i in range(count))


def uuids(count):
    """Return random uuids."""
    return [str(uuid.uuid4()) for _ in range(count)]


def requests(node):
    """Generate (description, method, path, document) of each request.

    :param node: uuid of the node that the requests change.
    """
    provider = f'/placement/resource_providers/{node}'
    candidates = '/placement/allocation_candidates?'
    traits = f'/v1/nodes/{node}/traits'
    for number, policy in ((50, 'isolate'), (50, 'none')):
        yield f'{number} equal groups, {policy}', 'GET', f'{candidates}{groups(number)}&group_policy={policy}', None
    for resource in ('CUSTOM_GOLD', 'SRIOV_NET_VF'):
        query = groups(40, resource, '&required{0}=!CUSTOM_RACK_{0:03}')
        yield f'40 different groups of {resource}', 'GET', f'{candidates}{query}&group_policy=none', None
    for number, policy in ((33, 'isolate'), (50, 'none')):
        query = f'{groups(number, "SRIOV_NET_VF")}&group_policy={policy}'
        yield f'{number} groups in a tree of 32, {policy}', 'GET', candidates + query, None
    for case, request in (
        ('200 required', {'required': CUSTOM + STANDARD}),
        ('200 forbidden', {'forbidden': CUSTOM + STANDARD}),
    ):
        yield f'explanation of {case} traits', 'POST', '/v1/matches', request | {'explain': True}
    for case, values in (('25,000 uuids', uuids(25_000)), ('the same uuids twice', uuids(3_700) * 2)):
        document = {'aggregates': values, 'resource_provider_generation': -1}
        yield f'aggregates: {case}', 'PUT', f'{provider}/aggregates', document
    for case, names in (('numbers', [1] * 250_000), ('50,000 names', [f'CUSTOM_{i}' for i in range(50_000)])):
        document = {'traits': names, 'resource_provider_generation': -1}
        yield f'traits of a provider: {case}', 'PUT', f'{provider}/traits', document
        yield f'traits of a node: {case}', 'PUT', traits, {'traits': names}
    for case, value in (
        ('50,000 keys', {f'k{i}': 'v' for i in range(50_000)}),
        ('one MB of passwords', {f'{i}': 'password=a' for i in range(40_000)}),
    ):
        patch = [{'op': 'add', 'path': '/driver_info', 'value': value}]
        yield f'driver_info: {case}', 'PATCH', f'/v1/nodes/{node}', patch
    yield 'a list with that node', 'GET', '/v1/nodes/detail?limit=10', None


def tree(connection):
    """Create a root provider with 32 child providers that have the same inventory."""
    connection.ask('POST', '/placement/resource_providers', {'name': 'root', 'uuid': ROOT})
    for number in range(1, 33):
        child = f'{ROOT[:-2]}{number:02}'
        document = {'name': f'child-{number}', 'uuid': child, 'parent_provider_uuid': ROOT}
        connection.ask('POST', '/placement/resource_providers', document)
        inventories = {'resource_provider_generation': 0, 'inventories': {'SRIOV_NET_VF': {'total': 8}}}
        connection.ask('PUT', f'/placement/resource_providers/{child}/inventories', inventories)


def main():
    """Send each request once, and print its duration."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    arguments = parser.parse_args()
    connection = Connection(arguments.url, version='1.82')
    tree(connection)
    _, listed = connection.ask_json('GET', '/v1/nodes?limit=1&fields=uuid')
    print(f'{"seconds":>8}  {"status":>6}  {"bytes":>9}  request')
    for name, method, path, document in requests(listed['nodes'][0]['uuid']):
        start = time.monotonic()
        status, body = connection.ask(method, path, document)
        print(f'{time.monotonic() - start:8.2f}  {status:>6}  {len(body):>9}  {name}', flush=True)


if __name__ == '__main__':
    main()
