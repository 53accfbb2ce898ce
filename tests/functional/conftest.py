"""Fixtures that several modules use."""

import contextlib
import functools
import json
import os
import pathlib
import queue
import shutil
import threading
from http.server import ThreadingHTTPServer

import openstack
import pytest
import sqlalchemy as sa
import yaml

from ironic_traits.db import tables
from ironic_traits.deploy import states
from tests.support import browser as browsers
from tests.support import http_client, personas, servers, ui_inventory
from tests.support.claims import Relay, Side
from tests.support.cli import parsing
from tests.support.client import Client
from tests.support.concurrency import CLIENTS
from tests.support.mirror import Ironic, clouds_file, delete_nodes
from tests.support.mirrored_nodes import Store
from tests.support.peers import peer
from tests.support.personas import ALLOCATION, CONSUMER, NODE, PROVIDER, RECORD, VIF
from tests.support.servers import free_port
from tests.support.service import ForkedServer, make_app, upgraded


@pytest.fixture
def clients(database_url):
    """Clients of two applications on one database, alternately, like those of two processes."""
    # With so many threads, the check for a slow database may wait seconds for the processor.
    patient = {'database__connect_timeout': 60}
    with make_app(database_url, **patient) as first, make_app(database_url, **patient) as second:
        yield [Client((first, second)[i % 2]) for i in range(CLIENTS)]


@pytest.fixture(params=servers.SERVERS)
def own_server(request):
    """A database server for one test, which may kill it, and the URL of a database with the newest schema."""
    if not servers.SERVERS[request.param].installed():
        pytest.skip('left out')
    server = servers.SERVERS[request.param]()
    try:
        server.start()
        yield server, upgraded(server.create('gone'))
    finally:
        server.stop()


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """A running service with two nodes. One of them has CUSTOM_FAST."""
    with _with_nodes(tmp_path_factory, {'one': ['CUSTOM_A', 'CUSTOM_FAST'], 'two': ['CUSTOM_A']}) as running:
        yield running


@pytest.fixture(scope='module')
def racks(tmp_path_factory):
    """A running service with nodes in two racks, and a node in none."""
    nodes = {
        **{'a1': ['CUSTOM_RACK_1', 'CUSTOM_FAST'], 'a2': ['CUSTOM_RACK_1', 'CUSTOM_FAST']},
        **{'b1': ['CUSTOM_RACK_2', 'CUSTOM_FAST'], 'b2': ['CUSTOM_RACK_2'], 'b3': ['CUSTOM_RACK_2']},
        'none': ['CUSTOM_FAST'],
    }
    with _with_nodes(tmp_path_factory, nodes) as running:
        yield running


@contextlib.contextmanager
def _with_nodes(tmp_path_factory, nodes):
    """Run a service with available nodes.

    :param nodes: {name: traits}.
    """
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('commands')) as running:
        for name, traits in nodes.items():
            http_client.make(running.base, name=name)
            http_client.ask(running.base, 'PUT', f'/v1/nodes/{name}/traits', {'traits': traits})
            for target, state in (('manage', 'manageable'), ('provide', 'available')):
                http_client.ask(running.base, 'PUT', f'/v1/nodes/{name}/states/provision', {'target': target})
                running.wait_until(functools.partial(_is_in, running, name, state))
        yield running


def _is_in(server, node, state):
    """Whether a node is in a provision state."""
    _, _, body = http_client.ask(server.base, 'GET', f'/v1/nodes/{node}?fields=provision_state')
    return json.loads(body)['provision_state'] == state


@pytest.fixture
def file(tmp_path):
    """Function that writes a document or a text to a file, and returns its path."""

    def write(document):
        path = tmp_path / 'rack.yaml'
        path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
        return path

    return write


@pytest.fixture
def available(app, client):
    """Function that creates an available node, and returns its uuid."""

    def make(**fields):
        uuid = client.node(**fields)['uuid']
        with app.service.write() as connection:
            changes = {'provision_state': states.AVAILABLE, 'power_state': states.POWER_OFF}
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
        return uuid

    return make


#: Routes that need a node with an allocation.
ALLOCATED = {
    *(f'{method} /v1/allocations/{{allocation_ident}}' for method in ('GET', 'PATCH', 'DELETE')),
    *(f'{method} /v1/nodes/{{node_ident}}/allocation' for method in ('GET', 'DELETE')),
}


@pytest.fixture(scope='session')
def access_template(tmp_path_factory, memory_folder):
    """The path of the database of ``personas.make_template``, and the uuid of its reservation."""
    path = pathlib.Path(memory_folder or tmp_path_factory.mktemp('access')) / 'template.sqlite'
    return path, personas.make_template(path)


@pytest.fixture(scope='session')
def access_app(access_template):
    """An application with policy, and its AccessCopy. Creating one for each test would take too long."""
    template = access_template[0]
    with make_app(f'sqlite:///{template.with_name("copy.sqlite")}', api__auth_strategy='noauth2') as app:
        yield app, AccessCopy(template, app)


class AccessCopy:
    """A copy of the template. It is the database of an application.

    :ivar event_uuid: uuid of an entry of the history of its node.
    """

    def __init__(self, template, app):
        self._template, self._app, self._written = template, app, None
        self._path = template.with_name('copy.sqlite')
        self.restore()
        with app.service.read() as connection:
            entries = sa.select(tables.node_history.c.uuid).where(tables.node_history.c.node_uuid == NODE)
            self.event_uuid = connection.scalar(entries.limit(1))

    def restore(self):
        """Copy the template again if the previous test has written to the database. Most tests have not."""
        if self._written != self._files():
            self._app.service.database.close()
            # A thread may still have a connection: then SQLite has not deleted the log, which belongs to the old copy.
            for suffix in ('-wal', '-shm'):
                pathlib.Path(f'{self._path}{suffix}').unlink(missing_ok=True)
            new = shutil.copy(self._template, f'{self._path}.new')
            os.replace(new, self._path)
            self._written = self._files()
        self._app.service.writers.forget()
        self._app.service.noted_traits.forget()

    def _files(self):
        """Return values that each write changes: the times and the sizes of the database and of its log."""
        log = pathlib.Path(f'{self._path}-wal')
        stats = [path.stat() for path in (self._path, log) if path.exists() and path.stat().st_size]
        return [(stat.st_mtime_ns, stat.st_size) for stat in stats]


@pytest.fixture
def ask(access_template, access_app):
    """Function that sends a request as a persona, to a copy of the template."""
    app, copy = access_app
    copy.restore()
    in_path = {
        'node_ident': NODE,
        'trait': 'CUSTOM_A',
        'vif_ident': VIF,
        'chassis_uuid': f'{RECORD}1',
        'portgroup_ident': f'{RECORD}2',
        'port_ident': f'{RECORD}3',
        'connector_uuid': f'{RECORD}4',
        'target_uuid': f'{RECORD}5',
        'runbook_ident': f'{RECORD}6',
        'template_ident': f'{RECORD}7',
        'rule_ident': f'{RECORD}9',
        'hostname': 'conductor1',
        'mirror': 'berlin',
        'reservation_uuid': access_template[1],
        'event_uuid': copy.event_uuid,
        'allocation_ident': ALLOCATION,
        'capacity_reservation_ident': personas.PROMISE,
        'driver_name': 'fake-hardware',
        'setting': 'boot',
        'indicator': 'led@system',
        'indicator_name': 'led',
        'uuid': PROVIDER,
        'consumer_uuid': CONSUMER,
        'resource_class': 'DISK_GB',
        'name': 'CUSTOM_FREE',
    }

    def prepare(route):
        if route in ALLOCATED:
            personas.allocate(Client(app))
        if '{capacity_reservation_ident}' in route:
            personas.promise(Client(app))

    def versioned(persona):
        return personas.headers(persona) | {'OpenStack-API-Version': 'placement 1.39'}

    def send(persona, route, document=None):
        method, _, address = route.partition(' ')
        prepare(route)
        # A path names an indicator as led@system, or as system/led.
        values = in_path | ({'indicator': 'system'} if '{indicator}/' in address else {})
        return Client(app).ask(method, address.format(**values), document, headers=versioned(persona))

    send.app, send.in_path, send.headers, send.prepare = app, in_path, versioned, prepare
    return send


@pytest.fixture
def baremetal(server):
    """Function that runs the baremetal command and returns its output, parsed if it is JSON."""
    return parsing('baremetal', '--os-auth-type', 'none', '--os-endpoint', server.base)


@pytest.fixture
def sdk(server):
    """openstacksdk's bare metal proxy without authentication, like that of nova without keystone."""
    connection = openstack.connect(auth_type='none', endpoint=server.base, baremetal_endpoint_override=server.base)
    yield connection.baremetal
    connection.close()


@pytest.fixture(scope='session')
def ironic_of_all_modules(tmp_path_factory):
    """A real Ironic, with the directory of its database. Each process of the tests starts at most one."""
    directory = tmp_path_factory.mktemp('ironic')
    with peer('tests.support.ironic_server', directory, free_port()) as url:
        yield Ironic(url, directory)


@pytest.fixture
def real_ironic(ironic_of_all_modules):
    """A real Ironic. Its nodes from earlier tests are deleted."""
    delete_nodes(ironic_of_all_modules.directory)
    return ironic_of_all_modules


@pytest.fixture
def relay(real_ironic, tmp_path, monkeypatch):
    """A Relay server, which is the cloud "far" of clouds.yaml."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), Relay)
    server.ironic, server.fault, server.victims, server.seen = real_ironic.url, None, queue.SimpleQueue(), []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    clouds_file(tmp_path / 'clouds.yaml', far=f'http://127.0.0.1:{server.server_port}')
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def side(real_ironic, relay, tmp_path):
    """A Side with three nodes. On SQLite, because its tests do not test SQL."""
    url = upgraded(f'sqlite:///{tmp_path}/claims.sqlite')
    with make_app(url, mirror__claims='instance_uuid') as app:
        yield Side(real_ironic, app, url, 3)


@pytest.fixture
def far(app):
    """A mirror of the cloud "far"."""
    return Store(app.service, 'far')


@pytest.fixture(scope='session')
def browser():
    """A real browser, one for each process."""
    servers.require(browsers.path(), 'chromium-headless-shell is not installed')
    with browsers.running() as running:
        yield running


@pytest.fixture(scope='session')
def look_around(tmp_path_factory, memory_folder):
    """The base URL of a service without authentication, with the nodes of ``ui_inventory``."""
    folder = pathlib.Path(memory_folder or tmp_path_factory.mktemp('ui'))
    url = upgraded(f'sqlite:///{folder}/look-around.sqlite')
    ui_inventory.fill(url)
    with ForkedServer(url, '--nostart-worker') as running:
        yield running.base


@pytest.fixture(scope='session')
def user(browser):
    """A browser context. Most tests share it, because creating one takes long."""
    created = browsers.context(browser)
    yield created
    created.close()


@pytest.fixture
def tab(user, look_around):
    """A tab of the browser with the web page of the service."""
    with browsers.tab_in(user, look_around) as opened:
        yield opened
