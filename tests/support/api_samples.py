"""The requests and responses that the API reference shows."""

import json

from ironic_traits.context import Context
from ironic_traits.inventory import mirror_clouds, mirrored_nodes, workers
from ironic_traits.inventory.mirror_clouds import Turn
from tests.support import inspection_samples
from tests.support.service import finish_work

NODE = {
    'uuid': '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001',
    'name': 'rack1-1',
    'driver': 'fake-hardware',
    'resource_class': 'baremetal.gold',
    'properties': {'cpus': 64, 'memory_mb': 262144, 'local_gb': 960, 'cpu_arch': 'x86_64'},
    'driver_info': {'redfish_address': 'https://10.0.0.1', 'redfish_username': 'admin', 'redfish_password': 'secret'},
    'extra': {'rack': 1},
}
TRAITS = {'traits': ['CUSTOM_GOLD', 'HW_CPU_X86_VMX']}
PROVISION = {'target': 'active', 'configdrive': {'meta_data': {'hostname': 'web1'}}}
PATCH = [
    {'op': 'replace', 'path': '/resource_class', 'value': 'baremetal.silver'},
    {'op': 'add', 'path': '/extra/height', 'value': 12},
    {'op': 'remove', 'path': '/extra/rack'},
]
RESERVATION = {
    'instance_uuid': 'a8b2c1c0-0000-4000-8000-000000000001',
    'node_uuid': ['rack1-1', 'rack1-2'],
    'expires_in': 600,
}
RECORD = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a00'
CHASSIS = {'uuid': f'{RECORD}2', 'description': 'row 1', 'extra': {'floor': 2}}

#: For each noun of records: its path, a request that creates a record, and a patch.
RECORDS = {
    'port': (
        '/v1/ports',
        {
            'uuid': f'{RECORD}3',
            'node_uuid': NODE['uuid'],
            'address': '52:54:00:cf:2d:31',
            'local_link_connection': {'switch_id': '0a:1b:2c:3d:4e:5f', 'port_id': 'Ethernet3/1'},
            'physical_network': 'physnet1',
        },
        [{'op': 'replace', 'path': '/address', 'value': '52:54:00:cf:2d:32'}],
    ),
    'portgroup': (
        '/v1/portgroups',
        {
            'uuid': f'{RECORD}4',
            'node_uuid': NODE['uuid'],
            'name': 'bond0',
            'address': '52:54:00:cf:2d:33',
            'mode': '802.3ad',
            'properties': {'miimon': 100},
        },
        [{'op': 'add', 'path': '/properties/xmit_hash_policy', 'value': 'layer3+4'}],
    ),
    'volume-connector': (
        '/v1/volume/connectors',
        {
            'uuid': f'{RECORD}5',
            'node_uuid': NODE['uuid'],
            'type': 'iqn',
            'connector_id': 'iqn.2026-01.org.example:rack1-1',
        },
        [{'op': 'replace', 'path': '/connector_id', 'value': 'iqn.2026-01.org.example:rack1-2'}],
    ),
    'volume-target': (
        '/v1/volume/targets',
        {
            'uuid': f'{RECORD}6',
            'node_uuid': NODE['uuid'],
            'volume_type': 'iscsi',
            'boot_index': 0,
            'volume_id': '04452bed-5367-4202-8bf5-de4335ac56d2',
            'properties': {'target_portal': '10.0.0.2:3260', 'auth_password': 'secret'},
        },
        [{'op': 'replace', 'path': '/boot_index', 'value': 1}],
    ),
    'runbook': (
        '/v1/runbooks',
        {
            'uuid': f'{RECORD}9',
            'name': 'flash-bios',
            'description': 'Back to the BIOS of the vendor, with our settings',
            'steps': [
                {'interface': 'bios', 'step': 'factory_reset', 'args': {}, 'order': 1},
                {
                    'interface': 'bios',
                    'step': 'apply_configuration',
                    'args': {'settings': [{'name': 'LogicalProc', 'value': 'Enabled'}]},
                    'order': 2,
                },
            ],
        },
        [{'op': 'replace', 'path': '/public', 'value': True}],
    ),
    'deploy-template': (
        '/v1/deploy_templates',
        {
            'uuid': f'{RECORD}8',
            'name': 'CUSTOM_HYPERTHREADING_ON',
            'steps': [
                {
                    'interface': 'bios',
                    'step': 'apply_configuration',
                    'args': {'settings': [{'name': 'LogicalProc', 'value': 'Enabled'}]},
                    'priority': 150,
                }
            ],
        },
        [{'op': 'replace', 'path': '/steps/0/priority', 'value': 160}],
    ),
    'inspection-rule': (
        '/v1/inspection_rules',
        {
            'uuid': f'{RECORD}9',
            'name': 'nvme',
            'description': 'Nodes that have only NVMe disks',
            'priority': 100,
            'conditions': [
                {
                    'op': 'matches',
                    'args': {'value': '{item[name]}', 'regex': '/dev/nvme.*'},
                    'loop': '{inventory[disks]}',
                    'multiple': 'all',
                }
            ],
            'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_NVME'}}],
        },
        [{'op': 'replace', 'path': '/priority', 'value': 200}],
    ),
    'chassis': ('/v1/chassis', CHASSIS, [{'op': 'replace', 'path': '/description', 'value': 'row one'}]),
}
VIF = {'id': '9a1b4a4e-2f0c-4b7b-9a6b-27d3b7d0a001'}

#: The Placement samples: a provider of storage, besides the node's provider, to which nova adds a trait.
PROVIDER = {'name': 'storage1', 'uuid': f'{RECORD}7'}
PROVIDER_CHANGE = {'name': 'storage2', 'parent_provider_uuid': None}
PROVIDER_TRAITS = {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 4}
AGGREGATES = {'aggregates': ['b0a1d1c0-0000-4000-8000-000000000001'], 'resource_provider_generation': 5}
NEW_INVENTORY = {'resource_class': 'DISK_GB', 'total': 2000}
INVENTORY = {'resource_provider_generation': 1, 'total': 2000, 'reserved': 100, 'step_size': 10}
INVENTORIES = {
    'resource_provider_generation': 2,
    'inventories': {
        'DISK_GB': {'total': 4000, 'reserved': 100, 'step_size': 10},
        'CUSTOM_FAST_DISK_GB': {'total': 500, 'max_unit': 100, 'allocation_ratio': 1.5},
    },
}
RESOURCE_CLASS = {'name': 'CUSTOM_FAST_DISK_GB'}

#: The consumers: the instance that the node is reserved for, and an instance whose storage moves to a migration.
_OWNER = {
    'project_id': 'c0a1d1c0-0000-4000-8000-000000000001',
    'user_id': 'd0a1d1c0-0000-4000-8000-000000000001',
}

INSTANCE, MOVED, MIGRATION = (RESERVATION['instance_uuid'][:-1] + number for number in '134')
ALLOCATIONS = {
    'allocations': {NODE['uuid']: {'resources': {'CUSTOM_BAREMETAL_SILVER': 1}}},
    'consumer_generation': None,
    'consumer_type': 'INSTANCE',
    **_OWNER,
}
STORAGE = ALLOCATIONS | {'allocations': {PROVIDER['uuid']: {'resources': {'DISK_GB': 200}}}}
SEVERAL_ALLOCATIONS = {
    MOVED: STORAGE | {'allocations': {}, 'consumer_generation': 1},
    MIGRATION: STORAGE | {'consumer_type': 'MIGRATION'},
}

#: The allocation of the storage moves to a child provider, together with the inventory.
POOL = {'name': 'storage2-pool1', 'uuid': f'{RECORD}a', 'parent_provider_uuid': PROVIDER['uuid']}
RESHAPE = {
    'inventories': {
        PROVIDER['uuid']: {
            'resource_provider_generation': 6,
            'inventories': {'CUSTOM_FAST_DISK_GB': {'total': 500}},
        },
        POOL['uuid']: {'resource_provider_generation': 0, 'inventories': {'DISK_GB': {'total': 4000}}},
    },
    'allocations': {
        MIGRATION: STORAGE
        | {
            'allocations': {POOL['uuid']: {'resources': {'DISK_GB': 200}}},
            'consumer_generation': 1,
            'consumer_type': 'MIGRATION',
        }
    },
}
FLAVOR = {
    'extra_specs': {
        'resources:CUSTOM_BAREMETAL_SILVER': '1',
        'resources:VCPU': '0',
        'trait:HW_CPU_X86_VMX': 'required',
        'trait:CUSTOM_RESERVED_FOR_TESTS': 'forbidden',
    }
}
CATALOGUE = {'description': 'Nodes with the fast disks', 'retired': True, 'replaced_by': 'STORAGE_DISK_SSD'}
MATCH = {
    'flavor': FLAVOR,
    'image': {'properties': {'trait:CUSTOM_GOLD': 'required', 'os_distro': 'debian'}},
    'preferred': [{'trait': 'STORAGE_DISK_SSD', 'weight': 10}],
    'limit': 10,
    'explain': True,
}
BY_REQUEST = {
    'instance_uuids': [INSTANCE, 'a8b2c1c0-0000-4000-8000-000000000002'],
    'flavor': FLAVOR,
    'expires_in': 600,
}
REBUILD = {
    'instance_uuid': INSTANCE,
    'image': {'properties': {'trait:CUSTOM_GOLD': 'required', 'trait:STORAGE_DISK_SSD': 'required'}},
}


def _lists(name):
    return f'{name}-list' if name == 'chassis' else f'{name}s-list'


def _sampled_records(client):
    """Generate (name, sample) of records."""
    # Volume resources can only be changed while their node is off.
    client.ask('PUT', '/v1/nodes/rack1-1/states/power', {'target': 'power off'})
    finish_work(client.app)
    for name, (path, new, changed) in RECORDS.items():
        yield f'{name}-create-request', new
        client.ask('POST', path, new)
        yield _lists(name), client.get(path)
        yield f'{name}-update-request', changed
        yield f'{name}-show', client.ask('PATCH', f'{path}/{new["uuid"]}', changed).json
    yield 'runbook-traits-put-request', TRAITS
    client.ask('PUT', '/v1/runbooks/flash-bios/traits', TRAITS)
    yield 'runbook-traits', client.get('/v1/runbooks/flash-bios/traits')
    yield 'volume-show', client.get('/v1/volume')
    yield 'node-vif-attach-request', VIF
    client.ask('POST', '/v1/nodes/rack1-1/vifs', VIF)
    yield 'node-vifs', client.get('/v1/nodes/rack1-1/vifs')


def _asking(client):
    """Return a function that sends a request to the Placement API, which must succeed."""

    def ask(method, path, document=None):
        response = client.placement(method, path, document)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

    return ask


def _sampled_placement(client):
    """Generate (name, sample) of the Placement API. The node has a reservation."""
    ask = _asking(client)
    node, provider = (f'/resource_providers/{each["uuid"]}' for each in (NODE, PROVIDER))
    yield 'placement', ask('GET', '')
    yield 'provider-traits-put-request', PROVIDER_TRAITS
    yield 'provider-traits', ask('PUT', f'{node}/traits', PROVIDER_TRAITS)
    yield 'traits-list', ask('GET', '/traits?associated=true')
    yield 'aggregates-put-request', AGGREGATES
    yield 'aggregates-list', ask('PUT', f'{node}/aggregates', AGGREGATES)
    yield 'usages', ask('GET', f'{node}/usages')
    yield 'inventories-list', ask('GET', f'{node}/inventories')
    yield 'resource-provider-create-request', PROVIDER
    ask('POST', '/resource_providers', PROVIDER)
    yield 'inventory-create-request', NEW_INVENTORY
    ask('POST', f'{provider}/inventories', NEW_INVENTORY)
    yield 'inventory-put-request', INVENTORY
    yield 'inventory-show', ask('PUT', f'{provider}/inventories/DISK_GB', INVENTORY)
    yield 'resource-class-create-request', RESOURCE_CLASS
    ask('POST', '/resource_classes', RESOURCE_CLASS)
    yield 'resource-class-show', ask('GET', f'/resource_classes/{RESOURCE_CLASS["name"]}')
    classes = ask('GET', '/resource_classes')['resource_classes']
    # Only some classes are shown: each release of os-resource-classes adds some.
    shown = [each for each in classes if each['name'] == 'DISK_GB' or each['name'].startswith('CUSTOM_')]
    yield 'resource-classes-list', {'resource_classes': shown}
    yield 'inventories-put-request', INVENTORIES
    ask('PUT', f'{provider}/inventories', INVENTORIES)
    yield 'resource-provider-update-request', PROVIDER_CHANGE
    yield 'resource-provider-show', ask('PUT', provider, PROVIDER_CHANGE)
    yield 'resource-providers-list', ask('GET', '/resource_providers?required=HW_CPU_X86_VMX,!STORAGE_DISK_SSD')
    yield 'placement-failure', client.placement('PUT', f'{node}/traits', PROVIDER_TRAITS).json


def _sampled_allocations(client):
    """Generate (name, sample) of allocations. The node is reserved for the consumer."""
    ask = _asking(client)
    yield 'allocations-put-request', ALLOCATIONS
    ask('PUT', f'/allocations/{INSTANCE}', ALLOCATIONS)
    yield 'allocations-show', ask('GET', f'/allocations/{INSTANCE}')
    yield 'provider-allocations', ask('GET', f'/resource_providers/{NODE["uuid"]}/allocations')
    ask('PUT', f'/allocations/{MOVED}', STORAGE)
    yield 'allocations-post-request', SEVERAL_ALLOCATIONS
    ask('POST', '/allocations', SEVERAL_ALLOCATIONS)
    yield 'project-usages', ask('GET', f'/usages?project_id={_OWNER["project_id"]}&consumer_type=INSTANCE')
    ask('POST', '/resource_providers', POOL)
    yield 'reshaper-request', RESHAPE
    ask('POST', '/reshaper', RESHAPE)


def _sampled_catalogue(client):
    """Generate (name, sample) of the catalogue of traits."""
    yield 'catalogue-put-request', CATALOGUE
    yield 'catalogue-show', client.ask('PUT', '/v1/traits/CUSTOM_GOLD', CATALOGUE).json
    yield 'catalogue-list', client.get('/v1/traits?custom=true')
    client.ask('PUT', '/v1/traits/CUSTOM_GOLD', {'retired': False})


CAPACITY = {
    'flavors': [
        {'name': 'silver', 'extra_specs': {'resources:CUSTOM_BAREMETAL_SILVER': '1', 'trait:CUSTOM_GOLD': 'forbidden'}},
        {'name': 'vmx', 'required': ['HW_CPU_X86_VMX'], 'owner': None},
    ],
    'without': ['rack1-1'],
    'with': [{'where': {'traits': ['CUSTOM_SILVER']}, 'add': ['HW_CPU_X86_VMX']}],
    'by': ['resource_class'],
}


DRIFT = {
    'flavors': [
        {'name': 'silver', 'extra_specs': {'resources:CUSTOM_BAREMETAL_SILVER': '1', 'trait:CUSTOM_SSD': 'required'}}
    ],
    'images': [{'name': 'sealed', 'properties': {'trait:CUSTOM_MEASURED_BOOT': 'required'}}],
}
QUERY = {
    'query': 'resources=CUSTOM_BAREMETAL_SILVER:1&required=CUSTOM_GOLD,HW_CPU_X86_AVX2&root_required=!COMPUTE_NODE'
}


def _sampled_matches(client):
    """Generate (name, sample) of matches."""
    yield 'match-request', MATCH
    yield 'matches', client.ask('POST', '/v1/matches', MATCH).json
    yield 'capacity-request', CAPACITY
    yield 'capacity', client.ask('POST', '/v1/capacity', CAPACITY).json
    yield 'drift-request', DRIFT
    yield 'drift', client.ask('POST', '/v1/drift', DRIFT).json
    yield 'explanation-request', QUERY
    yield 'explanation', client.ask('POST', '/v1/explanations', QUERY).json
    yield 'reservation-by-request-request', BY_REQUEST
    yield 'reservation-no-match', client.ask('POST', '/v1/reservations', BY_REQUEST).json


ALLOCATION = {
    'name': 'web1',
    'resource_class': 'baremetal.gold',
    'traits': ['CUSTOM_GOLD'],
    'candidate_nodes': ['rack1-5'],
    'extra': {'team': 'web'},
}
ALLOCATION_PATCH = [{'op': 'replace', 'path': '/name', 'value': 'web2'}]


def _sampled_node_allocations(client):
    """Generate (name, sample) of Ironic's allocations."""
    client.node(uuid=f'{RECORD[:-1]}10', name='rack1-5', driver='fake-hardware', resource_class='baremetal.gold')
    client.ask('PUT', '/v1/nodes/rack1-5/traits', TRAITS)
    for target in ('manage', 'provide'):
        client.ask('PUT', '/v1/nodes/rack1-5/states/provision', {'target': target})
        finish_work(client.app)
    yield 'node-allocation-create-request', ALLOCATION
    uuid = f'{RECORD[:-1]}11'
    yield 'node-allocation-show', client.ask('POST', '/v1/allocations', ALLOCATION | {'uuid': uuid}).json
    refused = ALLOCATION | {'uuid': f'{RECORD[:-1]}12', 'name': 'db1'}
    yield 'node-allocation-error', client.ask('POST', '/v1/allocations', refused).json
    yield 'node-allocations-list', client.get('/v1/allocations?fields=uuid,name,state,node_uuid')
    yield 'node-allocation-update-request', ALLOCATION_PATCH


def _sampled_sources(client):
    """Return the traits of a node with two sources and a veto."""
    client.node(name='rack1-2', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-2/traits', TRAITS)
    client.ask('PUT', '/v1/nodes/rack1-2/traits?source=terraform', {'traits': ['CUSTOM_GOLD', 'CUSTOM_RACK_1']})
    client.ask('DELETE', '/v1/nodes/rack1-2/traits/CUSTOM_RACK_1')
    return client.get('/v1/nodes/rack1-2/traits?detail=true')


def _sampled_changes(client, token):
    """Return the sample of changes. Its token and its times are made up, because they differ in each run."""
    page = client.get(f'/v1/changes?since={token}')
    for each in page['changes']:
        each['changed_at'] = '2026-11-22T09:30:00+00:00'
    return page | {'token': f'5d1e0c4b8f7a4e239d6c1b0a2f8e7d35-{len(page["changes"])}'}


def _sampled_history(client):
    """Generate (name, sample) of the history of a node. The uuids of entries are random: the samples have others."""
    uuid = f'{RECORD}f'
    client.node(uuid=uuid, name='rack1-4', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-4/traits', TRAITS)
    client.ask('PUT', '/v1/nodes/rack1-4/maintenance', {'reason': 'disk 2 is broken'})
    history = client.get('/v1/nodes/rack1-4/history?detail=true&limit=2')
    text = json.dumps([history, client.get('/v1/nodes/rack1-4/history'), client.get('/v1/history?node=rack1-4')])
    entries = client.get('/v1/nodes/rack1-4/history')['history']
    for number, entry in zip('cde', entries, strict=True):
        text = text.replace(entry['uuid'], f'{RECORD}{number}')
    detailed, short, ours = json.loads(text)
    yield 'node-history-detail', detailed
    yield 'node-history', short
    yield 'node-history-entry', detailed['history'][1]
    yield 'history', ours


EDIT = {'add': ['CUSTOM_SILVER'], 'remove': ['HW_CPU_X86_VMX'], 'nodes': ['rack1-3']}


def _sampled_edits(client):
    """Generate (name, sample) of an edit of traits."""
    # A uuid that is always the same, because the digest depends on it.
    client.node(uuid=f'{RECORD}b', name='rack1-3', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-3/traits', TRAITS)
    yield 'trait-edit-preview-request', EDIT | {'preview': True}
    preview = client.ask('POST', '/v1/traits/edits', EDIT | {'preview': True}).json
    yield 'trait-edit-preview', preview
    yield 'trait-edit-request', EDIT | {'digest': preview['digest']}
    yield 'trait-edit', client.ask('POST', '/v1/traits/edits', EDIT | {'digest': preview['digest']}).json
    client.ask('DELETE', '/v1/nodes/rack1-3')


RULES_PREVIEW = {
    'rules': [
        {
            'name': 'big-memory',
            'conditions': [{'op': 'gt', 'args': {'values': ['{inventory[memory][physical_mb]}', 500000]}}],
            'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_BIG_MEMORY'}}],
        }
    ],
    'without': ['standard.disks', 'standard.nics'],
    'where': {'resource_class': 'baremetal.gold'},
    'limit': 10,
}
FOUND = {'cpu': {'architecture': 'x86_64', 'flags': ['avx2']}, 'memory': {'physical_mb': 196608}}


def _sampled_rules(client):
    """Generate (name, sample) of a run of inspection rules. The digests depend on times: the samples have others."""
    client.node(uuid=f'{RECORD}b', name='rack1-3', driver='fake-hardware', resource_class='baremetal.gold')
    client.ask('PUT', '/v1/nodes/rack1-3/inventory', {'inventory': FOUND})
    path, digest = '/v1/inspection_rules', 64 * '9'
    yield 'inspection-rules-preview-request', RULES_PREVIEW
    draft = client.ask('POST', f'{path}/preview', RULES_PREVIEW).json
    yield 'inspection-rules-preview', draft | {'digest': digest}
    body = {'where': RULES_PREVIEW['where']}
    yield 'inspection-rules-apply-request', body | {'digest': digest}
    in_force = client.ask('POST', f'{path}/preview', body).json
    yield 'inspection-rules-apply', client.ask('POST', f'{path}/apply', body | {'digest': in_force['digest']}).json
    client.ask('DELETE', '/v1/nodes/rack1-3')


def _sampled_children(client):
    """Return the children of a node."""
    child = {'uuid': f'{RECORD}e', 'name': 'rack1-1-dpu', 'driver': 'fake-hardware', 'parent_node': 'rack1-1'}
    client.node(**child)
    children = client.get('/v1/nodes/rack1-1/children')
    client.ask('DELETE', '/v1/nodes/rack1-1-dpu')
    return children


def _sampled_mirrors(client):
    """Return the mirrors of clouds."""
    service, turn = client.app.service, Turn('berlin', 'a', 60)
    mirror_clouds.take(service, turn, 'mirror1 4711')
    moment = mirror_clouds.now(service)
    reached = {'endpoint': 'https://ironic.example.com/v1/', 'version': '1.109', 'requests': 12, 'write_queue': 0}
    mirror_clouds.save(service, turn, **reached, passed_at=moment, current_at=moment)
    reason = 'This service has a node named rack1-1: here, it has no name.'
    mirrored_nodes.report(Context(service, None, 0, ''), turn, 'nodes', {f'{RECORD}f': reason})
    lag = {'lag_seconds': 1.5}
    yield 'mirrors-list', {'mirrors': [each | lag for each in client.get('/v1/mirrors')['mirrors']]}
    yield 'mirror-show', client.get('/v1/mirrors/berlin') | lag


def sampled(client):
    """Generate (name, sample)."""
    facts = {'hostname': 'conductor1', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware']}
    workers.beat(client.app.service, f'{RECORD}d', **facts)
    yield 'conductors-list', client.get('/v1/conductors')
    yield 'conductor-show', client.get('/v1/conductors/conductor1')
    yield from _sampled_mirrors(client)
    yield 'root', client.get('/')
    yield 'v1', client.get('/v1')
    token = client.get('/v1/changes')['token']
    yield 'node-create-request', NODE
    client.node(**NODE)
    yield 'node-traits-put-request', TRAITS
    yield 'node-traits', client.ask('PUT', '/v1/nodes/rack1-1/traits', TRAITS).json
    yield 'changes', _sampled_changes(client, token)
    yield 'nodes-list', client.get('/v1/nodes?fields=name,traits&traits=CUSTOM_GOLD')
    yield 'facets', client.get('/v1/facets?by=provision_state,traits')
    yield from _sampled_edits(client)
    yield from _sampled_rules(client)
    yield 'node-update-request', PATCH
    client.ask('PATCH', '/v1/nodes/rack1-1', PATCH)
    yield 'node-show', client.get('/v1/nodes/rack1-1')
    yield 'node-children', _sampled_children(client)
    yield from inspection_samples.sampled(client)
    yield from _sampled_records(client)
    yield 'node-provision-request', PROVISION
    for target in ('manage', 'provide'):
        client.ask('PUT', '/v1/nodes/rack1-1/states/provision', {'target': target})
        finish_work(client.app)
    missing = [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_GOLD', 'CUSTOM_SILVER']}]
    client.ask('PATCH', '/v1/nodes/rack1-1', missing)
    yield 'node-validate', client.get('/v1/nodes/rack1-1/validate')
    client.ask('PATCH', '/v1/nodes/rack1-1', [{'op': 'remove', 'path': '/instance_info/traits'}])
    missing = 'resources=CUSTOM_BAREMETAL_SILVER:1&required=CUSTOM_GOLD&limit=10'
    yield 'allocation-candidates', _asking(client)('GET', f'/allocation_candidates?{missing}')
    yield from _sampled_catalogue(client)
    yield from _sampled_matches(client)
    yield 'reservation-create-request', RESERVATION
    held = client.ask('POST', '/v1/reservations', RESERVATION).json
    held['reservation']['uuid'] = f'{RECORD}9'
    yield 'reservation', held
    yield 'reservations-list', {'reservations': [held['reservation']]}
    yield from _sampled_placement(client)
    yield from _sampled_allocations(client)
    other = RESERVATION | {'instance_uuid': 'a8b2c1c0-0000-4000-8000-000000000002'}
    yield 'reservation-refused', client.ask('POST', '/v1/reservations', other).json
    yield 'match-instance-request', REBUILD
    yield 'match-instance', client.ask('POST', '/v1/matches', REBUILD).json
    client.ask('PUT', '/v1/nodes/rack1-1/states/provision', PROVISION)
    yield 'node-states', client.get('/v1/nodes/rack1-1/states')
    yield 'drivers-list', client.get('/v1/drivers')
    yield 'driver-show', client.get('/v1/drivers/fake-hardware')
    yield 'node-traits-detail', _sampled_sources(client)
    yield from _sampled_history(client)
    yield from _sampled_node_allocations(client)
    yield 'failure', client.ask('PUT', '/v1/nodes/rack1-1/traits/HW_CPU_X86_VMXX').json
