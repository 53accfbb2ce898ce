"""Mirrors of clouds, and comparisons of the mirrored data with the clouds."""

import contextlib
import json
import os
import sqlite3
import time
import urllib.error
import urllib.request

import sqlalchemy as sa
import yaml
from oslo_utils import uuidutils

from ironic_traits.db import tables
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.mirror.cloud import MAXIMUM
from ironic_traits.mirror.follower import Follower
from tests.support.service import make_app

VERSION = f'1.{MAXIMUM}'
#: Fields that only this service has, or that differ between services.
_OURS = {'links', 'ports', 'portgroups', 'states', 'volume', 'origin', 'reservation_uuid'}
#: {resource: the same, of records}.
_KEYS = {'ports': {'links'}, 'portgroups': {'links', 'ports'}, 'allocations': {'links'}}


#: The tables of an Ironic that tests fill.
_EMPTIED = (
    *('allocations', 'ports', 'portgroups', 'volume_connectors', 'volume_targets', 'node_tags', 'node_traits'),
    *('bios_settings', 'node_history', 'node_inventory', 'firmware_information', 'nodes', 'chassis'),
)


class Ironic:
    """A client of a real Ironic.

    :param url: its URL.
    :param directory: of its database, if it is a ``tests.support.ironic_server``; None otherwise.
    :param headers: of each request.
    """

    def __init__(self, url, directory=None, **headers):
        self.url, self.directory = url, directory
        self._headers = {'X-OpenStack-Ironic-API-Version': VERSION, 'Content-Type': 'application/json', **headers}

    def ask(self, method, path, document=None):
        """Send a request, and return the document of the response; None for an empty one."""
        data = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.url + path, data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error
        return json.loads(text) if text else None

    def node(self, **fields):
        """Create a node, and return its uuid."""
        return self.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', **fields})['uuid']

    def nodes(self, count, **fields):
        """Create nodes named node0, node1, … with the same fields, and return their uuids.

        Ironic creates the first one. The others are copies of its row, because requests would take half the time of
        some tests.
        """
        first = self.node(name='node0', **fields)
        others = [uuidutils.generate_uuid() for _ in range(1, count)]
        with _database(self.directory) as connection:
            row = dict(connection.execute('SELECT * FROM nodes WHERE uuid = ?', [first]).fetchone())
            # SQLite chooses the primary key.
            del row['id']
            statement = f'INSERT INTO nodes ({", ".join(row)}) VALUES (:{", :".join(row)})'
            copies = [row | {'uuid': each, 'name': f'node{number}'} for number, each in enumerate(others, 1)]
            connection.executemany(statement, copies)
        return [first, *others]

    def patch(self, path, **fields):
        """Set fields."""
        operations = [{'op': 'add', 'path': f'/{name}', 'value': value} for name, value in fields.items()]
        return self.ask('PATCH', path, operations)

    def traits(self, uuid):
        """Return the set of the traits of a node."""
        return set(self.ask('GET', f'/v1/nodes/{uuid}/traits')['traits'])

    def all(self, resource):
        """Return all items of a resource, with all fields, {uuid: item}."""
        return _all(lambda path: self.ask('GET', path), resource, f'/v1/{_detailed(resource)}')

    def allocate(self, seconds=60, **fields):
        """Create an allocation, wait until it is active or in error, and return it.

        :param seconds: limit after which a TimeoutError is raised: Ironic drops an allocation if its database is
            locked.
        """
        uuid = self.ask('POST', '/v1/allocations', fields)['uuid']
        deadline = time.monotonic() + seconds
        while (allocation := self.ask('GET', f'/v1/allocations/{uuid}'))['state'] == 'allocating':
            if time.monotonic() > deadline:
                raise TimeoutError(uuid)
            time.sleep(0.05)
        return allocation


def _detailed(resource):
    """Return the path of the list of a resource with all fields. Allocations always have all fields."""
    children = '?include_children=true' if resource == 'nodes' else ''
    return resource if resource == 'allocations' else f'{resource}/detail{children}'


def _all(get, resource, path):
    """Return the items on all pages of a list, {uuid: item}.

    :param get: function from a path to a document.
    """
    items, marker = {}, ''
    while True:
        page = get(f'{path}{"&" if "?" in path else "?"}limit=1000{marker}')[resource]
        items |= {each['uuid']: each for each in page}
        if len(page) < 1000:
            return items
        marker = f'&marker={page[-1]["uuid"]}'


def clouds_file(path, **urls):
    """Write a clouds.yaml with clouds that need no authentication.

    :param urls: {name: URL}.
    """
    clouds = {name: {'auth_type': 'none', 'auth': {'endpoint': url}} for name, url in urls.items()}
    path.write_text(yaml.safe_dump({'clouds': clouds}))


def differences(client, ironic, cloud):
    """Return the differences of a cloud from its mirror, [(resource, uuid, field, there, here), …].

    :param client: of this service.
    """
    return [*_of_nodes(client, ironic, cloud), *(each for name in _KEYS for each in _of_records(client, ironic, name))]


def nodes_here(client, cloud):
    """Return all nodes of a cloud as this service shows them, {uuid: node}."""
    path = f'/v1/nodes/detail?origin={cloud}&include_children=true'
    return _all(lambda page: client.get(page, version=VERSION), 'nodes', path)


def node_differences(there, here):
    """Yield the differences of nodes, (resource, uuid, field, there, here).

    :param there: {uuid: node}, as ``Ironic.all`` returns them.
    :param here: as ``nodes_here`` returns them.
    """
    return _compared('nodes', there, here, _OURS)


def _of_nodes(client, ironic, cloud):
    return node_differences(ironic.all('nodes'), nodes_here(client, cloud))


def _of_records(client, ironic, resource):
    here = client.get(f'/v1/{_detailed(resource)}?limit=1000', version=VERSION)[resource]
    yield from _compared(resource, ironic.all(resource), {each['uuid']: each for each in here}, _KEYS[resource])


def _compared(resource, there, here, ours):
    for uuid in there.keys() ^ here.keys():
        yield resource, uuid, None, uuid in there, uuid in here
    for uuid in there.keys() & here.keys():
        for field in (there[uuid].keys() | here[uuid].keys()) - ours:
            one, other = (side[uuid].get(field, 'missing') for side in (there, here))
            if (sorted(one) if field == 'traits' else one) != other:
                yield resource, uuid, field, one, other


def follower(application, name='far', **options):
    """Return a mirror of a cloud that stores in the database of an application.

    :param options: {option of [mirror]: value}.
    """
    for option, value in {'overlap_seconds': 0, 'page_size': 10, **options}.items():
        application.service.conf.set_override(option, value, group='mirror')
    return Follower(application.service, name)


def catch_up(mirror):
    """Read the changes of the cloud. Repeat this until it succeeds."""
    deadline = time.monotonic() + 60
    while not mirror.catch_up():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def write_all(mirror, seconds=60):
    """Read the changes of the cloud, and write traits there until no write is pending.

    On a busy machine, requests to the real Ironic sometimes fail because its SQLite database is locked. Wait until the
    result of such a request is known.
    """
    catch_up(mirror)
    deadline = time.monotonic() + seconds
    while (pause := mirror.work()) < 0.5 or mirror.is_failing:
        assert time.monotonic() < deadline
        time.sleep(min(pause, 0.5))


def writer(application, **options):
    """Return a mirror of the cloud "far" that writes traits, as an operator has confirmed."""
    clouds = tables.mirror_clouds
    with application.service.write() as connection:
        insert_missing(connection, clouds, [{'name': 'far', 'cursors': {}}])
        connection.execute(sa.update(clouds).values(confirmed_writes='traits'))
    return follower(application, **{'write': 'traits', 'write_rate': 1000, 'max_pause': 2, **options})


def write_forever(database, clouds):
    """Follow the cloud "far", and write traits, until the process is killed.

    :param database: URL of the database.
    :param clouds: clouds.yaml.
    """
    os.environ['OS_CLIENT_CONFIG_FILE'] = clouds
    with make_app(database) as application:
        mirror = writer(application)
        while True:
            time.sleep(mirror.work())


def make_available(directory):
    """Make all nodes of an Ironic available, as if their machines had been checked.

    :param directory: of a ``tests.support.ironic_server``.
    """
    _execute(directory, "UPDATE nodes SET provision_state = 'available', power_state = 'power off'")


def set_conductor_group(directory, name):
    """Set the conductor group of all nodes of an Ironic. It may be one that no conductor serves.

    :param directory: of a ``tests.support.ironic_server``.
    """
    _execute(directory, f"UPDATE nodes SET conductor_group = '{name}'")


def move_stamps(directory, seconds, *uuids):
    """Let the last changes of some nodes of an Ironic have earlier times, as if its host had a slow clock.

    :param directory: of a ``tests.support.ironic_server``.
    """
    with _database(directory) as connection:
        for uuid in uuids:
            earlier = "strftime('%Y-%m-%d %H:%M:%f', updated_at, ?)"
            statement = f'UPDATE nodes SET updated_at = {earlier} WHERE uuid = ?'
            connection.execute(statement, [f'-{seconds} seconds', uuid])


def delete_nodes(directory):
    """Delete all data of an Ironic, whatever the states of its nodes.

    :param directory: of a ``tests.support.ironic_server``.
    """
    # The primary keys begin with 1 again, so no row may refer to old nodes.
    _execute(directory, *(f'DELETE FROM {name}' for name in _EMPTIED))


def hide_nodes(directory, uuids):
    """Let an Ironic show some nodes no more, nor their ports, as if they were deleted, or its user had lost a role.

    :param directory: of a ``tests.support.ironic_server``.
    """
    with _database(directory) as connection:
        for uuid in uuids:
            for table, condition in _HIDDEN.items():
                connection.execute(f'CREATE TABLE IF NOT EXISTS hidden_{table} AS SELECT * FROM {table} WHERE 0')
                connection.execute(f'INSERT INTO hidden_{table} SELECT * FROM {table} WHERE {condition}', [uuid])
            for table, condition in reversed(_HIDDEN.items()):
                connection.execute(f'DELETE FROM {table} WHERE {condition}', [uuid])


def show_nodes(directory, *uuids):
    """Let an Ironic show hidden nodes again: all of them if none are named."""
    with _database(directory) as connection:
        for (uuid,) in connection.execute('SELECT uuid FROM hidden_nodes').fetchall():
            if uuid in (uuids or [uuid]):
                for table, condition in _HIDDEN.items():
                    where = condition.replace('nodes ', 'hidden_nodes ')
                    connection.execute(f'INSERT INTO {table} SELECT * FROM hidden_{table} WHERE {where}', [uuid])
                for table, condition in reversed(_HIDDEN.items()):
                    where = condition.replace('nodes ', 'hidden_nodes ')
                    connection.execute(f'DELETE FROM hidden_{table} WHERE {where}', [uuid])


#: {table: condition on the rows of a node, which follow the node}.
_HIDDEN = {'nodes': 'uuid = ?'} | dict.fromkeys(
    ('node_traits', 'ports'), 'node_id = (SELECT id FROM nodes WHERE uuid = ?)'
)


def _execute(directory, *statements):
    with _database(directory) as connection:
        for statement in statements:
            connection.execute(statement)


@contextlib.contextmanager
def _database(directory):
    """Provide a connection to the database of an Ironic, in a transaction."""
    with contextlib.closing(sqlite3.connect(directory / 'ironic.sqlite', timeout=30)) as connection, connection:
        connection.row_factory = sqlite3.Row
        yield connection
