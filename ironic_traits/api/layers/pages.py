"""The web page at /ui/: static files, which need no authentication, and the route by which the page logs in.

The page uses the public API. Its files are in ``ironic_traits/ui``. It names them by a digest of all files
(/ui/DIGEST/app.js), so that browsers keep them until a release changes them.
"""

import functools
import gzip
import hashlib
import importlib.resources
import pathlib
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from ironic_traits.api.layers import logins
from ironic_traits.api.layers.browsers import Origins
from ironic_traits.api.resource import ROUTE

_FOLDER = pathlib.Path(str(importlib.resources.files('ironic_traits'))) / 'ui'
_TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.svg': 'image/svg+xml',
}
#: In index.html, the place of the digest of the files.
_DIGEST = b'$DIGEST'
#: Scripts and styles of these files only, and requests to this service only. Nothing may embed the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'"
)
_HEADERS = [
    ('Content-Security-Policy', _POLICY),
    ('Cross-Origin-Opener-Policy', 'same-origin'),
    ('Cross-Origin-Resource-Policy', 'same-origin'),
    ('Referrer-Policy', 'no-referrer'),
    ('X-Content-Type-Options', 'nosniff'),
    ('X-Frame-Options', 'DENY'),
    ('Vary', 'Accept-Encoding'),
]
#: Comments on lines of their own, which are a sixth of what a browser would load. Libraries keep theirs: licenses.
_COMMENT = re.compile(rb'(?m)^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)[ \t]*$')
_LIBRARIES = 'vendor/'
#: Of files in a folder with the digest: they never change.
_KEPT = 'public, max-age=31536000, immutable'
_FILE = re.compile(r'(?:([0-9a-f]{16})/)?((?:[a-z]+/)?[a-z_]+\.[a-z]+)')


class Pages:
    """A WSGI layer that serves the web page.

    :param inside: the wrapped WSGI application, which gets all other requests.
    """

    def __init__(self, inside: WSGIApplication, conf: cfg.ConfigOpts) -> None:
        self._inside = inside
        self._logins = Origins(logins.Logins(conf), conf)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ['PATH_INFO']
        if path == logins.PATH:
            environ[ROUTE] = path
            return self._logins(environ, start_response)
        if path in ('', '/') and _is_browser(environ):
            # Temporary, and never kept: to other clients, this is the root of the API.
            return _respond(environ, start_response, '302 Found', [('Location', 'ui/'), ('Cache-Control', 'no-store')])
        if environ['REQUEST_METHOD'] not in ('GET', 'HEAD') or not (path == '/ui' or path.startswith('/ui/')):
            return self._inside(environ, start_response)
        environ[ROUTE] = '/ui/{file}'
        if path == '/ui':
            # Relative, because a proxy may serve the API below a path.
            return _respond(environ, start_response, '308 Permanent Redirect', [('Location', 'ui/')])
        return _serve(environ, start_response, path.removeprefix('/ui/') or 'index.html')


def _is_browser(environ: WSGIEnvironment) -> bool:
    """Whether a person opens a URL: browsers name HTML first, and clients of the API do not name it."""
    accept = environ.get('HTTP_ACCEPT', '').lower()
    return environ['REQUEST_METHOD'] in ('GET', 'HEAD') and accept.startswith(('text/html', 'application/xhtml+xml'))


def _serve(environ: WSGIEnvironment, start_response: StartResponse, path: str) -> list[bytes]:
    match = _FILE.fullmatch(path)
    file = _files().get(match[2]) if match else None
    if match is None or file is None:
        return _respond(environ, start_response, '404 Not Found', [('Content-Type', 'text/plain')], b'No such file.\n')
    body, zipped, tag, kind = file
    is_kept = match[1] == _digest()
    headers = [('Content-Type', kind), ('ETag', tag), ('Cache-Control', _KEPT if is_kept else 'no-cache')]
    if tag in environ.get('HTTP_IF_NONE_MATCH', ''):
        return _respond(environ, start_response, '304 Not Modified', headers)
    if 'gzip' in environ.get('HTTP_ACCEPT_ENCODING', ''):
        body, headers = zipped, [*headers, ('Content-Encoding', 'gzip')]
    return _respond(environ, start_response, '200 OK', headers, body)


def _respond(
    environ: WSGIEnvironment,
    start_response: StartResponse,
    status: str,
    headers: list[tuple[str, str]],
    body: bytes = b'',
) -> list[bytes]:
    length = [] if status.startswith('304') else [('Content-Length', str(len(body)))]
    start_response(status, [*_HEADERS, *headers, *length])
    return [] if environ['REQUEST_METHOD'] == 'HEAD' else [body]


@functools.cache
def _files() -> dict[str, tuple[bytes, bytes, str, str]]:
    """Return the files of the page: {path: (content, content with gzip, weak ETag, Content-Type)}."""
    files = {}
    for path, content in _contents().items():
        content = content.replace(_DIGEST, _digest().encode()) if path.endswith('.html') else content
        if path.endswith('.js') and not path.startswith(_LIBRARIES):
            # Empty lines, so that the messages of a browser have the numbers of the lines in the source.
            content = _COMMENT.sub(lambda match: b'\n' * match[0].count(b'\n'), content)
        # Weak: with and without gzip, the bytes differ.
        tag = f'W/"{hashlib.sha256(content).hexdigest()[:16]}"'
        files[path] = content, gzip.compress(content, mtime=0), tag, _TYPES[pathlib.Path(path).suffix]
    return files


@functools.cache
def _contents() -> dict[str, bytes]:
    """Return the files of the page: {path in the folder: content}."""
    paths = sorted(path for path in _FOLDER.rglob('*') if path.suffix in _TYPES)
    return {str(path.relative_to(_FOLDER)): path.read_bytes() for path in paths}


@functools.cache
def _digest() -> str:
    """Return a digest of all files."""
    everything = hashlib.sha256()
    for path, content in _contents().items():
        everything.update(f'{path} {len(content)}\n'.encode() + content)
    return everything.hexdigest()[:16]
