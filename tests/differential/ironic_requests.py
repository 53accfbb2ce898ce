"""The requests of Ironic's API that ``generating`` makes: those that this service has, too."""

from tests.differential.generating import Api
from tests.differential.ironic_fields import (
    ALLOCATION,
    ALLOCATION_FIELDS,
    ALLOCATION_PATCH,
    BOOL,
    CHASSIS,
    CHASSIS_FIELDS,
    CONNECTOR,
    CONNECTOR_FIELDS,
    GROUP,
    GROUP_FIELDS,
    INSTANCE,
    MAC,
    MISSING,
    NODE,
    PATHS,
    PORT,
    PORT_FIELDS,
    PROJECT,
    RULE,
    RULE_FIELDS,
    RUNBOOK,
    RUNBOOK_FIELDS,
    STEP,
    TARGET,
    TARGET_FIELDS,
    TEMPLATE,
    TEMPLATE_FIELDS,
    TEXT,
    TRAITS,
    VIF,
    N,
)

_VERBS = (
    *('manage', 'provide', 'manage', 'provide', 'active', 'active', 'deleted', 'inspect', 'abort', 'adopt', 'rebuild'),
    *('rescue', 'unrescue', 'clean', 'service', 'unhold', 'none'),
)


def _provision(generator):
    target = generator.value(_VERBS)
    document = {'target': target}
    if target in ('clean', 'service') and generator.chance(0.9):
        key = f'{target}_steps'
        step = {'interface': 'deploy', 'step': 'erase_devices'}
        choices = [[step], [step | {'args': {}}], [], [step | {'step': 'none'}], [step | {'x': 1}]]
        document |= {key: generator.value(choices)} if generator.chance(0.7) else {'runbook': 'CUSTOM_A'}
    others = {
        'configdrive': ['http://192.0.2.1/x', {'meta_data': {}}, {'x': 1}],
        'deploy_steps': [[STEP | {'priority': 1}], [STEP]],
        'rescue_password': ['secret'],
        'disable_ramdisk': BOOL,
        'clean_steps': [[]],
        'unknown': [1],
    }
    if target == 'rescue':
        document |= {'rescue_password': 'secret'} if generator.chance(0.8) else {}
    return document | (generator.fields(others, 1) if generator.chance(0.25) else {})


def _traits(generator):
    return {
        'traits': generator.value([['CUSTOM_A'], ['CUSTOM_B', 'CUSTOM_A'], [], ['bad'], ['CUSTOM_A'] * 2, 'CUSTOM_A'])
    }


def _fields_of(table):
    return [name.rstrip('*') for name in table] + ['created_at', 'updated_at', 'links', 'none']


_PAGE = ('limit', 'marker', 'sort_dir')
_NODE_FILTERS = (
    *('instance_uuid', 'maintenance', 'chassis_uuid', 'associated', 'provision_state', 'driver', 'resource_class'),
    *(
        'fault',
        'conductor_group',
        'conductor',
        'owner',
        'description_contains',
        'retired',
        'lessee',
        'project',
        'shard',
    ),
    *('sharded', 'parent_node', 'include_children', 'instance_name', 'none'),
)
#: (path, word in the names of parameters, fields in bodies, weight, filters).
_NOUNS = (
    (
        '/v1/ports',
        'port',
        PORT_FIELDS,
        4,
        ('address', 'node_uuid', 'node', 'portgroup', 'shard', 'description_contains'),
    ),
    ('/v1/portgroups', 'portgroup', GROUP_FIELDS, 3, ('address', 'node', 'shard', 'conductor_groups')),
    ('/v1/chassis', 'chassis', CHASSIS_FIELDS, 2, ()),
    ('/v1/volume/connectors', 'connector', CONNECTOR_FIELDS, 2, ('node',)),
    ('/v1/volume/targets', 'target', TARGET_FIELDS, 2, ('node',)),
    ('/v1/deploy_templates', 'template', TEMPLATE_FIELDS, 2, ()),
    ('/v1/runbooks', 'runbook', RUNBOOK_FIELDS, 2, ('project',)),
    ('/v1/inspection_rules', 'rule', RULE_FIELDS, 2, ()),
)


def _operations_of(path, noun, fields, weight, filters):
    query = (*_PAGE, f'{noun}/sort_key', f'{noun}/fields', 'detail', *filters)
    one = f'{path}/{{{noun}}}'
    return [
        (weight, 'GET', path, query, None),
        (weight, 'POST', path, (), fields),
        (weight, 'GET', one, (f'{noun}/fields',), None),
        (weight, 'PATCH', one, (), ('patch', fields)),
        (weight * 0.5, 'DELETE', one, (), None),
    ]


_NODE_QUERY = (*_PAGE, 'node/sort_key', 'node/fields', 'detail', *_NODE_FILTERS)
_OF_NODES = [
    (8, 'GET', '/v1/nodes', _NODE_QUERY, None),
    (3, 'GET', '/v1/nodes/detail', (*_PAGE, 'node/sort_key', *_NODE_FILTERS), None),
    (6, 'POST', '/v1/nodes', (), NODE),
    (6, 'GET', '/v1/nodes/{node}', ('node/fields',), None),
    (14, 'PATCH', '/v1/nodes/{node}', ('reset_interfaces',), ('patch', NODE | PATHS)),
    (3, 'DELETE', '/v1/nodes/{node}', (), None),
    (1, 'GET', '/v1/nodes/{node}/validate', (), None),
    (1, 'GET', '/v1/nodes/validate', ('node', 'node_uuid'), None),
    (2, 'GET', '/v1/nodes/{node}/states', (), None),
    (14, 'PUT', '/v1/nodes/{node}/states/provision', (), _provision),
    (
        3,
        'PUT',
        '/v1/nodes/{node}/states/power',
        (),
        {
            'target*': ['power on', 'power off', 'rebooting', 'soft power off', 'soft rebooting', 'none'],
            'timeout': [1, 0, 'a'],
        },
    ),
    (3, 'PUT', '/v1/nodes/{node}/maintenance', (), {'reason': TEXT}),
    (2, 'DELETE', '/v1/nodes/{node}/maintenance', (), None),
    (1, 'GET', '/v1/nodes/{node}/management/boot_device', (), None),
    (1, 'GET', '/v1/nodes/{node}/management/boot_device/supported', (), None),
    (
        1,
        'PUT',
        '/v1/nodes/{node}/management/boot_device',
        (),
        {'boot_device*': ['pxe', 'disk', 'none'], 'persistent': BOOL},
    ),
    (2, 'GET', '/v1/nodes/{node}/traits', (), None),
    (3, 'PUT', '/v1/nodes/{node}/traits', (), _traits),
    (2, 'PUT', '/v1/nodes/{node}/traits/{trait}', (), None),
    (1, 'DELETE', '/v1/nodes/{node}/traits', (), None),
    (1, 'DELETE', '/v1/nodes/{node}/traits/{trait}', (), None),
    (1, 'GET', '/v1/nodes/{node}/vifs', (), None),
    (1, 'POST', '/v1/nodes/{node}/vifs', (), {'id*': VIF}),
    (1, 'DELETE', '/v1/nodes/{node}/vifs/{vif}', (), None),
    (1, 'GET', '/v1/nodes/{node}/history', (*_PAGE, 'detail'), None),
    (0.3, 'GET', '/v1/nodes/{node}/history/{missing}', (), None),
    (1, 'GET', '/v1/nodes/{node}/inventory', (), None),
    (1, 'GET', '/v1/nodes/{node}/children', (), None),
    (1, 'GET', '/v1/nodes/{node}/bios', ('detail',), None),
    (1, 'GET', '/v1/nodes/{node}/firmware', (), None),
    (2, 'GET', '/v1/nodes/{node}/ports', (*_PAGE, 'port/sort_key', 'port/fields', 'address'), None),
    (1, 'GET', '/v1/nodes/{node}/ports/detail', (*_PAGE, 'address'), None),
    (1, 'GET', '/v1/nodes/{node}/portgroups', (*_PAGE, 'portgroup/fields', 'address'), None),
    (1, 'GET', '/v1/nodes/{node}/portgroups/detail', (*_PAGE, 'address'), None),
    (1, 'GET', '/v1/nodes/{node}/volume', (), None),
    (1, 'GET', '/v1/nodes/{node}/volume/connectors', (*_PAGE, 'connector/fields'), None),
    (1, 'GET', '/v1/nodes/{node}/volume/targets', (*_PAGE, 'target/fields'), None),
    (1, 'GET', '/v1/nodes/{node}/allocation', ('allocation/fields',), None),
    (1, 'DELETE', '/v1/nodes/{node}/allocation', (), None),
    (1, 'GET', '/v1/chassis/{chassis}/nodes', _NODE_QUERY, None),
    (1, 'GET', '/v1/chassis/{chassis}/nodes/detail', (*_PAGE, 'owner'), None),
]
_OTHERS = [
    (1, 'GET', '/v1/ports/detail', (*_PAGE, 'port/sort_key', 'address', 'node', 'portgroup'), None),
    (1, 'GET', '/v1/portgroups/detail', (*_PAGE, 'portgroup/sort_key', 'address', 'node'), None),
    (1, 'GET', '/v1/chassis/detail', _PAGE, None),
    (1, 'GET', '/v1/portgroups/{portgroup}/ports', (*_PAGE, 'port/fields', 'address'), None),
    (1, 'GET', '/v1/portgroups/{portgroup}/ports/detail', (*_PAGE, 'address'), None),
    (0.5, 'GET', '/v1/volume', (), None),
    (1, 'GET', '/v1/drivers', ('type', 'detail', 'driver/fields'), None),
    (1, 'GET', '/v1/drivers/{driver}', ('driver/fields',), None),
    (0.5, 'GET', '/v1/drivers/{driver}/properties', (), None),
    (1, 'GET', '/v1/conductors', (*_PAGE, 'conductor/sort_key', 'conductor/fields', 'detail'), None),
    (1, 'GET', '/v1/conductors/{conductor}', ('conductor/fields',), None),
    (1, 'GET', '/v1/shards', (), None),
    (1, 'GET', '/v1/runbooks/{runbook}/traits', (), None),
    (1, 'PUT', '/v1/runbooks/{runbook}/traits', (), _traits),
    (1, 'PUT', '/v1/runbooks/{runbook}/traits/{trait}', (), None),
    (0.5, 'DELETE', '/v1/runbooks/{runbook}/traits', (), None),
    (0.5, 'DELETE', '/v1/runbooks/{runbook}/traits/{trait}', (), None),
    (0.5, 'DELETE', '/v1/inspection_rules', (), None),
    (
        4,
        'GET',
        '/v1/allocations',
        (*_PAGE, 'allocation/sort_key', 'allocation/fields', 'resource_class', 'state', 'node', 'owner'),
        None,
    ),
    (5, 'POST', '/v1/allocations', (), ALLOCATION_FIELDS),
    (2, 'GET', '/v1/allocations/{allocation}', ('allocation/fields',), None),
    (2, 'PATCH', '/v1/allocations/{allocation}', (), ('patch', ALLOCATION_PATCH)),
    (2, 'DELETE', '/v1/allocations/{allocation}', (), None),
    (0.5, 'GET', '/v1', (), None),
    (0.5, 'GET', '/', (), None),
    (0.5, 'GET', '/v1/none', (), None),
    (0.5, 'DELETE', '/v1/nodes', (), None),
    (0.5, 'PUT', '/v1/nodes/{node}', (), NODE),
    (0.5, 'POST', '/v1/nodes/{node}/traits', (), _traits),
]
_PRELUDE = [
    ('POST', '/v1/chassis', {'uuid': CHASSIS[0], 'description': 'first'}),
    (
        'POST',
        '/v1/nodes',
        {
            **{'uuid': N[0], 'name': 'one', 'driver': 'fake-hardware', 'resource_class': 'gold', 'owner': 'alpha'},
            **{'lessee': 'beta', 'chassis_uuid': CHASSIS[0]},
        },
    ),
    ('POST', '/v1/nodes', {'uuid': N[1], 'driver': 'fake-hardware', 'resource_class': 'gold', 'shard': 'one'}),
    ('POST', '/v1/nodes', {'uuid': N[2], 'name': 'two', 'driver': 'fake-hardware', 'resource_class': 'silver'}),
    *(
        ('PUT', f'/v1/nodes/{node}/states/provision', {'target': verb})
        for node in (N[0], N[1])
        for verb in ('manage', 'provide')
    ),
    ('PUT', '/v1/nodes/one/traits', {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']}),
    ('POST', '/v1/portgroups', {'uuid': GROUP[0], 'node_uuid': N[0], 'name': 'bond0'}),
    ('POST', '/v1/ports', {'uuid': PORT[0], 'node_uuid': N[0], 'address': MAC[0], 'name': 'nic0'}),
    ('POST', '/v1/volume/connectors', {'uuid': CONNECTOR[0], 'node_uuid': N[2], 'type': 'ip', 'connector_id': 'a'}),
    (
        'POST',
        '/v1/volume/targets',
        {'uuid': TARGET[0], 'node_uuid': N[2], 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'a'},
    ),
    ('POST', '/v1/deploy_templates', {'uuid': TEMPLATE[0], 'name': 'CUSTOM_A', 'steps': [STEP | {'priority': 1}]}),
    ('POST', '/v1/runbooks', {'uuid': RUNBOOK[0], 'name': 'CUSTOM_A', 'steps': [STEP | {'order': 1}]}),
    ('POST', '/v1/inspection_rules', {'uuid': RULE[0], 'actions': RULE_FIELDS['actions*'][0], 'conditions': []}),
    ('POST', '/v1/allocations', {'uuid': ALLOCATION[0], 'name': 'first', 'resource_class': 'gold', 'owner': 'alpha'}),
]
_FIELDS = {noun: _fields_of(fields) for _, noun, fields, _, _ in _NOUNS} | {
    'node': [*_fields_of(NODE), 'traits', 'reservation', 'last_error', 'provision_updated_at', 'driver_internal_info'],
    'allocation': [*_fields_of(ALLOCATION_FIELDS), 'node_uuid', 'state', 'last_error'],
    'driver': ['name', 'hosts', 'type', 'links', 'default_bios_interface', 'none'],
    'conductor': ['hostname', 'alive', 'drivers', 'conductor_group', 'updated_at', 'none'],
}
_POOLS = {
    'node': [*N, *N, 'one', 'two', 'one', MISSING[0], 'none', 'one.json'],
    'node_uuid': [*N, 'one'],
    'parent_node': N,
    'port': [*PORT, 'nic0', *PORT, MISSING[0], 'bad name'],
    'portgroup': [*GROUP, 'bond0', MISSING[0]],
    'chassis': [*CHASSIS, MISSING[0], 'bad'],
    'chassis_uuid': [*CHASSIS, MISSING[0], 'bad'],
    'connector': [*CONNECTOR, MISSING[0]],
    'target': [*TARGET, MISSING[0]],
    'template': [*TEMPLATE, 'CUSTOM_A', 'CUSTOM_B', MISSING[0]],
    'runbook': [*RUNBOOK, 'CUSTOM_A', 'CUSTOM_B', MISSING[0]],
    'rule': [*RULE, MISSING[0]],
    'allocation': [*ALLOCATION, 'first', 'second', MISSING[0]],
    'vif': [*VIF, 'x'],
    'trait': TRAITS,
    'missing': MISSING,
    'driver': ['fake-hardware', 'none'],
    'conductor': ['127.0.0.1', 'none'],
    'limit': ['1', '2', '1000', '0', '-1', 'a'],
    'marker': [N[0], N[1], PORT[0], ALLOCATION[0], MISSING[0], 'bad'],
    'sort_dir': ['asc', 'desc', 'x'],
    'detail': ['true', 'false', 'x'],
    'instance_uuid': [*INSTANCE, 'bad'],
    'provision_state': ['available', 'active', 'enroll', 'manageable', 'none'],
    'resource_class': ['gold', 'silver'],
    'fault': ['clean failure', 'none'],
    'conductor_group': ['', 'group'],
    'conductor_groups': ['', 'group', 'a,b'],
    'shard': ['one', 'one,two'],
    'state': ['active', 'error', 'none'],
    'description_contains': ['text', 'e'],
    'instance_name': ['web'],
    'type': ['classic', 'dynamic', 'x'],
    'address': MAC,
    'none': ['1'],
    **dict.fromkeys(('owner', 'lessee', 'project'), PROJECT),
    **dict.fromkeys(
        ('maintenance', 'associated', 'retired', 'sharded', 'include_children', 'reset_interfaces'),
        ['true', 'false', 'True', 'x'],
    ),
    **{f'{noun}/fields': names for noun, names in _FIELDS.items()},
    **{f'{noun}/sort_key': [name for name in names if name != 'links'] for noun, names in _FIELDS.items()},
}
API = Api(
    name='ironic',
    admin='system_admin',
    header=lambda minor: {'X-OpenStack-Ironic-API-Version': f'1.{minor}'},
    maximum=115,
    minimum=1,
    operations=[*_OF_NODES, *(each for noun in _NOUNS for each in _operations_of(*noun)), *_OTHERS],
    pools=_POOLS,
    prelude=_PRELUDE,
)
