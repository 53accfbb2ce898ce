"""The requests of Placement's API that ``generating`` makes."""

from tests.differential.generating import Api


def _uuid(number):
    return f'd0000000-0000-4000-8000-{number:012x}'


_R = [_uuid(number) for number in range(5)]
_C = [_uuid(0x10 + number) for number in range(3)]
_AGGREGATES = [_uuid(0x20 + number) for number in range(2)]
_MISSING = _uuid(0x30)
_CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_GOLD', 'VCPU', 'DISK_GB', 'CUSTOM_NONE', 'NONE', 'bad']
_TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX', 'MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_NONE', 'bad']
_GENERATION = [0, 1, 2, 2, 3, 3, 4, 5]
_OWNERS = ['project', 'other']
_INVENTORY = {
    'total*': [10, 100, 1],
    'reserved': [0, 1, 10, 11],
    'min_unit': [1, 2],
    'max_unit': [1, 10, 100],
    'step_size': [1, 2],
    'allocation_ratio': [1.0, 2.5, 16, 0.5],
    'unknown': [1],
}


def _generation(generator, name='resource_provider_generation'):
    return {name: generator.value(_GENERATION)} if not generator.chance(0.03) else {}


def _inventory(generator):
    return generator.fields(_INVENTORY) | _generation(generator)


def _new_inventory(generator):
    return generator.fields({'resource_class*': _CLASSES} | _INVENTORY)


def _inventories(generator):
    names = generator.random.sample(_CLASSES[:5], generator.random.randint(0, 3))
    return {'inventories': {name: generator.fields(_INVENTORY, 1) for name in names}} | _generation(generator)


def _traits(generator):
    names = generator.random.sample(_TRAITS, generator.random.randint(0, 3))
    return {'traits': generator.value([names])} | _generation(generator)


def _aggregates(generator):
    chosen = generator.value([_AGGREGATES[:1], _AGGREGATES, [], ['bad'], _AGGREGATES[:1] * 2])
    is_list = generator.minor < 19 if not generator.chance(0.05) else generator.chance(0.5)
    return chosen if is_list else {'aggregates': chosen} | _generation(generator)


def _resources(generator):
    names = generator.random.sample(_CLASSES[:6], generator.random.randint(1, 2))
    return {name: generator.value([1, 1, 2, 5, 10, 1000]) for name in names}


def _allocation(generator):
    """Return the body of PUT /allocations/{consumer} of the version."""
    minor = generator.minor if not generator.chance(0.05) else generator.random.randint(0, 39)
    chosen = generator.random.sample([*_R[:4], _MISSING], generator.random.randint(minor < 28, 2))
    if minor < 12:
        items = [{'resource_provider': {'uuid': uuid}, 'resources': _resources(generator)} for uuid in chosen]
    else:
        items = {uuid: {'resources': _resources(generator)} for uuid in chosen}
    body = {'allocations': items}
    if minor >= 8:
        body |= {'project_id': generator.value(_OWNERS), 'user_id': generator.value(['user'])}
    if minor >= 28:
        body['consumer_generation'] = generator.random.choice([None, None, 0, 1, 1, 2])
    if minor >= 38:
        body['consumer_type'] = generator.value(['INSTANCE', 'MIGRATION', 'unknown', 'bad type'])
    return body


def _allocations(generator):
    consumers = generator.random.sample(_C, generator.random.randint(1, 2))
    return {consumer: _allocation(generator) for consumer in consumers}


def _reshaped(generator):
    providers = generator.random.sample(_R[:3], generator.random.randint(1, 2))
    return {
        'inventories': {uuid: _inventories(generator) for uuid in providers},
        'allocations': _allocations(generator) if generator.chance(0.6) else {},
    }


_AMOUNTS = [
    'VCPU:1',
    'VCPU:2,MEMORY_MB:10',
    'DISK_GB:5',
    'CUSTOM_GOLD:1',
    'VCPU:1,DISK_GB:1',
    'VCPU:0',
    'VCPU',
    'NONE:1',
]
_REQUIRED = [
    'CUSTOM_A',
    'CUSTOM_A,HW_CPU_X86_VMX',
    '!CUSTOM_A',
    'in:CUSTOM_A,CUSTOM_B',
    'CUSTOM_NONE',
    '!!CUSTOM_A',
    '',
]
_MEMBER = [
    _AGGREGATES[0],
    f'in:{_AGGREGATES[0]},{_AGGREGATES[1]}',
    f'!{_AGGREGATES[0]}',
    f'!in:{_AGGREGATES[0]}',
    'bad',
]
_OF_PROVIDER = '/resource_providers/{provider}'
_FILTERS = ('name', 'uuid', 'member_of', 'resources', 'in_tree', 'required', 'none')
_GROUPS = (
    *('resources*', 'required', 'member_of', 'in_tree', 'limit', 'resources1', 'required1', 'member_of1', 'resources2'),
    *('group_policy*', 'root_required', 'same_subtree', 'resources_A', 'none'),
)
_WITHOUT_RESOURCES = ('resources1*', 'required_A', 'in_tree_A', 'same_subtree*', 'group_policy*')
_OPERATIONS = [
    (2, 'GET', '/resource_providers', _FILTERS, None),
    (3, 'GET', '/resource_providers', ('resources', 'required', 'member_of'), None),
    (
        4,
        'POST',
        '/resource_providers',
        (),
        {'name*': ['tree', 'new', 'x' * 201, 'other'], 'uuid': [*_R, 'bad'], 'parent_provider_uuid': [*_R, _MISSING]},
    ),
    (2, 'GET', _OF_PROVIDER, (), None),
    (2, 'PUT', _OF_PROVIDER, (), {'name*': ['tree', 'new', 'other'], 'parent_provider_uuid': [*_R, None]}),
    (1, 'DELETE', _OF_PROVIDER, (), None),
    (2, 'GET', f'{_OF_PROVIDER}/inventories', (), None),
    (3, 'PUT', f'{_OF_PROVIDER}/inventories', (), _inventories),
    (3, 'POST', f'{_OF_PROVIDER}/inventories', (), _new_inventory),
    (0.6, 'DELETE', f'{_OF_PROVIDER}/inventories', (), None),
    (2, 'GET', f'{_OF_PROVIDER}/inventories/{{class}}', (), None),
    (3, 'PUT', f'{_OF_PROVIDER}/inventories/{{class}}', (), _inventory),
    (1, 'DELETE', f'{_OF_PROVIDER}/inventories/{{class}}', (), None),
    (2, 'GET', f'{_OF_PROVIDER}/usages', (), None),
    (2, 'GET', f'{_OF_PROVIDER}/aggregates', (), None),
    (4, 'PUT', f'{_OF_PROVIDER}/aggregates', (), _aggregates),
    (2, 'GET', f'{_OF_PROVIDER}/traits', (), None),
    (4, 'PUT', f'{_OF_PROVIDER}/traits', (), _traits),
    (0.6, 'DELETE', f'{_OF_PROVIDER}/traits', (), None),
    (2, 'GET', f'{_OF_PROVIDER}/allocations', (), None),
    (12, 'GET', '/allocation_candidates', _GROUPS, None),
    (4, 'GET', '/allocation_candidates', ('resources*', 'required', 'member_of', 'in_tree'), None),
    (3, 'GET', '/allocation_candidates', _WITHOUT_RESOURCES, None),
    (4, 'GET', '/allocations/{consumer}', (), None),
    (10, 'PUT', '/allocations/{consumer}', (), _allocation),
    (2, 'DELETE', '/allocations/{consumer}', (), None),
    (4, 'POST', '/allocations', (), _allocations),
    (3, 'POST', '/reshaper', (), _reshaped),
    (3, 'GET', '/usages', ('project_id*', 'user_id', 'consumer_type', 'none'), None),
    (1, 'GET', '/resource_classes', (), None),
    (1, 'POST', '/resource_classes', (), {'name*': ['CUSTOM_GOLD', 'CUSTOM_NEW', 'VCPU', 'bad']}),
    (1, 'GET', '/resource_classes/{class}', (), None),
    (2, 'PUT', '/resource_classes/{class}', (), {'name*': ['CUSTOM_NEW', 'CUSTOM_GOLD', 'bad']}),
    (1, 'DELETE', '/resource_classes/{class}', (), None),
    (1, 'GET', '/traits', ('trait/name', 'associated'), None),
    (1, 'GET', '/traits/{trait}', (), None),
    (2, 'PUT', '/traits/{trait}', (), None),
    (1, 'DELETE', '/traits/{trait}', (), None),
    (0.3, 'GET', '/', (), None),
    (0.3, 'GET', '/none', (), None),
    (0.3, 'PATCH', '/resource_providers', (), {}),
]
_VCPU = {'total': 10, 'allocation_ratio': 2.0}
_PRELUDE = [
    ('PUT', '/traits/CUSTOM_A', None),
    ('PUT', '/traits/CUSTOM_B', None),
    ('PUT', '/resource_classes/CUSTOM_GOLD', None),
    ('POST', '/resource_providers', {'uuid': _R[0], 'name': 'tree'}),
    ('POST', '/resource_providers', {'uuid': _R[1], 'name': 'child', 'parent_provider_uuid': _R[0]}),
    ('POST', '/resource_providers', {'uuid': _R[2], 'name': 'shared'}),
    ('POST', '/resource_providers', {'uuid': _R[3], 'name': 'other'}),
    *(
        (
            'PUT',
            f'/resource_providers/{_R[number]}/inventories',
            {'resource_provider_generation': 0, 'inventories': inventories},
        )
        for number, inventories in enumerate(
            [
                {'VCPU': _VCPU, 'MEMORY_MB': {'total': 100}},
                {'CUSTOM_GOLD': {'total': 1}, 'VCPU': {'total': 4, 'max_unit': 2}},
                {'DISK_GB': {'total': 100, 'reserved': 10}},
                {'VCPU': _VCPU, 'DISK_GB': {'total': 10}, 'MEMORY_MB': {'total': 20, 'step_size': 5}},
            ]
        )
    ),
    *(
        (
            'PUT',
            f'/resource_providers/{_R[number]}/traits',
            {'resource_provider_generation': 1, 'traits': traits},
        )
        for number, traits in {1: ['CUSTOM_A'], 2: ['MISC_SHARES_VIA_AGGREGATE'], 3: ['CUSTOM_A', 'CUSTOM_B']}.items()
    ),
    *(
        (
            'PUT',
            f'/resource_providers/{_R[number]}/aggregates',
            {'resource_provider_generation': generation, 'aggregates': _AGGREGATES[:1]},
        )
        for number, generation in {0: 1, 2: 2}.items()
    ),
    (
        'PUT',
        f'/allocations/{_C[0]}',
        {
            **{'allocations': {_R[0]: {'resources': {'VCPU': 2}}}, 'project_id': 'project', 'user_id': 'user'},
            **{'consumer_generation': None, 'consumer_type': 'INSTANCE'},
        },
    ),
]
_POOLS = {
    'provider': [*_R, *_R[:4], _MISSING, 'bad'],
    'consumer': [*_C, _C[0], _MISSING, 'bad'],
    'class': _CLASSES,
    'trait': _TRAITS,
    'name': ['tree', 'none'],
    'uuid': [*_R, 'bad'],
    'trait/name': ['in:CUSTOM_A,HW_NONE', 'startswith:CUSTOM', 'startswith:HW_CPU_X86_A', 'bad'],
    'associated': ['true', 'false', 'x'],
    'limit': ['1000'] * 8 + ['1', '0', 'a'],
    **dict.fromkeys(('in_tree', 'in_tree_A'), [*_R, _MISSING]),
    'group_policy': ['none', 'isolate', 'none', 'isolate', 'x'],
    'same_subtree': ['1,2', '_A', '1,3', '_A,1'],
    'root_required': _REQUIRED[:5],
    'project_id': _OWNERS,
    'user_id': ['user', 'none'],
    'consumer_type': ['INSTANCE', 'all', 'unknown', 'bad type'],
    'none': ['1'],
    **dict.fromkeys(('resources', 'resources1', 'resources2', 'resources_A'), _AMOUNTS),
    **dict.fromkeys(('required', 'required1', 'required_A'), _REQUIRED),
    **dict.fromkeys(('member_of', 'member_of1'), _MEMBER),
}
API = Api(
    name='placement',
    admin='owner_admin',
    header=lambda minor: {'OpenStack-API-Version': f'placement 1.{minor}'},
    maximum=39,
    minimum=0,
    operations=_OPERATIONS,
    pools=_POOLS,
    prelude=_PRELUDE,
)
