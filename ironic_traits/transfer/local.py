"""An import into the service of this process: many nodes with few statements, and the rest by requests.

New nodes are inserted a batch at a time; what there is already is read a batch at a time, and requests are made only
for what differs.  A batch in which something fails is halved until the node is found that does: requests then say why.
"""

import collections
import contextlib
import http
import itertools
import urllib.parse
from typing import Any

import orjson
import sqlalchemy as sa
from oslo_db.exception import DBError
from oslo_utils import uuidutils
from webob import Request

from ironic_traits import failures
from ironic_traits.api import protocols, rendering
from ironic_traits.api.v1 import node_fields
from ironic_traits.client import VERSION, Client, Failed
from ironic_traits.context import Context
from ironic_traits.db.one_transaction import Lost
from ironic_traits.db.types import clock
from ironic_traits.inventory import new_nodes as inventory
from ironic_traits.inventory import node_states, nodes, records
from ironic_traits.transfer import differences, documents, imports, new_nodes

#: How many nodes are inserted together.
BATCH = 200


class Everything:
    """Stands in for policy: everything is allowed, and no secret is masked."""

    def authorize(self, rule, target, context):
        """Return True."""
        return True


class LocalClient(Client):
    """Sends the requests of an import or an export to an application in this process.

    :param application: ironic_traits.app.build's, with ``Everything`` as its policy.
    :param database: what it reads from and writes to: ironic_traits.db.one_transaction.OneTransaction.
    :ivar context: whose requests these are.
    """

    def __init__(self, application, database):
        self._application = application
        service = application.service
        service.read, service.write = database.read, database.write
        self.context = Context(service, protocols.BARE_METAL, int(VERSION.partition('.')[2]), base='')
        self._read: dict[Any, Any] = {}

    def ask(self, method, path, document=None, query=None):
        if method == 'PATCH' and any(operation['path'] == '/name' for operation in document):
            # Who has which name is another matter now.
            self._read.clear()
        request = Request.blank(path if query is None else f'{path}?{urllib.parse.urlencode(query)}', method=method)
        request.headers['X-OpenStack-Ironic-API-Version'] = VERSION
        if document is not None:
            request.content_type, request.json = 'application/json', document
        response = request.get_response(self._application)
        if response.status_int >= 400:
            raise Failed(response.status_int, response.status, response.json if response.body else {})
        return response.json if response.body else None

    def find(self, path):
        # Once: whoever asks again may have changed it meanwhile.
        return self._read.pop(path, None) or super().find(path)

    def pages(self, path, key, query):
        belonging = self._read.pop((path, query.get('node')), None)
        return super().pages(path, key, query) if belonging is None else iter(belonging)

    def settle(self, uuid, states):
        """Put a node that is new into the states that its document says."""
        try:
            node_states.place(self._application.service, uuid, **states)
        except (failures.Failure, Lost, DBError) as error:
            raise Failed(http.HTTPStatus.CONFLICT, '', {'error_message': str(error)}) from error

    def read_ahead(self, items):
        """Read those nodes of a document that are there, and what belongs to them, for ``find`` and ``pages``.

        :returns: the items that are not there; none when a name changes hands, and the order of the items matters.
        """
        self._read.clear()
        idents = {id(item): _as_kept(documents.ident(item)) for item in items}
        fields = node_fields.all_fields(self.context)
        with self.context.read() as connection:
            rows = nodes.find_by_idents(connection, sorted(set(idents.values())), fields)
            show = node_fields.presenter(self.context, fields)
            found = _plain([show(row) for row in rows])
            known = {node[key]: node for node in found for key in ('uuid', 'name') if node[key]}
            there = [item for item in items if idents[id(item)] in known]
            for item in there:
                self._read[imports.path(documents.NODES, item)] = known[idents[id(item)]]
            self._read_belongings(connection, there, [node['uuid'] for node in found])
        if any(item.get('name') not in (None, known[idents[id(item)]]['name']) for item in there):
            return []
        return [item for item in items if idents[id(item)] not in known]

    def _read_belongings(self, connection, items, uuids):
        for noun in documents.NODES.inside:
            if not any(item.get(noun.key) or (noun.key == 'ports' and item.get('portgroups')) for item in items):
                continue
            served = new_nodes.RECORDS[noun.key]
            rows = records.find_by_nodes(self.context, connection, served.kind, uuids, served.columns(self.context))
            of_node = collections.defaultdict(list, {uuid: [] for uuid in uuids})
            for row, each in zip(rows, _plain(served.shown(self.context, rows)), strict=True):
                of_node[row.of_node].append(each)
            self._read |= {(noun.path, uuid): each for uuid, each in of_node.items()}


class LocalImporter:
    """Imports units in one transaction.

    :param client: LocalClient.
    :param together: ironic_traits.db.one_transaction.OneTransaction, the client's.
    :param done: function that is called with how many units more are done.
    :ivar counts: as an Importer's, and so are ``changes`` and ``warnings``.
    :ivar refused: a sentence for each unit that cannot be.
    """

    def __init__(self, client, together, done):
        self._client = client
        self._together = together
        self._done = done
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []
        self.refused: list[str] = []

    def bring(self, units):
        """Import units; the refused ones leave nothing behind.

        :param units: as ``documents.units`` gives them.
        :raises oslo_db.exception.DBError: the transaction is gone (``OneTransaction.check``).
        """
        for noun, group in itertools.groupby(units, key=lambda unit: unit[0]):
            items = [item for _, item in group]
            if noun is documents.NODES:
                for start in range(0, len(items), BATCH):
                    self._bring_nodes(items[start : start + BATCH])
            else:
                self._bring_each(noun, items)

    def _bring_nodes(self, items):
        made = self._make(self._new(self._client.read_ahead(items)))
        self._bring_each(documents.NODES, [item for item in items if id(item) not in made])

    def _new(self, items):
        """Return those items that can be made together, typed: [(item, NewNode), …]."""
        with self._client.context.read() as connection:
            moment = connection.scalar(sa.select(clock()))
        new = []
        for item in items:
            with contextlib.suppress(inventory.Unusual):
                new.append((item, new_nodes.read(self._client.context, item, moment)))
        return new

    def _make(self, new):
        """Make new nodes together; halve them when one of them cannot be made so.

        :returns: the ``id`` of each item that was made, a set.
        """
        if not new:
            return set()
        try:
            with self._together.write() as connection:
                inventory.create(connection, [node for _, node in new])
        except inventory.Unusual:
            half = len(new) // 2
            return self._make(new[:half]) | self._make(new[half:]) if half else set()
        for _, node in new:
            self._count(node)
        self._done(len(new))
        return {id(item) for item, _ in new}

    def _count(self, node):
        what = differences.label(documents.NODES, node.row)
        self.counts['nodes', 'created'] += 1
        self.changes.append(f'+ {what}')
        for kind, row in node.records:
            noun = _NOUNS[kind.what]
            self.counts[noun.key, 'created'] += 1
            self.changes.append(f'+ {differences.label(noun, row, what)}')

    def _bring_each(self, noun, items):
        for item in items:
            importer = imports.Importer(self._client, self._client.settle)
            try:
                # Of one that is refused nothing stays that the next would meet.
                with self._together.write():
                    importer.bring(noun, item)
                self.counts += importer.counts
                self.changes += importer.changes
                self.warnings += importer.warnings
            except DBError:
                # The savepoint was gone with the transaction.
                self._together.check()
                raise
            except Failed as error:
                self._together.check()
                self.refused.append(f'{documents.ident(item)}: {error}')
            self._done(1)


_NOUNS = {new_nodes.RECORDS[noun.key].kind.what: noun for noun in documents.NODES.inside}


def _plain(shown):
    """Return what a client would read of an answer."""
    return orjson.loads(rendering.dump(shown))


def _as_kept(ident):
    """Return a uuid as the service keeps it; a name as it is."""
    return str(uuidutils.uuid.UUID(ident)) if uuidutils.is_uuid_like(ident) else ident
