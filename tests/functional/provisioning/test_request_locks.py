"""A node is locked while a request changes what a deploy changes, too."""

import pytest

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.inventory.provisioning import request_locks
from tests.support import transitions
from tests.support.bmc_nodes import available, bmc_client, history
from tests.support.bmc_server import media, serving
from tests.support.client import message
from tests.support.providers import patch
from tests.support.redfish_trees import to
from tests.support.service import finish_work

CD, SECURE = '/Systems/1/VirtualMedia/Cd', '/Systems/1/SecureBoot'
IMAGE, OTHER = 'http://127.0.0.1:1/one.iso', 'http://10.0.0.9/other.iso'
#: {name: (method, path, body)}.
REQUESTS = {
    'attach': ('POST', 'vmedia', {'device_type': 'disk', 'image_url': OTHER}),
    'detach': ('DELETE', 'vmedia', None),
    'boot device': ('PUT', 'management/boot_device', {'boot_device': 'pxe'}),
    'boot mode': ('PUT', 'states/boot_mode', {'target': 'bios'}),
    'secure boot': ('PUT', 'states/secure_boot', {'target': True}),
}


@pytest.fixture
def bmc():
    with serving() as server:
        server.system.update(VirtualMedia=to('/Systems/1/VirtualMedia'), SecureBoot=to(SECURE))
        server.system['Boot']['BootSourceOverrideMode'] = 'UEFI'
        server.documents |= media('/Systems/1', Cd=['CD', 'DVD'], Usb=['Floppy', 'USBStick'])
        server.documents[SECURE] = {'Id': 'SecureBoot', 'SecureBootEnable': False}
        server.documents[CD].update(Inserted=True, Image=OTHER)
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url, deploy__node_locked_retry_attempts=0) as client:
        yield client


@pytest.fixture
def node(client, bmc):
    """The uuid of an available node."""
    uuid = available(client, bmc, instance_info={'boot_iso': IMAGE})
    assert bmc.media == {CD: OTHER}
    return uuid


def during(bmc, call):
    """Call a function once, when the BMC gets a change that is not about a session. Return the list of its results."""
    results = []

    def interrupt(method, path, is_done):
        if method in ('POST', 'PATCH') and 'Sessions' not in path and not results:
            results.append(None)
            results[0] = call()

    bmc.interrupt = interrupt
    return results


def context(client):
    return Context(client.app.service, None, 0, '')


def lock(client, uuid):
    return client.get(f'/v1/nodes/{uuid}')['reservation']


@pytest.mark.parametrize('name', REQUESTS)
def test_nobody_changes_the_node_meanwhile(client, bmc, node, name):
    """As in Ironic. In a race of a deploy and a detach, a BMC could otherwise eject the image of the deploy."""

    def others():
        return (
            client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}),
            client.ask('DELETE', f'/v1/nodes/{node}/vmedia'),
            client.ask('DELETE', f'/v1/nodes/{node}'),
        )

    results = during(bmc, others)
    method, path, body = REQUESTS[name]
    assert client.ask(method, f'/v1/nodes/{node}/{path}', body).status_int in (202, 204)
    assert [(each.status_int, 'is locked by host' in each.text) for each in results[0]] == [(409, True)] * 3
    assert lock(client, node) is None
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}).status_int == 202


def test_a_request_that_fails(client, bmc, node):
    bmc.answers['/Systems/1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia'] = lambda handler: handler.answer({}, 500)
    assert client.ask('DELETE', f'/v1/nodes/{node}/vmedia').status_int == 502
    assert lock(client, node) is None


def test_a_request_that_fails_after_its_lock_was_broken(client, bmc, node):
    """The client sees the failure of the BMC."""
    bmc.answers['/Systems/1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia'] = lambda handler: handler.answer({}, 500)
    during(bmc, lambda: client.ask('DELETE', f'/v1/nodes/{node}/lock'))
    assert client.ask('DELETE', f'/v1/nodes/{node}/vmedia').status_int == 502
    assert 'The lock of the node was broken by request.' in history(client, node)


@pytest.mark.parametrize('group', ['', 'elsewhere'])
def test_a_process_that_was_killed(client, bmc, node, group):
    """A worker releases the lock when the process cannot work any more, also one that does not work on the node."""
    patch(client, node, {'op': 'add', 'path': '/conductor_group', 'value': group})
    request_locks.acquire(context(client), node)
    finish_work(client.app)
    assert lock(client, node)
    transitions.pass_time(client.app)
    finish_work(client.app)
    shown = client.get(f'/v1/nodes/{node}')
    assert (shown['reservation'], shown['provision_state'], shown['last_error']) == (None, 'available', None)
    assert 'A request that had locked the node did not end in time.' in history(client, node)
    assert client.ask('DELETE', f'/v1/nodes/{node}/vmedia').status_int == 204
    assert bmc.media == {}


@pytest.mark.parametrize('ends', [
    lambda client, uuid: (transitions.pass_time(client.app), finish_work(client.app)),
    lambda client, uuid: client.ask('DELETE', f'/v1/nodes/{uuid}/lock'),
], ids=['expired', 'broken'])  # fmt: skip
def test_a_request_that_is_too_late(client, bmc, node, ends):
    """It says so, and does not release the lock that another one has by now."""
    second = []

    def lose():
        ends(client, node)
        second.append(request_locks.acquire(context(client), node))

    during(bmc, lose)
    response = client.ask('PUT', f'/v1/nodes/{node}/states/secure_boot', {'target': True})
    assert (response.status_int, 'has changed in the meantime' in message(response)) == (409, True)
    shown = client.get(f'/v1/nodes/{node}')
    assert (shown['reservation'] is None, shown['secure_boot'], shown['provision_state']) == (False, False, 'available')
    request_locks.release(context(client), second[0])
    assert lock(client, node) is None


def test_locks_exclude_each_other(client, node):
    first = request_locks.acquire(context(client), node)
    with pytest.raises(failures.NodeLocked):
        request_locks.acquire(context(client), node)
    request_locks.release(context(client), first)
    with pytest.raises(failures.NodeChanged):
        request_locks.release(context(client), first)
