"""This service with a real Ironic in which it holds nodes (``[mirror] claims``), and faults between the two."""

import contextlib
import datetime
import os
import random
import signal
import time
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from tests.support.client import Client
from tests.support.mirror import follower, make_available

INSTANCES = [f'dddddddd-0000-4000-8000-{number:012}' for number in range(9)]
GOLD = {'resource_class': 'CUSTOM_GOLD'}


class Relay(BaseHTTPRequestHandler):
    """A proxy in front of an Ironic. It kills processes or fails at the requests that ``fault`` of its server names.

    ``fault`` is (``take`` or ``remove``; ``before`` or ``after`` the execution of the request; ``kill``, or the status
    of the response). ``victims`` is a queue of process ids.
    """

    protocol_version = 'HTTP/1.1'
    # Header and body are two packets. Without this, each response takes 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self):
        self._respond(*self._relay(None))

    def do_PATCH(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        kind = 'remove' if b'remove' in body else 'take'
        self.server.seen.append(kind)
        moment, effect = self.server.fault[1:] if self.server.fault and self.server.fault[0] == kind else ('', None)
        if moment == 'before' and self._fail(effect):
            return
        response = self._relay(body)
        if moment == 'after' and self._fail(effect):
            return
        self._respond(*response)

    def _fail(self, effect):
        """Cause the fault, and return True: the request needs no other response."""
        self.server.fault = None
        if effect == 'kill':
            victim = self.server.victims.get(timeout=30)
            os.kill(victim, signal.SIGKILL)
            self.close_connection = True
        else:
            self._respond(effect, b'{"error_message": "It failed."}')
        return True

    def _relay(self, body):
        names = ('x-openstack-ironic-api-version', 'content-type')
        headers = {name: value for name, value in self.headers.items() if name.lower() in names}
        request = urllib.request.Request(self.server.ironic + self.path, body, headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            # Ironic has not responded, or not to all concurrent clients.
            return 504, b'{}'

    def _respond(self, status, body):
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, *arguments):
        """Print nothing."""


class Side:
    """This service with an Ironic whose nodes are mirrored and available.

    :ivar url: of the database.
    :ivar nodes: their uuids, in the order of their creation.
    """

    def __init__(self, ironic, app, url, count):
        self.ironic, self.app, self.url = ironic, app, url
        self.client = Client(app)
        self.mirror = follower(app)
        self.nodes = ironic.nodes(count, resource_class='gold')
        make_available(ironic.directory)
        assert self.mirror.catch_up()

    def reserve(self, number=0, status=201, **body):
        """Reserve a node for an instance, and return the document of the response."""
        response = self.client.ask('POST', '/v1/reservations', {'instance_uuid': INSTANCES[number], **(body or GOLD)})
        assert response.status_int == status, response.text
        return response.json['reservation'] if status < 300 else response

    def there(self, node):
        """Return the instance of a node in the cloud."""
        return self.ironic.ask('GET', f'/v1/nodes/{node}')['instance_uuid']

    def here(self, node):
        """Return the instance of a node in this service, and the reservation."""
        shown = self.client.get(f'/v1/nodes/{node}')
        return shown['instance_uuid'], shown['reservation_uuid']

    def stop_mirror(self):
        """Let another mirror take the turn, and prepare one that takes it back later."""
        self.mirror.stop()
        self.mirror.run()
        self.mirror = follower(self.app)

    def delete(self, path):
        """Delete a resource."""
        response = self.client.ask('DELETE', path)
        assert response.status_int == 204, response.text

    def pass_time(self):
        """Move the deadlines of all claims, and the expiries of all reservations that have one, into the past."""
        past = now() - datetime.timedelta(seconds=1)
        with self.app.service.write() as connection:
            claims, held = tables.mirror_claims, tables.reservations
            connection.execute(sa.update(claims).where(claims.c.deadline.is_not(None)).values(deadline=past))
            connection.execute(sa.update(held).where(held.c.expires_at.is_not(None)).values(expires_at=past))

    def claims(self):
        """Return the number of claims, in any state."""
        with self.app.service.read() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(tables.mirror_claims))

    def holders(self):
        """Return the holders of nodes in this service, {uuid of the node: instance or consumer}."""
        reservations = self.client.get('/v1/reservations')['reservations']
        holders = {each['node_uuid']: each['instance_uuid'] for each in reservations}
        for node in self.client.get('/v1/nodes')['nodes']:
            path = f'/resource_providers/{node["uuid"]}/allocations'
            for consumer in self.client.placement('GET', path).json['allocations']:
                assert holders.setdefault(node['uuid'], consumer) == consumer
        return holders

    def is_free(self, node):
        """Whether a node has no holder on either side."""
        return (self.there(node), *self.here(node)) == (None, None, None)

    def events(self, node):
        """Return the last events of a node about reservations."""
        history = self.client.get(f'/v1/nodes/{node}/history?detail=true')['history']
        return [each['event'] for each in history if each['event_type'] == 'reservation']


def allocation_body(*nodes, generation=None):
    """Return the body with the allocations of one consumer: of nodes, or without any."""
    allocations = {node: {'resources': {'CUSTOM_GOLD': 1}} for node in nodes}
    identity = {'project_id': 'p', 'user_id': 'u', 'consumer_type': 'INSTANCE'}
    return {'allocations': allocations, 'consumer_generation': generation, **identity}


def allocate_here(client, nodes):
    """Allocate a node in Placement, and delete most of the allocations again."""
    consumer = str(uuid.uuid4())
    response = client.placement('PUT', f'/allocations/{consumer}', allocation_body(random.choice(nodes)))
    if response.status_int != 204:
        time.sleep(0.2)
    elif random.random() < 0.7:
        client.placement('DELETE', f'/allocations/{consumer}')


def take_there(ironic, nodes, theirs, stop):
    """Take nodes in the cloud, and free most of them again, until a time.

    :param theirs: {uuid of the node: instance} of the taken nodes.
    :param stop: as of ``time.monotonic``.
    """
    while time.monotonic() < stop:
        node, instance = random.choice(nodes), str(uuid.uuid4())
        # Under load, Ironic's SQLite and HTTP server refuse some requests, so ask Ironic for the result.
        with contextlib.suppress(RuntimeError, OSError):
            ironic.patch(f'/v1/nodes/{node}', instance_uuid=instance)
        if _instance(ironic, node) == instance:
            theirs[node] = instance
            time.sleep(random.random())
            if random.random() < 0.7:
                assert _instance(ironic, node) == instance
                # Before the node is free: after that, another thread may take it, and write its own entry.
                del theirs[node]
                with contextlib.suppress(RuntimeError, OSError):
                    ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
                if _instance(ironic, node) == instance:
                    theirs[node] = instance
        time.sleep(0.1)


def allocate_there(ironic, nodes, stop):
    """Allocate nodes in the cloud, and free most of them again."""
    while time.monotonic() < stop:
        with contextlib.suppress(RuntimeError, OSError):
            allocation = ironic.allocate(5, resource_class='gold', candidate_nodes=[random.choice(nodes)])
            time.sleep(random.random() if allocation['state'] == 'active' else 0)
            if allocation['state'] != 'active' or random.random() < 0.7:
                ironic.ask('DELETE', f'/v1/allocations/{allocation["uuid"]}')
        time.sleep(0.2)


def _instance(ironic, node):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(RuntimeError, OSError):
            return ironic.ask('GET', f'/v1/nodes/{node}')['instance_uuid']
        time.sleep(0.1)
    raise TimeoutError(node)
