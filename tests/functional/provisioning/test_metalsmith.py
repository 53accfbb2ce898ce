"""metalsmith allocates a node, deploys on it and undeploys it. Images and networks are left out."""

import metalsmith
import openstack
import pytest
from metalsmith import exceptions, sources
from openstack.exceptions import SDKException

from tests.support.service import ForkedServer

TIMEOUT = 60


@pytest.fixture
def cloud(tmp_path):
    """A connection of openstacksdk to a service with two nodes of class gold."""
    with ForkedServer(None, cwd=tmp_path) as server:
        connection = openstack.connect(auth_type='none', endpoint=server.base, baremetal_endpoint_override=server.base)
        baremetal = connection.baremetal
        for name, traits in (('rack1-1', ['CUSTOM_A']), ('rack1-2', ['CUSTOM_A', 'CUSTOM_FAST'])):
            node = baremetal.create_node(
                driver='fake-hardware', name=name, resource_class='gold', properties={'local_gb': 100}
            )
            baremetal.set_node_traits(node, traits)
            for target in ('manage', 'provide'):
                baremetal.set_node_provision_state(node, target, wait=True, timeout=TIMEOUT)
        yield connection
        connection.close()


@pytest.fixture
def provisioner(cloud):
    """metalsmith, with that connection."""
    return metalsmith.Provisioner(cloud_region=cloud.config)


#: An image with a checksum, so that metalsmith fetches nothing.
IMAGE = sources.HttpWholeDiskImage('http://127.0.0.1/image.raw', checksum='0' * 64)


def test_from_the_reservation_to_the_undeploy(cloud, provisioner):
    node = provisioner.reserve_node('gold', traits=['CUSTOM_FAST'], hostname='web1')
    assert (node.name, node.instance_info['traits']) == ('rack1-2', ['CUSTOM_FAST'])
    assert node.allocation_id == node.instance_id
    instance = provisioner.provision_node(node, IMAGE, hostname='web1', wait=TIMEOUT)
    assert (instance.state.value, instance.hostname, instance.node.name) == ('active', 'web1', 'rack1-2')
    assert instance.allocation.state == 'active'
    assert instance.node.instance_info['traits'] == ['CUSTOM_FAST']
    assert [each.hostname for each in provisioner.list_instances()] == ['web1']
    assert provisioner.show_instance('web1').uuid == instance.uuid
    node = provisioner.unprovision_node('web1', wait=TIMEOUT)
    assert (node.provision_state, node.instance_id, node.allocation_id) == ('available', None, None)
    assert list(cloud.baremetal.allocations()) == []
    assert provisioner.list_instances() == []


def test_no_node_is_free(cloud, provisioner):
    """metalsmith says why, and deletes the allocation in the state "error"."""
    provisioner.reserve_node('gold', traits=['CUSTOM_FAST'], hostname='web1')
    with pytest.raises(exceptions.ReservationFailed, match='"has the trait CUSTOM_FAST" rules out 1 node'):
        provisioner.reserve_node('gold', traits=['CUSTOM_FAST'], hostname='web2')
    with pytest.raises(exceptions.ReservationFailed, match='An allocation with name web1 already exists'):
        provisioner.reserve_node('gold', hostname='web1')
    assert [each.name for each in cloud.baremetal.allocations()] == ['web1']


def test_a_node_that_is_not_reserved_yet(cloud, provisioner):
    """A deploy reserves the node. An undeploy, for which metalsmith needs the name of the node, frees it."""
    instance = provisioner.provision_node('rack1-1', IMAGE, wait=TIMEOUT)
    assert instance.hostname == 'rack1-1'
    with pytest.raises(SDKException, match='the node is active'):
        cloud.baremetal.delete_allocation(instance.allocation)
    provisioner.unprovision_node('rack1-1', wait=TIMEOUT)
    assert list(cloud.baremetal.allocations()) == []


def test_a_failed_deploy_is_cleaned_up(cloud, provisioner):
    """If the node lacks a trait of the instance, the deploy is refused. The node is free afterwards."""
    node = provisioner.reserve_node('gold', candidates=['rack1-1'], hostname='web1')
    with pytest.raises(exceptions.DeploymentFailed):
        provisioner.provision_node(node, IMAGE, hostname='web1', traits=['CUSTOM_FAST'], wait=TIMEOUT)
    node = cloud.baremetal.get_node('rack1-1')
    assert (node.instance_id, node.allocation_id, node.instance_info) == (None, None, {})
