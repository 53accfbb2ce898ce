"""/v1/changes as a stream of server-sent events."""

import concurrent.futures
import contextlib
import functools
import http.client
import itertools
import json
import os
import random
import signal
import threading
import time
import urllib.parse

import pytest
import sqlalchemy as sa
from keystoneauth1 import noauth, session
from oslo_policy import policy
from webob import Request

from ironic_traits.api.resource import DETACHED
from ironic_traits.changes import change_feed, change_streams
from ironic_traits.client import Client as Library
from ironic_traits.client import Failed
from ironic_traits.db import tables
from tests.support.client import Client
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer, make_app
from tests.support.terminal import descendants

ACCEPT = {'Accept': 'text/event-stream'}
OUTDATED = f'{"0" * 32}-0'


def begin(app, path='/v1/changes', environ=None, **headers):
    """Request a stream as granian does, and return the response. There is no version, as from an EventSource."""
    request = Request.blank(path, environ={DETACHED: True} if environ is None else environ)
    request.headers.update(ACCEPT | {name.replace('_', '-'): value for name, value in headers.items()})
    return request.get_response(app)


def parsed(pieces):
    """Generate the events in pieces of a stream: {field: value}, with comments as the field ''."""
    for piece in pieces:
        for block in piece.decode().split('\n\n')[:-1]:
            yield dict(line.split(': ', 1) if line[0] != ':' else ('', line[2:]) for line in block.split('\n'))


@contextlib.contextmanager
def opened(app, *arguments, **options):
    """Provide the events of a stream after the first one, and the first token."""
    response = begin(app, *arguments, **options)
    assert response.status_int == 200, response.text
    assert response.headers['Content-Type'] == 'text/event-stream'
    try:
        events = parsed(response.app_iter)
        assert next(events) == {'retry': '2000'}
        first = next(events)
        assert (first['event'], json.loads(first['data'])) == ('token', {'token': first['id']})
        yield events, first['id']
    finally:
        response.app_iter.close()


@pytest.fixture
def streaming(app):
    """The application, with a short interval between its queries for changes."""
    app.service.conf.set_override('stream_interval', 0.05, group='changes')
    app.service.conf.set_override('stream_heartbeat', 1, group='changes')
    yield app
    app.service.streams.close()


def test_changes_are_sent(streaming, client):
    """The events equal the entries of the pages. Their ids are tokens."""
    with opened(streaming) as (events, token):
        uuid = client.node()['uuid']
        event = next(events)
        page = client.get(f'/v1/changes?since={token}')
        assert (event['event'], [json.loads(event['data'])]) == ('change', page['changes'])
        assert event['id'] == page['token']
        client.ask('DELETE', f'/v1/nodes/{uuid}')
        assert json.loads(next(events)['data'])['deleted'] is True
        assert next(events) == {'': 'heartbeat'}
    for options in ({'path': f'/v1/changes?since={token}'}, {'path': '/v1/changes?since=x', 'Last_Event_ID': token}):
        with opened(streaming, **options) as (events, _):
            assert json.loads(next(events)['data']) == client.get(f'/v1/changes?since={token}')['changes'][0]


def test_of_some_kinds(streaming, client):
    """Changes of other kinds are not sent. The next heartbeat moves the client's token past them."""
    with opened(streaming, '/v1/changes?kind=reservation') as (events, _):
        client.node()
        assert next(events) == {'': 'heartbeat', 'id': client.get('/v1/changes')['token']}


def test_a_stream_that_is_behind(streaming, client, monkeypatch):
    """A client that reads slowly gets all changes, although the queue of its stream is short."""
    monkeypatch.setattr(change_streams, 'MAX_KEPT', 2)
    monkeypatch.setattr(change_streams, 'PAGE', 3)
    with opened(streaming) as (events, token):
        uuids = {client.node()['uuid'] for _ in range(8)}
        with opened(streaming) as (current, _):
            client.node(name='last')
            next(current)
        assert {json.loads(next(events)['data'])['uuid'] for _ in range(8)} == uuids
    with opened(streaming, f'/v1/changes?since={token}') as (events, _):
        assert len({json.loads(next(events)['data'])['uuid'] for _ in range(9)}) == 9


@pytest.mark.parametrize(
    ('path', 'headers', 'status'),
    [
        ('/v1/changes?since=x', {}, 400),
        ('/v1/changes', {'Last_Event_ID': 'x'}, 400),
        ('/v1/changes?kind=port', {}, 400),
        ('/v1/changes?limit=1', {}, 400),
        ('/v1/changes', {'If_Match': '*'}, 400),
        (f'/v1/changes?since={OUTDATED}', {}, 410),
        ('/v1/changes', {'Last_Event_ID': OUTDATED}, 410),
        ('/v1/nodes', {}, 406),
    ],
)
def test_bad_input(app, path, headers, status):
    assert begin(app, path, **headers).status_int == status


def test_json_is_preferred(app):
    for accept in ('*/*', 'application/json, text/event-stream', 'text/event-stream;q=0.5, application/json'):
        response = begin(app, Accept=accept, X_OpenStack_Ironic_API_Version='1.82')
        assert set(response.json) == {'changes', 'token'}


def test_a_feed_that_begins_again(streaming, client):
    """The stream reports it, and ends. A client that reconnects gets 410."""
    with opened(streaming) as (events, token):
        change_feed.begin_again(streaming.service)
        client.node()
        event = next(events)
        assert (event['event'], json.loads(event['data'])['code']) == ('end', 'baremetal.changes.token_outdated')
        assert list(events) == []
    assert begin(streaming, Last_Event_ID=token).status_int == 410


def test_limits(streaming):
    """The number of streams is limited. When one ends, another can begin."""
    streaming.service.conf.set_override('max_streams', 2, group='changes')
    with opened(streaming), opened(streaming):
        response = begin(streaming)
        assert (response.status_int, response.headers['Retry-After']) == (503, '30')
    with opened(streaming):
        pass


def test_the_life_of_a_stream(streaming):
    """A stream ends after its maximum duration, and when the client's token expires."""
    streaming.service.conf.set_override('stream_seconds', 2, group='changes')
    with opened(streaming) as (events, _):
        assert [event[''] for event in events] in (['heartbeat'], ['heartbeat'] * 2)
    environ = {DETACHED: True, 'keystone.token_info': {'token': {'expires_at': '2020-01-01T00:00:00.000000Z'}}}
    with opened(streaming, environ=environ) as (events, _):
        assert list(events) == []


def test_another_web_server(streaming):
    """Streams need a server with threads, and may use a quarter of them."""
    response = begin(streaming, environ={})
    assert (response.status_int, response.json['code']) == (406, 'baremetal.changes.no_streams')
    environ = {'wsgi.multithread': True}
    with contextlib.ExitStack() as stack:
        for _ in range(streaming.service.conf.api.threads // 4):
            stack.enter_context(opened(streaming, environ=dict(environ)))
        assert begin(streaming, environ=dict(environ)).status_int == 503
    for _ in range(20):
        with opened(streaming, environ=dict(environ)):
            pass
    assert Client(streaming).get('/v1/nodes') == {'nodes': []}


def test_who_may_follow(database_url):
    """Policy is checked at the begin of a stream, and again at intervals."""
    with make_app(database_url, api__auth_strategy='noauth2', changes__stream_interval=0.05) as app:
        system = {'X_Auth_Token': 'admin', 'OpenStack_System_Scope': 'all', 'X_Roles': 'reader'}
        assert begin(app).status_int == 401
        assert begin(app, X_Auth_Token='demo:demo', X_Roles='admin,manager,member,reader').status_int == 403
        with opened(app, **system) as (events, _):
            with app.service.write() as connection:
                change_feed.record(connection, change_feed.NODE, ['0' * 36])
            assert next(events)['event'] == 'change'
            app.service.enforcer.set_rules(policy.Rules.from_dict({'baremetal:change:list': '!'}), use_conf=False)
            with app.service.write() as connection:
                change_feed.record(connection, change_feed.NODE, ['0' * 36])
            event = next(events)
            assert (event['event'], json.loads(event['data'])['status']) == ('end', 403)


def write(app, number):
    """Write to nodes. Some transactions stay open, so changes are not committed in the order of their ids."""
    choose, client, uuids = random.Random(number), Client(app), []
    for step in range(20):
        verb = choose.choice(['create', 'create', 'patch', 'traits', 'delete', 'late'])
        if verb == 'create' or not uuids:
            uuids.append(client.node(name=f'w{number}-{step}')['uuid'])
        elif verb == 'delete':
            client.ask('DELETE', f'/v1/nodes/{uuids.pop()}')
        elif verb == 'late':
            write_late(app.service, choose.choice(uuids), f'{number} {step}', choose.random() / 5)
        elif verb == 'patch':
            patch = [{'op': 'add', 'path': '/extra/step', 'value': step}]
            client.ask('PATCH', f'/v1/nodes/{choose.choice(uuids)}', patch)
        else:
            client.ask('PUT', f'/v1/nodes/{choose.choice(uuids)}/traits', {'traits': [f'CUSTOM_{step}']})


def write_late(service, uuid, description, seconds):
    """Write to a node in a transaction that stays open for a while, except on SQLite, which has one writer."""
    with service.write() as connection:
        change_feed.record(connection, change_feed.NODE, [uuid])
        statement = sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid)
        connection.execute(statement.values(description=description))
        time.sleep(0 if connection.dialect.name == 'sqlite' else seconds)


class Copy:
    """A copy of the inventory. It follows streams, which break off and are resumed.

    :param app: Application.
    :param ended: Event that is set after the last write.
    :ivar nodes: {uuid: node}.
    """

    fields = 'uuid,extra,traits,description'

    def __init__(self, app, token, ended):
        self._app, self._client, self._token, self._ended, self.nodes = app, Client(app), token, ended, {}

    def follow(self, last):
        """Follow streams until a node appears, by its uuid, at most 60 seconds after the last write."""
        choose, deadline = random.Random(7), None
        while last not in self.nodes:
            if self._ended.is_set():
                deadline = deadline or time.monotonic() + 60
                assert time.monotonic() < deadline, f'{last} was not sent'
            with opened(self._app, Last_Event_ID=self._token) as (events, _):
                for event in itertools.islice(events, choose.randrange(1, 40)):
                    self._apply(event)
                    if last in self.nodes:
                        break

    def _apply(self, event):
        self._token = event.get('id', self._token)
        if event.get('event') == 'change':
            uuid = json.loads(event['data'])['uuid']
            self.nodes.pop(uuid, None)
            response = self._client.ask('GET', f'/v1/nodes/{uuid}?fields={self.fields}')
            if response.status_int == 200:
                self.nodes[uuid] = response.json


def test_nothing_is_missed(streaming, client):
    """Copies that follow streams equal the inventory at the end."""
    ended = threading.Event()
    copies = [Copy(streaming, client.get('/v1/changes')['token'], ended) for _ in range(2)]
    last = '99999999-0000-4000-8000-000000000001'
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        followers = [pool.submit(copy.follow, last) for copy in copies]
        try:
            list(pool.map(functools.partial(write, streaming), range(4)))
            # All earlier changes get their numbers now, so this one is the last.
            client.get('/v1/changes')
            client.node(uuid=last)
        finally:
            ended.set()
        for follower in followers:
            follower.result()
    nodes = client.get(f'/v1/nodes?fields={Copy.fields}')['nodes']
    assert nodes
    assert [copy.nodes for copy in copies] == [{node['uuid']: node for node in nodes}] * 2


def connected(server, token=None):
    """Return the response of a running service with a stream."""
    connection = http.client.HTTPConnection(urllib.parse.urlparse(server.base).netloc, timeout=20)
    connection.request('GET', '/v1/changes', headers=ACCEPT | ({'Last-Event-ID': token} if token else {}))
    return connection.getresponse()


def read_ids(response, count):
    """Read a number of changes of a stream, and return their ids and uuids."""
    seen, lines = [], {}
    while len(seen) < count:
        line = response.readline().decode()
        assert line, f'the stream ended after {lines}'
        name, _, value = line.rstrip('\n').partition(': ')
        lines[name] = value
        if name == 'data' and lines['event'] == 'change':
            seen.append((lines['id'], json.loads(value)['uuid']))
    return seen


def test_a_running_service(tmp_path):
    """Streams do not occupy request threads, resume by their ids after kill -9, and end with the service."""
    conf = tmp_path / 'streams.conf'
    conf.write_text('[api]\nthreads = 2\n[changes]\nstream_interval = 0.05\nmax_streams = 6\n')
    arguments = ['--config-file', str(conf), '--workers', '1', '--nostart-worker']
    with ForkedServer(None, *arguments, cwd=tmp_path) as server:
        responses = [connected(server) for _ in range(6)]
        uuid = make(server.base)
        seen = [read_ids(response, 1) for response in responses]
        assert seen == [seen[0]] * 6
        assert seen[0][0][1] == uuid
        assert connected(server).status == 503
        for pid in descendants(server.process.pid):
            assert len(os.listdir(f'/proc/{pid}/fd')) < 100
        for response in responses:
            response.close()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with ForkedServer(None, *arguments, cwd=tmp_path) as server:
        response = connected(server, seen[0][0][0])
        further = {make(server.base) for _ in range(3)}
        assert {uuid for _, uuid in read_ids(response, 3)} == further
        assert ask(server.base, 'GET', '/v1/nodes')[0] == 200
        library = Library(session.Session(noauth.NoAuth()), endpoint_override=server.base)
        changes = itertools.islice(library.follow(seen[0][0][0], kinds=['node']), 3)
        assert {change['uuid'] for change in changes} == further
        with pytest.raises(Failed, match='too old'):
            next(library.follow(OUTDATED))
        server.process.send_signal(signal.SIGTERM)
        # The body is complete: the connection does not end before it.
        response.read()
        assert response.isclosed()
