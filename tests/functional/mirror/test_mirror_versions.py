"""Mirrors of an Ironic that has an old version only."""

import pytest

from tests.functional.mirror.test_mirror import ironic, proxy  # noqa: F401, fixtures
from tests.support.client import Client
from tests.support.mirror import Ironic, differences, make_available, node_differences, nodes_here, write_all, writer
from tests.support.service import make_app, upgraded

INSTANCE = 'dddddddd-0000-4000-8000-000000000001'


@pytest.fixture
def client(tmp_path):
    """A client of the application on SQLite, because these tests do not test SQL. Mirrored nodes are held there."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/mirror.sqlite'), mirror__claims='instance_uuid') as application:
        yield Client(application)


# The first version with traits, the one of the release Train, and the last one without the number of nodes.
@pytest.mark.parametrize('minor', [37, 58, 81])
def test_old_version(ironic, proxy, client, minor):  # noqa: F811
    """Reads, written traits, held nodes and deletions work as with a new version."""
    proxy.maximum = minor
    uuids = ironic.nodes(25, resource_class='gold')
    make_available(ironic.directory)
    for number, uuid in enumerate(uuids[:3]):
        ironic.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
        ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': f'52:54:00:00:00:0{number}'})
    mirror = writer(client.app)
    write_all(mirror)
    assert client.get('/v1/mirrors/far')['version'] == f'1.{minor}'
    old = Ironic(ironic.url, **{'X-OpenStack-Ironic-API-Version': f'1.{minor}'})

    def differing():
        """Return the differences of nodes in the fields that the old version has, and those of ports."""
        here = nodes_here(client, 'far')
        fields = [each for each in node_differences(old.all('nodes'), here) if each[3] != 'missing']
        return fields + [each for each in differences(client, ironic, 'far') if each[0] == 'ports']

    assert differing() == []
    ironic.patch(f'/v1/nodes/{uuids[1]}', extra={'a': 1})
    ironic.ask('PUT', f'/v1/nodes/{uuids[2]}/maintenance', {'reason': 'fan'})
    assert client.ask('PUT', f'/v1/nodes/{uuids[1]}/traits/CUSTOM_B').status_int == 204
    write_all(mirror)
    assert ironic.traits(uuids[1]) == {'CUSTOM_A', 'CUSTOM_B'}
    body = {'instance_uuid': INSTANCE, 'node_uuid': uuids[3]}
    reservation = client.ask('POST', '/v1/reservations', body).json['reservation']
    assert ironic.ask('GET', f'/v1/nodes/{uuids[3]}')['instance_uuid'] == INSTANCE
    assert client.ask('DELETE', f'/v1/reservations/{reservation["uuid"]}').status_int == 204
    assert ironic.ask('GET', f'/v1/nodes/{uuids[3]}')['instance_uuid'] is None
    ironic.ask('DELETE', f'/v1/nodes/{uuids[4]}')
    new = ironic.node(name='new')
    write_all(mirror)
    assert nodes_here(client, 'far').keys() == {*uuids, new} - {uuids[4]}
    assert differing() == []
    assert client.get('/v1/mirrors/far')['conflicts'] == 0
