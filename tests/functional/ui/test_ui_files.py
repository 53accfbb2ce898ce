"""The files of the web page: headers, caches, and routes."""

import gzip
import importlib.resources
import json
import pathlib
import re

import pytest

from ironic_traits.api import microversions
from ironic_traits.api.placement import microversions as placement_microversions
from tests.support import ui_libraries
from tests.support.client import Client
from tests.support.service import make_app, upgraded

FOLDER = pathlib.Path(str(importlib.resources.files('ironic_traits'))) / 'ui'


@pytest.fixture(scope='module')
def client(tmp_path_factory):
    with make_app(upgraded(f'sqlite:///{tmp_path_factory.mktemp("ui")}/x.sqlite')) as app:
        yield Client(app)


@pytest.fixture(scope='module')
def scripts(client):
    """{path: text} of all modules that the page loads."""
    paths = re.findall(r'(?:src|href)="([^"]+)"', client.ask('GET', '/ui/').text)
    texts = {}
    while paths:
        path = paths.pop()
        texts[path] = client.ask('GET', f'/ui/{path}').text
        folder = path.rpartition('/')[0]
        for name in re.findall(r'from\s*["\'](\.[^"\']+)["\']', texts[path]) if path.endswith('.js') else ():
            parts = f'{folder}/{name}'.replace('/./', '/')
            while '/../' in parts:
                parts = re.sub(r'[^/]+/\.\./', '', parts, count=1)
            if parts not in texts:
                paths.append(parts)
    return texts


def test_nothing_is_inline_and_nothing_is_elsewhere(client):
    page = client.ask('GET', '/ui/').text
    assert '$DIGEST' not in page
    assert re.findall(r'<script[^>]*>([^<]+)<', page) == []
    assert not re.search(r'<style|\son\w+=|style=|https?://', page)


def test_every_module_is_served_and_kept(client, scripts):
    assert len(scripts) > 10
    for path in scripts:
        # Only the page's own modules, because Preact itself has the word.
        forbidden = r'dangerouslySetInnerHTML|\beval\(|document\.write|import\(|innerHTML'
        response = client.ask('GET', f'/ui/{path}')
        assert response.status_int == 200, path
        assert response.headers['Cache-Control'] == 'public, max-age=31536000, immutable'
        assert '/vendor/' in path or not re.search(forbidden, response.text)


def test_comments_are_not_served(client):
    """Everything else is, on the same lines. Libraries are served as they are."""
    files = list(FOLDER.rglob('*.js'))
    assert len(files) > 30
    for path in files:
        name = path.relative_to(FOLDER).as_posix()
        served, source = client.ask('GET', f'/ui/{name}').text.split('\n'), path.read_text().split('\n')
        if name.startswith('vendor/'):
            assert served == source
            continue
        assert len(served) == len(source)
        dropped = [before.strip() for now, before in zip(served, source, strict=True) if now != before]
        assert all(line.startswith(('//', '/**', '*')) for line in dropped)
        assert not any(re.fullmatch(r'//.*|/\*\*.*\*/|\* .*|\*/', line.strip()) for line in served)


def test_headers(client):
    response = client.ask('GET', '/ui/')
    policy = dict(each.split(' ', 1) for each in response.headers['Content-Security-Policy'].split('; '))
    assert policy == {
        'default-src': "'none'",
        **dict.fromkeys(('script-src', 'style-src', 'img-src', 'connect-src', 'form-action'), "'self'"),
        **dict.fromkeys(('frame-ancestors', 'base-uri'), "'none'"),
        'require-trusted-types-for': "'script'",
    }
    assert response.headers['Cache-Control'] == 'no-cache'
    assert response.headers['X-Frame-Options'] == 'DENY'
    assert response.headers['X-Content-Type-Options'] == 'nosniff'
    assert response.headers['Referrer-Policy'] == 'no-referrer'


def test_caches(client):
    page = client.ask('GET', '/ui/')
    again = client.ask('GET', '/ui/', headers={'If-None-Match': page.headers['ETag']})
    assert (again.status_int, again.body) == (304, b'')
    assert client.ask('GET', '/ui/', headers={'If-None-Match': '"other"'}).status_int == 200
    zipped = client.ask('GET', '/ui/', headers={'Accept-Encoding': 'gzip, br'})
    assert zipped.headers['Content-Encoding'] == 'gzip'
    assert gzip.decompress(zipped.body) == page.body
    head = client.ask('HEAD', '/ui/')
    assert (head.body, head.headers['Content-Length']) == (b'', str(len(page.body)))


def test_files_of_another_release_are_not_kept(client):
    """During an upgrade, a page of the old release may request a file from a new process, so it must not be cached."""
    response = client.ask('GET', '/ui/0123456789abcdef/app.js')
    assert (response.status_int, response.headers['Cache-Control']) == (200, 'no-cache')


@pytest.mark.parametrize(
    'path',
    [
        'x.js',
        '../app.py',
        '%2e%2e/app.py',
        'vendor/../../app.py',
        'vendor/libraries.json',
        'views',
        '/app.js',
        'a/b/c.js',
    ],
)
def test_other_files_are_not_served(client, path):
    response = client.ask('GET', f'/ui/{path}')
    assert (response.status_int, response.text) == (404, 'No such file.\n')


def test_the_folder_has_a_slash(client):
    response = client.ask('GET', '/ui')
    assert (response.status_int, response.headers['Location']) == (308, 'ui/')


@pytest.mark.parametrize('options', [{'api__enable_ui': False}, {'api__serve': 'placement'}])
def test_it_can_be_left_out(tmp_path, options):
    with make_app(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), **options) as app:
        for path in ('/ui/', '/ui/login'):
            assert Client(app).ask('GET', path).status_int in (404, 400)


def test_a_login_needs_keystone(client):
    assert client.ask('GET', '/ui/login').json['auth_strategy'] == 'noauth'
    for method in ('POST', 'DELETE', 'PUT'):
        assert client.ask(method, '/ui/login', {'user': 'a', 'password': 'b'}).status_int == 405


def test_the_page_asks_for_versions_that_are_served(client):
    text = client.ask('GET', '/ui/api.js').text
    for name, versions in (('VERSION', microversions), ('PLACEMENT_VERSION', placement_microversions)):
        assert f"export const {name} = '1.{versions.MAXIMUM}';" in text


def test_libraries_are_what_the_record_says():
    """``python -m tests.support.ui_libraries`` writes both."""
    records = json.loads(ui_libraries.RECORD.read_text())
    digests = {name: digest for record in records for name, digest in record['files'].items()}
    files = {path.name: ui_libraries.digest(path) for path in ui_libraries.FOLDER.iterdir()}
    del files[ui_libraries.RECORD.name]
    assert files == digests
    assert {record['name']: record['license'] for record in records} == {'preact': 'MIT', 'htm': 'Apache-2.0'}
