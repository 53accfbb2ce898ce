"""The fields and parameters of each version from 1.1 to 1.115, as recorded from Ironic 39.0.0."""

import pytest

#: What a version shows is the same on each database.
DATABASES = ('sqlite',)
#: {version: keys of a node that it added}. 1.1 has the first ones.
SHOWN = {
    1: {
        *('uuid', 'created_at', 'updated_at', 'console_enabled', 'driver', 'driver_info', 'extra', 'instance_info'),
        *('instance_uuid', 'last_error', 'maintenance', 'maintenance_reason', 'power_state', 'properties'),
        *('provision_state', 'provision_updated_at', 'reservation', 'target_power_state', 'target_provision_state'),
        *('links', 'chassis_uuid', 'ports'),
    },
    3: {'driver_internal_info'},
    5: {'name'},
    6: {'inspection_finished_at', 'inspection_started_at'},
    7: {'clean_step'},
    12: {'raid_config', 'target_raid_config'},
    14: {'states'},
    20: {'network_interface'},
    21: {'resource_class'},
    24: {'portgroups'},
    31: {
        *('boot_interface', 'console_interface', 'deploy_interface', 'inspect_interface', 'management_interface'),
        *('power_interface', 'raid_interface', 'vendor_interface'),
    },
    32: {'volume'},
    33: {'storage_interface'},
    37: {'traits'},
    # Ironic has no reservations. They come from the specification.
    38: {'rescue_interface', 'reservation_uuid'},
    40: {'bios_interface'},
    42: {'fault'},
    44: {'deploy_step'},
    46: {'conductor_group'},
    47: {'automated_clean'},
    48: {'protected', 'protected_reason'},
    49: {'conductor'},
    50: {'owner'},
    51: {'description'},
    52: {'allocation_uuid'},
    61: {'retired', 'retired_reason'},
    65: {'lessee'},
    66: {'network_data'},
    75: {'boot_mode', 'secure_boot'},
    82: {'shard'},
    83: {'parent_node'},
    86: {'firmware_interface'},
    87: {'service_step'},
    95: {'disable_power_off'},
    104: {'instance_name'},
    109: {'health'},
}
#: {version: keys of a node's states that it added}.
STATES = {
    1: {
        *('console_enabled', 'last_error', 'power_state', 'provision_state', 'provision_updated_at'),
        *('target_power_state', 'target_provision_state'),
    },
    12: {'raid_config', 'target_raid_config'},
    75: {'boot_mode', 'secure_boot'},
}
#: The keys of a node in a list without ``fields``.
LISTED = {1: {'uuid', 'instance_uuid', 'maintenance', 'power_state', 'provision_state', 'links'}, 5: {'name'}}
#: {query: the first version that answers 200}. Earlier versions answer 406.
TAKEN_SINCE = {
    'associated=true': 1,
    'maintenance=false': 1,
    'instance_uuid=5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001': 1,
    'sort_key=id': 1,
    'sort_key=maintenance_reason': 1,
    'sort_key=name': 5,
    'sort_key=inspection_started_at': 6,
    'fields=uuid': 8,
    'provision_state=enroll': 9,
    'driver=fake-hardware': 16,
    'sort_key=network_interface': 20,
    'resource_class=rc': 21,
    'fields=resource_class': 21,
    'sort_key=boot_interface': 31,
    'sort_key=storage_interface': 33,
    # These come from the specification.
    'traits=CUSTOM_A': 37,
    'traits-any=CUSTOM_A': 37,
    'not-traits=CUSTOM_A': 37,
    'not-traits-any=CUSTOM_A': 37,
    'eligible=true': 38,
    'reserved=false': 38,
    'held=true': 38,
    'fields=reservation_uuid': 38,
    'sort_key=rescue_interface': 38,
    'fields=bios_interface': 40,
    'fault=clean%20failure': 42,
    'sort_key=fault': 42,
    'detail=true': 43,
    'fields=deploy_step': 44,
    'conductor_group=x': 46,
    'conductor=x': 49,
    'owner=x': 50,
    'sort_key=owner': 50,
    'lessee=x': 65,
    'fields=network_data': 66,
    'sort_key=boot_mode': 75,
    'shard=x': 82,
    'sharded=true': 82,
    'sort_key=shard': 82,
    'parent_node=x': 83,
    'include_children=true': 83,
    'sort_key=parent_node': 83,
    'fields=firmware_interface': 86,
    'fields=disable_power_off': 95,
    'instance_name=x': 104,
    'fields=health': 109,
    # Ironic accepts these parameters at each version. A field needs the version that added it.
    'description_contains=x': 51,
    'retired=true': 61,
    'project=x': 65,
    # Ironic accepts these names in no list.
    'fields=conductor': 49,
    'fields=allocation_uuid': 52,
}
#: {field: the first version at which POST and PATCH accept it}. Earlier versions answer 406.
SET_SINCE = {
    'extra': ({}, 1),
    'name': ('one', 5),
    'network_interface': ('noop', 20),
    'resource_class': ('rc', 21),
    'boot_interface': ('fake', 31),
    'storage_interface': ('noop', 33),
    'rescue_interface': ('fake', 38),
    'bios_interface': ('fake', 40),
    'conductor_group': ('rack', 46),
    'automated_clean': (False, 47),
    'owner': ('x', 50),
    'description': ('x', 51),
    'retired': (True, 61),
    'lessee': ('x', 65),
    'network_data': ({'links': [], 'networks': [], 'services': []}, 66),
    'shard': ('x', 82),
    'firmware_interface': ('fake', 86),
    'disable_power_off': (True, 95),
    'instance_name': ('x', 104),
}
VERSIONS = range(1, 116)
#: The same of ports and port groups, and of their pages.
RECORDS_SHOWN = {
    '/v1/ports': {
        1: {'uuid', 'created_at', 'updated_at', 'address', 'node_uuid', 'extra', 'links'},
        18: {'internal_info'},
        19: {'local_link_connection', 'pxe_enabled'},
        24: {'portgroup_uuid'},
        34: {'physical_network'},
        53: {'is_smartnic'},
        88: {'name'},
        97: {'description'},
        100: {'vendor'},
        101: {'category'},
        111: {'available_for_dynamic_portgroup'},
    },
    '/v1/portgroups': {
        23: {
            *('uuid', 'created_at', 'updated_at', 'name', 'address', 'node_uuid', 'extra', 'internal_info'),
            *('standalone_ports_supported', 'links', 'ports'),
        },
        26: {'mode', 'properties'},
        102: {'physical_network'},
        103: {'category'},
        111: {'dynamic_portgroup'},
    },
    '/v1/chassis': {1: {'uuid', 'created_at', 'updated_at', 'description', 'extra', 'links', 'nodes'}},
    '/v1/volume/connectors': {
        32: {'uuid', 'created_at', 'updated_at', 'node_uuid', 'type', 'connector_id', 'extra', 'links'},
    },
}
#: {path: body of a new record}.
NEW_RECORDS = {
    '/v1/ports': {'address': 'aa:bb:cc:00:00:01'},
    '/v1/portgroups': {},
    '/v1/chassis': {},
    '/v1/volume/connectors': {'type': 'iqn', 'connector_id': 'one'},
}
#: {resource: the version since which /v1 has a link to it}.
NAMED_SINCE = {'chassis': 1, 'nodes': 1, 'ports': 1, 'drivers': 1, 'portgroups': 23, 'volume': 32, 'shards': 82}


def up_to(minor, table):
    """Return the keys of all versions up to one."""
    return set().union(*(keys for since, keys in table.items() if since <= minor))


def check_keys(document, minor, name):
    """Check that a document has the keys of a version.

    :param name: of the table in this module that has them.
    """
    hint = f'1.{minor}: if the difference is meant, change {name} in tests/functional/api/test_versions.py.'
    assert set(document) == up_to(minor, globals()[name]), hint


@pytest.mark.parametrize('version', ['latest', 'LATEST'])
def test_latest(client, version):
    """As in Ironic, in small letters or capitals."""
    headers = client.ask('GET', '/v1', version=version).headers
    assert headers['X-OpenStack-Ironic-API-Version'] == headers['X-OpenStack-Ironic-API-Maximum-Version']


def test_nodes(client):
    uuid = client.node(name='one')['uuid']
    for minor in VERSIONS:
        version = f'1.{minor}'
        check_keys(client.get(f'/v1/nodes/{uuid}', version=version), minor, 'SHOWN')
        check_keys(client.get('/v1/nodes', version=version)['nodes'][0], minor, 'LISTED')
        check_keys(client.get('/v1/nodes/detail', version=version)['nodes'][0], minor, 'SHOWN')
        check_keys(client.get(f'/v1/nodes/{uuid}/states', version=version), minor, 'STATES')


@pytest.mark.parametrize(('query', 'since'), TAKEN_SINCE.items())
def test_queries(client, query, since):
    for minor in VERSIONS:
        response = client.ask('GET', f'/v1/nodes?{query}', version=f'1.{minor}')
        assert response.status_int == (200 if minor >= since else 406), minor
        if minor == since - 1:
            assert f'The minimal required API version should be 1.{since}' in response.text


@pytest.mark.parametrize('field', SET_SINCE)
def test_fields_that_are_set(client, field):
    value, since = SET_SINCE[field]
    uuid = client.node()['uuid']
    for minor in (since - 1, since, VERSIONS[-1]):
        if minor:
            patch = [{'op': 'replace', 'path': f'/{field}', 'value': value}]
            patched = client.ask('PATCH', f'/v1/nodes/{uuid}', patch, version=f'1.{minor}')
            assert patched.status_int == (200 if minor >= since else 406)
            body = {'driver': 'fake-hardware', field: f'{value}-{minor}' if field == 'name' else value}
            response = client.ask('POST', '/v1/nodes', body, version=f'1.{minor}')
            assert response.status_int == (201 if minor >= since else 406), response.text


def test_the_first_state(client):
    """New nodes are in enroll since 1.11. Before that, they are in available, which is shown as null before 1.2."""
    for minor in VERSIONS:
        node = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, version=f'1.{minor}').json
        assert node['provision_state'] == (None if minor < 2 else 'available' if minor < 11 else 'enroll')
        later = client.get(f'/v1/nodes/{node["uuid"]}?fields=provision_state')
        assert later['provision_state'] == ('available' if minor < 11 else 'enroll')


@pytest.mark.parametrize('path', RECORDS_SHOWN)
def test_records(client, path):
    node = {} if path == '/v1/chassis' else {'node_uuid': client.node()['uuid']}
    creation = client.ask('POST', path, NEW_RECORDS[path] | node)
    assert creation.status_int == 201, creation.text
    since = min(RECORDS_SHOWN[path])
    for minor in VERSIONS:
        response = client.ask('GET', f'{path}/{creation.json["uuid"]}', version=f'1.{minor}')
        assert response.status_int == (200 if minor >= since else 404), minor
        assert client.ask('GET', path, version=f'1.{minor}').status_int == response.status_int
        if minor >= since:
            assert set(response.json) == up_to(minor, RECORDS_SHOWN[path]), (
                f'1.{minor}: RECORDS_SHOWN of {path} has others.'
            )


def test_resources(client):
    for minor in VERSIONS:
        named = set(client.get('/v1', version=f'1.{minor}')) & set(NAMED_SINCE)
        assert named == {name for name, since in NAMED_SINCE.items() if since <= minor}


METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE')
WRITES = METHODS[1:]
#: {(path, the minor version before it): HTTP methods that Ironic 39 refuses with 405 there; the others get 404}
REFUSED_EARLY = {
    **dict.fromkeys((('allocations', 51), ('deploy_templates', 54)), WRITES),
    **dict.fromkeys((('allocations/{0}', 51), ('deploy_templates/{0}', 54)), WRITES),
    **dict.fromkeys((('conductors', 48), ('conductors/{0}', 48)), WRITES),
    **dict.fromkeys((('inspection_rules', 95), ('inspection_rules/{0}', 95)), WRITES),
    **dict.fromkeys((('runbooks', 91), ('runbooks/{0}', 91)), WRITES),
    **dict.fromkeys((('shards', 81), ('volume', 31), ('nodes/{0}/volume', 31)), WRITES),
    **dict.fromkeys((('portgroups', 22), ('portgroups/{0}', 22), ('portgroups/detail', 22)), ('HEAD', 'PUT')),
    ('nodes/{0}/traits/A', 36): ('HEAD', 'PUT'),
    **dict.fromkeys((('portgroups/{0}/ports', 23), ('portgroups/{0}/ports/detail', 23)), ()),
    **dict.fromkeys((('nodes/{0}/portgroups', 23), ('nodes/{0}/portgroups/detail', 23)), ()),
    **dict.fromkeys((('nodes/{0}/volume/connectors', 31), ('nodes/{0}/volume/targets', 31)), ()),
    **dict.fromkeys((('volume/connectors', 31), ('volume/connectors/{0}', 31)), ()),
    **dict.fromkeys((('volume/targets', 31), ('volume/targets/{0}', 31)), ()),
    **dict.fromkeys((('nodes/{0}/vifs', 27), ('nodes/{0}/vifs/{0}', 27), ('nodes/{0}/vmedia', 88)), ()),
    **dict.fromkeys((('nodes/{0}/bios', 39), ('nodes/{0}/bios/{0}', 39), ('nodes/{0}/firmware', 85)), ()),
    **dict.fromkeys((('nodes/{0}/history', 77), ('nodes/{0}/history/{0}', 77), ('nodes/{0}/inventory', 80)), ()),
    **dict.fromkeys((('nodes/{0}/allocation', 51), ('runbooks/{0}/traits', 111), ('runbooks/{0}/traits/A', 111)), ()),
    # Ironic has none of these.
    **dict.fromkeys([(name, 37) for name in ('capacity', 'changes', 'drift', 'explanations', 'facets', 'history')], ()),
    **dict.fromkeys([(name, 37) for name in ('matches', 'mirrors', 'mirrors/a', 'mirrors/a/missing_nodes')], ()),
    **dict.fromkeys([(name, 37) for name in ('traits', 'traits/A', 'traits/edits')], ()),
    **dict.fromkeys([(name, 37) for name in ('reservations', 'reservations/{0}', 'reservations/{0}/renew')], ()),
}


@pytest.mark.parametrize(('place', 'refused'), REFUSED_EARLY.items(), ids=map(str, REFUSED_EARLY))
def test_methods_before_their_version(client, place, refused):
    path, minor = place
    path = f'/v1/{path.format(client.node()["uuid"])}'
    for method in METHODS:
        status = client.ask(method, path, version=f'1.{minor}').status_int
        assert status == (405 if method in refused else 404), method
