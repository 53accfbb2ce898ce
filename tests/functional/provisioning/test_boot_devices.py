"""The boot devices of nodes: /v1/nodes/X/management/boot_device."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import base
from ironic_traits.deploy.simulated_hardware import INTERFACES
from tests.support.client import Client, message
from tests.support.mirrored_nodes import UUIDS, Store
from tests.support.service import make_app

PATH = '/v1/nodes/{}/management/boot_device'
PXE = {'boot_device': 'pxe', 'persistent': False}


class Bench(base.Driver):
    """A driver whose BMC has failed. It has another device for each node, and records its calls."""

    interfaces = {'management': ('bench',), 'power': ('bench',), 'boot': ('bench',), 'deploy': ('bench',)}

    def __init__(self, conf):
        super().__init__(conf)
        self.calls = []

    def work(self, task):
        return base.Done(power_state='power off')

    def boot_devices(self, node):
        return [node['driver_info']['device']]

    def boot_device(self, node):
        raise base.WorkFailed('The BMC does not respond.')

    def set_boot_device(self, node, device, persistent):
        self.calls.append((node['name'], device, persistent))
        with self.service.write() as connection:
            # On SQLite this would wait for ever if the request had a transaction that writes.
            connection.execute(sa.update(tables.nodes).values(description='called'))


class Bare(base.Driver):
    """A driver without boot devices."""

    interfaces = Bench.interfaces

    def work(self, task):
        return base.Done(power_state='power off')


@pytest.fixture
def bench(app):
    """A driver in the service."""
    driver = app.service.drivers['bench'] = Bench(app.service.conf)
    driver.service = app.service
    app.service.drivers['bare'] = Bare(app.service.conf)
    return driver


def test_the_boot_device_that_was_set_is_read_back(client):
    client.node(name='one')
    path = PATH.format('one')
    assert client.get(f'{path}/supported') == {'supported_boot_devices': ['pxe']}
    assert client.get(path) == PXE
    for body, persistent in (
        ({'boot_device': 'pxe', 'persistent': True}, True),
        ({'boot_device': 'pxe'}, False),
        ({'boot_device': 'pxe', 'persistent': 'true'}, True),
        ({'boot_device': 'pxe', 'persistent': None}, False),
    ):
        assert client.ask('PUT', path, body, version='1.5').status_int == 204
        assert client.get(path) == {'boot_device': 'pxe', 'persistent': persistent}
    assert client.get('/v1/nodes/one')['driver_internal_info']['boot_device'] == PXE
    # As in Ironic, the node may be at the end.
    assert client.get('/v1/nodes/management/boot_device/one') == PXE


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        ({'boot_device': 'disk'}, 'Invalid boot device disk specified. Supported are: pxe.'),
        ({}, 'Missing mandatory parameter: boot_device'),
        (None, 'Missing mandatory parameter: boot_device'),
        ({'boot_device': None}, 'Missing mandatory parameter: boot_device'),
        ({'boot_device': 3}, 'boot_device'),
        ({'boot_device': 'pxe', 'persistent': 'perhaps'}, 'persistent'),
        ({'boot_device': 'pxe', 'persistant': True}, 'persistant'),
    ],
)
def test_bodies_that_are_refused(client, body, text):
    client.node(name='one')
    response = client.ask('PUT', PATH.format('one'), body)
    assert response.status_int == 400
    assert text in message(response)
    assert client.get(PATH.format('one')) == PXE


@pytest.mark.parametrize('driver', INTERFACES)
def test_simulated_hardware_has_the_devices_of_ironic(database_url, driver):
    with make_app(database_url, deploy__simulated_hardware_types=list(INTERFACES)) as app:
        client = Client(app)
        for number, interface in enumerate(INTERFACES[driver]['management']):
            client.node(name=f'n{number}', driver=driver, management_interface=interface)
            path = PATH.format(f'n{number}')
            devices = client.get(f'{path}/supported')['supported_boot_devices']
            assert devices[0] == 'pxe'
            assert ('disk' in devices) == (interface != 'fake')
            for device in devices:
                assert client.ask('PUT', path, {'boot_device': device, 'persistent': True}).status_int == 204
                assert client.get(path) == {'boot_device': device, 'persistent': True}


def test_a_driver_is_called_outside_of_transactions(client, bench):
    client.node(name='one', driver='bench', driver_info={'device': 'tape'})
    assert client.get(f'{PATH.format("one")}/supported') == {'supported_boot_devices': ['tape']}
    response = client.ask('PUT', PATH.format('one'), {'boot_device': 'tape', 'persistent': True})
    assert response.status_int == 204, response.text
    assert bench.calls == [('one', 'tape', True)]
    node = client.get('/v1/nodes/one')
    assert (node['description'], node['driver_internal_info']) == ('called', {})


def test_failures_of_hardware_and_of_requests(client, bench):
    client.node(name='one', driver='bench', driver_info={'device': 'tape'})
    client.node(name='two', driver='bare')
    failed = client.ask('GET', PATH.format('one'))
    assert (failed.status_int, message(failed)) == (502, 'The BMC does not respond.')
    for method, path, name in (
        ('GET', PATH, 'get_boot_device'),
        ('GET', f'{PATH}/supported', 'get_supported_boot_devices'),
    ):
        refused = client.ask(method, path.format('two'))
        text = f'Driver bare does not support {name} (disabled or not implemented).'
        assert (refused.status_int, message(refused)) == (400, text)
    assert client.ask('PUT', PATH.format('two'), {'boot_device': 'pxe'}).status_int == 400


def test_a_driver_that_is_not_enabled(client, bench):
    client.node(name='one', driver='bare')
    del client.app.service.drivers['bare']
    response = client.ask('GET', PATH.format('one'))
    assert response.status_int == 404
    assert 'No conductor service registered which supports driver bare' in message(response)


def test_locked_nodes(database_url):
    """As in Ironic, only the list of the boot devices needs no lock."""
    with make_app(database_url, deploy__node_locked_retry_attempts=0) as app:
        client = Client(app)
        client.node(name='one')
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(reservation='worker1'))
        assert client.ask('GET', PATH.format('one')).status_int == 409
        response = client.ask('PUT', PATH.format('one'), {'boot_device': 'pxe'})
        assert (response.status_int, 'is locked by host worker1' in message(response)) == (409, True)
        assert client.get(f'{PATH.format("one")}/supported') == {'supported_boot_devices': ['pxe']}


def test_mirrored_nodes_are_refused(app, client):
    Store(app.service, 'far').nodes({})
    for method, path in (('GET', PATH), ('PUT', PATH), ('GET', f'{PATH}/supported')):
        response = client.ask(method, path.format(UUIDS[0]), {'boot_device': 'pxe'} if method == 'PUT' else None)
        assert (response.status_int, 'is managed by the Ironic of cloud' in message(response)) == (409, True)


def test_if_match_is_refused(client):
    client.node(name='one')
    response = client.ask('PUT', PATH.format('one'), {'boot_device': 'pxe'}, headers={'If-Match': '"a"'})
    assert response.status_int == 400
    assert 'does not support If-Match' in message(response)
