"""The bodies of the requests in the API reference."""

NODE = {
    'uuid': '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001',
    'name': 'rack1-1',
    'driver': 'fake-hardware',
    'resource_class': 'baremetal.gold',
    'properties': {'cpus': 64, 'memory_mb': 262144, 'local_gb': 960, 'cpu_arch': 'x86_64', 'rack': 'R7'},
    'driver_info': {'redfish_address': 'https://10.0.0.1', 'redfish_username': 'admin', 'redfish_password': 'secret'},
    'extra': {'rack': 1},
}
TRAITS = {'traits': ['CUSTOM_GOLD', 'HW_CPU_X86_VMX']}
BOOT_DEVICE = {'boot_device': 'pxe', 'persistent': True}
INDICATOR = {'state': 'blinking'}
MEDIUM = {'device_type': 'cdrom', 'image_url': 'https://images.example/rescue.iso'}
FIRMWARE = {
    'inventory': {'system_vendor': {'manufacturer': 'Dell Inc.', 'product_name': 'PowerEdge R750'}},
    'plugin_data': {'redfish': {'firmware': [{'name': 'BIOS', 'version': '2.19.1'}]}},
}
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
OWNER = {
    'project_id': 'c0a1d1c0-0000-4000-8000-000000000001',
    'user_id': 'd0a1d1c0-0000-4000-8000-000000000001',
}

INSTANCE, MOVED, MIGRATION = (RESERVATION['instance_uuid'][:-1] + number for number in '134')
ALLOCATIONS = {
    'allocations': {NODE['uuid']: {'resources': {'CUSTOM_BAREMETAL_SILVER': 1}}},
    'consumer_generation': None,
    'consumer_type': 'INSTANCE',
    **OWNER,
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
            'resource_provider_generation': 5,
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
TOPOLOGY = [{'key': 'properties/rack', 'policy': 'affinity', 'prefer': 'fullest'}]
TOGETHER = {'flavor': FLAVOR, 'topology': TOPOLOGY, 'count': 1}
IN_ONE_RACK = BY_REQUEST | {'topology': TOPOLOGY}
CAPACITY_RESERVATION = {
    'name': 'spring',
    'project': OWNER['project_id'],
    'count': 1,
    'flavor': FLAVOR,
    'topology': [{'key': 'resource_class', 'policy': 'affinity'}],
    'expires_at': '2099-01-01T00:00:00+00:00',
}
FOR_CAPACITY = {'instance_uuid': INSTANCE, 'capacity_reservation': 'spring', 'flavor': FLAVOR, 'expires_in': 600}
REBUILD = {
    'instance_uuid': INSTANCE,
    'image': {'properties': {'trait:CUSTOM_GOLD': 'required', 'trait:STORAGE_DISK_SSD': 'required'}},
}


CAPACITY = {
    'flavors': [
        {'name': 'silver', 'extra_specs': {'resources:CUSTOM_BAREMETAL_SILVER': '1', 'trait:CUSTOM_GOLD': 'forbidden'}},
        {'name': 'vmx', 'required': ['HW_CPU_X86_VMX'], 'owner': None, 'topology': TOPOLOGY, 'count': 2},
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


ALLOCATION = {
    'name': 'web1',
    'resource_class': 'baremetal.gold',
    'traits': ['CUSTOM_GOLD'],
    'candidate_nodes': ['rack1-5'],
    'extra': {'team': 'web'},
}
ALLOCATION_PATCH = [{'op': 'replace', 'path': '/name', 'value': 'web2'}]


EDIT = {'add': ['CUSTOM_SILVER'], 'remove': ['HW_CPU_X86_VMX'], 'nodes': ['rack1-3']}

ACTION = {'action': 'provide', 'nodes': ['rack1-7', 'rack1-8']}


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
