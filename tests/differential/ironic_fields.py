"""The fields of the resources of Ironic, with values for generated requests: {name: values}."""


def _uuid(number):
    return f'd0000000-0000-4000-8000-{number:012x}'


N = [_uuid(number) for number in range(4)]
PORT, GROUP, CHASSIS, CONNECTOR, TARGET, TEMPLATE, RUNBOOK, RULE, ALLOCATION, INSTANCE, VIF, MISSING = (
    [_uuid(0x10 * each + number) for number in range(2)] for each in range(1, 13)
)
TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX', 'CUSTOM_A', 'custom_bad', 'HW_NONE']
BOOL = [True, False, 'true', 'no', 'maybe']
_FREE = [{}, {'a': 1}, {'a': {'b': 'c'}}, {'a': None}]
TEXT = ['text', 'other text', 'x']
PROJECT = ['alpha', 'beta', 'gamma']
STEP = {'interface': 'deploy', 'step': 'erase_devices', 'args': {}}
_BIOS = {'interface': 'bios', 'step': 'apply_configuration', 'args': {'settings': []}}
_INTERFACES = {
    f'{name}_interface': values
    for name, values in {
        'bios': ['no-bios', 'none'],
        'boot': ['fake', 'none'],
        'console': ['no-console', 'none'],
        'deploy': ['fake', 'direct'],
        'firmware': ['no-firmware', 'fake'],
        'inspect': ['no-inspect', 'agent', 'fake'],
        'management': ['fake', 'ipmitool'],
        'network': ['noop', 'neutron'],
        'power': ['fake', 'x'],
        'raid': ['no-raid', 'agent'],
        'rescue': ['no-rescue', 'agent'],
        'storage': ['noop', 'cinder'],
        'vendor': ['no-vendor', 'fake'],
    }.items()
}
NODE = {
    'driver*': ['fake-hardware'] * 9 + ['none'],
    'uuid': [*N, _uuid(9), 'bad'],
    'name': ['one', 'two', 'four', 'five.example.com', 'bad name', 'detail', 'a_b'],
    'driver_info': [{'address': '192.0.2.1'}, {'password': 'secret'}, {'a': {'token': 'x'}}, {}],
    'extra': _FREE,
    'properties': [{}, {'cpus': 4}, {'cpu_arch': 'x86_64', 'memory_mb': '1024'}, {'capabilities': 'a:b'}],
    'instance_info': [{}, {'image_source': 'x'}, {'traits': ['CUSTOM_A']}, {'capabilities': '{}'}],
    'instance_uuid': [*INSTANCE, 'bad'],
    'chassis_uuid': [*CHASSIS, MISSING[0], 'bad'],
    'resource_class': ['gold', 'silver', 'x' * 81],
    'owner': PROJECT,
    'lessee': PROJECT,
    'description': [*TEXT, 'x' * 4097],
    'conductor_group': ['', 'group', 'GROUP', 'bad group'],
    'automated_clean': BOOL,
    'protected': BOOL,
    'protected_reason': TEXT,
    'retired': BOOL,
    'retired_reason': TEXT,
    'maintenance': BOOL,
    'network_data': [{}, {'links': []}, {'links': [], 'networks': [], 'services': []}],
    'shard': ['one', 'two', ''],
    'parent_node': [*N[:2], MISSING[0]],
    'disable_power_off': BOOL,
    'instance_name': ['web', 'db'],
    'traits': [['CUSTOM_A']],
    'console_enabled': BOOL,
    'boot_mode': ['uefi'],
    'secure_boot': BOOL,
    'power_state': ['power on'],
    'provision_state': ['active'],
    'unknown': ['x'],
    **_INTERFACES,
}
PATHS = {
    '/extra/a': TEXT,
    '/properties/cpus': [1],
    '/driver_info/x': TEXT,
    '/extra/a/b': [1],
    '/instance_info/x': [1],
}
MAC = ['52:54:00:00:00:01', '52:54:00:00:00:02', '52:54:00:00:00:0A', 'bad', '525400000003']
_LINK = [
    {},
    {'switch_id': '52:54:00:00:00:0a', 'port_id': 'eth1', 'switch_info': 'x'},
    {'switch_id': 'bad', 'port_id': 'e'},
    {'port_id': 'eth1'},
    {'network_type': 'unmanaged'},
    {'switch_id': '52:54:00:00:00:0a', 'port_id': 'eth1', 'hostname': 'x'},
]
PORT_FIELDS = {
    'node_uuid*': [*N[:3], MISSING[0]],
    'address*': MAC,
    'uuid': [*PORT, _uuid(0x99)],
    'extra': _FREE,
    'local_link_connection': _LINK,
    'portgroup_uuid': [*GROUP, MISSING[0]],
    'pxe_enabled': BOOL,
    'physical_network': ['net1', 'net2', ''],
    'is_smartnic': BOOL,
    'name': ['nic0', 'nic1', 'bad name'],
    'description': [*TEXT, 'x' * 256],
    'vendor': TEXT,
    'category': TEXT,
    'available_for_dynamic_portgroup': BOOL,
    'unknown': [1],
}
GROUP_FIELDS = {
    'node_uuid*': [*N[:3], MISSING[0]],
    'address': MAC,
    'uuid': [*GROUP, _uuid(0x98)],
    'name': ['bond0', 'bond1', 'bad name'],
    'extra': _FREE,
    'mode': ['active-backup', '802.3ad', '4'],
    'properties': _FREE,
    'standalone_ports_supported': BOOL,
    'physical_network': ['net1', ''],
    'category': TEXT,
    'dynamic_portgroup': BOOL,
    'unknown': [1],
}
CHASSIS_FIELDS = {
    'uuid': [*CHASSIS, _uuid(0x97)],
    'description': [*TEXT, 'x' * 256],
    'extra': _FREE,
    'unknown': [1],
}
CONNECTOR_FIELDS = {
    'node_uuid*': [*N[:3], MISSING[0]],
    'type*': ['ip', 'iqn', 'mac', 'wwnn', 'wwpn', 'port', 'portgroup', 'bad'],
    'connector_id*': ['a', 'b'],
    'uuid': [*CONNECTOR, _uuid(0x96)],
    'extra': _FREE,
    'unknown': [1],
}
TARGET_FIELDS = {
    'node_uuid*': [*N[:3], MISSING[0]],
    'volume_type*': ['iscsi', 'fibre_channel'],
    'volume_id*': ['a', 'b'],
    'boot_index*': [0, 1, '2', -1, 'a'],
    'uuid': [*TARGET, _uuid(0x95)],
    'properties': [{}, {'a': 1}, {'auth_password': 'x'}],
    'extra': _FREE,
    'unknown': [1],
}
TEMPLATE_FIELDS = {
    'name*': ['CUSTOM_A', 'CUSTOM_B', 'bad', 'HW_CPU_X86_VMX', 'HW_NONE'],
    'steps*': [
        [STEP | {'priority': 1}],
        [STEP | {'priority': 5}, _BIOS | {'priority': 0}],
        [STEP | {'priority': 1}] * 2,
        [STEP | {'priority': '7'}],
        [STEP | {'priority': -1}],
        [STEP],
        [],
        [STEP | {'priority': 1, 'x': 1}],
        [STEP | {'interface': 'none', 'priority': 1}],
        [STEP | {'args': None, 'priority': 1}],
    ],
    'uuid': [*TEMPLATE, 'bad'],
    'extra': _FREE,
    'unknown': [1],
}
RUNBOOK_FIELDS = {
    'name*': ['CUSTOM_A', 'CUSTOM_B', 'bad'],
    'steps*': [
        [STEP | {'order': 1}],
        [STEP | {'order': 5}, _BIOS | {'order': 0}],
        [STEP | {'order': 1}] * 2,
        [STEP | {'order': '7'}],
        [STEP | {'order': -1}],
        [STEP],
        [],
        [STEP | {'interface': 'none', 'order': 1}],
    ],
    'uuid': [*RUNBOOK, 'bad'],
    'extra': _FREE,
    'owner': PROJECT,
    'public': BOOL,
    'disable_ramdisk': BOOL,
    'description': TEXT,
    'unknown': [1],
}
RULE_FIELDS = {
    'actions*': [
        [{'op': 'set-attribute', 'args': {'path': '/extra/a', 'value': 'b'}}],
        [{'op': 'set-attribute', 'args': ['/extra/a', 'b']}],
        [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}],
        [{'op': 'fail', 'args': {'msg': 'x'}}],
        [{'op': 'none', 'args': {}}],
        [{'op': 'log', 'args': {}}],
        [],
    ],
    'conditions': [
        [],
        [{'op': 'eq', 'args': {'values': [1, 1]}}],
        [{'op': '!eq', 'args': [1, 2]}],
        [{'op': 'none', 'args': {}}],
        [{'op': 'is-true', 'args': {'value': '{inventory[x]}'}, 'loop': [1]}],
    ],
    'uuid': [*RULE, 'bad'],
    'description': [*TEXT, 'x' * 256],
    'priority': [0, 10, 9999, 10000, -1, '5'],
    'phase': ['main', 'early', 'x'],
    'sensitive': BOOL,
    'scope': TEXT,
    'unknown': [1],
}
ALLOCATION_FIELDS = {
    'resource_class*': ['gold', 'silver', 'x' * 81],
    'name': ['first', 'second', 'bad name'],
    'uuid': [*ALLOCATION, 'bad'],
    'traits': [['CUSTOM_A'], ['CUSTOM_B'], [], ['custom_bad']],
    'candidate_nodes': [[N[0]], ['one'], [N[1], N[2]], [], [MISSING[0]]],
    'extra': _FREE,
    'node': [*N[:3], 'one', MISSING[0]],
    'owner': PROJECT,
    'unknown': [1],
}
ALLOCATION_PATCH = {'name': ['first', 'third', 'bad name'], 'extra': _FREE, '/extra/a': [1], 'state': ['x']}
