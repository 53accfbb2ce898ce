"""Control characters in what commands print, from the database, a service or a file, do not reach the terminal."""

import importlib.metadata
import json
import re
import threading
import types
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from tests.support import commands
from tests.support.cli import BAREMETAL, run
from tests.support.inventory_files import manage
from tests.support.reservations import instance

#: Sets the title of the terminal, overwrites the line, colours the text, reverses its order, clears the screen.
HOSTILE = 'x\x1b]0;owned\x07\rok\x9b31m\u202e\u2066\x1bc'
CONTROL = re.compile('[^\\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]')
#: Texts of the API that its clients need.
KEPT = {'href', 'rel', 'next', 'uuid', 'digest', 'outcome'}
DATA = {
    'inventory': {'cpu': {'flags': [HOSTILE], 'model_name': HOSTILE}},
    'plugin_data': {'redfish': {'firmware': [{'name': HOSTILE, 'version': HOSTILE}]}},
}
RULE = {'name': 'a', 'actions': [{'op': 'fail', 'args': {'msg': '{inventory[cpu][model_name]}'}}]}
#: {command of this package: arguments}. FILE is a file with a document, by its extension.
COMMANDS = {
    'reservation create': (instance(1), '--trait', 'CUSTOM_FAST'),
    'reservation group create': (instance(1), '--trait', 'CUSTOM_FAST'),
    'reservation list': (),
    'reservation show': (instance(9),),
    'reservation renew': (instance(9),),
    'reservation delete': (instance(9),),
    'inventory export': ('FILE.new',),
    'inventory import': ('FILE.wrong',),
    'mirror list': (),
    'mirror show': ('far',),
    'capacity': ('--trait', 'CUSTOM_FAST'),
    'capacity reservation create': ('x', '--project', 'p', '--count', '1', '--trait', 'CUSTOM_A'),
    'capacity reservation list': (),
    'capacity reservation show': ('x',),
    'capacity reservation delete': ('x', 'y'),
    'discover': ('--range', HOSTILE),
    'drift': ('--flavors', 'FILE.flavors'),
    'drift --firmware': (),
    'match': ('--trait', 'CUSTOM_A'),
    'match --explain': ('--trait', 'CUSTOM_FAST'),
    'inspection rule apply': ('--all', '--yes'),
    'inspection rule preview': ('--inventory', 'FILE.json', '--long', 'FILE.rules'),
    'node action run': ('adopt', '--all', '--yes'),
    'node inventory set': ('nosuch', 'FILE.json'),
    'trait catalog': (),
    'trait edit': ('--add', 'CUSTOM_B', '--all', '--yes'),
    'trait set': ('CUSTOM_A', '--description', HOSTILE),
    'trait show': ('CUSTOM_A',),
    'node trait set': ('nosuch', 'CUSTOM_B'),
    'node trait unset': ('nosuch', 'CUSTOM_B'),
    'node trait unveto': ('nosuch', 'CUSTOM_B'),
    'node list': ('--long',),
    'node trait list': ('one', '--long'),
}
#: Those that print nothing but numbers, or write to a file, in this test.
SILENT = {'inventory export', 'mirror list', 'inspection rule apply'}


class _Spoiler(BaseHTTPRequestHandler):
    """Forwards each request, and adds control characters to all texts in the response."""

    def do_GET(self):
        data = self.rfile.read(int(self.headers.get('Content-Length') or 0)) or None
        headers = {name: value for name, value in self.headers.items() if name.lower() != 'host'}
        request = urllib.request.Request(self.server.base + self.path, data, headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as response:
                status, body, headers = response.status, response.read(), response.headers
        except urllib.error.HTTPError as error:
            status, body, headers = error.code, error.read(), error.headers
        body = json.dumps(spoiled(json.loads(body))).encode() if body else b''
        self.send_response(status)
        for name, value in headers.items():
            if name.lower().startswith(('content-type', 'x-openstack')):
                self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_POST = do_PATCH = do_DELETE = do_GET

    def log_message(self, *arguments):
        """Print nothing."""


def spoiled(value, key=None):
    """Return a JSON value with control characters in its texts."""
    if isinstance(value, dict):
        return {name: spoiled(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each, key) for each in value]
    if key == 'error_message' and isinstance(value, str) and value.startswith('{'):
        return json.dumps(spoiled(json.loads(value)))
    return value + HOSTILE if isinstance(value, str) and key not in KEPT else value


@pytest.fixture(scope='module')
def spoiler(server, tmp_path_factory):
    """A service whose responses have control characters in all texts."""
    data = tmp_path_factory.mktemp('data') / 'one.json'
    data.write_text(json.dumps(DATA))
    run(server, *BAREMETAL, 'node', 'inventory', 'set', 'one', data)
    with ThreadingHTTPServer(('127.0.0.1', 0), _Spoiler) as proxy:
        proxy.base = server.base
        threading.Thread(target=proxy.serve_forever).start()
        yield types.SimpleNamespace(base=f'http://127.0.0.1:{proxy.server_port}')
        proxy.shutdown()


@pytest.fixture
def files(tmp_path):
    """Function that replaces FILE in the arguments of a command."""
    node = {'name': 'one', 'driver': 'fake-hardware', 'description': HOSTILE, 'resource_class': HOSTILE}
    documents = {
        **{'yaml': {'nodes': [node]}, 'json': DATA, 'rules': [RULE], 'wrong': {'nodes': [node | {HOSTILE: 1}]}},
        'flavors': {HOSTILE: {'trait:CUSTOM_A': 'required'}},
    }
    for name, document in documents.items():
        (tmp_path / f'FILE.{name}').write_text(json.dumps(document))
    return lambda arguments: [str(tmp_path / each) if each.startswith('FILE.') else each for each in arguments]


def printed(server, *command):
    """Return what a command prints on both streams, whether or not it fails."""
    environment = {'OS_AUTH_TYPE': 'none', 'OS_ENDPOINT': server.base}
    done = commands.run(*command, env=environment)
    return done.stdout + done.stderr


def test_all_commands_are_tried():
    ours = importlib.metadata.entry_points(group='openstack.baremetal.v1')
    names = {each.name.removeprefix('baremetal_').replace('_', ' ') for each in ours if 'ironic_traits' in each.value}
    hooks = {name.replace('_', ' ') for name in ('node_list', 'node_trait_list')}
    assert names | hooks == {name.partition(' --')[0] for name in COMMANDS}


@pytest.mark.parametrize('name', COMMANDS)
def test_commands_of_clients(spoiler, files, name):
    output = printed(spoiler, *BAREMETAL, *name.split(), *files(COMMANDS[name]))
    assert 'Traceback' not in output
    assert not CONTROL.search(output), output
    assert '\\x1b' in output or name in SILENT


def test_each_format(spoiler):
    """Tables and texts are escaped. JSON and YAML have the exact text, in their own escapes."""
    show = (*BAREMETAL, 'trait', 'show', 'CUSTOM_A', '-f')
    for form in ('table', 'value', 'shell', 'json', 'yaml'):
        output = run(spoiler, *show, form)
        assert not CONTROL.search(output), output
    for form, parse in (('json', json.loads), ('yaml', yaml.safe_load)):
        assert parse(run(spoiler, *show, form))['name'] == f'CUSTOM_A{HOSTILE}'
    listed = run(spoiler, *BAREMETAL, 'trait', 'catalog', '-f', 'csv')
    assert '\\x1b' in listed
    assert not CONTROL.search(listed)


def test_failures_with_a_traceback(spoiler):
    """With --debug, tracebacks and logs of the request have the message, too."""
    output = printed(spoiler, *BAREMETAL, '--debug', 'trait', 'show', 'CUSTOM_NOSUCH')
    assert 'Traceback' in output
    assert not CONTROL.search(output), CONTROL.search(output)


def test_commands_of_operators(database_url, client, files):
    path, wrong, rules, data = files(['FILE.yaml', 'FILE.wrong', 'FILE.rules', 'FILE.json'])
    for arguments in (['import', '--dry-run', path], ['import', path], ['import', wrong]):
        output = manage(database_url, *arguments, code=int(wrong in arguments))
        assert not CONTROL.search(output), output
    exported = manage(database_url, 'export', '-')
    assert not CONTROL.search(exported)
    assert yaml.safe_load(exported)['nodes'][0]['description'] == HOSTILE
    found = commands.run('ironic-traits-manage', 'rules', 'check', rules, '--inventory', data)
    assert '\\x1b' in found.stdout
    assert not CONTROL.search(found.stdout + found.stderr)
