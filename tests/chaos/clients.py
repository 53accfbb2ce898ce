"""Clients with mixed work. Each one is a thread with its own random choices, which follow from the seed."""

import http.client
import json
import random
import threading
import time
import urllib.parse
import uuid

from tests.chaos.history import MAYBE, NO, OK
from tests.support.client import VERSION, Client

CLIENTS = 16
#: The number of nodes that all clients want to hold, and the class and the trait of these nodes.
POOL, CLASS, TRAIT = 16, 'chaos', 'CUSTOM_CHAOS_POOL'
#: Number of nodes that are deployed and torn down, each by several clients.
DEPLOYED = 6
#: Seconds after which a client gives up on a request. No request may take this long.
PATIENCE = 40
#: Maximum number of traits of a node in these runs.
LIMIT = 20
_HEADERS = {
    'Accept': 'application/json',
    'Content-Type': 'application/json',
    'X-OpenStack-Ironic-API-Version': VERSION,
    'OpenStack-API-Version': 'placement 1.39',
}
CONSUMER = {'project_id': uuid.UUID(int=1).hex, 'user_id': uuid.UUID(int=2).hex, 'consumer_type': 'INSTANCE'}


def over_http(bases, choices):
    """Return a function that sends a request to one of several services, and returns (status, document).

    The status is 0 if there is no response.
    """

    def send(method, path, document, headers):
        netloc = urllib.parse.urlparse(choices.choice(bases)).netloc
        connection = http.client.HTTPConnection(netloc, timeout=PATIENCE)
        try:
            connection.request(method, path, None if document is None else json.dumps(document), _HEADERS | headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            return 0, None, None
        finally:
            connection.close()
        return response.status, json.loads(body) if body else None, response.getheader('ETag')

    return revalidating(send)


def in_process(apps, choices):
    """Return the same function for applications of this process."""
    clients = [Client(app) for app in apps]

    def send(method, path, document, headers):
        response = choices.choice(clients).ask(method, path, document, headers=_HEADERS | headers)
        return response.status_int, json.loads(response.body) if response.body else None, response.headers.get('ETag')

    return revalidating(send)


def revalidating(send):
    """Return a function that sends requests, and keeps the responses to GETs as a cache does.

    The next GET has the ETag of the last response. A stale 304 shows as stale data.

    :param send: function of a method, a path, a document and headers. It returns (status, document, ETag).
    :returns: function that returns (status, document).
    """
    kept = {}

    def ask(method, path, document=None, **headers):
        tag, known = kept.get(path, (None, None)) if method == 'GET' else (None, None)
        status, answer, new_tag = send(method, path, document, headers | ({'If-None-Match': tag} if tag else {}))
        if status == 304:
            return 200, known
        if method == 'GET' and status == 200 and new_tag:
            kept[path] = new_tag, answer
        return status, answer

    return ask


class World:
    """The nodes that the clients work on.

    :ivar own: [(two nodes of a client), …].
        :ivar deployed: nodes that the clients deploy to and tear down.
    :ivar hot: a node to which all clients add traits.
    :ivar pool: nodes that all clients want to hold.
    """

    def __init__(self, ask):
        self._ask = ask
        self.pool = [self._available(resource_class=CLASS) for _ in range(POOL)]
        self.deployed = [self._available(automated_clean=False) for _ in range(DEPLOYED)]
        self.own = [(self._node(), self._node()) for _ in range(CLIENTS)]
        self.hot = self._node()
        for node in (*self.pool, *self.deployed):
            self._settle(node)
        edit = {'nodes': self.pool, 'add': [TRAIT]}
        digest = self._expect(200, 'POST', '/v1/traits/edits', edit | {'preview': True})['digest']
        self._expect(200, 'POST', '/v1/traits/edits', edit | {'digest': digest})

    def _expect(self, expected, *request, **headers):
        deadline = time.monotonic() + 60
        while True:
            status, document = self._ask(*request, **headers)
            if status == expected:
                return document
            assert time.monotonic() < deadline, (status, document)
            time.sleep(0.2)

    def _node(self, **headers):
        body = {'driver': 'fake-hardware', 'uuid': str(uuid.uuid4())}
        self._expect(201, 'POST', '/v1/nodes', body, **headers)
        return body['uuid']

    def _available(self, **fields):
        # Before 1.11, new nodes are available.
        node = self._node(**{'X-OpenStack-Ironic-API-Version': '1.10'})
        patch = [{'op': 'add', 'path': f'/{field}', 'value': value} for field, value in fields.items()]
        self._expect(200, 'PATCH', f'/v1/nodes/{node}', patch)
        self._expect(202, 'PUT', f'/v1/nodes/{node}/states/power', {'target': 'power off'})
        return node

    def _settle(self, node):
        deadline = time.monotonic() + 30
        while self._ask('GET', f'/v1/nodes/{node}')[1]['power_state'] is None:
            assert time.monotonic() < deadline, 'no worker'
            time.sleep(0.02)


class ClientThread(threading.Thread):
    """A client.

    :param ask: function that sends a request.
    :param choices: its own random.Random.
    :param ended: threading.Event that ends it.
    :param pause: seconds between two requests.
    """

    def __init__(self, number, ask, world, history, choices, ended, pause):
        super().__init__(daemon=True, name=f'client {number}')
        self._number, self._ask, self._world, self._history = number, ask, world, history
        self._choices, self._ended, self._pause = choices, ended, pause
        self._count = 0
        #: {node: trait of the last acknowledged write}, {node: traits of writes with an unknown outcome}.
        self._traits, self._unknown = {}, {node: set() for node in world.own[number]}
        self._nodes, self._holds, self._hot = [], [], []

    def run(self):
        """Send requests until the end."""
        while not self._ended.is_set():
            work = self._choices.choices(list(_WORK), list(_WORK.values()))[0]
            self._count += 1
            try:
                work(self)
            except Exception as error:
                self._history.problem(f'client {self._number}, {work.__name__}: {error!r}')
            time.sleep(self._pause)

    def _send(self, kind, method, path, document=None, **values):
        """Send a write, and record it. Return (entry, document of the response)."""
        entry = self._history.begin(self._number, kind, **values)
        status, document = self._ask(method, path, document)
        self._history.end(entry, status)
        return entry, document

    def _trait(self, letter):
        return f'CUSTOM_{letter}{self._number}_{self._count}'

    def _uuid(self):
        return str(uuid.UUID(int=self._choices.getrandbits(128), version=4))

    def put_traits(self):
        """Replace the traits that this client's source holds on one of its nodes."""
        node, trait = self._choices.choice(self._world.own[self._number]), self._trait('T')
        path = f'/v1/nodes/{node}/traits?source=chaos{self._number}'
        entry, _ = self._send('put_traits', 'PUT', path, {'traits': [trait]}, node=node, trait=trait)
        if entry.outcome == OK:
            self._traits[node] = trait
        elif entry.outcome == MAYBE:
            self._unknown[node].add(trait)

    def read_traits(self):
        """Read the traits that this client has written, and find the node by them."""
        node = self._choices.choice(self._world.own[self._number])
        status, document = self._ask('GET', f'/v1/nodes/{node}/traits')
        if status != 200:
            return
        prefix = f'CUSTOM_T{self._number}_'
        stored = {trait for trait in document['traits'] if trait.startswith(prefix)}
        last = self._traits.get(node)
        if stored != {last} - {None} and not (len(stored) == 1 and stored <= self._unknown[node]):
            self._history.problem(f'node {node} has {stored} after the write of {last} was acknowledged')
        if last and not self._unknown[node]:
            status, document = self._ask('GET', f'/v1/nodes?traits={last}')
            if status == 200 and [each['uuid'] for each in document['nodes']] != [node]:
                self._history.problem(f'the filter {last} does not find node {node}')

    def change_hot(self):
        """Add a trait to the hot node, or remove one that this client has added."""
        path = f'/v1/nodes/{self._world.hot}/traits'
        if self._hot and self._choices.random() < 0.5:
            trait = self._hot.pop()
            self._send('remove_hot', 'DELETE', f'{path}/{trait}', trait=trait)
        else:
            trait = self._trait('H')
            entry, _ = self._send('add_hot', 'PUT', f'{path}/{trait}', trait=trait)
            if entry.outcome != NO:
                self._hot.append(trait)
        status, document = self._ask('GET', path)
        if status == 200 and len(document['traits']) > LIMIT:
            self._history.problem(f'over the limit: the node has {len(document["traits"])} traits')

    def edit(self):
        """Edit the traits of both own nodes in one request, which must be atomic."""
        nodes, trait = list(self._world.own[self._number]), self._trait('B')
        body = {'nodes': nodes, 'add': [trait], 'source': f'bulk{self._number}'}
        status, old = self._ask('GET', f'/v1/nodes/{nodes[0]}/traits')
        if status != 200:
            return
        removed = [each for each in old['traits'] if each.startswith(f'CUSTOM_B{self._number}_')]
        if removed:
            body['remove'] = removed
        status, preview = self._ask('POST', '/v1/traits/edits', body | {'preview': True})
        if status == 200:
            body['digest'] = preview['digest']
            self._send('edit', 'POST', '/v1/traits/edits', body, nodes=nodes, trait=trait)

    def change_nodes(self):
        """Create a node, or delete one."""
        if self._nodes and self._choices.random() < 0.3:
            node = self._nodes.pop()
            self._send('delete', 'DELETE', f'/v1/nodes/{node}', node=node)
            return
        node = self._uuid()
        body = {'driver': 'fake-hardware', 'uuid': node, 'name': f'chaos-{self._number}-{self._count}'}
        entry, _ = self._send('create', 'POST', '/v1/nodes', body, node=node)
        if entry.outcome == OK:
            self._nodes.append(node)

    def hold(self):
        """Hold a node of the pool in one of four ways."""
        holder, nodes = self._uuid(), self._choices.sample(self._world.pool, 3)
        way = self._choices.choice(['list', 'request', 'allocation', 'placement'])
        if way == 'placement':
            body = CONSUMER | {
                'allocations': {nodes[0]: {'resources': {'CUSTOM_CHAOS': 1}}},
                'consumer_generation': None,
            }
            path = f'/placement/allocations/{holder}'
            entry, document = self._send('hold', 'PUT', path, body, way=way, holder=holder, node=nodes[0])
        elif way == 'allocation':
            body = {'uuid': holder, 'resource_class': CLASS, 'candidate_nodes': nodes}
            path = f'/v1/allocations/{holder}'
            entry, document = self._send('hold', 'POST', '/v1/allocations', body, way=way, holder=holder)
            if entry.outcome == OK:
                entry.values['node'] = document['node_uuid']
        else:
            body = {'node_uuid': nodes} if way == 'list' else {'resource_class': CLASS, 'required': [TRAIT]}
            body['instance_uuid'], path = holder, None
            entry, document = self._send('hold', 'POST', '/v1/reservations', body, way=way, holder=holder)
            if entry.outcome == OK:
                entry.values['node'] = document['reservation']['node_uuid']
                path = f'/v1/reservations/{document["reservation"]["uuid"]}'
        if entry.outcome == OK:
            self._history.update(entry)
        if entry.outcome != NO:
            self._holds.append((path, holder))

    def release(self):
        """Release a node."""
        if not self._holds:
            return
        path, holder = self._holds.pop(self._choices.randrange(len(self._holds)))
        if path is None:
            # The outcome of the request is unknown: look for a reservation.
            status, document = self._ask('GET', '/v1/reservations?limit=1000')
            found = document['reservations'] if status == 200 else []
            uuids = [each['uuid'] for each in found if each['instance_uuid'] == holder]
            path = f'/v1/reservations/{uuids[0]}' if uuids else None
        if path:
            self._send('release', 'DELETE', path, holder=holder)

    def deploy(self):
        """Deploy to one of the nodes, or tear it down, depending on its state."""
        node = self._world.deployed[self._number % DEPLOYED]
        status, document = self._ask('GET', f'/v1/nodes/{node}')
        if status != 200:
            return
        target = {'available': 'active', 'active': 'deleted', 'deploy failed': 'deleted', 'error': 'deleted'}
        state = document['provision_state']
        if state in target:
            path = f'/v1/nodes/{node}/states/provision'
            self._send('deploy', 'PUT', path, {'target': target[state]}, node=node)


#: {work: how often, relative to the others}.
_WORK = {
    ClientThread.put_traits: 5,
    ClientThread.read_traits: 3,
    ClientThread.change_hot: 3,
    ClientThread.edit: 2,
    ClientThread.change_nodes: 3,
    ClientThread.hold: 5,
    ClientThread.release: 4,
    ClientThread.deploy: 1,
}


class Follower(threading.Thread):
    """A client that follows the changes by token, and keeps a copy of what it has seen.

    :ivar copy: {uuid of a node: its traits and its reservation}.
    """

    def __init__(self, ask, history):
        super().__init__(daemon=True, name='follower')
        self._ask, self._history = ask, history
        self._ended = threading.Event()
        self.copy, self._token, self._last = {}, None, None
        self.changes = 0

    def end(self):
        """Read the remaining changes, and end."""
        self._ended.set()
        self.join(60)
        deadline = time.monotonic() + 60
        while not self._step():
            assert time.monotonic() < deadline, f'the changes cannot be read: {self._last}'
            time.sleep(0.1)

    def run(self):
        """Follow."""
        while not self._ended.is_set():
            try:
                self._step()
            except Exception as error:
                self._history.problem(f'follower: {error!r}')
            time.sleep(0.05)

    def _step(self):
        """Read the changes since the last step. Return whether there were none."""
        if self._token is None:
            return self._begin()
        path = f'/v1/changes?since={self._token}&limit=1000'
        status, document = self._last = self._ask('GET', path)
        if status != 200:
            if status in (400, 404, 410):
                self._history.problem(f'{path}: {status} {document}')
            return False
        nodes = {each['uuid'] for each in document['changes'] if each['kind'] == 'node'}
        self.changes += len(document['changes'])
        for node in nodes:
            status, shown = self._ask('GET', f'/v1/nodes/{node}?fields={",".join(FOLLOWED)}')
            if status == 200:
                self.copy[node] = followed(shown)
            elif status == 404:
                self.copy.pop(node, None)
            else:
                # Read the same changes again.
                return False
        self._token = document['token']
        return not document['changes']

    def _begin(self):
        """Get a token first, and then read everything."""
        status, document = self._ask('GET', '/v1/changes')
        if status == 200:
            status, nodes = self._ask('GET', '/v1/nodes/detail?limit=1000')
            if status == 200:
                self.copy = {node['uuid']: followed(node) for node in nodes['nodes']}
                self._token = document['token']
        return False


#: Fields of a node that a follower copies.
FOLLOWED = ('uuid', 'name', 'traits', 'provision_state', 'power_state', 'instance_uuid', 'reservation_uuid')


def followed(node):
    """Return the fields of a node that a follower copies."""
    return {field: node[field] for field in FOLLOWED}


def run(make_ask, seed, history, seconds, *, world, pause=0.0, disturb=None):
    """Let all clients work for some time.

    :param make_ask: function of a random.Random that returns a function that sends requests.
    :param world: World.
    :param pause: seconds between two requests of a client.
    :param disturb: function that is called while the clients work.
    :returns: the Follower, which has not ended yet.
    """
    ended = threading.Event()
    follower = Follower(history.recording(make_ask(random.Random(1))), history)
    threads = [follower]
    for number in range(CLIENTS):
        choices = random.Random(f'{seed}-{number}')
        ask = history.recording(make_ask(random.Random(f'{seed}-{number}-host')))
        threads.append(ClientThread(number, ask, world, history, choices, ended, pause))
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    if disturb:
        disturb()
    time.sleep(max(0, end - time.monotonic()))
    ended.set()
    for thread in threads[1:]:
        thread.join(PATIENCE + 10)
        if thread.is_alive():
            history.problem(f'{thread.name} did not end')
    return follower
