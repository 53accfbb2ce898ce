"""The intended differences from Ironic 39.0.0 in inspections, as in ``tests/support/differences.py``."""

from tests.support.recorded_calls import fails, fails_in_routing, named

_NODE = '66666666-6666-4666-8666-00000000000a'
_FAILED = 'Failed to finish inspection: '
#: {call that shows a node after a failure: its last_error}.
_ERRORS = {
    'node after an error': f'{_FAILED}Ramdisk reported error: it burns',
    'node after no valid interface': f'{_FAILED}Inventory for node {_NODE} is invalid: no valid network interfaces',
}


def _named(*names):
    return named(*(f'inspection: {name}' for name in names))


def _without_secrets(call):
    redacted = '** Redacted - requires baremetal:node:get:driver_internal_info permission. **'
    call['answer']['node']['driver_internal_info'] = {'content': redacted}
    call['answer']['config'] = {}


DIFFERENCES = [
    (
        'A 404 of what came with a later version names it',
        _named('inventory before 1.81', 'inventory without a version'),
        fails(404, 'Resource could not be found. GET /v1/nodes/{node_ident}/inventory needs API version 1.81.'),
    ),
    (
        'A 404 of what came with a later version names it',
        _named('continue at 1.83', 'continue at 1.2', 'continue: node_uuid without a version'),
        fails(404, 'Resource could not be found. POST /v1/continue_inspection needs API version 1.84.'),
    ),
    (
        'A message names a node by its uuid (Ironic: by its primary key)',
        _named('inventory of a node without data', 'inventory of a node by name'),
        fails(404, f'Node inventory record for node {_NODE} could not be found.'),
    ),
    (
        'The data of a node can be written',
        _named('DELETE of an inventory', 'POST of an inventory'),
        lambda call: call['answer_headers'].update(Allow='GET, PUT'),
    ),
    (
        'Nothing is served below the inventory of a node (Ironic: 500)',
        _named('below an inventory'),
        fails_in_routing(404, 'Not Found'),
    ),
    (
        'The driver without hardware leaves a node off while it waits for a ramdisk',
        _named('states while it waits'),
        lambda call: call['answer'].update(power_state='power off'),
    ),
    (
        'A ramdisk, which has no role, gets no driver_internal_info, no token, and no configuration for heartbeats',
        _named('continue: by uuid'),
        _without_secrets,
    ),
    (
        'If the boot interface is not known, ports can boot from the network (Ironic: none can)',
        _named('ports without boot interface'),
        lambda call: [port.update(pxe_enabled=True) for port in call['answer']['ports']],
    ),
    *(
        (
            'last_error names the reason, without the classes of the exceptions on its way',
            _named(name),
            lambda call, error=error: call['answer'].update(last_error=error),
        )
        for name, error in _ERRORS.items()
    ),
    (
        'The data of an inspection that fails stays, for the search of the cause (Ironic keeps the data before)',
        _named('inventory after an error'),
        lambda call: _with_error(call['answer']),
    ),
]


def _with_error(data):
    mac = '52:54:00:aa:00:01'
    interface = {'name': 'eth0', 'mac_address': mac, 'ipv4_address': '192.0.2.10'}
    data['inventory'] |= {'interfaces': [interface]}
    data['inventory']['boot']['pxe_interface'] = mac
    kept = {name: data['plugin_data'][name] for name in ('root_disk', 'configuration')}
    data['plugin_data'] = kept | {'error': 'it burns'}
