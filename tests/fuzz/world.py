"""The objects that exist during a search, values that refer to them, and hostile values."""

import itertools

from tests.support.service import finish_work


def _uuid(number):
    return f'f0000000-0000-4000-8000-{number:012x}'


NODE, SECOND, CHILD, PORT, PORTGROUP, CHASSIS, CONNECTOR, TARGET, TEMPLATE, RUNBOOK, RULE = map(_uuid, range(11))
ALLOCATION, INSTANCE, RESERVED, PROVIDER, TREE, AGGREGATE, CONSUMER, MISSING, CANARY = map(_uuid, range(11, 20))
_NEW = itertools.count(0x1000)

_STEP = {'interface': 'deploy', 'step': 'erase_devices', 'args': {}}
_TRAITS = ['CUSTOM_A', 'HW_CPU_X86_VMX']
#: Requests of the Bare Metal API that create the objects: (method, path, body).
_BARE_METAL = (
    ('POST', '/v1/chassis', {'uuid': CHASSIS}),
    ('POST', '/v1/nodes', {'uuid': NODE, 'name': 'one', 'driver': 'fake-hardware', 'resource_class': 'gold'}),
    ('POST', '/v1/nodes', {'uuid': SECOND, 'name': 'two', 'driver': 'fake-hardware', 'resource_class': 'gold'}),
    ('POST', '/v1/nodes', {'uuid': CHILD, 'driver': 'fake-hardware', 'parent_node': NODE}),
    ('POST', '/v1/nodes', {'uuid': CANARY, 'name': 'canary', 'driver': 'fake-hardware'}),
    ('PUT', '/v1/nodes/two/states/provision', {'target': 'manage'}),
    ('PUT', '/v1/nodes/two/states/provision', {'target': 'provide'}),
    ('PUT', '/v1/nodes/one/traits', {'traits': _TRAITS}),
    ('PUT', '/v1/nodes/two/traits', {'traits': _TRAITS}),
    ('POST', '/v1/ports', {'uuid': PORT, 'node_uuid': NODE, 'address': '52:54:00:00:00:01'}),
    ('POST', '/v1/portgroups', {'uuid': PORTGROUP, 'node_uuid': NODE, 'name': 'bond0'}),
    ('POST', '/v1/volume/connectors', {'uuid': CONNECTOR, 'node_uuid': NODE, 'type': 'ip', 'connector_id': 'a'}),
    (
        'POST',
        '/v1/volume/targets',
        {'uuid': TARGET, 'node_uuid': NODE, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'a'},
    ),
    ('POST', '/v1/deploy_templates', {'uuid': TEMPLATE, 'name': 'CUSTOM_A', 'steps': [_STEP | {'priority': 1}]}),
    ('POST', '/v1/runbooks', {'uuid': RUNBOOK, 'name': 'CUSTOM_A', 'steps': [_STEP | {'order': 1}]}),
    (
        'POST',
        '/v1/inspection_rules',
        {'uuid': RULE, 'name': 'gold', 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}]},
    ),
    ('POST', '/v1/allocations', {'uuid': ALLOCATION, 'name': 'first', 'resource_class': 'gold'}),
    ('POST', '/v1/reservations', {'instance_uuid': RESERVED, 'node_uuid': SECOND}),
    ('PUT', '/v1/nodes/one/inventory', {'inventory': {'cpu': {'architecture': 'x86_64', 'flags': ['avx2']}}}),
)
_PLACEMENT = (
    ('PUT', '/traits/CUSTOM_A', None),
    ('PUT', '/resource_classes/CUSTOM_GOLD', None),
    ('POST', '/resource_providers', {'uuid': TREE, 'name': 'tree'}),
    ('POST', '/resource_providers', {'uuid': PROVIDER, 'name': 'provider', 'parent_provider_uuid': TREE}),
    ('POST', f'/resource_providers/{PROVIDER}/inventories', {'resource_class': 'DISK_GB', 'total': 100}),
    (
        'PUT',
        f'/resource_providers/{PROVIDER}/traits',
        {'traits': ['CUSTOM_A'], 'resource_provider_generation': 1},
    ),
    (
        'PUT',
        f'/allocations/{CONSUMER}',
        {
            'allocations': {PROVIDER: {'resources': {'DISK_GB': 1}}},
            'project_id': 'p',
            'user_id': 'u',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        },
    ),
)


def create(client):
    """Create the objects that do not exist.

    :param client: tests.support.client.Client.
    """
    for method, path, body in _BARE_METAL:
        client.ask(method, path, body)
        finish_work(client.app)
    for request in _PLACEMENT:
        client.placement(*request)


_UUIDS = [NODE, SECOND, CHILD, PORT, PORTGROUP, CHASSIS, INSTANCE, PROVIDER, MISSING, 'F' * 8 + NODE[8:], NODE[:-1]]
_NODES = [NODE, SECOND, CHILD, 'one', 'two', MISSING, 'none', 'one.json']
_NAMES = ['CUSTOM_A', 'HW_CPU_X86_VMX', 'CUSTOM_B', 'HW_NONE', 'custom_a', '']
_VERBS = [
    'manage',
    'provide',
    'active',
    'deleted',
    'clean',
    'inspect',
    'rescue',
    'abort',
    'adopt',
    'service',
    'rebuild',
]
#: {name of a parameter, or key of a body: values}. A name means the same in paths and bodies.
KNOWN = {
    **dict.fromkeys(('node_ident', 'node', 'parent_node'), _NODES),
    **dict.fromkeys(('node_uuid', 'candidate_nodes', 'nodes'), [NODE, SECOND, MISSING, 'one']),
    'uuid': [*_UUIDS, TREE],
    'marker': _UUIDS,
    'chassis_uuid': [CHASSIS, MISSING],
    'port_ident': [PORT, MISSING],
    'portgroup_ident': [PORTGROUP, 'bond0'],
    'connector_uuid': [CONNECTOR, MISSING],
    'target_uuid': [TARGET, MISSING],
    'template_ident': [TEMPLATE, 'CUSTOM_A'],
    'runbook_ident': [RUNBOOK, 'CUSTOM_A'],
    'runbook': [RUNBOOK, 'CUSTOM_A'],
    'rule_ident': [RULE, 'gold'],
    **dict.fromkeys(('capacity_reservation_ident', 'capacity_reservation'), ['one', 'two', MISSING]),
    'count': [1, 2, 100_001],
    'allocation_ident': [ALLOCATION, 'first'],
    'driver_name': ['fake-hardware', 'none'],
    'driver': ['fake-hardware', 'none'],
    'name': ['one', 'two', 'three', *_NAMES, 'in:CUSTOM_A', 'startswith:CUSTOM', 'VCPU', 'CUSTOM_GOLD'],
    **dict.fromkeys(('trait', 'traits', 'traits-any', 'not-traits', 'required', 'required_any', 'forbidden'), _NAMES),
    **dict.fromkeys(('root_required', 'preferred', 'add', 'remove'), [*_NAMES, '!CUSTOM_A', 'in:CUSTOM_A,CUSTOM_B']),
    **dict.fromkeys(
        ('resource_class', 'resources'), ['gold', 'DISK_GB:1', 'CUSTOM_GOLD:1', 'VCPU:1,DISK_GB:5', 'DISK_GB']
    ),
    **dict.fromkeys(
        ('member_of', 'in_tree', 'same_subtree'), [AGGREGATE, TREE, f'in:{AGGREGATE}', f'!{AGGREGATE}', '_A']
    ),
    'without': ['owner', 'owner,shard', 'instance_uuid', 'none'],
    'fields': ['uuid', 'name,uuid', 'traits', 'links', 'uuid,trait_sources', 'none'],
    'sort_key': ['name', 'uuid', 'created_at', 'id', 'extra', 'traits'],
    'sort_dir': ['asc', 'desc'],
    'limit': [1, 2, 1000, 0, 2**31, 2**63],
    'target': [*_VERBS, 'power on', 'power off', 'rebooting', 'none'],
    'instance_uuid': [INSTANCE, RESERVED, MISSING, None],
    'instance_uuids': [[INSTANCE], [INSTANCE, MISSING]],
    **dict.fromkeys(('reservation_uuid', 'consumer_uuid'), [RESERVED, CONSUMER, MISSING]),
    'changed-since': ['0', '1', '99999999999999999999', 'a'],
    'since': ['0', '1', '2026-01-01T00:00:00+00:00', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'],
    'at': ['2026-01-01T00:00:00+00:00', '0001-01-01T00:00:00+23:59', '9999-12-31T23:59:59-23:59'],
    'address': ['52:54:00:00:00:01', '52:54:00:00:00:02'],
    'path': [
        '/extra/a',
        '/extra',
        '/name',
        '/driver',
        '/properties/b',
        '/traits',
        '/extra/a/b',
        '/instance_uuid',
        '/x',
    ],
    'resource_provider_generation': [0, 1, 2, 3, 4],
    'consumer_generation': [None, 0, 1],
    'parent_provider_uuid': [TREE, PROVIDER, None, MISSING],
    'where': [{'traits': 'CUSTOM_A'}, {'resource_class': 'gold'}, {'none': 1}, {'traits': ['CUSTOM_A', 'CUSTOM_B']}],
    'steps': [[_STEP | {'priority': 1}], [_STEP | {'order': 1}], [_STEP], []],
    'clean_steps': [[{'interface': 'deploy', 'step': 'erase_devices'}], []],
    'actions': [[{'op': 'add-trait', 'args': {'name': 'CUSTOM_C'}}], [{'op': 'none'}], [None]],
    'conditions': [[{'op': 'eq', 'args': {'values': ['{inventory[cpu][architecture]}', 'x86_64']}}], [{}], [1]],
}
#: JSON values that often break services.
HOSTILE = (
    *(
        '',
        ' ',
        '\0',
        'a\0b',
        '\ud800',
        '😀',
        'é' * 300,
        'a' * 70_000,
        '../..',
        "'; DROP TABLE nodes; --",
        '%00',
        '%',
        '{0}',
    ),
    *('${jndi:x}', '\u202e', 'nan', '-1', '1e400', 'null', 'İ', 'ß', '\r\nX-Injected: 1', '${x}', '{inventory[x]}'),
    *(0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**400, 1.5, 1e308, -0.0, True, False, None),
    *([], {}, [[]], [None], {'': None}, {'a': {'a': {}}}, [1, '1', None, {}], {'\0': 1}, ['CUSTOM_A'] * 300),
)
