"""A whole nova without keystone in one process: python -m tests.support.nova_cloud DIRECTORY PORT

Its API, conductor, scheduler and compute service with the ironic driver have SQLite and a message bus in memory. The
file ``urls`` in the directory has the URLs of the Bare Metal API, of Placement and of Glance. ``Network`` takes the
place of neutron. Each client is an administrator. It prints "listening" when it is ready.
"""

import json
import os
import shutil
import sys
import threading
import urllib.parse
import uuid

from tests.support import nova_server
from tests.support.wsgi_server import run, serve

NETWORK = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a002'
SUBNET = {
    'id': '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a003',
    'network_id': NETWORK,
    'cidr': '192.0.2.0/24',
    'gateway_ip': '192.0.2.1',
    'ip_version': 4,
    'enable_dhcp': False,
    'dns_nameservers': [],
    'host_routes': [],
}
#: A port as neutron creates it.
PORT = {
    'mac_address': '52:54:00:00:00:01',
    'fixed_ips': [{'subnet_id': SUBNET['id'], 'ip_address': '192.0.2.9'}],
    'tenant_id': 'admin',
    'security_groups': [],
    'status': 'ACTIVE',
    'binding:vif_type': 'other',
    'binding:vnic_type': 'baremetal',
    'binding:profile': {},
}
#: What the configuration has besides that of ``nova_server``.
CONF = """
[DEFAULT]
compute_driver = ironic.IronicDriver
host = compute1
periodic_fuzzy_delay = 0
update_resources_interval = 2
service_down_time = 600
[database]
connection = sqlite:///{directory}/cell1.sqlite?timeout=30
sqlite_synchronous = false
[api_database]
sqlite_synchronous = false
[oslo_concurrency]
lock_path = {directory}
[scheduler]
discover_hosts_in_cells_interval = 1
[ironic]
auth_type = none
endpoint_override = {baremetal}
api_retry_interval = 1
[placement]
auth_type = none
endpoint_override = {placement}
[glance]
endpoint_override = {image}
[neutron]
auth_type = none
endpoint_override = http://127.0.0.1:{port}
"""


class Network:
    """As much of neutron as nova needs: one network, and the ports that nova creates. Other lists are empty."""

    def __init__(self):
        network = {'name': 'one', 'tenant_id': 'admin', 'admin_state_up': True, 'subnets': [SUBNET['id']], 'mtu': 1500}
        networks = {NETWORK: network | {'id': NETWORK}}
        quotas = {'admin': {'port': -1}}
        self._stored = {'networks': networks, 'subnets': {SUBNET['id']: SUBNET}, 'ports': {}, 'quotas': quotas}

    def __call__(self, environ, start_response):
        kind, _, ident = environ['PATH_INFO'].removeprefix('/v2.0/').partition('/')
        stored, method = self._stored.get(kind, {}), environ['REQUEST_METHOD']
        if method == 'DELETE':
            stored.pop(ident, None)
        elif method in ('POST', 'PUT'):
            fields = json.loads(environ['wsgi.input'].read(int(environ['CONTENT_LENGTH'])))['port']
            ident = ident or str(uuid.uuid4())
            stored[ident] = PORT | {'id': ident} | stored.get(ident, {}) | fields
        found = stored.get(ident)
        document = {kind.removesuffix('s'): found}
        if not ident:
            query = urllib.parse.parse_qs(environ['QUERY_STRING'])
            rows = [
                each
                for each in stored.values()
                if all(each[key] in values for key, values in query.items() if key in ('id', 'device_id', 'network_id'))
            ]
            document = {kind.replace('-', '_'): rows}
        status = '404 Not Found' if ident and not found else '200 OK'
        start_response('204 No Content' if method == 'DELETE' else status, [('Content-Type', 'application/json')])
        return [] if method == 'DELETE' else [json.dumps(document).encode()]


def main(directory, port):
    """Create the schemas, start the services, and serve the API."""
    baremetal, placement, image = (directory / 'urls').read_text().split()
    for name, text in nova_server.FILES.items():
        more = CONF if name == 'nova.conf' else ''
        text = text.format(directory=directory) + more.format(
            directory=directory, baremetal=baremetal, placement=placement, image=image, port=port
        )
        (directory / name).write_text(text)
    del sys.argv[1:]
    os.environ['OS_NOVA_CONFIG_DIR'] = str(directory)
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'

    # This chooses threads instead of eventlet.  It must be imported before all other modules of nova.
    from nova import monkey_patch

    monkey_patch.patch()
    from nova import context, objects, service
    from nova.api.openstack import wsgi_app
    from nova.compute import rpcapi as compute_rpcapi
    from nova.db import migration

    wsgi_app.init_global_data([str(directory / name) for name in nova_server.FILES], 'osapi_compute', 'nova-api')
    migration.db_sync(database='api')
    migration.db_sync(database='main')
    # The schema of all cells is the same.
    shutil.copy(directory / 'cell1.sqlite', directory / 'cell0.sqlite')
    for number, url in enumerate(('none:///', 'fake:/')):
        uuid = objects.CellMapping.CELL0_UUID if number == 0 else '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
        database = f'sqlite:///{directory}/cell{number}.sqlite?timeout=30'
        cell = {'uuid': uuid, 'name': f'cell{number}', 'transport_url': url, 'database_connection': database}
        objects.CellMapping(context.get_admin_context(), **cell).create()
    application = wsgi_app.init_application('osapi_compute', 'nova-api')
    for binary, topics in (
        ('nova-conductor', {'topic': 'conductor'}),
        ('nova-scheduler', {'topic': 'scheduler'}),
        ('nova-compute', {'topic': compute_rpcapi.RPC_TOPIC, 'topic_alt': compute_rpcapi.RPC_TOPIC_ALT}),
    ):
        service.Service.create(binary=binary, **topics).start()
    # The server has threads, because nova asks it for networks while it answers. But nova answers one request at a
    # time, as its transactions on SQLite need. Glance asks for no token, but nova needs one to ask it.
    network = Network()
    identity, turn = nova_server.IDENTITY | {'HTTP_X_AUTH_TOKEN': 'admin'}, threading.Lock()

    def answer(environ, start_response):
        if environ['PATH_INFO'].startswith('/v2.0/'):
            return network(environ, start_response)
        with turn:
            return application(environ | identity, start_response)

    serve(answer, port)


if __name__ == '__main__':
    os.environ.pop('OS_NOVA_CONFIG_FILES', None)
    run(main)
