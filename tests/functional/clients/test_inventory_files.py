"""The inventory in files: ironic-traits-manage inventory import|export, on each database."""

import concurrent.futures
import json

import sqlalchemy as sa
import yaml

from ironic_traits.db import tables
from tests.support import commands
from tests.support.client import Client
from tests.support.inventory_files import manage
from tests.support.service import make_app, upgraded

INSTANCE = 'a8b2c1c0-0000-4000-8000-000000000001'
CHASSIS = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a002'
#: A YAML 1.1 parser reads the MAC address as a base 60 number, and the description as a date.
RACK = f"""
chassis:
- uuid: {CHASSIS}
  description: 2026-01-01
  nodes:
  - {{name: in-chassis, driver: fake-hardware}}
nodes:
- name: one
  driver: fake-hardware
  resource_class: gold
  driver_info: {{redfish_password: hush-hush}}
  traits: [HW_CPU_X86_VMX, CUSTOM_FAST]
  provision_state: available
  ports:
  - address: 11:22:33:44:55:10
  - {{address: "52:54:00:CF:2D:31", pxe_enabled: false}}
  portgroups:
  - name: bond0
    ports:
    - address: 52:54:00:cf:2d:32
  volume_connectors:
  - {{type: iqn, connector_id: iqn.2026-01.org.example}}
  volume_targets:
  - {{volume_type: iscsi, boot_index: 0, volume_id: disk, properties: {{auth_password: hush-hush}}}}
- name: two
  driver: fake-hardware
  provision_state: active
  protected: true
  instance_uuid: a8b2c1c0-0000-4000-8000-000000000001
  maintenance: true
  maintenance_reason: fan
traits:
- {{name: CUSTOM_FAST, description: Two NVMe disks, exclusive: true}}
- {{name: HW_CPU_X86_VMX, retired: true, replaced_by: CUSTOM_VMX}}
"""


def shown(url):
    """Return the URL of a database without its password."""
    return sa.make_url(url).render_as_string(hide_password=True)


def done(url, counts, path):
    """Return the output of a successful import."""
    return f'{counts}Imported {path} into {url}.\n'


def exported(url):
    """Return the document of a service's inventory."""
    return yaml.safe_load(manage(url, 'export', '-'))


def test_import_of_a_rack(database_url, client, file):
    rack = file(RACK)
    lists = {'chassis': 1, 'nodes': 3, 'portgroups': 1, 'ports': 3, 'volume_connectors': 1, 'volume_targets': 1}
    lines = [f'{name}: {number} {{0}}\n' for name, number in lists.items()]
    counts = ''.join([*lines[:4], 'traits: 2 {1}\n', *lines[4:]])
    undone = 'This was a dry run: nothing was imported.\n'
    assert manage(database_url, 'import', '--dry-run', rack).endswith(counts.format('created', 'changed') + undone)
    assert client.get('/v1/nodes')['nodes'] == []
    assert manage(database_url, 'import', rack) == done(shown(database_url), counts.format('created', 'changed'), rack)
    one, two = (client.get(f'/v1/nodes/{name}') for name in ('one', 'two'))
    assert (one['traits'], one['provision_state'], one['power_state']) == (
        ['CUSTOM_FAST', 'HW_CPU_X86_VMX'],
        'available',
        'power off',
    )
    assert (two['provision_state'], two['power_state'], two['protected']) == ('active', 'power on', True)
    assert two['maintenance_reason'] == 'fan'
    ports = client.get('/v1/ports/detail?node=one')['ports']
    assert {port['address']: (port['portgroup_uuid'] is not None, port['pxe_enabled']) for port in ports} == {
        '11:22:33:44:55:10': (False, True),
        '52:54:00:cf:2d:31': (False, False),
        '52:54:00:cf:2d:32': (True, True),
    }
    assert client.get(f'/v1/chassis/{CHASSIS}')['description'] == '2026-01-01'
    assert client.get('/v1/nodes/in-chassis')['chassis_uuid'] == CHASSIS
    inventory = client.placement('GET', f'/resource_providers/{one["uuid"]}/inventories').json['inventories']
    assert inventory['CUSTOM_GOLD']['reserved'] == 0
    assert manage(database_url, 'import', rack) == done(shown(database_url), counts.format('same', 'same'), rack)
    fast, vmx = (client.get(f'/v1/traits/{name}') for name in ('CUSTOM_FAST', 'HW_CPU_X86_VMX'))
    assert (fast['description'], fast['exclusive'], fast['retired']) == ('Two NVMe disks', True, False)
    assert (vmx['exclusive'], vmx['retired'], vmx['replaced_by']) == (False, True, 'CUSTOM_VMX')


def test_import_changes_only_what_the_document_names(database_url, client, file):
    manage(database_url, 'import', file(RACK))
    changed = {
        'name': 'one',
        'traits': ['CUSTOM_SLOW'],
        'description': 'new',
        'ports': [{'address': '11:22:33:44:55:10', 'extra': {'slot': 1}}, {'address': '52:54:00:00:00:01'}],
    }
    output = manage(database_url, 'import', file({'nodes': [changed]}))
    assert output.startswith('nodes: 1 changed\nports: 1 changed\nports: 1 created\nImported ')
    node = client.get('/v1/nodes/one')
    assert (node['traits'], node['description'], node['resource_class']) == (['CUSTOM_SLOW'], 'new', 'gold')
    assert len(client.get('/v1/nodes/one/ports')['ports']) == 4


def test_import_removes_finished_states(database_url, client, new_database, file, tmp_path):
    """An import removes states that have ended since the previous import."""
    other, path = upgraded(new_database()), tmp_path / 'all.yaml'
    client.node(name='one', maintenance=True, description='old', instance_uuid=INSTANCE, extra={'a': 1}, owner='x')
    client.ask('PUT', '/v1/nodes/one/traits', {'traits': ['CUSTOM_A']})
    for change in ('created', 'changed', 'same'):
        manage(database_url, 'export', '--force', path)
        assert manage(other, 'import', path).startswith(f'nodes: 1 {change}\nImported ')
        assert exported(other) == exported(database_url)
        ended = {'maintenance': False, 'description': None, 'instance_uuid': None, 'extra': {'a': True}, 'owner': None}
        manage(database_url, 'import', file({'nodes': [{'name': 'one', 'traits': [], **ended}]}))


#: Values that the service normalises, and default values.
ODD = """
chassis:
- {uuid: 5C2D0A5E2F0C4B7B9A6B27D3B7D0A002, extra: null}
nodes:
- uuid: 5C2D0A5E-2F0C-4B7B-9A6B-27D3B7D0A003
  name: null
  driver: fake-hardware
  conductor_group: RACK
  maintenance: 'yes'
  instance_uuid: A8B2C1C0-0000-4000-8000-000000000001
  extra: {1: a, b: 1e5}
  properties: null
  ports:
  - {address: "52:54:00:CF:2D:31", uuid: 5C2D0A5E2F0C4B7B9A6B27D3B7D0A004, pxe_enabled: null,
     local_link_connection: {switch_id: "0A:1B:2C:3D:4E:5F", port_id: x}}
  volume_connectors:
  - {type: wwnn, connector_id: '50:01'}
  - {type: wwpn, connector_id: '50:01'}
- {name: "\u00e9 is none", driver: fake-hardware}
- {name: detail, driver: fake-hardware}
- {name: two, uuid: null, driver: fake-hardware, power_state: power on}
"""


def test_normalised_values_are_unchanged(database_url, client, file):
    """A second import changes nothing. Invalid names are reported, and the other nodes can be imported."""
    errors = manage(database_url, 'import', '--continue', file(ODD), code=1)
    assert '\u00e9 is none: ' in errors
    assert 'detail: The word "detail" is reserved' in errors
    good = '\n'.join(line for line in ODD.splitlines() if 'is none' not in line and 'detail' not in line)
    again = manage(database_url, 'import', file(good))
    assert again.startswith('chassis: 1 same\nnodes: 2 same\nports: 1 same\nvolume_connectors: 2 same\nImported ')


STATES = [
    {'name': 'one', 'driver': 'fake-hardware'},
    {'name': 'two', 'driver': 'fake-hardware', 'retired': True, 'provision_state': 'available'},
    {'name': 'three', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:01'}]},
    {'name': 'four', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:01'}]},
]


def test_dry_run_reports_each_node(database_url, client, file):
    """A dry run also reports nodes in a new chassis, and nodes that conflict with others of the file."""
    chassis = {'uuid': CHASSIS, 'nodes': STATES}
    for arguments in (['--dry-run'], []):
        errors = manage(database_url, 'import', '--continue', *arguments, file({'chassis': [chassis]}), code=1)
        assert "two: The providing operation can't be performed" in errors
        assert 'four: A port with MAC address 52:54:00:00:00:01 already exists' in errors
        assert errors.endswith('2 of 5 nodes and chassis cannot be imported.\n')
    assert [node['name'] for node in client.get('/v1/nodes?sort_key=name')['nodes']] == ['one', 'three']


def test_port_moves_into_a_new_portgroup(database_url, client, file):
    node = {'name': 'one', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:01'}]}
    manage(database_url, 'import', file({'nodes': [node]}))
    group = {'name': 'bond0', 'ports': node.pop('ports')}
    output = manage(database_url, 'import', file({'nodes': [node | {'portgroups': [group]}]}))
    assert output.startswith('nodes: 1 same\nportgroups: 1 created\nports: 1 changed\nImported ')
    assert client.get('/v1/ports/detail')['ports'][0]['portgroup_uuid']


def test_export_into_another_service(database_url, new_database, file, tmp_path):
    """The export has the secrets, and only the owner of the file can read it."""
    manage(database_url, 'import', file(RACK))
    document = exported(database_url)
    assert [node['driver_info'] for node in document['nodes'] if node['name'] == 'one'] == [
        {'redfish_password': 'hush-hush'}
    ]
    path = tmp_path / 'all.json'
    manage(database_url, 'export', path)
    assert json.loads(path.read_text()) == document
    assert path.stat().st_mode & 0o777 == 0o600
    other = upgraded(new_database())
    manage(other, 'import', path)
    assert exported(other) == document
    with make_app(other) as app:
        assert Client(app).get('/v1/nodes/one')['driver_info'] == {'redfish_password': '******'}


NODES = [
    {'name': 'good', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:01'}]},
    {'name': 'bad', 'driver': 'fake-hardware', 'traits': ['HW_NOWHERE'], 'ports': [{'address': '52:54:00:00:00:02'}]},
    {'name': 'same-port', 'driver': 'fake-hardware', 'ports': [{'address': '52:54:00:00:00:01'}]},
    {'name': 'last', 'driver': 'fake-hardware'},
]


def test_import_is_one_transaction(database_url, client, file):
    errors = manage(database_url, 'import', file({'nodes': NODES}), code=1)
    assert "bad: 'HW_NOWHERE' is not a trait" in errors
    assert 'same-port: A port with MAC address 52:54:00:00:00:01 already exists' in errors
    assert errors.endswith('Nothing was imported: 2 of 4 nodes and chassis cannot be imported.\n')
    assert client.get('/v1/nodes')['nodes'] == client.get('/v1/ports')['ports'] == []


def test_import_with_continue(database_url, client, file):
    errors = manage(database_url, 'import', '--continue', file({'nodes': NODES}), code=1)
    assert "bad: 'HW_NOWHERE' is not a trait" in errors
    assert errors.endswith('2 of 4 nodes and chassis cannot be imported.\n')
    assert [node['name'] for node in client.get('/v1/nodes?sort_key=name')['nodes']] == ['good', 'last']
    assert len(client.get('/v1/ports')['ports']) == 1


def test_concurrent_imports(database_url, client, tmp_path):
    """Of imports in opposite orders, the one that loses a lock begins again. The last one wins as a whole."""
    names = [f'node{number}' for number in range(30)]
    paths = [tmp_path / 'up.json', tmp_path / 'down.json']
    for name in names:
        client.node(name=name)
    for path, order in zip(paths, (names, names[::-1]), strict=True):
        nodes = [{'name': name, 'traits': ['CUSTOM_' + path.stem.upper()]} for name in order]
        path.write_text(json.dumps({'nodes': nodes}))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda path: manage(database_url, 'import', path), paths))
    traits = {tuple(node['traits']) for node in client.get('/v1/nodes?fields=traits')['nodes']}
    assert traits in ({('CUSTOM_UP',)}, {('CUSTOM_DOWN',)})


def test_invalid_files(database_url, client, file):
    assert 'No such file' in manage(database_url, 'import', '/nowhere/rack.yaml', code=1)
    assert 'No such file' in manage(database_url, 'export', '/nowhere/rack.yaml', code=1)
    assert manage(database_url, 'export', '-') == '{}\n'
    assert 'nodes[0]: must be an object' in manage(database_url, 'import', file('nodes: [1]'), code=1)
    errors = manage(database_url, 'import', file('nodes: [{name: a}]'), code=1)
    assert "a: 'driver' is a required property" in errors


def test_export_of_mirrored_nodes(database_url, app, client, new_database, tmp_path):
    """Mirrored nodes are exported only on request. An import makes them own nodes."""
    client.node(name='own')
    client.node(name='far')
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.name == 'far').values(origin='berlin'))
    path, other = tmp_path / 'all.json', upgraded(new_database())
    export = ['ironic-traits-manage', '--database', database_url, 'inventory', 'export', '--force', path]
    assert '1 mirrored node left out; --mirrored includes them.' in commands.run(*export).stderr
    assert [node['name'] for node in json.loads(path.read_text())['nodes']] == ['own']
    assert 'left out' not in commands.run(*export, '--mirrored').stderr
    manage(other, 'import', path)
    with make_app(other) as copy:
        nodes = Client(copy).get('/v1/nodes/detail?sort_key=name')['nodes']
    assert [(node['name'], 'origin' in node) for node in nodes] == [('far', False), ('own', False)]
