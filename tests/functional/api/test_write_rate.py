"""The limit [api] max_writes_per_second."""

import base64
import time

import bcrypt
import pytest
from webob import Request

from ironic_traits.api.layers import write_rate
from tests.support.service import make_app, upgraded

NODE = '{"driver": "fake-hardware"}'


def post(app, address='10.0.0.1', authorization=None):
    """Send a write, and return its response."""
    request = Request.blank('/v1/nodes', method='POST', environ={'REMOTE_ADDR': address}, text=NODE)
    request.content_type = 'application/json'
    if authorization:
        request.headers['Authorization'] = f'Basic {base64.b64encode(authorization.encode()).decode()}'
    return request.get_response(app)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, as a list with the time."""
    times = [1000.0]

    class Clock:
        monotonic = staticmethod(lambda: times[0])

    monkeypatch.setattr(write_rate, 'time', Clock)
    return times


def test_writes_of_an_address(tmp_path, clock):
    with make_app(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), api__max_writes_per_second=3) as app:
        assert [post(app).status_int for _ in range(4)] == [201, 201, 201, 503]
        refused = post(app)
        assert (refused.headers['Retry-After'], refused.json['code']) == ('1', 'baremetal.too_many_writes')
        assert len(Request.blank('/v1/nodes').get_response(app).json['nodes']) == 3
        assert post(app, '10.0.0.2').status_int == 201
        clock[0] += 0.5
        assert [post(app).status_int for _ in range(2)] == [201, 503]
        clock[0] += 60
        assert [post(app).status_int for _ in range(4)] == [201, 201, 201, 503]


def test_writes_of_a_user(tmp_path, clock):
    """A user's writes count from all addresses. Requests with a wrong password do not count."""
    users = tmp_path / 'users'
    secret = bcrypt.hashpw(b'x', bcrypt.gensalt(4)).decode()
    users.write_text(f'one:{secret}\ntwo:{secret}\n')
    options = {'api__auth_strategy': 'http_basic', 'api__http_basic_auth_user_file': str(users)}
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with make_app(url, api__max_writes_per_second=2, **options) as app:
        assert [post(app, authorization='one:y').status_int for _ in range(4)] == [401] * 4
        assert [post(app, f'10.0.0.{i}', 'one:x').status_int for i in range(3)] == [201, 201, 503]
        assert post(app, authorization='two:x').status_int == 201


def test_buckets_do_not_grow(monkeypatch):
    monkeypatch.setattr(write_rate, 'MAX_CLIENTS', 10)
    buckets = write_rate.Buckets(1)
    begun = time.monotonic()
    assert all(buckets.take(str(number)) for number in range(1000))
    assert len(buckets._tokens) == 10
    if time.monotonic() - begun < 1:
        assert not buckets.take('999')
