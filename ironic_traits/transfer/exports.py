"""Export of a service's inventory as a document."""

import collections
from typing import Any, NamedTuple

from ironic_traits.resources import CHASSIS, NODES
from ironic_traits.resources.fields import Resource
from ironic_traits.transfer import catalogue, sources
from ironic_traits.transfer.api_client import ApiClient
from ironic_traits.transfer.documents import MASK, REASON, STATES, Item, fields


class Export(NamedTuple):
    """An export of a service.

    :ivar document: the inventory, as ``ironic_traits.transfer`` describes it.
    :ivar left_out: number of mirrored nodes that are not in it.
    """

    document: dict[str, list[dict[str, Any]]]
    left_out: int

    def remark(self) -> str:
        """Return a sentence about the nodes that were left out, with a space before it; '' if there are none."""
        if not self.left_out:
            return ''
        return f' {self.left_out} mirrored node{"s"[: self.left_out > 1]} left out; --mirrored includes them.'


def export(client: ApiClient, mirrored: bool = False) -> Export:
    """Export the inventory of a service, this one or Ironic.

    :param mirrored: whether to include mirrored nodes. An import makes them nodes of its service's own.
    :raises ironic_traits.client.Failed: the service refuses a request.
    """
    children = {noun: _by_node(client, noun) for noun in NODES.children}
    document = {
        'chassis': [_item(CHASSIS, each) for each in client.pages('/v1/chassis', 'chassis', {'detail': 'true'})],
        'nodes': [],
    }
    left_out = 0
    # Ironic has no catalogue, and its response to an unknown field is 500.
    has_additions = 'ironic_traits_version' in client.ask('GET', '/')
    document['traits'] = list(catalogue.exported(client)) if has_additions else []
    sources_of_nodes = _sources(client) if has_additions else {}
    for node in client.pages('/v1/nodes', 'nodes', {'detail': 'true'} | client.everything):
        # Only mirrored nodes show their origin.
        if not mirrored and node.get('origin'):
            left_out += 1
            continue
        item = _item(NODES, node) | {name: node[name] for name in (REASON, *STATES)}
        # Masked are the config drive of an instance, and image URLs with a password. An import could not use them.
        item['instance_info'] = {name: value for name, value in node['instance_info'].items() if value != MASK}
        item |= {'traits': node['traits']} | sources_of_nodes.get(node['uuid'], {})
        item |= {noun.name: by_node[node['uuid']] for noun, by_node in children.items() if node['uuid'] in by_node}
        document['nodes'].append(item)
    return Export({key: items for key, items in document.items() if items}, left_out)


def _sources(client: ApiClient) -> dict[str, dict[str, Any]]:
    """Return what documents say about the sources of the nodes' traits, {node uuid: {key: value}}."""
    nodes = client.pages('/v1/nodes', 'nodes', {'fields': 'uuid,trait_sources'} | client.everything)
    return {node['uuid']: sources.exported(node['trait_sources']) for node in nodes}


def _by_node(client: ApiClient, noun: Resource) -> dict[str, list[Item]]:
    """Return all items of a noun, grouped by their nodes: {node uuid: [item, …]}."""
    by_node = collections.defaultdict(list)
    for each in client.pages(noun.url, noun.page_key, {'detail': 'true'}):
        by_node[each['node_uuid']].append({k: v for k, v in _item(noun, each).items() if k != 'node_uuid'})
    return by_node


def _item(noun: Resource, record: Item) -> Item:
    """Return all fields of a record, also the empty ones: an import then resets them elsewhere."""
    return {name: record.get(name) for name in fields(noun)}
