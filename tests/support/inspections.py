"""Inspection data, and nodes that wait for it."""

from tests.support.service import finish_work
from tests.support.transitions import ask

PATH = '/v1/continue_inspection'
#: Data of a ramdisk, without its version.
RAMDISK = {'version': None}
MACS = ('52:54:00:aa:00:01', '52:54:00:aa:00:02')
GIB = 2**30


def ramdisk_data(*macs, boot=0, bmc=None, **beside):
    """Return data as a ramdisk sends it.

    :param macs: of its network interfaces eth0, eth1, …
    :param boot: index of the boot interface; None if there is none.
    :param bmc: address of the BMC.
    :param beside: parts of the inventory that replace the default ones, and plugin data.
    """
    interfaces = [
        {'name': f'eth{index}', 'mac_address': mac, 'ipv4_address': f'192.0.2.{index + 1}', 'has_carrier': True}
        for index, mac in enumerate(macs)
    ]
    inventory = {
        'interfaces': interfaces,
        'cpu': {'count': 8, 'architecture': 'x86_64', 'flags': ['fpu', 'vmx', 'aes', 'avx2'], 'model_name': 'Xeon'},
        'memory': {'total': 16 * GIB, 'physical_mb': 16384},
        'disks': [
            {'name': '/dev/sda', 'size': 100 * GIB, 'rotational': True, 'vendor': 'Acme', 'serial': 'S1'},
            {'name': '/dev/sdb', 'size': 200 * GIB, 'rotational': False, 'vendor': 'Best', 'serial': 'S2'},
        ],
        'boot': {'current_boot_mode': 'uefi', 'pxe_interface': None if boot is None else macs[boot]},
        'bmc_address': bmc,
        'bmc_v6address': None,
        'hostname': 'host',
    }
    inventory |= {name: beside.pop(name) for name in list(beside) if name in inventory}
    return {'inventory': inventory, 'root_disk': inventory['disks'][0], **beside}


def waiting(app, client, **fields):
    """Create a node that waits for the data of its inspection, and return its uuid."""
    uuid = client.node(inspect_interface='agent', **fields)['uuid']
    ask(client, uuid, 'manage')
    finish_work(app)
    inspect(app, client, uuid)
    return uuid


def inspect(app, client, uuid):
    """Begin the inspection of a node, so that it waits for data."""
    ask(client, uuid, 'inspect')
    finish_work(app)
    assert client.get(f'/v1/nodes/{uuid}/states')['provision_state'] == 'inspect wait'


def post(client, data, path=PATH, **options):
    """Send data as a ramdisk does, and return the response."""
    return client.ask('POST', path, data, **RAMDISK | options)


def add_port(client, uuid, mac, **fields):
    """Add a port to a node."""
    response = client.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': mac, **fields})
    assert response.status_int == 201, response.text


def ports(client, uuid):
    """Return the ports of a node: {MAC address: pxe_enabled}."""
    rows = client.get(f'/v1/nodes/{uuid}/ports?fields=address,pxe_enabled')['ports']
    return {row['address']: row['pxe_enabled'] for row in rows}
