"""The requests and responses of inspections that the API reference shows."""

from tests.support.service import finish_work

INSPECTED = {
    'inventory': {
        'interfaces': [
            {'name': 'eno1', 'mac_address': '52:54:00:4f:3e:01', 'ipv4_address': '192.0.2.7', 'has_carrier': True}
        ],
        'cpu': {'architecture': 'x86_64', 'count': 64, 'model_name': 'Xeon', 'flags': ['fpu', 'vmx', 'avx2']},
        'memory': {'total': 274877906944, 'physical_mb': 262144},
        'disks': [{'name': '/dev/sda', 'size': 960197124096, 'rotational': False}],
        'boot': {'current_boot_mode': 'uefi', 'pxe_interface': '52:54:00:4f:3e:01'},
        'bmc_address': '10.0.0.6',
    },
    'root_disk': {'name': '/dev/sda', 'size': 960197124096},
}
NODE = {'uuid': '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a013', 'name': 'rack1-6', 'inspect_interface': 'agent'}


def sampled(client):
    """Generate (name, sample) of an inspection."""
    client.node(**NODE, driver_info={'redfish_address': 'https://10.0.0.6'})
    for target in ('manage', 'inspect'):
        client.ask('PUT', '/v1/nodes/rack1-6/states/provision', {'target': target})
        finish_work(client.app)
    yield 'continue-inspection-request', INSPECTED
    yield 'continue-inspection', client.ask('POST', '/v1/continue_inspection', INSPECTED).json
    finish_work(client.app)
    data = client.get('/v1/nodes/rack1-6/inventory')
    yield 'node-inventory', data
    yield 'node-inventory-put-request', {'inventory': data['inventory'], 'plugin_data': {}}
    client.ask('DELETE', '/v1/nodes/rack1-6')
