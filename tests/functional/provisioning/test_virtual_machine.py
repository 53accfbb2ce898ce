"""A virtual machine, which boots images by the Redfish virtual media of its BMC."""

import json
import uuid
from wsgiref.simple_server import make_server

import pytest
import sushy

from ironic_traits.deploy import states
from tests.support import http_servers, transitions, virtual_machines
from tests.support.bmc_nodes import bmc_client, carry_out, manageable
from tests.support.bmc_server import PASSWORD, USER
from tests.support.boot_images import boot_iso, iso_files, serving_images
from tests.support.client import message
from tests.support.concurrency import wait_until
from tests.support.servers import free_port
from tests.support.service import finish_work
from tests.support.virtual_machines import DISK

#: The machine is the slow part. What the service does on other databases is tested with other BMCs.
DATABASES = ('sqlite',)
PATIENCE = 120
#: Where a deploy or undeploy ends.
ENDS = (states.ACTIVE, states.AVAILABLE, states.DEPLOYFAIL, states.ERROR)


@pytest.fixture(scope='module')
def computer():
    with virtual_machines.running() as running:
        yield running


@pytest.fixture
def machine(computer, system, medium):
    """The machine, which is off and without a medium, as for the first test."""
    yield computer[0]
    system.reset_system(sushy.ResetType.FORCE_OFF)
    medium.eject_media()
    system.set_system_boot_options(mode=sushy.BootSourceOverrideMode.LEGACY)
    computer[0].forget()


@pytest.fixture
def bmc(computer):
    return computer[1]


@pytest.fixture
def system(bmc):
    root = sushy.Sushy(bmc.driver_info['redfish_address'], USER, PASSWORD)
    return root.get_system_collection().get_members()[0]


@pytest.fixture
def medium(system):
    return next(each for each in system.virtual_media.get_members() if sushy.VirtualMediaType.CD in each.media_types)


@pytest.fixture
def images(tmp_path):
    with serving_images(tmp_path) as server:
        yield server


@pytest.fixture
def image(images, tmp_path):
    """A function that serves a new image, and returns what it prints, and its URL."""

    def create(name):
        text = f'ISO {name} {uuid.uuid4().hex[:8]}'
        (tmp_path / f'{name}.iso').write_bytes(boot_iso(text))
        return f'{text} by BIOS', f'{images.url}/{name}.iso'

    return create


@pytest.fixture
def client(database_url):
    # The emulator fetches an image before it answers.
    with bmc_client(database_url, redfish__timeout=40) as client:
        yield client


def available(client, bmc, *traits):
    """Create a node that boots images, with some traits, and return its uuid."""
    interfaces = {'deploy_interface': 'ramdisk', 'boot_interface': 'redfish-virtual-media'}
    node = manageable(client, bmc, automated_clean=False, **interfaces)
    assert client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': list(traits)}).status_int == 200
    assert carry_out(client, node, 'provide')['provision_state'] == 'available'
    return node


def set_instance(client, node, url, *traits, **more):
    """Set what the instance of a node boots, the traits that it requires, and more of instance_info."""
    patch = [{'op': 'add', 'path': '/instance_info', 'value': {'boot_iso': url, 'traits': list(traits)} | more}]
    assert client.ask('PATCH', f'/v1/nodes/{node}', patch).status_int == 200


def finish(client, node, verb, **more):
    """Request a state, let the worker work until the node is where that ends, and return the node."""
    transitions.ask(client, node, verb, **more)

    def has_ended():
        finish_work(client.app)
        transitions.pass_time(client.app)
        return transitions.state(client, node) in ENDS

    wait_until(has_ended, PATIENCE)
    return client.get(f'/v1/nodes/{node}')


def is_off_and_empty(system, medium):
    """Return whether the BMC says that the machine is off, and that its medium has no image."""
    system.refresh(force=True)
    medium.refresh(force=True)
    return (system.power_state, medium.inserted, medium.image) == (sushy.PowerState.OFF, False, '')


def test_the_machine_alone(machine, system, medium, images, image):
    text, url = image('one')
    medium.insert_media(url)
    system.set_system_boot_options(sushy.BootSource.CD, sushy.BootSourceOverrideEnabled.ONCE)
    system.reset_system(sushy.ResetType.ON)
    wait_until(lambda: machine.printed == [text], PATIENCE)
    assert images.requests == [('GET', '/one.iso')]
    system.reset_system(sushy.ResetType.FORCE_OFF)
    medium.eject_media()
    assert is_off_and_empty(system, medium)
    system.reset_system(sushy.ResetType.ON)
    wait_until(lambda: machine.printed == [text, DISK], PATIENCE)


def test_manage_with_a_wrong_password(client, machine, bmc):
    driver_info = bmc.driver_info | {'redfish_password': 'wrong'}
    node = carry_out(client, client.node(driver='redfish', driver_info=driver_info)['uuid'], 'manage')
    assert node['provision_state'] == 'enroll'
    assert node['last_error'].endswith('The BMC refuses the user name or the password (401).')


def test_deploy_rebuild_undeploy_and_deploy_again(client, machine, bmc, system, medium, images, image):
    (one, first), (two, second) = image('one'), image('two')
    node = available(client, bmc, 'CUSTOM_FAST')
    set_instance(client, node, first, 'CUSTOM_FAST')
    deployed = finish(client, node, 'active')
    assert (deployed['provision_state'], deployed['last_error']) == ('active', None)
    wait_until(lambda: machine.printed == [one], PATIENCE)
    assert images.fetched('one.iso') == 1

    set_instance(client, node, second, 'CUSTOM_FAST')
    rebuilt = finish(client, node, 'rebuild')
    assert (rebuilt['provision_state'], rebuilt['power_state'], rebuilt['last_error']) == ('active', 'power on', None)
    wait_until(lambda: machine.printed == [one, two], PATIENCE)

    gone = finish(client, node, 'deleted')
    assert (gone['provision_state'], gone['power_state'], gone['last_error']) == ('available', 'power off', None)
    assert is_off_and_empty(system, medium)

    set_instance(client, node, first)
    assert finish(client, node, 'active')['provision_state'] == 'active'
    wait_until(lambda: machine.printed == [one, two, one], PATIENCE)
    assert images.fetched('one.iso') == 2


def test_traits_that_the_node_lacks(client, machine, bmc, system, medium, images, image):
    _, url = image('one')
    node = available(client, bmc, 'CUSTOM_SLOW')
    set_instance(client, node, url, 'CUSTOM_FAST')
    response = client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'})
    assert response.status_int == 400
    assert 'CUSTOM_FAST' in message(response)
    finish_work(client.app)
    assert is_off_and_empty(system, medium)
    assert (images.requests, machine.printed) == ([], [])


def test_an_image_that_is_not_there(client, machine, bmc, system, medium, images, image):
    text, url = image('one')
    node = available(client, bmc)
    set_instance(client, node, f'{images.url}/none.iso')
    failed = finish(client, node, 'active')
    assert failed['provision_state'] == 'deploy failed'
    assert '404' in failed['last_error']
    assert is_off_and_empty(system, medium)
    set_instance(client, node, url)
    assert finish(client, node, 'active')['provision_state'] == 'active'
    wait_until(lambda: machine.printed == [text], PATIENCE)


def test_a_config_drive(database_url, machine, bmc, image):
    """The BMC fetches it from the API, and shows it to the machine as a disk."""
    text, url = image('one')
    port = free_port()
    with bmc_client(database_url, redfish__timeout=40, deploy__http_url=f'http://127.0.0.1:{port}') as client:
        node = available(client, bmc)
        set_instance(client, node, url)
        with http_servers.serving(make_server('127.0.0.1', port, client.app)):
            deployed = finish(client, node, 'active', configdrive={'meta_data': {'hostname': 'web1'}})
        assert (deployed['provision_state'], deployed['last_error']) == ('active', None)
        wait_until(lambda: machine.printed == [text], PATIENCE)
        _, files = iso_files(machine.medium('floppy'))
        assert json.loads(files['/openstack/latest/meta_data.json'])['hostname'] == 'web1'
        assert finish(client, node, 'deleted')['provision_state'] == 'available'
        assert machine.medium('floppy') is None


@pytest.mark.parametrize('mode', ['uefi', 'bios'])
def test_the_boot_mode_of_the_instance(client, machine, bmc, image, mode):
    text, url = image('one')
    node = available(client, bmc)
    set_instance(client, node, url, capabilities={'boot_mode': mode})
    deployed = finish(client, node, 'active')
    assert (deployed['provision_state'], deployed['last_error']) == ('active', None)
    wait_until(lambda: machine.printed == [text.replace('BIOS', mode.upper())], PATIENCE)
