"""The writers of the races: at least one request for each operation that writes.

Most of them write to one node, and want the same names, holders, units and places for traits, so that they are in the
way of each other.
"""

from tests.races.world import (
    ALLOCATED,
    ALLOCATION,
    CONSUMED,
    CONSUMER,
    FREE,
    HELD,
    LOCKED,
    OTHER,
    POWERED,
    PROMISE,
    PROMISED,
    PROVIDER,
    RECORD,
    VIF,
    claim,
    instance,
)

_NODE = f'/v1/nodes/{FREE}'
_PROVIDER = f'/placement/resource_providers/{PROVIDER}'
_PROVIDER_OF_NODE = f'/placement/resource_providers/{FREE}'
_CHECKED = {'resource_provider_generation': '$PROVIDER_GENERATION'}
_DISK = {'resources': {'DISK_GB': 6}}
_STEP = {'interface': 'bios', 'step': 'factory_reset'}


def _patch(**fields):
    return [{'op': 'add', 'path': f'/{name}', 'value': value} for name, value in fields.items()]


#: {name: (method, path, body or None)}. ``world.World.known`` has the values of $NAMES.
WRITERS = {
    # Traits of a node: F has A, B and H, and may have five. H is of the source "hook", and V is vetoed for it.
    'put all traits': ('PUT', f'{_NODE}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_C', 'CUSTOM_D']}),
    'put all of a source': ('PUT', f'{_NODE}/traits?source=hook', {'traits': ['CUSTOM_A', 'CUSTOM_E', 'CUSTOM_V']}),
    'delete all traits': ('DELETE', f'{_NODE}/traits', None),
    'delete all of a source': ('DELETE', f'{_NODE}/traits?source=hook', None),
    'put C': ('PUT', f'{_NODE}/traits/CUSTOM_C', None),
    'put D of a source': ('PUT', f'{_NODE}/traits/CUSTOM_D?source=hook', None),
    'put E': ('PUT', f'{_NODE}/traits/CUSTOM_E', None),
    'put V': ('PUT', f'{_NODE}/traits/CUSTOM_V', None),
    'put FREE': ('PUT', f'{_NODE}/traits/CUSTOM_FREE', None),
    'delete A': ('DELETE', f'{_NODE}/traits/CUSTOM_A', None),
    'delete H': ('DELETE', f'{_NODE}/traits/CUSTOM_H', None),
    'delete H of a source': ('DELETE', f'{_NODE}/traits/CUSTOM_H?source=hook', None),
    'delete a veto': ('DELETE', f'{_NODE}/traits/CUSTOM_V/veto', None),
    'edit traits': (
        'POST',
        '/v1/traits/edits',
        {'nodes': [FREE, OTHER], 'add': ['CUSTOM_C'], 'remove': ['CUSTOM_A'], 'digest': '$EDIT'},
    ),
    'apply rules': ('POST', '/v1/inspection_rules/apply', {'nodes': [FREE], 'digest': '$RULES'}),
    'make a trait exclusive': ('PATCH', '/v1/traits/CUSTOM_C', {'exclusive': True}),
    'describe a trait': ('PUT', '/v1/traits/CUSTOM_FREE', {'description': 'The first rack', 'retired': True}),
    'put an inventory': (
        'PUT',
        f'{_NODE}/inventory',
        {'inventory': {'cpu': {'architecture': 'x86_64', 'count': 4}}, 'plugin_data': {}},
    ),
    # Nodes.
    'create a node': ('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'new', 'uuid': instance(90)}),
    'create another node': ('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'new', 'resource_class': 'new'}),
    'rename a node': ('PATCH', _NODE, _patch(name='new')),
    'change a field': ('PATCH', _NODE, _patch(**{'extra/a': 1})),
    'change another field': ('PATCH', _NODE, _patch(**{'extra/b': 1, 'description': 'x'})),
    'change the class': ('PATCH', _NODE, _patch(resource_class='free')),
    'put an instance on': ('PATCH', _NODE, _patch(instance_uuid=instance(1))),
    'put another instance on': ('PATCH', _NODE, _patch(instance_uuid=instance(2))),
    'remove an instance': ('PATCH', f'/v1/nodes/{ALLOCATED}', [{'op': 'remove', 'path': '/instance_uuid'}]),
    'delete a node': ('DELETE', _NODE, None),
    'delete a held node': ('DELETE', f'/v1/nodes/{HELD}', None),
    'set maintenance': ('PUT', f'{_NODE}/maintenance', {'reason': 'x'}),
    'end maintenance': ('DELETE', f'{_NODE}/maintenance', None),
    'deploy': ('PUT', f'{_NODE}/states/provision', {'target': 'active'}),
    'manage': ('PUT', f'{_NODE}/states/provision', {'target': 'manage'}),
    'power off': ('PUT', f'{_NODE}/states/power', {'target': 'power off'}),
    'set a boot device': ('PUT', f'{_NODE}/management/boot_device', {'boot_device': 'pxe'}),
    'set a boot mode': ('PUT', f'{_NODE}/states/boot_mode', {'target': 'uefi'}),
    'set secure boot': ('PUT', f'{_NODE}/states/secure_boot', {'target': True}),
    'set an indicator': ('PUT', f'{_NODE}/management/indicators/led@system', {'state': 'off'}),
    'set an indicator by its component': ('PUT', f'{_NODE}/management/indicators/system/led', {'state': 'blinking'}),
    'inject an NMI': ('PUT', f'{_NODE}/management/inject_nmi', None),
    'attach media': ('POST', f'{_NODE}/vmedia', {'device_type': 'cdrom', 'image_url': 'https://images.example/a.iso'}),
    'detach media': ('DELETE', f'{_NODE}/vmedia', None),
    'unlock': ('DELETE', f'/v1/nodes/{LOCKED}/lock', None),
    'attach a VIF': ('POST', f'{_NODE}/vifs', {'id': instance(91)}),
    'detach a VIF': ('DELETE', f'{_NODE}/vifs/{VIF}', None),
    # Holders.
    'reserve': ('POST', '/v1/reservations', {'instance_uuid': instance(1), 'node_uuid': [FREE]}),
    'reserve for another': ('POST', '/v1/reservations', {'instance_uuid': instance(2), 'node_uuid': [FREE, OTHER]}),
    'reserve by traits': ('POST', '/v1/reservations', {'instance_uuid': instance(3), 'required': ['CUSTOM_B']}),
    'reserve a group': (
        'POST',
        '/v1/reservations',
        {
            'instance_uuids': [instance(1), instance(4)],
            'required': ['CUSTOM_A'],
            'topology': [{'key': 'properties/rack', 'policy': 'affinity'}],
        },
    ),
    'end a reservation': ('DELETE', '/v1/reservations/$RESERVATION', None),
    'renew a reservation': ('POST', '/v1/reservations/$RESERVATION/renew', {'expires_in': 600}),
    'reserve a held node': ('POST', '/v1/reservations', {'instance_uuid': instance(1), 'node_uuid': [HELD]}),
    'allocate': ('POST', '/v1/allocations', {'resource_class': 'gold', 'traits': ['CUSTOM_B'], 'uuid': instance(1)}),
    'allocate a candidate': (
        'POST',
        '/v1/allocations',
        {'resource_class': 'gold', 'candidate_nodes': [FREE], 'uuid': instance(5), 'name': 'allocation'},
    ),
    # Capacity reservations: FREE is the only node with B, and PROMISED the only one with P.
    'promise a node': (
        'POST',
        '/v1/capacity_reservations',
        {'name': 'new', 'project': 'p', 'count': 1, 'required': ['CUSTOM_B']},
    ),
    'promise two nodes': (
        'POST',
        '/v1/capacity_reservations',
        {'name': 'newer', 'project': 'q', 'count': 2, 'required': ['CUSTOM_A']},
    ),
    'reserve for a promise': (
        'POST',
        '/v1/reservations',
        {'instance_uuid': instance(2), 'capacity_reservation': PROMISE, 'resource_class': 'gold'},
    ),
    'end a promise': ('DELETE', f'/v1/capacity_reservations/{PROMISE}', None),
    'reserve a promised node': ('POST', '/v1/reservations', {'instance_uuid': instance(1), 'node_uuid': [PROMISED]}),
    'consume a promised node': ('PUT', f'/placement/allocations/{instance(6)}', claim(PROMISED)),
    'end an allocation': ('DELETE', f'/v1/allocations/{ALLOCATION}', None),
    'end the allocation of a node': ('DELETE', f'/v1/nodes/{ALLOCATED}/allocation', None),
    'rename an allocation': ('PATCH', f'/v1/allocations/{ALLOCATION}', _patch(name='allocation')),
    'consume': ('PUT', f'/placement/allocations/{instance(1)}', claim(FREE)),
    'consume for another': ('PUT', f'/placement/allocations/{instance(6)}', claim(FREE)),
    'consume with disks': (
        'PUT',
        f'/placement/allocations/{instance(6)}',
        claim(FREE) | {'allocations': {FREE: {'resources': {'CUSTOM_GOLD': 1}}, PROVIDER: _DISK}},
    ),
    'consume disks': ('PUT', f'/placement/allocations/{instance(7)}', claim() | {'allocations': {PROVIDER: _DISK}}),
    'consume no more': ('DELETE', f'/placement/allocations/{CONSUMER}', None),
    'move a consumer': (
        'POST',
        '/placement/allocations',
        {CONSUMER: claim(generation=1), instance(6): claim(CONSUMED), instance(1): claim(FREE)},
    ),
    # Placement.
    'put traits of a provider': (
        'PUT',
        f'{_PROVIDER_OF_NODE}/traits',
        {'resource_provider_generation': '$NODE_GENERATION', 'traits': ['CUSTOM_A', 'COMPUTE_NODE', 'CUSTOM_FREE']},
    ),
    'delete traits of a provider': ('DELETE', f'{_PROVIDER_OF_NODE}/traits', None),
    'put aggregates': (
        'PUT',
        f'{_PROVIDER_OF_NODE}/aggregates',
        {'resource_provider_generation': '$NODE_GENERATION', 'aggregates': [instance(92)]},
    ),
    'rename a provider': ('PUT', _PROVIDER, {'name': 'new'}),
    'create a provider': ('POST', '/placement/resource_providers', {'name': 'new', 'parent_provider_uuid': PROVIDER}),
    'delete a provider': ('DELETE', _PROVIDER, None),
    'put traits of a disk': ('PUT', f'{_PROVIDER}/traits', {**_CHECKED, 'traits': ['CUSTOM_FREE']}),
    'put inventories': ('PUT', f'{_PROVIDER}/inventories', {**_CHECKED, 'inventories': {'CUSTOM_FREE': {'total': 1}}}),
    'delete inventories': ('DELETE', f'{_PROVIDER}/inventories', None),
    'add an inventory': ('POST', f'{_PROVIDER}/inventories', {'resource_class': 'CUSTOM_FREE', 'total': 1}),
    'put one inventory': ('PUT', f'{_PROVIDER}/inventories/DISK_GB', {**_CHECKED, 'total': 5}),
    'delete one inventory': ('DELETE', f'{_PROVIDER}/inventories/DISK_GB', None),
    'reshape': (
        'POST',
        '/placement/reshaper',
        {
            'inventories': {PROVIDER: {**_CHECKED, 'inventories': {'DISK_GB': {'total': 7}}}},
            'allocations': {instance(7): claim() | {'allocations': {PROVIDER: _DISK}}},
        },
    ),
    'create a trait': ('PUT', '/placement/traits/CUSTOM_C', None),
    'create an existing trait': ('PUT', '/placement/traits/CUSTOM_FREE', None),
    'delete a trait': ('DELETE', '/placement/traits/CUSTOM_FREE', None),
    'create a class': ('PUT', '/placement/resource_classes/CUSTOM_NEW', None),
    'create an existing class by POST': ('POST', '/placement/resource_classes', {'name': 'CUSTOM_FREE'}),
    'create a class by POST': ('POST', '/placement/resource_classes', {'name': 'CUSTOM_NEW'}),
    'create an existing class': ('PUT', '/placement/resource_classes/CUSTOM_FREE', None),
    'delete a class': ('DELETE', '/placement/resource_classes/CUSTOM_FREE', None),
    # Records.
    'create a chassis': ('POST', '/v1/chassis', {'uuid': instance(93)}),
    'delete a chassis': ('DELETE', f'/v1/chassis/{RECORD}1', None),
    'change a chassis': ('PATCH', f'/v1/chassis/{RECORD}1', _patch(description='x')),
    'use a chassis': ('PATCH', _NODE, _patch(chassis_uuid=f'{RECORD}1')),
    'create a port group': ('POST', '/v1/portgroups', {'node_uuid': FREE, 'name': 'new'}),
    'delete a port group': ('DELETE', f'/v1/portgroups/{RECORD}2', None),
    'change a port group': ('PATCH', f'/v1/portgroups/{RECORD}2', _patch(name='new')),
    'create a port': (
        'POST',
        '/v1/ports',
        {'node_uuid': FREE, 'address': '52:54:00:00:00:02', 'portgroup_uuid': f'{RECORD}2'},
    ),
    'delete a port': ('DELETE', f'/v1/ports/{RECORD}3', None),
    'change a port': ('PATCH', f'/v1/ports/{RECORD}3', _patch(address='52:54:00:00:00:02')),
    'create a connector': ('POST', '/v1/volume/connectors', {'node_uuid': FREE, 'type': 'ip', 'connector_id': '2'}),
    'delete a connector': ('DELETE', f'/v1/volume/connectors/{RECORD}4', None),
    'change a connector': ('PATCH', f'/v1/volume/connectors/{RECORD}4', _patch(connector_id='2')),
    'create a target': (
        'POST',
        '/v1/volume/targets',
        {'node_uuid': FREE, 'volume_type': 'iscsi', 'boot_index': 1, 'volume_id': 'y'},
    ),
    'delete a target': ('DELETE', f'/v1/volume/targets/{RECORD}5', None),
    'change a target': ('PATCH', f'/v1/volume/targets/{RECORD}5', _patch(boot_index=1)),
    'create a runbook': ('POST', '/v1/runbooks', {'name': 'CUSTOM_NEW', 'steps': [{**_STEP, 'order': 1}]}),
    'delete a runbook': ('DELETE', f'/v1/runbooks/{RECORD}6', None),
    'change a runbook': ('PATCH', f'/v1/runbooks/{RECORD}6', _patch(name='CUSTOM_NEW')),
    'put traits of a runbook': ('PUT', f'/v1/runbooks/{RECORD}6/traits', {'traits': ['CUSTOM_C', 'CUSTOM_FREE']}),
    'delete traits of a runbook': ('DELETE', f'/v1/runbooks/{RECORD}6/traits', None),
    'add a trait of a runbook': ('PUT', f'/v1/runbooks/{RECORD}6/traits/CUSTOM_D', None),
    'remove a trait of a runbook': ('DELETE', f'/v1/runbooks/{RECORD}6/traits/CUSTOM_A', None),
    'create a template': (
        'POST',
        '/v1/deploy_templates',
        {'name': 'CUSTOM_NEW', 'steps': [{**_STEP, 'args': {}, 'priority': 1}]},
    ),
    'delete a template': ('DELETE', f'/v1/deploy_templates/{RECORD}7', None),
    'change a template': ('PATCH', f'/v1/deploy_templates/{RECORD}7', _patch(name='CUSTOM_NEW')),
    'create a rule': (
        'POST',
        '/v1/inspection_rules',
        {'name': 'new', 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_C'}}]},
    ),
    'delete a rule': ('DELETE', f'/v1/inspection_rules/{RECORD}9', None),
    'change a rule': ('PATCH', f'/v1/inspection_rules/{RECORD}9', _patch(name='new')),
    # Not requests that write, but writers.
    'number changes': ('GET', '/v1/changes?since=$TOKEN', None),
    'work': ('worker', POWERED, None),
}
#: {operation that writes, and is not in WRITERS: reason}.
LEFT_OUT = {
    **dict.fromkeys(
        (
            *('POST /v1/matches', 'POST /v1/capacity', 'POST /v1/drift', 'POST /v1/explanations'),
            'POST /v1/inspection_rules/preview',
        ),
        'reads only',
    ),
    'DELETE /v1/mirrors/{mirror}/missing_nodes': 'needs a mirror of a cloud',
    'POST /v1/nodes/{node_ident}/inventory/refresh': 'needs a BMC',
    'POST /v1/nodes/actions': 'not one write: it reads, then does what "manage" does, node after node',
    'POST /v1/continue_inspection': 'needs a ramdisk that inspects; "put an inventory" writes the same',
}
#: {writer whose effect other requests may see a second after its response: reason}.
LATE = {'make a trait exclusive': 'a claim that began before it does not know it yet'}
#: {words of an outcome that no order has, and that is right: reason}.
ACCEPTED = {
    'There is no such node.': 'as in Ironic, an allocation ends in "error" if its candidate is deleted after the check'
}
