"""The inventory in the tests and screenshots of the web page."""

from tests.support.client import Client
from tests.support.service import finish_work, make_app

#: A text that a browser would run as a script if the page treated it as markup.
HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
_KINDS = {
    'gold': ['HW_CPU_X86_AVX512F', 'HW_CPU_X86_VMX', 'STORAGE_DISK_SSD', 'CUSTOM_NIC_100G'],
    'gpu': ['HW_CPU_X86_VMX', 'HW_GPU_API_VULKAN', 'CUSTOM_GPU_A100', 'STORAGE_DISK_SSD'],
    'storage': ['HW_CPU_X86_VMX', 'STORAGE_DISK_HDD', 'CUSTOM_RAID_6'],
}
INSTANCE = 'b1e5c2d8-94a7-4c66-8e6c-9d5d9a6a3f10'


def fill(url):
    """Fill a database with the newest schema: three racks with eight nodes each.

    :param url: of the database.
    """
    with make_app(url) as app:
        client = Client(app)
        for rack, (kind, traits) in enumerate(_KINDS.items(), 1):
            for place in range(1, 9):
                _create(client, f'rack{rack}-{place}', kind, [*traits, f'CUSTOM_RACK_{rack}'], place)
        finish_work(app)
        for rack in (1, 2, 3):
            for place in range(1, 8):
                _put(client, f'rack{rack}-{place}/states/provision', {'target': 'provide'})
        finish_work(app)
        _use(client)
        finish_work(app)


def _create(client, name, kind, traits, place):
    more = {'owner': 'web'} if place % 3 == 0 else {}
    client.node(name=name, resource_class=kind, shard=f's{place % 2}', **more)
    _put(client, f'{name}/traits', {'traits': traits})
    _put(client, f'{name}/states/provision', {'target': 'manage'})


def _use(client):
    """Deploy to some nodes, reserve others, and give some problems."""
    for name in ('rack1-1', 'rack2-1', 'rack2-2'):
        _put(client, f'{name}/states/provision', {'target': 'active'})
    _put(client, 'rack3-2/maintenance', {'reason': 'disk 4 is broken'})
    _patch(client, 'rack1-2', 'description', f'The spare one. {HTML}')
    for name, expiry in (('rack1-3', {'expires_in': 3600}), ('rack2-3', {'expires_in': 86400 * 3})):
        node = client.get(f'/v1/nodes/{name}')['uuid']
        instance = INSTANCE if name == 'rack1-3' else 'a8b2c1c0-0000-4000-8000-000000000001'
        client.ask('POST', '/v1/reservations', {'instance_uuid': instance, 'node_uuid': [node], **expiry})
    for source, traits in (('bmc-scan', ['HW_NUMA_ROOT', 'STORAGE_DISK_SSD']), ('terraform', ['CUSTOM_TIER_1'])):
        _put(client, f'rack1-4/traits?source={source}', {'traits': traits})
    client.ask('DELETE', '/v1/nodes/rack1-4/traits/HW_NUMA_ROOT')
    client.ask('PUT', '/v1/traits/CUSTOM_NIC_100G', {'description': f'Two ports of 100 Gbit/s. {HTML}'})
    client.ask('PUT', '/v1/traits/CUSTOM_TIER_1', {'retired': True})
    for number, name in enumerate(('rack1-4', 'rack1-5')):
        node = client.get(f'/v1/nodes/{name}')['uuid']
        client.ask('POST', '/v1/ports', {'node_uuid': node, 'address': f'52:54:00:00:00:0{number}'})
    inventory = {
        'cpu': {'architecture': 'x86_64', 'count': 64, 'flags': ['avx2', 'vmx'], 'model_name': f'A CPU {HTML}'},
        'memory': {'physical_mb': 262144},
        'disks': [{'name': '/dev/sda', 'size': 960197124096, 'rotational': False, 'vendor': 'Example'}],
        'interfaces': [{'name': 'eth0', 'mac_address': '52:54:00:00:00:00', 'has_carrier': True}],
        'hostname': HTML,
    }
    for name in ('rack1-4', 'rack1-5'):
        _put(client, f'{name}/inventory', {'inventory': inventory})
    rule = {
        'name': 'big-memory',
        'description': f'Nodes with a lot of memory. {HTML}',
        'conditions': [{'op': 'gt', 'args': {'values': ['{inventory[memory][physical_mb]}', 200000]}}],
        'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_BIG_MEMORY'}}],
    }
    response = client.ask('POST', '/v1/inspection_rules', rule)
    assert response.status_int == 201, response.text
    gone = client.node(name='scrapped')['uuid']
    assert client.ask('DELETE', f'/v1/nodes/{gone}').status_int == 204


def _put(client, path, document):
    response = client.ask('PUT', f'/v1/nodes/{path}', document)
    assert response.status_int < 300, response.text


def _patch(client, name, field, value):
    response = client.ask('PATCH', f'/v1/nodes/{name}', [{'op': 'add', 'path': f'/{field}', 'value': value}])
    assert response.status_int == 200, response.text
