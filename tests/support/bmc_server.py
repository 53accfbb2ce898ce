"""A BMC that serves a tree of Redfish documents, and behaves badly on request."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support import http_servers
from tests.support.redfish_trees import V1, collection, to

USER, PASSWORD, TOKEN = 'operator', 'paSSword-of-the-BMC', 'tOKen-of-the-session'
SYSTEM = f'{V1}/Systems/1'


def tree(**system):
    """Return the documents of a BMC with one System, below /redfish/v1.

    :param system: further properties of the System.
    """
    one = {
        'Name': 'System',
        'PowerState': 'Off',
        'UUID': '5c6e1f4e-3a53-4d1c-a4a1-0d3e8c9b7a61',
        'Manufacturer': 'Acme',
        'Model': 'A1',
        'Status': {'HealthRollup': 'OK', 'State': 'Enabled'},
        'MemorySummary': {'TotalSystemMemoryGiB': 64},
        'Processors': to('/Systems/1/Processors'),
        'EthernetInterfaces': to('/Systems/1/EthernetInterfaces'),
        'Boot': {
            'BootSourceOverrideEnabled': 'Disabled',
            'BootSourceOverrideTarget': 'None',
            'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'Pxe', 'Hdd', 'Cd'],
        },
        'Actions': {
            '#ComputerSystem.Reset': {
                'target': f'{SYSTEM}/Actions/ComputerSystem.Reset',
                'ResetType@Redfish.AllowableValues': ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown'],
            }
        },
    }
    cpu = {
        'ProcessorType': 'CPU',
        'Model': 'Intel(R) Xeon(R) Gold 6354 CPU @ 3.00GHz',
        'InstructionSet': 'x86-64',
        'TotalCores': 18,
    }
    nic = {'MACAddress': '52:54:00:00:00:01'}
    return {
        '': {
            'Id': 'RootService',
            'Name': 'Root',
            'RedfishVersion': '1.6.0',
            'Systems': to('/Systems'),
            'SessionService': to('/SessionService'),
            'Links': {'Sessions': to('/SessionService/Sessions')},
        },
        '/SessionService': {'Id': 'S', 'Name': 'S', 'Sessions': to('/SessionService/Sessions')},
        **collection('/Systems', **{'1': one | system}),
        **collection('/Systems/1/Processors', cpu=cpu),
        **collection('/Systems/1/EthernetInterfaces', nic=nic),
        **collection('/Chassis'),
    }


def media(holder, **kinds):
    """Return the documents of empty virtual media below a System or a Manager, to which it must link.

    :param kinds: {Id: what the medium can be}.
    """
    path = f'{holder}/VirtualMedia'
    documents = {path: {'Members': [to(f'{path}/{name}') for name in kinds]}}
    for name, each in kinds.items():
        target = f'{V1}{path}/{name}/Actions/VirtualMedia'
        actions = {
            f'#VirtualMedia.{action}': {'target': f'{target}.{action}'} for action in ('InsertMedia', 'EjectMedia')
        }
        empty = {'Id': name, 'MediaTypes': list(each), 'Image': None, 'Inserted': False}
        documents[f'{path}/{name}'] = {**empty, 'Actions': actions}
    return documents


class BmcServer(ThreadingHTTPServer):
    """The BMC.

    :ivar documents: {path below /redfish/v1: document}. Another value than an object is sent as bytes or text.
    :ivar delay: seconds before each answer.
    :ivar answers: {path below /redfish/v1: function of the handler that answers}.
    :ivar requests: requests so far: [(method, path), …].
    :ivar sessions: the sessions that are open.
    :ivar refused: whether no password is right.
    :ivar password: the password.
    :ivar interrupt: is called with the method, the path and whether it is done, before and after each request.
    :ivar boots: what the machine has booted so far: the image of a virtual CD, or a boot source.
    """

    daemon_threads = True
    request_queue_size = 200

    def __init__(self, documents=None, context=None, address=('127.0.0.1', 0)):
        super().__init__(address, _Handler)
        self.documents = tree() if documents is None else documents
        self.delay, self.answers, self.requests, self.refused = 0, {}, [], False
        self.sessions, self.password, self.boots = set(), PASSWORD, []
        self.interrupt = lambda method, path, is_done: None
        self.url = f'{"https" if context else "http"}://{address[0]}:{self.server_port}'
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def system(self):
        """The document of the System."""
        return self.documents['/Systems/1']

    @property
    def media(self):
        """The images of the virtual media: {path: image}."""
        return {path: each['Image'] for path, each in self.documents.items() if each.get('Inserted')}

    def reset(self, kind):
        """Change the power state, and boot if the machine is powered on or restarted."""
        is_off, boot = self.system['PowerState'] == 'Off', self.system['Boot']
        self.system['PowerState'] = {'ForceOff': 'Off', 'GracefulShutdown': 'Off'}.get(kind, 'On')
        if kind == 'ForceRestart' or (is_off and kind == 'On'):
            source = boot['BootSourceOverrideTarget'] if boot['BootSourceOverrideEnabled'] == 'Once' else None
            images = [image for image in self.media.values() if source in ('Cd', 'UsbCd')]
            self.boots.append(images[0] if images else source)
            boot['BootSourceOverrideEnabled'] = 'Disabled'

    @property
    def driver_info(self):
        """What a node needs for it."""
        return {'redfish_address': self.url, 'redfish_username': USER, 'redfish_password': self.password}

    def handle_error(self, request, client_address):
        """Ignore clients that close the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def _handle(self):
        server, path = self.server, self.path.partition('?')[0].rstrip('/').removeprefix(V1)
        self.body = json.loads(self.rfile.read(int(self.headers.get('Content-Length') or 0)) or b'{}')
        server.requests.append((self.command, path))
        time.sleep(server.delay)
        server.interrupt(self.command, path, False)
        if path in server.answers:
            server.answers[path](self)
        else:
            self.serve(path)
        server.interrupt(self.command, path, True)

    def serve(self, path):
        """Answer as a BMC that behaves."""
        server = self.server
        if path == '/SessionService/Sessions' and self.command == 'POST':
            self._log_in()
        elif path and not self._is_known():
            self.answer({'error': {'code': 'Base.1.0.NoAccess', 'message': f'{PASSWORD} is wrong'}}, 401)
        elif self.command == 'DELETE':
            server.sessions.discard(path)
            self.answer(None, 204)
        elif path.endswith('/Actions/ComputerSystem.Reset'):
            server.reset(self.body['ResetType'])
            self.answer(None, 204)
        elif '/Actions/VirtualMedia.' in path:
            image = self.body.get('Image')
            server.documents[path.partition('/Actions')[0]].update(Image=image, Inserted=image is not None)
            self.answer(None, 204)
        elif self.command == 'PATCH':
            for name, value in self.body.items():
                old = server.documents[path].get(name)
                server.documents[path][name] = {**old, **value} if isinstance(old, dict) else value
            self.answer(None, 204)
        elif path in server.documents:
            self.answer(server.documents[path])
        else:
            self.answer({'error': {'code': 'Base.1.0.NotFound', 'message': 'Not found'}}, 404)

    do_GET = do_POST = do_PATCH = do_DELETE = _handle

    def _is_known(self):
        return not self.server.refused and self.headers.get('X-Auth-Token') == TOKEN

    def _log_in(self):
        if self.server.refused or self.body != {'UserName': USER, 'Password': self.server.password}:
            self.answer({'error': {'code': 'Base.1.0.NoAccess', 'message': f'{self.body} is wrong'}}, 401)
            return
        path = f'/SessionService/Sessions/{len(self.server.requests)}'
        self.server.sessions.add(path)
        self.answer({'Id': path}, 201, **{'X-Auth-Token': TOKEN, 'Location': V1 + path})

    def answer(self, document, status=200, **headers):
        """Send an answer."""
        content = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header('Allow', 'GET, HEAD, PATCH')
        content = b'' if status == 204 else content
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def serving(documents=None, context=None, address=('127.0.0.1', 0)):
    """Return a context manager that runs a BMC, and yields it.

    :param context: SSLContext; None for HTTP.
    :param address: IP address and port; 0 for a free port.
    """
    return http_servers.serving(BmcServer(documents, context, address))
