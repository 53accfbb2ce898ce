"""Import of a document into a service."""

import collections
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ironic_traits.deploy.states import PROTECTABLE
from ironic_traits.resources.fields import Resource
from ironic_traits.resources.nodes import NODES
from ironic_traits.resources.values import differ
from ironic_traits.transfer import catalogue, differences
from ironic_traits.transfer.api_client import ApiClient
from ironic_traits.transfer.documents import REASON, STATES, TRAITS, Item, Unit, ident
from ironic_traits.transfer.node_traits import TraitWriter
from ironic_traits.transfer.sources import check_source, held
from ironic_traits.uuids import canonical


class Importer:
    """An import of a document's units into a service.

    :param settle: function of a node's uuid and {state: value}, which puts a new node into the states of the document;
        None to leave new nodes in their initial state.
    :param source: the source that writes the traits; None for plain writes, and for the sources of the document.
    :param prune: whether the source loses the traits of nodes that have no ``traits`` in the document. ``stale`` and
        ``prune`` are for the nodes that are not in it.
    :raises ValueError: an import cannot write as the source, or there is none to prune.
    :ivar counts: {(key of the noun, 'created', 'changed', 'same' or 'pruned'): number}, and the number of vetoed traits
        as ('traits', 'vetoed').
    :ivar changes: a line for each item that was created, and for each field and trait that was changed.
    :ivar warnings: a sentence for each part of the document that was not applied.
    :ivar adopted: reserved sources of the document, whose traits became the operator's (``sources.adoption``).
    """

    def __init__(
        self,
        client: ApiClient,
        settle: Callable[[str, dict[str, str]], None] | None = None,
        source: str | None = None,
        prune: bool = False,
    ) -> None:
        check_source(source)
        if prune and source is None:
            raise ValueError('Only an import with a source can prune.')
        self._client = client
        self._source = source
        self._prune = prune
        self.adopted: set[str] = set()
        self._settle = settle
        self._new: set[str] = set()
        self.counts: collections.Counter[tuple[str, str]] = collections.Counter()
        self.changes: list[str] = []
        self.warnings: list[str] = []

    def import_unit(self, noun: Resource, item: Item) -> None:
        """Import one of ``documents.units``, with its children.

        :raises ironic_traits.client.Failed: the service refuses a request; the effect of earlier requests stays.
        """
        if noun is catalogue.TRAITS:
            result, lines = catalogue.write(self._client, item)
            self.counts[noun.name, result] += 1
            self.changes += lines
            return
        existing = self._client.find(path(noun, item))
        # A name may also be that of a collection (GET /v1/nodes/detail), whose document has no uuid.
        self._import(noun, item, existing if existing and 'uuid' in existing else None, {}, None)

    def _import(
        self, noun: Resource, item: Item, existing: Item | None, owners: dict[str, str], owner_label: str | None
    ) -> None:
        """Create or update an item, and its children.

        :param existing: the item in the service; None if it does not exist.
        :param owners: {owner field: uuid} of the items that it belongs to.
        :param owner_label: label of the node that it belongs to; None if it belongs to no node.
        """
        label = differences.label(noun, item, owner_label)
        values = _fields(noun, item) | _owner_fields(noun, owners)
        uuid, result = self._update(noun, existing, values, label) if existing else self._create(noun, item, values)
        if existing:
            self._warn_of_state(item, existing, label)
        else:
            self.changes.append(f'+ {label}')
        if noun is NODES and self._write_traits(item, f'{noun.url}/{uuid}', existing, label):
            result = 'changed' if existing else result
        if item.get('maintenance') and item.get(REASON) not in (None, (existing or {}).get(REASON)):
            self._client.ask('PUT', f'{noun.url}/{uuid}/maintenance', {'reason': item[REASON]})
            self.changes += differences.fields(label, existing, item, [REASON]) if existing else ()
            result = 'changed' if existing else result
        self.counts[noun.name, result] += 1
        for each in noun.children:
            self._import_children(
                each, item.get(each.name, ()), owners | {noun.owner_field: uuid}, owner_label or label
            )

    def _write_traits(self, item: Item, node_path: str, existing: Item | None, label: str) -> bool:
        """Write the traits of a node, and return whether they changed."""
        writer = TraitWriter(self._client, self._source, self._prune)
        lines = writer.write(item, node_path, existing, label)
        self.changes += lines if existing else ()
        self.warnings += writer.warnings
        self.adopted |= writer.adopted
        if writer.vetoed:
            self.counts['traits', 'vetoed'] += writer.vetoed
        return bool(lines)

    def stale(self, units: Iterable[Unit]) -> list[Item]:
        """Return the nodes that are not in a document, and on which the source holds traits.

        :param units: all of ``documents.units``.
        :returns: [node, …], the documents of the API; [] unless the import prunes.
        """
        if not self._prune:
            return []
        idents = {_normalized('uuid', ident(item)) for noun, item in units if noun is NODES}
        query = {'trait-source': self._source, 'fields': 'uuid,name,trait_sources'} | self._client.everything
        nodes = self._client.pages('/v1/nodes', 'nodes', query)
        return [node for node in nodes if idents.isdisjoint((node['uuid'], node['name']))]

    def prune(self, node: Item) -> None:
        """Remove what the source holds on a node.

        :param node: one of ``stale``.
        :raises ironic_traits.client.Failed: the service refuses the request.
        """
        assert self._source is not None
        label, old = differences.label(NODES, node), held(node['trait_sources'])[self._source]
        self._client.ask('DELETE', f'/v1/nodes/{node["uuid"]}/traits', query={'source': self._source})
        self.changes += differences.traits(label, old, (), self._source)
        self.counts['nodes', 'pruned'] += 1

    def _import_children(self, noun: Resource, items: Iterable[Item], owners: dict[str, str], owner_label: str) -> None:
        records = []
        # A new node has no children yet.
        if items and owners['node_uuid'] not in self._new:
            query = {'detail': 'true', 'node': owners['node_uuid']}
            records = list(self._client.pages(noun.url, noun.page_key, query))
        for item in items:
            existing = next((record for record in records if _is_same(noun, record, item)), None)
            self._import(noun, item, existing, owners, owner_label)

    def _warn_of_state(self, item: Item, existing: Item, label: str) -> None:
        """Add a warning if the document states another provision state: an import only sets that of new nodes."""
        state = item.get('provision_state')
        if state not in (None, existing.get('provision_state')):
            self.warnings.append(
                f"{label} stays in '{existing['provision_state']}': the document's provision_state '{state}' is for "
                'new nodes only.'
            )

    def _create(self, noun: Resource, item: Item, values: Item) -> tuple[str, str]:
        initial, later = split(noun, values)
        record = self._client.ask('POST', noun.url, initial)
        self._new.add(record['uuid'])
        node_states = {name: item[name] for name in STATES if name in item}
        if node_states and self._settle:
            self._settle(record['uuid'], node_states)
        if later and self._settle:
            self._client.ask('PATCH', f'{noun.url}/{record["uuid"]}', _patch(later))
        return record['uuid'], 'created'

    def _update(self, noun: Resource, existing: Item, values: Item, label: str) -> tuple[str, str]:
        values = {name: noun.settable.get(name) if value is None else value for name, value in values.items()}
        changes = {
            name: value for name, value in values.items() if name != 'uuid' and differ(existing.get(name), value)
        }
        if not self._settle and existing.get('provision_state') not in PROTECTABLE:
            # The node is not in the document's state, and cannot be protected in the state that it is in.
            changes = {name: value for name, value in changes.items() if name not in NODES.later}
        # Compare with the response: the service normalizes some values, and masks others.
        updated = self._client.ask('PATCH', f'{noun.url}/{existing["uuid"]}', _patch(changes)) if changes else existing
        self.changes += differences.fields(label, existing, updated, changes)
        is_changed = any(differ(updated[name], existing[name]) for name in changes)
        return existing['uuid'], 'changed' if is_changed else 'same'


def path(noun: Resource, item: Item) -> str:
    """Return the path of an item in the API."""
    return f'{noun.url}/{urllib.parse.quote(ident(item), safe="")}'


def split(noun: Resource, item: Item) -> tuple[Item, Item]:
    """Return the fields that are set when an item is created, and those that can only be set later."""
    fields = {name: value for name, value in _fields(noun, item).items() if value is not None}
    later = {name: fields.pop(name) for name in NODES.later if name in fields}
    return fields, {name: value for name, value in later.items() if value}


def _fields(noun: Resource, item: Item) -> Item:
    """Return the fields of an item that POST and PATCH of the item itself set."""
    others = {*STATES, REASON, *TRAITS, *(each.name for each in noun.children)}
    return {name: value for name, value in item.items() if name not in others}


def _patch(changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the JSON patch that sets fields to values; None removes a field."""
    return [
        {'op': 'remove', 'path': f'/{name}'} if value is None else {'op': 'add', 'path': f'/{name}', 'value': value}
        for name, value in changes.items()
    ]


def _is_same(noun: Resource, record: Item, item: Item) -> bool:
    """Whether a record of the service and an item of the document are the same thing."""
    for names in noun.identifiers:
        if all(item.get(name) is not None for name in names):
            return all(_normalized(name, item[name]) == record[name] for name in names)
    return False


def _normalized(name: str, value: Any) -> Any:
    """Return a uuid or an address in the spelling of the service; other values unchanged."""
    if name == 'uuid':
        return canonical(value)
    return value.lower() if name == 'address' and isinstance(value, str) else value


def _owner_fields(noun: Resource, owners: Mapping[str, str]) -> dict[str, str]:
    """Return those of ``owners`` that are fields of a noun."""
    return {name: value for name, value in owners.items() if name in noun.settable}
