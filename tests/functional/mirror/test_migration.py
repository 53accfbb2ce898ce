"""The steps of the guide "Moving an inventory" between a real Ironic and this service, there and back."""

import pytest
import yaml

from tests.support.cli import run
from tests.support.client import Client
from tests.support.inventory_files import manage
from tests.support.mirror import VERSION, delete_nodes
from tests.support.service import ForkedServer, make_app, upgraded

#: Fields that an import does not carry, or that belong to one service.
_OWN = {
    *('links', 'created_at', 'updated_at', 'provision_updated_at', 'inspection_started_at', 'reservation', 'conductor'),
    *('nodes', 'ports', 'portgroups', 'states', 'volume', 'reservation_uuid', 'target_power_state', 'last_error'),
    'driver_internal_info',
}
_NOUNS = ('nodes', 'ports', 'portgroups', 'chassis')


class Endpoint:
    """What the commands take for a service."""

    def __init__(self, base):
        self.base = base


@pytest.fixture
def fleet(real_ironic):
    """A real Ironic with more than one page of nodes, children, and all that a file has."""
    chassis = real_ironic.ask('POST', '/v1/chassis', {'description': 'Rack 1'})['uuid']
    fields = {'resource_class': 'gold', 'properties': {'cpus': 4}, 'extra': {'a': [1, None]}, 'description': 'x'}
    parent = real_ironic.node(name='parent', chassis_uuid=chassis, **fields)
    child = real_ironic.node(name='child', parent_node=parent)
    group = real_ironic.ask('POST', '/v1/portgroups', {'node_uuid': parent, 'name': 'bond'})['uuid']
    for number, port in enumerate(({'portgroup_uuid': group}, {'pxe_enabled': False}, {'node_uuid': child})):
        address = f'52:54:00:00:00:0{number}'
        real_ironic.ask('POST', '/v1/ports', {'node_uuid': parent, 'address': address, **port})
    for node, names in ((parent, ['CUSTOM_A', 'HW_CPU_X86_VMX']), (child, ['CUSTOM_DPU'])):
        real_ironic.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': names})
    real_ironic.ask('PUT', f'/v1/nodes/{child}/maintenance', {'reason': 'fan'})
    real_ironic.nodes(30)
    return real_ironic


def inventory(everything):
    """Return what a move keeps, {noun: {uuid: item}}.

    :param everything: function of a noun that returns its items, {uuid: item}.
    """
    return {
        noun: {
            uuid: {
                name: sorted(value) if name == 'traits' else value for name, value in item.items() if name not in _OWN
            }
            for uuid, item in everything(noun).items()
        }
        for noun in _NOUNS
    }


def test_there_and_back(fleet, tmp_path):
    there = inventory(fleet.all)
    ironic, path = Endpoint(fleet.url), str(tmp_path / 'racks.yaml')
    exported = run(ironic, 'openstack', 'baremetal', 'inventory', 'export', path, stream='stderr')
    assert '32 nodes' in exported
    document = yaml.safe_load((tmp_path / 'racks.yaml').read_text())
    assert {each['name']: each['traits'] for each in document['nodes']}['child'] == ['CUSTOM_DPU']

    database = upgraded(f'sqlite:///{tmp_path}/here.sqlite')
    assert 'nodes' in manage(database, 'import', '--dry-run', path)
    manage(database, 'import', path)
    with make_app(database) as app:
        client = Client(app)
        detail = '/detail?limit=1000&include_children=true'

        def here(noun):
            query = detail if noun == 'nodes' else '/detail?limit=1000'
            return {each['uuid']: each for each in client.get(f'/v1/{noun}{query}', version=VERSION)[noun]}

        assert inventory(here) == there
    assert '+ ' not in manage(database, 'import', '--dry-run', path)

    back = str(tmp_path / 'back.yaml')
    with ForkedServer(database, '--nostart-worker') as server:
        run(server, 'openstack', 'baremetal', 'inventory', 'export', back)
    delete_nodes(fleet.directory)
    run(ironic, 'openstack', 'baremetal', 'inventory', 'import', back)
    assert inventory(fleet.all) == there
    again = run(ironic, 'openstack', 'baremetal', 'inventory', 'import', back)
    assert 'created' not in again
    assert 'changed' not in again
