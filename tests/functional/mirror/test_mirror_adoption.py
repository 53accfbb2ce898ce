"""Nodes of a real Ironic that this service adopts, to work on them without that Ironic."""

import pytest

from tests.functional.mirror.test_mirror import INSTANCE, ironic, new_app  # noqa: F401, fixtures
from tests.support import commands
from tests.support.client import Client
from tests.support.mirror import VERSION, catch_up, differences, make_available, nodes_here, write_all, writer
from tests.support.service import finish_work
from tests.support.transitions import ask, state

#: Fields that end with the mirroring.
_OF_THE_CLOUD = {'origin', 'conductor'}


@pytest.fixture
def client(new_app):  # noqa: F811
    new_app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    return Client(new_app)


def _set_up(ironic):  # noqa: F811
    """Create nodes with ports, traits, a parent and an allocation, and return their uuids."""
    uuids = ironic.nodes(5, resource_class='gold', driver_info={'a': 'b'})
    free, _, allocated, parent, child = uuids
    ironic.ask('PUT', f'/v1/nodes/{free}/traits', {'traits': ['CUSTOM_THEIRS']})
    group = ironic.ask('POST', '/v1/portgroups', {'node_uuid': free, 'address': '52:54:00:00:00:01'})['uuid']
    ironic.ask('POST', '/v1/ports', {'node_uuid': free, 'address': '52:54:00:00:00:02', 'portgroup_uuid': group})
    ironic.patch(f'/v1/nodes/{child}', parent_node=parent)
    make_available(ironic.directory)
    ironic.allocate(resource_class='gold', candidate_nodes=[allocated])
    return uuids


def test_adopted_nodes(ironic, new_app, client, tmp_path):  # noqa: F811
    """They keep all fields, and are deployed and deleted here. What was written to the cloud stays there."""
    free, held, allocated, parent, child = uuids = _set_up(ironic)
    mirror = writer(new_app)
    write_all(mirror)
    client.ask('PUT', f'/v1/nodes/{free}/traits/CUSTOM_OURS')
    client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCE, 'node_uuid': held})
    write_all(mirror)
    # A write there sets ``updated_at`` there.
    catch_up(mirror)
    assert list(differences(client, ironic, 'far')) == []
    before = nodes_here(client, 'far')
    mirror.stop()
    mirror.run()
    for output in (''.join(f'{uuid} is adopted\n' for uuid in uuids), ''):
        command = ('--database', new_app.service.conf.database.connection, '--cloud', 'far', 'adopt', '--all')
        done = commands.run('ironic-traits-mirror', *command, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, output, '')
    # Here, a reserved node has no instance yet.
    before[held]['instance_uuid'] = None
    for uuid in uuids:
        shown = client.get(f'/v1/nodes/{uuid}', version=VERSION)
        assert {name for name, value in before[uuid].items() if shown.get(name) != value} == _OF_THE_CLOUD
    assert [each for each in differences(client, ironic, 'far') if each[0] != 'nodes'] == []

    client.ask('PATCH', f'/v1/nodes/{held}', [{'op': 'add', 'path': '/instance_uuid', 'value': INSTANCE}])
    for target, states in (('active', 'active'), ('deleted', 'available')):
        for uuid in (free, held, allocated):
            ask(client, uuid, target)
        finish_work(new_app)
        assert {state(client, uuid) for uuid in (free, held, allocated)} == {states}
    assert [client.ask('DELETE', f'/v1/nodes/{uuid}').status_int for uuid in (child, parent)] == [204, 204]

    mirror = writer(new_app)
    ironic.patch(f'/v1/nodes/{free}', description='theirs')
    write_all(mirror)
    assert client.get(f'/v1/nodes/{free}')['description'] is None
    (conflict,) = [each for each in client.get('/v1/mirrors/far')['conflict_list'] if each['uuid'] == free]
    assert conflict['reason'] == 'This service has a node with this uuid, which is left as it is.'
    assert ironic.traits(free) == {'CUSTOM_OURS', 'CUSTOM_THEIRS'}
    assert ironic.ask('GET', f'/v1/nodes/{held}')['instance_uuid'] == INSTANCE
