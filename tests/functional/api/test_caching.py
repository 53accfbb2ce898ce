"""A cache that several users share gives no answer to one user to another."""

import re

import pytest

from tests.support.client import Client
from tests.support.service import make_app, upgraded

ADMIN = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
MEMBER = {'X-Auth-Token': 'demo:demo', 'X-Roles': 'member,reader'}
PUBLIC = ('/', '/v1', '/v1/', '/openapi.json', '/placement/')
#: Answers that depend on who asks, and failures, which caches may keep, too.
PRIVATE = (
    *('/v1/nodes', '/v1/nodes/detail', '/v1/nodes/one', '/v1/nodes/one/traits', '/v1/ports', '/v1/traits'),
    *('/v1/reservations', '/v1/allocations', '/v1/drivers', '/v1/conductors', '/v1/changes', '/v1/nosuch'),
    *('/placement/resource_providers', '/placement/traits', '/placement/resource_classes', '/placement/nosuch'),
)


def said(response):
    """Return the status and the body of a response, without the id of the request."""
    return response.status_int, re.sub('req-[0-9a-f-]+', '', response.text)


class Cache:
    """A cache as in RFC 9111 that keeps all that it may, also failures and what has no lifetime.

    :param client: client of the service.
    """

    def __init__(self, client):
        self._client = client
        self._kept = []

    def get(self, path, user, **options):
        """Return (status, body) of a GET as a user, from the cache if possible."""
        for kept_path, needed, answer in self._kept:
            if kept_path == path and all(user.get(name) == value for name, value in needed.items()):
                return answer
        response = self._client.ask('GET', path, headers=user, **options)
        answer = said(response)
        if self.may_keep(response):
            varies = [name.strip() for name in response.headers['Vary'].split(',')]
            self._kept.append((path, {name: user.get(name) for name in varies if name in user}, answer))
        return answer

    @staticmethod
    def may_keep(response):
        """Whether a shared cache may give the response to others without asking the service."""
        return not {'private', 'no-store', 'no-cache'} & set(response.headers.get('Cache-Control', '').split(', '))


@pytest.fixture
def client(tmp_path):
    with make_app(upgraded(f'sqlite:///{tmp_path}/a.sqlite'), api__auth_strategy='noauth2') as app:
        client = Client(app)
        body = {'driver': 'fake-hardware', 'name': 'one'}
        assert client.ask('POST', '/v1/nodes', body, headers=ADMIN).status_int == 201
        yield client


def test_users_share_a_cache(client):
    for version in ('1.115', '1.1'):
        cache = Cache(client)
        for path in PRIVATE:
            cache.get(path, ADMIN, version=version)
            direct = client.ask('GET', path, headers=MEMBER, version=version)
            assert cache.get(path, MEMBER, version=version) == said(direct), path


@pytest.mark.parametrize('path', PRIVATE)
def test_headers(client, path):
    """A 304 has the same headers. Clients of Placement expect no-cache, from 1.15 on."""
    response = client.ask('GET', path, headers=ADMIN)
    again = client.ask('GET', path, headers=ADMIN | {'If-None-Match': response.headers.get('ETag', '"x"')})
    for each in (response, again):
        assert {'X-Auth-Token', 'Authorization'} <= set(each.headers['Vary'].split(', '))
        if path.startswith('/v1'):
            assert each.headers.getall('Cache-Control') == ['private']


def test_what_everybody_may_read_can_be_kept(client):
    for path in PUBLIC:
        response = client.ask('GET', path)
        assert Cache.may_keep(response), path
        assert 'X-Auth-Token' not in response.headers['Vary']


def test_one_vary(tmp_path):
    """CORS adds a name to the Vary of a response, and keeps the others."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/a.sqlite'), cors__allowed_origin=['https://page.example']) as app:
        for path, name in (('/ui/', 'Accept-Encoding'), ('/v1/nodes', 'X-Auth-Token')):
            response = Client(app).ask('GET', path, headers={'Origin': 'https://page.example'})
            (vary,) = response.headers.getall('Vary')
            assert {name, 'Origin'} <= {each.strip() for each in vary.split(',')}
        page = Client(app).ask('GET', '/ui/')
        assert page.headers.getall('Cache-Control') == ['no-cache']
