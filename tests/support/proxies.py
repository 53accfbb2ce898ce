"""nginx and haproxy with the files of the documentation, in front of services.

Only what a test needs differs from the documentation: addresses, paths, the user, and shorter waits.
"""

import contextlib
import http.client
import pathlib
import subprocess
import time

from tests.support import certificates
from tests.support.http_client import ask
from tests.support.servers import ROOT, free_port, program, require
from tests.support.service import ForkedServer, upgraded

EXAMPLES = pathlib.Path(__file__).parents[2] / 'doc/source/examples'
#: nginx has its main configuration from the package, which includes the example. This one is as short as possible.
_MAIN = """
{user}
daemon off;
worker_processes 2;
pid {folder}/pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    gzip on;
    {paths}
    include {folder}/nginx.conf;
}}
"""
_ENDINGS = {'nginx': 'conf', 'haproxy': 'cfg'}
_TEMPORARY = ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
#: {kind: {text in its file: text instead}}.
_NAMED = {
    'nginx': {
        'listen 443': 'listen {address}',
        '/etc/nginx/tls/baremetal.pem': '{certificate}',
        '/etc/nginx/tls/baremetal.key': '{certificate}',
        'client_header_timeout 30s': 'client_header_timeout 2s',
        'client_body_timeout 30s': 'client_body_timeout 2s',
    },
    'haproxy': {
        '0.0.0.0:443': '{address}',
        '/etc/haproxy/tls/baremetal.pem': '{certificate}',
        'log stdout format short daemon': 'log stdout format short daemon emerg',
        'timeout http-request 30s': 'timeout http-request 2s',
    },
}
#: What only root may do.
_AS_ROOT = ('    user haproxy\n', '    group haproxy\n', '    chroot /var/lib/haproxy\n')


class Proxy:
    """A running proxy.

    :param kind: 'nginx' or 'haproxy'.
    :param servers: addresses of the two services, HOST:PORT.
    :param changes: {text in the file of the documentation: text instead}.
    :ivar base: its own URL.
    :ivar certificate: path of its certificate.
    """

    def __init__(self, kind, folder, port, servers, changes=()):
        self.kind, self.port, self.base = kind, port, f'https://127.0.0.1:{port}'
        self.certificate = certificates.self_signed(folder, '127.0.0.1')
        self._process = None
        names = {'address': f'127.0.0.1:{port}', 'certificate': self.certificate}
        replacements = {old: new.format(**names) for old, new in _NAMED[kind].items()}
        replacements |= {f'10.0.0.2{number}:6385': server for number, server in enumerate(servers, 1)} | dict(changes)
        self._command = getattr(self, f'_{kind}')(folder, replaced(f'{kind}.{_ENDINGS[kind]}', replacements))

    def ask(self, method, path, document=None, **headers):
        """Send a request, and return (status, headers, body)."""
        return ask(self.base, method, path, document, headers, self.certificate)

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self._responds():
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return self

    def __exit__(self, *exception):
        self._process.terminate()
        self._process.wait(30)

    def _responds(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.ask('GET', '/v1')[0] == 200
        return False

    def _nginx(self, folder, text):
        paths = ' '.join(f'{name}_temp_path {folder}/{name};' for name in _TEMPORARY)
        (folder / 'nginx.conf').write_text(text)
        (folder / 'main.conf').write_text(_MAIN.format(user='user root;' if ROOT else '', folder=folder, paths=paths))
        return [_program('nginx'), '-e', 'stderr', '-c', folder / 'main.conf']

    def _haproxy(self, folder, text):
        for line in () if ROOT else _AS_ROOT:
            text = text.replace(line, '')
        (folder / 'haproxy.cfg').write_text(text)
        return [_program('haproxy'), '-db', '-f', folder / 'haproxy.cfg']


def replaced(name, replacements):
    """Return an example of the documentation with other addresses and paths. Each old text must be there once."""
    text = (EXAMPLES / name).read_text()
    for old, new in replacements.items():
        assert text.count(old) == 1, old
        text = text.replace(old, str(new))
    return text


def _program(name):
    require(program(name), f'{name} is not installed')
    return program(name)


@contextlib.contextmanager
def behind(kind, folder, options='', **arguments):
    """Provide a proxy in front of two services with one database, and the services.

    :param kind: 'nginx' or 'haproxy'.
    :param options: lines for the section [api] of the services.
    :param arguments: further arguments of the proxy.
    """
    port, url = free_port(), upgraded(f'sqlite:///{folder}/x.sqlite')
    (folder / 'service.conf').write_text(
        f'[api]\npublic_endpoint = https://127.0.0.1:{port}\n{options}\n[metrics]\nenabled = true\n'
    )
    start = (url, '--config-file', str(folder / 'service.conf'), '--nostart-worker')
    with ForkedServer(*start) as one, ForkedServer(*start) as two:
        addresses = [server.base.removeprefix('http://') for server in (one, two)]
        with Proxy(kind, folder, port, addresses, **arguments) as proxy:
            yield proxy, (one, two)
