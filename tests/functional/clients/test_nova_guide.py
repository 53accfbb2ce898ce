"""The commands of the page about nova, with a whole nova: API, conductor, scheduler, and its ironic driver."""

import contextlib
import json
import urllib.request

from tests.functional.clients import test_readme
from tests.functional.clients.test_readme import DOC, compare, shell
from tests.support.peers import peer
from tests.support.servers import free_port
from tests.support.service import ForkedServer

home = test_readme.home
SPECS = {'resources:CUSTOM_GPU': '1'} | {f'resources:{name}': '0' for name in ('VCPU', 'MEMORY_MB', 'DISK_GB')}
FLAVORS = {'metal.gpu': SPECS, 'metal.gpu.paid': SPECS | {'trait:CUSTOM_GPU': 'required'}}
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
    request = urllib.request.Request(url, body, {'Content-Type': kind}, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or 'null')


@contextlib.contextmanager
def with_faults(compute):
    """Add the faults of nova's servers to an AssertionError of the block: "Error creating server" does not say why."""
    try:
        yield
    except AssertionError as error:
        with urllib.request.urlopen(f'{compute}/v2.1/servers/detail', timeout=60) as response:
            servers = json.loads(response.read())['servers']
        error.add_note('\n'.join(f'{server["name"]}: {server["fault"]}' for server in servers if 'fault' in server))
        raise


@contextlib.contextmanager
def cloud(home, baremetal):
    """Run Glance and nova with an image and flavors during the block, and provide the file for OS_CLOUD."""
    folders = {name: home / name for name in ('glance', 'nova')}
    for folder in folders.values():
        folder.mkdir()
    with peer('tests.support.glance_server', folders['glance'], free_port()) as images:
        (folders['nova'] / 'urls').write_text(f'{baremetal} {baremetal}/placement {images}')
        image = {'name': 'debian', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public'}
        path = f'{images}/v2/images'
        send(f'{path}/{send(path, image)["id"]}/file', b'an image', 'PUT', 'application/octet-stream')
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
