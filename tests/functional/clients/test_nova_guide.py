"""The commands of the page about nova, with a whole nova: API, conductor, scheduler, and its ironic driver."""

import base64
import contextlib
import json
import shutil
import time
import urllib.request

import yaml

from tests.functional.clients import test_readme
from tests.functional.clients.test_readme import DOC, compare, shell
from tests.support.bmc_server import media, serving
from tests.support.boot_images import iso_files
from tests.support.concurrency import wait_until
from tests.support.nova_cloud import NETWORK
from tests.support.peers import peer
from tests.support.redfish_trees import to
from tests.support.servers import free_port, require
from tests.support.service import ForkedServer

home = test_readme.home
SPECS = {'resources:CUSTOM_GPU': '1'} | {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
FLAVORS = {'metal.gpu': SPECS, 'metal.gpu.paid': SPECS | {'trait:CUSTOM_GPU': 'required'}}
VERSIONS = {'X-OpenStack-Nova-API-Version': '2.37', 'X-OpenStack-Ironic-API-Version': '1.50'}
PATIENCE = 120
CD, USB = '/Systems/1/VirtualMedia/Cd', '/Systems/1/VirtualMedia/Usb'
USER_DATA = b'#cloud-config\n'
#: The endpoints without a catalog.
CLOUD = """
clouds:
  metal:
    auth_type: none
    auth: {{endpoint: "{baremetal}"}}
    compute_endpoint_override: {compute}
    image_endpoint_override: {image}
"""


def send(url, document, method='POST', kind='application/json'):
    """Send a document to another service, and return the response."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    request = urllib.request.Request(url, body, {'Content-Type': kind} | VERSIONS, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or 'null')


def read(url):
    """Read a document of another service."""
    with urllib.request.urlopen(urllib.request.Request(url, headers=VERSIONS), timeout=60) as response:
        return json.loads(response.read())


@contextlib.contextmanager
def with_faults(compute):
    """Add the faults of nova's servers to an AssertionError of the block: "Error creating server" does not say why."""
    try:
        yield
    except AssertionError as error:
        with urllib.request.urlopen(f'{compute}/v2.1/servers/detail', timeout=60) as response:
            servers = json.loads(response.read())['servers']
        for server in servers:
            if fault := server.get('fault'):
                last = fault.get('details', '').strip().rpartition('\n')[2]
                error.add_note(f'{server["name"]}, {fault["created"]}: {fault["message"]} ({last})')
        raise


@contextlib.contextmanager
def cloud(home, baremetal, port=None, **properties):
    """Run Glance and nova with an image and flavors during the block, and provide the file for OS_CLOUD.

    :param port: of Glance.
    :param properties: those of the image.
    """
    folders = {name: home / name for name in ('glance', 'nova')}
    for folder in folders.values():
        folder.mkdir()
    with peer('tests.support.glance_server', folders['glance'], port or free_port()) as images:
        (folders['nova'] / 'urls').write_text(f'{baremetal} {baremetal}/placement {images}')
        image = {'name': 'debian', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public'}
        path = f'{images}/v2/images'
        uuid = send(path, image | properties)['id']
        send(f'{path}/{uuid}/file', b'an image', 'PUT', 'application/octet-stream')
        with peer('tests.support.nova_cloud', folders['nova'], free_port()) as compute, with_faults(compute):
            for name, specs in FLAVORS.items():
                flavor = {'name': name, 'ram': 1, 'vcpus': 1, 'disk': 1}
                uuid = send(f'{compute}/v2.1/flavors', {'flavor': flavor})['flavor']['id']
                send(f'{compute}/v2.1/flavors/{uuid}/os-extra_specs', {'extra_specs': specs})
            file = home / 'clouds.yaml'
            file.write_text(CLOUD.format(baremetal=baremetal, compute=f'{compute}/v2.1', image=images))
            yield file


def test_the_recipe(home):
    folder = home / 'service'
    folder.mkdir()
    with ForkedServer(None, cwd=str(folder)) as server:
        examples = home / 'ironic-traits' / 'doc' / 'source' / 'examples'
        manage = home / 'ironic-traits' / '.venv' / 'bin' / 'ironic-traits-manage'
        assert '26 created' in shell(f'{manage} inventory import {examples}/gpu-racks.yaml', folder, home)
        with cloud(home, server.base) as file:
            # The commands are found on the PATH of an installed client.
            variables = f'OS_CLOUD=metal PATH={manage.parent}:$PATH OS_CLIENT_CONFIG_FILE={file}'
            compare(DOC / 'nova.rst', home, home, {'OS_CLOUD=metal': variables})


def eventually(condition):
    """Wait until a condition holds. nova, which answers and works in one process, is not asked too often."""
    wait_until(lambda: time.sleep(0.5) or condition(), PATIENCE)


def test_an_image_that_boots(tmp_path, monkeypatch):
    """nova boots an ISO image on a machine with a BMC: a property of its image in Glance has the URL.

    The BMC also gets nova's config drive.
    """
    require(shutil.which('genisoimage'), 'genisoimage, which nova uses, is not installed')
    port, own, iso = free_port(), free_port(), 'http://127.0.0.1:1/one.iso'
    for name, value in {
        'DEPLOY__ENABLED_HARDWARE_TYPES': 'redfish',
        'REDFISH__ALLOW_LOCAL_ADDRESSES': 'true',
        'DEPLOY__HTTP_URL': f'http://127.0.0.1:{own}',
        'GLANCE__ENDPOINT_OVERRIDE': f'http://127.0.0.1:{port}',
    }.items():
        monkeypatch.setenv(f'OS_{name}', value)
    with serving() as bmc, ForkedServer(None, cwd=tmp_path, port=own) as server:
        bmc.system['VirtualMedia'] = to('/Systems/1/VirtualMedia')
        bmc.documents |= media('/Systems/1', Cd=['CD'], Usb=['USBStick'])
        fields = {'deploy_interface': 'ramdisk', 'boot_interface': 'redfish-virtual-media', 'automated_clean': False}
        node = {'driver': 'redfish', 'driver_info': bmc.driver_info, 'resource_class': 'gpu', **fields}
        path = f'{server.base}/v1/nodes'
        path = f'{path}/{send(path, node)["uuid"]}'
        send(f'{server.base}/v1/ports', {'node_uuid': read(path)['uuid'], 'address': '52:54:00:00:00:01'})
        send(f'{path}/traits', {'traits': ['CUSTOM_GPU']}, 'PUT')
        for verb, state in (('manage', 'manageable'), ('provide', 'available')):
            send(f'{path}/states/provision', {'target': verb}, 'PUT')
            eventually(lambda state=state: read(path)['provision_state'] == state)
        with cloud(tmp_path, server.base, port, boot_iso_id=iso) as file:
            compute = yaml.safe_load(file.read_text())['clouds']['metal']['compute_endpoint_override']
            flavors = read(f'{compute}/flavors')['flavors']
            request = {
                'name': 'one',
                'imageRef': read(f'http://127.0.0.1:{port}/v2/images')['images'][0]['id'],
                'flavorRef': next(each['id'] for each in flavors if each['name'] == 'metal.gpu.paid'),
                'networks': [{'uuid': NETWORK}],
                'config_drive': True,
                'user_data': base64.b64encode(USER_DATA).decode(),
            }
            # nova maps its host to a cell some time after it has started.
            eventually(lambda: read(f'{compute}/os-hypervisors')['hypervisors'])
            created = send(f'{compute}/servers', {'server': request})['server']['id']
            eventually(lambda: read(f'{compute}/servers/{created}')['server']['status'] != 'BUILD')
            assert read(f'{compute}/servers/{created}')['server']['status'] == 'ACTIVE'
            assert (bmc.boots, bmc.media[CD]) == ([iso], iso)
            with urllib.request.urlopen(bmc.media[USB], timeout=60) as response:
                label, files = iso_files(response.read())
            assert (label, files['/openstack/latest/user_data']) == ('config-2', USER_DATA)
            assert json.loads(files['/openstack/latest/meta_data.json'])['uuid'] == created
            send(f'{compute}/servers/{created}', None, 'DELETE')
            eventually(lambda: not read(f'{compute}/servers')['servers'])
            eventually(lambda: read(path)['provision_state'] == 'available')
            assert (bmc.system['PowerState'], bmc.media) == ('Off', {})
