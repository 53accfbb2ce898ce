"""Transfers between this service and a real Placement, and data for them."""

from ironic_traits.placement_transfer import exporting
from ironic_traits.placement_transfer.exporting import Export
from ironic_traits.placement_transfer.importing import Import
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import Remote
from tests.support.commands import run
from tests.support.placement_server import TOKEN
from tests.support.reservations import instance

INVENTORY = {'total': 16, 'reserved': 2, 'min_unit': 1, 'max_unit': 8, 'step_size': 1, 'allocation_ratio': 1.5}


def uuid(number):
    return f'aaaaaaaa-0000-4000-8000-{number:012}'


def provider(placement, number, name=None, parent=None, **parts):
    """Create a provider with inventories, traits and aggregates."""
    document = {'uuid': uuid(number), 'name': name or f'provider {number}', 'parent_provider_uuid': parent}
    placement.send('POST', '/resource_providers', document)
    put(placement, uuid(number), **parts)
    return uuid(number)


def put(placement, provider_uuid, **parts):
    """Replace inventories, traits and aggregates."""
    for part, value in parts.items():
        names = [*parts.get('inventories', ()), *parts.get('traits', ())]
        for name in names:
            if name.startswith('CUSTOM_'):
                placement.send('PUT', f'/{"traits" if name in parts.get("traits", ()) else "resource_classes"}/{name}')
        path = f'/resource_providers/{provider_uuid}'
        generation = placement.send('GET', path)['generation']
        placement.send('PUT', f'{path}/{part}', {'resource_provider_generation': generation, part: value})


def allocate(placement, number, resources, consumer_type='INSTANCE'):
    """Replace the allocations of a consumer, {uuid of a provider: {resource class: amount}}."""
    path = f'/allocations/{instance(number)}'
    document = {
        'allocations': {key: {'resources': value} for key, value in resources.items()},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': placement.send('GET', path).get('consumer_generation'),
    }
    version = '1.38' if consumer_type else '1.37'
    placement.send('PUT', path, document | ({'consumer_type': consumer_type} if consumer_type else {}), version)


def fill(placement):
    """Create trees, a sharing provider, an over-allocated one, and consumers of several."""
    if not placement.load('filled'):
        _fill(placement)
        placement.save('filled')


def _fill(placement):
    host = provider(placement, 1, 'host1', inventories={'VCPU': INVENTORY}, traits=['HW_CPU_X86_AVX2', 'CUSTOM_A'])
    numa = provider(
        placement, 2, 'host1_numa0', host, inventories={'MEMORY_MB': INVENTORY | {'total': 4096, 'max_unit': 4096}}
    )
    provider(placement, 3, 'host1_numa0_fpga', numa, inventories={'CUSTOM_FPGA': INVENTORY}, traits=['CUSTOM_B'])
    shared = provider(
        placement,
        4,
        'shared',
        inventories={'DISK_GB': INVENTORY | {'total': 1000, 'max_unit': 1000}},
        traits=['MISC_SHARES_VIA_AGGREGATE'],
        aggregates=[uuid(100), uuid(101)],
    )
    put(placement, host, aggregates=[uuid(100)])
    full = provider(placement, 5, 'host2', inventories={'VCPU': INVENTORY})
    placement.send('PUT', '/traits/CUSTOM_UNUSED')
    placement.send('PUT', '/resource_classes/CUSTOM_UNUSED')
    allocate(placement, 1, {host: {'VCPU': 4}, numa: {'MEMORY_MB': 1024}, shared: {'DISK_GB': 20}})
    allocate(placement, 2, {shared: {'DISK_GB': 30}}, 'MIGRATION')
    allocate(placement, 3, {full: {'VCPU': 8}}, None)
    allocate(placement, 4, {full: {'VCPU': 8}}, None)
    # Reduce the inventory below the usage, and below each single allocation.
    put(placement, full, inventories={'VCPU': INVENTORY | {'total': 4, 'max_unit': 4, 'step_size': 3}})


def bring(app, placement, progress=lambda number: None, **options):
    """Import a Placement, and return (Import, [difference, …])."""
    remote = Remote(placement.url, token=TOKEN)
    transfer = Import(app.service.database, Reader(remote, 2).read(), **options)
    transfer.run(progress)
    return transfer, transfer.verify()


def take(app, placement, progress=lambda number: None, meanwhile=lambda: None, **options):
    """Export to a Placement, and return (Export, [difference, …])."""
    remote = Remote(placement.url, token=TOKEN)
    reader = Reader(remote)
    transfer = Export(remote, exporting.read(app.service.database), reader, reader.read(), **options)
    meanwhile()
    transfer.run(progress)
    return transfer, transfer.verify(Reader(remote).read())


def manage(database_url, *arguments, token=TOKEN, code=0, **environment):
    done = run(
        'ironic-traits-manage',
        *('--database', database_url, 'placement', *arguments),
        env={'OS_TOKEN': token, 'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', **environment},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


class Killed(Exception):
    """The end of a process in the middle."""


def kill_after(number):
    """Return a function that raises Killed after a number of providers."""
    left = [number]

    def progress(done):
        left[0] -= done
        if left[0] <= 0:
            raise Killed

    return progress
