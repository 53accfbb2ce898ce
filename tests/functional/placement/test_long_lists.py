"""Responses with more than a thousand providers: the service makes their text while it sends them."""

import http.client
import json
import urllib.parse
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.api.placement import candidate_documents
from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from tests.support.client import Client
from tests.support.providers import golden
from tests.support.service import ForkedServer, database, upgraded

#: More than two batches of the service.
NUMBER = 2_300
PATH = '/placement/resource_providers'


def fill(url):
    """Insert providers, of which the last ones are a tree, and return their uuids in the order of their creation."""
    uuids = [str(uuid.UUID(int=number)) for number in range(1, NUMBER + 1)]
    rows = [
        {'uuid': each, 'name': f'"{number}"\n', 'root_provider_uuid': each, 'generation': number, 'created_at': now()}
        for number, each in enumerate(uuids)
    ]
    for row in rows[-3:]:
        row |= {'parent_provider_uuid': uuids[0], 'root_provider_uuid': uuids[0]}
    with database(url) as opened, opened.write() as connection:
        for part in rows[:-3], rows[-3:]:
            connection.execute(sa.insert(tables.resource_providers), part)
    return uuids


@pytest.mark.parametrize('version', ['1.0', '1.39'])
def test_each_provider_is_shown(app, database_url, version):
    """A list has what the pages of the single providers have."""
    uuids, client = fill(database_url), Client(app)
    response = client.placement('GET', '/resource_providers', version=version)
    assert response.status_int == 200
    assert response.content_type == 'application/json'
    assert ('Last-Modified' in response.headers) == (version != '1.0')
    shown = response.json['resource_providers']
    assert [each['uuid'] for each in shown] == uuids
    for number in (0, 1, 999, 1000, 1001, 1999, 2000, NUMBER - 3, NUMBER - 1):
        assert shown[number] == client.placement('GET', f'/resource_providers/{uuids[number]}', version=version).json


@pytest.mark.parametrize('version', ['1.10', '1.39'])
def test_candidates_in_parts(client, monkeypatch, version):
    """The parts of a response make the same document."""
    nodes = {golden(client) for _ in range(7)}
    path = '/allocation_candidates?resources=CUSTOM_GOLD:1'
    whole = client.placement('GET', path, version=version)
    assert whole.json['provider_summaries'].keys() == nodes
    monkeypatch.setattr(candidate_documents, '_BATCH', 3)
    parts = client.placement('GET', path, version=version)
    assert ('Content-Length' in whole.headers, 'Content-Length' in parts.headers) == (True, False)
    assert parts.json == whole.json


@pytest.fixture
def server(tmp_path):
    """A running service with the providers."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    fill(url)
    with ForkedServer(url, '--nostart-worker') as running:
        yield running


def test_clients_of_a_server(server):
    """A list is complete, also beside clients that stop reading. Its connection can be used again."""
    address = urllib.parse.urlsplit(server.base)
    impatient = [http.client.HTTPConnection(address.netloc, timeout=60) for _ in range(3)]
    for connection in impatient:
        connection.request('GET', PATH)
        assert connection.getresponse().read(1000).startswith(b'{"resource_providers":[{"uuid":')
    connection = http.client.HTTPConnection(address.netloc, timeout=60)
    for _ in range(2):
        connection.request('GET', PATH)
        assert len(json.load(connection.getresponse())['resource_providers']) == NUMBER
        connection.request('GET', f'{PATH}?name=x')
        assert json.load(connection.getresponse()) == {'resource_providers': []}
    for each in (*impatient, connection):
        each.close()
    assert 'Traceback' not in server.stop()
