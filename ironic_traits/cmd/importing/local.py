"""Import into an application in this process: new nodes in bulk, everything else by requests of the API.

New nodes are inserted in batches. Existing nodes are read in batches, and requests are made only for differences. A
batch that fails is halved until the node that fails is alone. Then requests create it, and their error says why.
"""

import collections
import contextlib
import functools
import http
import itertools
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from wsgiref.types import WSGIApplication

import orjson
import sqlalchemy as sa
from oslo_db.exception import DBError
from webob import Request

from ironic_traits import failures
from ironic_traits.api import rendering
from ironic_traits.api.v1 import node_fields
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.client import VERSION, Client, Failed
from ironic_traits.cmd.importing import new_nodes
from ironic_traits.context import Context
from ironic_traits.db.one_transaction import OneTransaction, TransactionLost
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.nodes import new_nodes as inventory
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.provisioning import node_states
from ironic_traits.inventory.records import records
from ironic_traits.matching.sources import OPERATOR
from ironic_traits.resources.fields import Resource
from ironic_traits.resources.nodes import NODES
from ironic_traits.service import Service
from ironic_traits.transfer import differences, documents, imports, sources
from ironic_traits.transfer.documents import Item, Unit
from ironic_traits.uuids import canonical

#: Nodes in a batch.
BATCH = 200


class Everything:
    """A policy enforcer that allows everything. So no secret is masked."""

    def authorize(self, rule: str, target: Any, context: Any) -> bool:
        """Return True."""
        return True


class LocalClient(Client):
    """A client that sends the requests of an import or an export to an application in this process.

    :param application: result of ironic_traits.app.build.
    :param service: its service, with ``Everything`` as its policy.
    :param database: the transaction in which all requests run.
    :ivar context: context for reads that are no requests.
    """

    def __init__(self, application: WSGIApplication, service: Service, database: OneTransaction) -> None:
        self._application = application
        self._served = VERSION
        self._service = service
        service.read, service.write = database.read, database.write
        service.writers.forget()
        # The change of an exclusive trait is not in use before the commit, so its request need not wait for that.
        service.noted_traits.seconds = 0
        self.context = Context(service, BARE_METAL, int(VERSION.partition('.')[2]), base='')
        self._cache: dict[Any, Any] = {}

    def ask(self, method: str, path: str, document: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        if method == 'PATCH' and any(operation['path'] == '/name' for operation in document):
            # The cache has nodes by their old names.
            self._cache.clear()
        request = Request.blank(path if query is None else f'{path}?{urllib.parse.urlencode(query)}', method=method)
        request.headers['X-OpenStack-Ironic-API-Version'] = VERSION
        if document is not None:
            request.content_type, request.json = 'application/json', document
        response = request.get_response(self._application)
        if response.status_int >= 400:
            raise Failed(response.status_int, response.status, response.json if response.body else {})
        return response.json if response.body else None

    def find(self, path: str) -> dict[str, Any] | None:
        # Only once: the caller may change the node after its first read.
        return self._cache.pop(path, None) or super().find(path)

    def pages(self, path: str, key: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        records = self._cache.pop((path, query.get('node')), None)
        return super().pages(path, key, query) if records is None else iter(records)

    def settle(self, uuid: str, states: dict[str, str]) -> None:
        """Put a new node into the states of its document; function for ``imports.Importer``.

        :raises Failed: the node cannot be in these states.
        """
        try:
            node_states.place(self._service, uuid, **states)
        except (failures.Failure, TransactionLost, DBError) as error:
            raise Failed(http.HTTPStatus.CONFLICT, '', {'error_message': str(error)}) from error

    def read_ahead(self, items: Sequence[Item], source: str | None = None) -> Sequence[Item]:
        """Read the nodes that exist, with their children, into the cache for ``find`` and ``pages``.

        :param items: nodes of a document.
        :param source: the source of the import, as for ``imports.Importer``.
        :returns: the items whose nodes do not exist. It is empty when a node is renamed: a new node may get its old
            name, so they must be imported in the order of the document.
        """
        self._cache.clear()
        idents = {id(item): canonical(documents.ident(item)) for item in items}
        fields = node_fields.all_fields(self.context)
        if source is not None or any('trait_sources' in item for item in items):
            fields += ('trait_sources',)
        with self.context.read() as connection:
            rows = nodes.find_by_idents(self.context, connection, sorted(set(idents.values())), fields)
            present = node_fields.presenter(self.context, fields)
            existing_nodes = _decoded([present(row) for row in rows])
            by_ident = {node[key]: node for node in existing_nodes for key in ('uuid', 'name') if node[key]}
            existing = [item for item in items if idents[id(item)] in by_ident]
            for item in existing:
                self._cache[imports.path(NODES, item)] = by_ident[idents[id(item)]]
            self._read_children(connection, existing, [node['uuid'] for node in existing_nodes])
        if any(item.get('name') not in (None, by_ident[idents[id(item)]]['name']) for item in existing):
            return []
        return [item for item in items if idents[id(item)] not in by_ident]

    def _read_children(self, connection: sa.Connection, items: Sequence[Item], uuids: Sequence[str]) -> None:
        for noun in NODES.children:
            if not any(item.get(noun.name) or (noun.name == 'ports' and item.get('portgroups')) for item in items):
                continue
            served = new_nodes.RECORDS[noun.name]
            rows = records.find_by_nodes(self.context, connection, served.kind, uuids, served.columns(self.context))
            by_node: dict[str, list[Item]] = {uuid: [] for uuid in uuids}
            for row, record in zip(rows, _decoded(served.shown(self.context, rows)), strict=True):
                by_node[row.of_node].append(record)
            self._cache |= {(noun.url, uuid): node_records for uuid, node_records in by_node.items()}


class LocalImporter:
    """An import of units in one transaction.

    :param transaction: that of the client.
    :param progress: function that is called with the number of units that were just finished.
    :param source: as for ``imports.Importer``, and so is ``prune``.
    :ivar counts: as those of ``imports.Importer``, and so are ``changes``, ``warnings`` and ``adopted``.
    :ivar refused: a sentence for each unit that cannot be imported.
    """

    def __init__(
        self,
        client: LocalClient,
        transaction: OneTransaction,
        progress: Callable[[int], object],
        source: str | None = None,
        prune: bool = False,
    ) -> None:
        self._client = client
        self._source = source
        self._prune = prune
        self._transaction = transaction
        self._progress = progress
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []
        self.adopted: set[str] = set()
        self.refused: list[str] = []
        self._store_writer(source or OPERATOR)

    def import_units(self, units: Sequence[Unit]) -> None:
        """Import units; roll back each one that is refused.

        :param units: result of ``documents.units``.
        :raises oslo_db.exception.DBError: the whole transaction is lost (``OneTransaction.check``).
        """
        for name in documents.sources_of(units) if self._source is None else ():
            self._store_writer(name)
        for noun, group in itertools.groupby(units, key=lambda unit: unit[0]):
            items = [item for _, item in group]
            if noun is NODES:
                for start in range(0, len(items), BATCH):
                    self._import_nodes(items[start : start + BATCH])
            else:
                self._import_each(noun, items)

    def _import_nodes(self, items: Sequence[Item]) -> None:
        created = self._create(self._new(self._client.read_ahead(items, self._source)))
        self._import_each(NODES, [item for item in items if id(item) not in created])

    def _new(self, items: Iterable[Item]) -> list[tuple[Item, inventory.NewNode]]:
        """Return the items that can be created in bulk, with their rows: [(item, NewNode), …]."""
        with self._client.context.read() as connection:
            now = read_clock(connection)
        new = []
        for item in items:
            with contextlib.suppress(inventory.Unusual):
                new.append((item, new_nodes.read(self._client.context, item, now, self._source)))
        return new

    def _create(self, new: Sequence[tuple[Item, inventory.NewNode]]) -> set[int]:
        """Create nodes in bulk. If that fails, try each half of them, down to single nodes.

        :param new: [(item, NewNode), …].
        :returns: {id(item), …} of the items that were created.
        """
        if not new:
            return set()
        try:
            with self._transaction.write() as connection:
                inventory.create(self._client.context, connection, [node for _, node in new])
        except inventory.Unusual:
            half = len(new) // 2
            return self._create(new[:half]) | self._create(new[half:]) if half else set()
        for item, node in new:
            self._count(node)
            if 'traits' in item:
                self.adopted |= sources.targets(item, self._source, {}).adopted
        self._progress(len(new))
        return {id(item) for item, _ in new}

    def _count(self, node: inventory.NewNode) -> None:
        label = differences.label(NODES, node.row)
        self.counts['nodes', 'created'] += 1
        self.changes.append(f'+ {label}')
        for kind, row in node.records:
            noun = _NOUNS[kind.what]
            self.counts[noun.name, 'created'] += 1
            self.changes.append(f'+ {differences.label(noun, row, label)}')

    def _import_each(self, noun: Resource, items: Iterable[Item]) -> None:
        for item in items:
            importer = self._importer()
            self._attempt(importer, documents.ident(item), functools.partial(importer.import_unit, noun, item))
            self._progress(1)

    def _store_writer(self, source: str) -> None:
        """Store the writer of a source now: its first write may be in a savepoint that is rolled back."""
        self._client.context.service.writers.id_of(self._client.context, source)

    def prune(self, units: Sequence[Unit]) -> None:
        """Remove what the source holds on nodes that are not in a document; roll back each removal that is refused.

        :param units: all units of the document.
        :raises oslo_db.exception.DBError: as ``import_units``.
        """
        for node in self._importer().stale(units):
            importer = self._importer()
            self._attempt(importer, node['name'] or node['uuid'], functools.partial(importer.prune, node))

    def _importer(self) -> imports.Importer:
        return imports.Importer(self._client, self._client.settle, self._source, self._prune)

    def _attempt(self, importer: imports.Importer, name: str, action: Callable[[], None]) -> None:
        """Run an action of an importer in a savepoint: if it is refused, it is rolled back before the next one."""
        try:
            with self._transaction.write():
                action()
            self.counts += importer.counts
            self.changes += importer.changes
            self.warnings += importer.warnings
            self.adopted |= importer.adopted
        except DBError:
            # The database may have ended the transaction, and the savepoint with it.
            self._transaction.check()
            raise
        except Failed as error:
            self._transaction.check()
            self.refused.append(f'{name}: {error}')


_NOUNS = {new_nodes.RECORDS[noun.name].kind.what: noun for noun in NODES.children}


def _decoded(document: Any) -> Any:
    """Return a document of a response as a client would decode it from JSON."""
    return orjson.loads(rendering.dump(document))
