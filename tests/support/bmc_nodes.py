"""Nodes with BMCs, and the work that a worker does on them."""

import contextlib
from concurrent.futures import ThreadPoolExecutor

from ironic_traits.worker.power_sync import PowerSync
from ironic_traits.worker.refresher import Refresher
from tests.support import transitions
from tests.support.client import Client
from tests.support.service import ForkedServer, finish_work, make_app

OPTIONS = {
    'deploy__enabled_hardware_types': ['redfish', 'fake-hardware'],
    'redfish__allow_local_addresses': True,
    'redfish__timeout': 30,
}
#: The interfaces of a node that boots ISO images.
RAMDISK = {'deploy_interface': 'ramdisk', 'boot_interface': 'redfish-virtual-media'}
#: More looks at a BMC than one step has.
MANY = 40
WORKER = {'hostname': 'one', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware', 'redfish']}


@contextlib.contextmanager
def bmc_client(url, **options):
    """Provide a client of an application with the hardware type redfish."""
    with make_app(url, **OPTIONS | options) as app:
        yield Client(app)


@contextlib.contextmanager
def serving_redfish(home):
    """Run a service with the hardware type redfish and without a worker.

    :param home: pathlib.Path of its directory.
    """
    (home / 'a.conf').write_text('[deploy]\nenabled_hardware_types = redfish,fake-hardware\n')
    with ForkedServer(None, '--config-file', str(home / 'a.conf'), '--nostart-worker', cwd=home) as running:
        yield running


def carry_out(client, uuid, verb):
    """Request a state, let the worker do it, and return the node."""
    transitions.ask(client, uuid, verb)
    finish_work(client.app)
    return client.get(f'/v1/nodes/{uuid}')


def manageable(client, bmc, **fields):
    """Create a node that is manageable, and return its uuid."""
    uuid = client.node(driver='redfish', driver_info=bmc.driver_info, **fields)['uuid']
    node = carry_out(client, uuid, 'manage')
    assert node['provision_state'] == 'manageable', node['last_error']
    return uuid


def available(client, bmc, **fields):
    """Create a node that boots ISO images and is available, and return its uuid."""
    fields = {'driver_info': bmc.driver_info, 'automated_clean': False, **RAMDISK, **fields}
    uuid = client.node(driver='redfish', **fields)['uuid']
    carry_out(client, uuid, 'manage')
    assert carry_out(client, uuid, 'provide')['provision_state'] == 'available'
    return uuid


def work(client, times=MANY):
    """Let a worker look at BMCs some times, or until there is nothing left to do."""
    for _ in range(times):
        finish_work(client.app)
        if not transitions.pass_time(client.app, 15):
            break


def read_due(client):
    """Read all BMCs that are due, as a worker does."""
    with ThreadPoolExecutor(4) as pool:
        Refresher(client.app.service, pool).read_due(lambda: False)


@contextlib.contextmanager
def power_sync(client, worker):
    """Provide a PowerSync.

    :param worker: uuid of the worker.
    """
    with ThreadPoolExecutor(4) as pool:
        yield PowerSync(client.app.service, worker, pool)


def history(client, uuid):
    """Return the texts of the history of a node."""
    return [entry['event'] for entry in client.get(f'/v1/nodes/{uuid}/history?detail=True')['history']]
