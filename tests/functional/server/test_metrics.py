"""/metrics, with one process and with several."""

import concurrent.futures
import re
import sqlite3
import urllib.request

import pytest
import sqlalchemy as sa
from prometheus_client import parser, registry
from webob import Request

from ironic_traits.api.description.operations import operations
from ironic_traits.api.layers.metrics import _watch_connections
from ironic_traits.api.resource import ROUTE
from tests.support.client import Client
from tests.support.providers import golden
from tests.support.reservations import instance
from tests.support.service import ForkedServer, make_app


def read(text):
    """Return {name: {label values: value}} of the metrics."""
    return {
        family.name: {tuple(each.labels.values()): each.value for each in family.samples if _is_plain(each)}
        for family in parser.text_string_to_metric_families(text)
    }


def _is_plain(sample):
    return 'le' not in sample.labels and not sample.name.endswith('_created')


@pytest.fixture
def counting(database_url):
    """A client of an application with metrics."""
    with make_app(database_url, metrics__enabled=True) as app:
        yield Client(app)


def metrics(client):
    return read(client.ask('GET', '/metrics').text)


def test_requests_by_route_and_status(counting):
    node = counting.node(name='one')
    counting.ask('GET', '/v1/nodes/one')
    counting.ask('GET', f'/v1/nodes/{node["uuid"]}')
    counting.ask('GET', '/v1/nodes/two')
    counting.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A')
    counting.placement('GET', '/traits/CUSTOM_A')
    counting.ask('GET', '/healthcheck')
    counting.ask('GET', '/made/up')
    counting.ask('BREW', '/v1/nodes')
    counting.ask('BREW', '/healthcheck')
    values = metrics(counting)
    assert values['ironic_traits_requests'] == {
        ('baremetal', 'POST', '/v1/nodes', '201'): 1,
        ('baremetal', 'GET', '/v1/nodes/{node_ident}', '200'): 2,
        ('baremetal', 'GET', '/v1/nodes/{node_ident}', '404'): 1,
        ('baremetal', 'PUT', '/v1/nodes/{node_ident}/traits/{trait}', '204'): 1,
        ('placement', 'GET', '/placement/traits/{name}', '204'): 1,
        ('baremetal', 'GET', '/healthcheck', '200'): 1,
        ('baremetal', 'any', '/healthcheck', '200'): 1,
        ('baremetal', 'any', 'none', '404'): 1,
        ('baremetal', 'any', 'none', '405'): 1,
    }
    assert values['ironic_traits_request_seconds']['baremetal', 'GET', '/v1/nodes/{node_ident}'] > 0


def test_nodes_reservations_and_connections(counting):
    for name in ('one', 'two'):
        counting.node(name=name)
    for target in ('manage', 'provide'):
        counting.ask('PUT', '/v1/nodes/one/states/provision', {'target': target})
    counting.ask('PUT', '/v1/nodes/two/maintenance')
    counting.ask('POST', '/v1/reservations', {'instance_uuid': instance(1), 'node_uuid': ['two']})
    values = metrics(counting)
    assert values['ironic_traits_nodes'] == {('false', 'verifying'): 1, ('true', 'enroll'): 1}
    assert values['ironic_traits_reservations'] == {('live',): 0, ('expired',): 0}
    assert values['ironic_traits_reservations_refused'] == {(): 1}
    connections = values['ironic_traits_database_connections_open']
    assert connections['reader',] >= 1 <= connections['writer',]
    assert values['ironic_traits_database_connections_in_use'] == {('reader',): 0, ('writer',): 0}


def test_capacity_reservations(counting):
    """The metric is there while there are some, and shows a promise that cannot be kept."""
    nodes = [golden(counting) for _ in range(3)]
    assert 'ironic_traits_capacity_reservation_nodes' not in metrics(counting)
    counting.ask(
        'POST', '/v1/capacity_reservations', {'name': 'a', 'project': 'p', 'count': 3, 'resource_class': 'gold'}
    )
    body = {'instance_uuid': instance(1), 'capacity_reservation': 'a'}
    taken = counting.ask('POST', '/v1/reservations', body).json['reservation']['node_uuid']
    counting.ask('PUT', f'/v1/nodes/{next(node for node in nodes if node != taken)}/maintenance', {})
    assert metrics(counting)['ironic_traits_capacity_reservation_nodes'] == {
        ('a', 'used'): 1,
        ('a', 'left'): 2,
        ('a', 'short'): 1,
    }


def test_metrics_are_off_by_default(client):
    assert client.ask('GET', '/metrics').status_int == 404


@pytest.mark.parametrize('url', ['sqlite:///{}/none.sqlite', 'postgresql+psycopg2://nobody@127.0.0.1:1/nowhere'])
def test_without_a_database(tmp_path, url):
    """Without a database, the metrics of the process are still shown."""
    with make_app(url.format(tmp_path), metrics__enabled=True) as app:
        Client(app).ask('GET', '/v1')
        values = metrics(Client(app))
    assert values['ironic_traits_requests'] == {('baremetal', 'GET', '/v1', '200'): 1}
    assert 'ironic_traits_nodes' not in values


class Pools:
    """A database that cannot reconnect."""

    def __init__(self):
        self.left = 1
        self.pool = sa.pool.QueuePool(self.connect)

    def connect(self):
        if not self.left:
            raise sqlite3.OperationalError
        self.left = 0
        return sqlite3.connect(':memory:')

    def pools(self):
        return {'reader': self.pool}

    def kept(self):
        return {}


def test_connections_that_break_are_counted_once():
    own, database = registry.CollectorRegistry(), Pools()
    _watch_connections(database, own)
    used = database.pool.connect()
    labels = ('ironic_traits_database_connections_in_use', {'engine': 'reader'})
    assert own.get_sample_value(*labels) == 1
    used.invalidate()
    used.close()
    for _ in range(3):
        with pytest.raises(sqlite3.OperationalError):
            database.pool.connect()
    assert own.get_sample_value(*labels) == 0


def test_metrics_of_all_processes(tmp_path):
    """Each process returns the sum of all."""
    conf = tmp_path / 'one.conf'
    conf.write_text('[metrics]\nenabled = true\n')
    arguments = ['--config-file', str(conf), '--workers', '2', '--nostart-worker']
    with ForkedServer(f'sqlite:///{tmp_path}/x.sqlite', *arguments) as server:

        def ask(path):
            with urllib.request.urlopen(server.base + path) as response:
                return response.read().decode()

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, ['/v1/nodes'] * 100))
        for _ in range(5):
            assert read(ask('/metrics'))['ironic_traits_requests']['baremetal', 'GET', '/v1/nodes', '200'] == 100
        assert read(ask('/metrics'))['ironic_traits_nodes'] == {}


def test_routes_have_the_names_of_the_reference(client):
    for route in operations():
        request = Request.blank(re.sub(r'{\w+}', 'x', route.path), method=route.method)
        request.get_response(client.app)
        assert request.environ[ROUTE] == route.path, route
