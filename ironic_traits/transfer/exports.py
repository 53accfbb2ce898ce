"""A service becomes a document."""

import collections
from typing import Any

from ironic_traits.transfer.documents import CHASSIS, MASK, NODES, REASON, STATES


def export(client) -> dict[str, list[dict[str, Any]]]:
    """Give all that a service has: of this one, or of Ironic.

    :param client: ironic_traits.client.Client.
    :raises ironic_traits.client.Failed: the service says no.
    """
    belongings = {noun: _by_node(client, noun) for noun in NODES.inside}
    document = {
        'chassis': [_shown(CHASSIS, each) for each in client.pages('/v1/chassis', 'chassis', {'detail': 'true'})],
        'nodes': [],
    }
    for node in client.pages('/v1/nodes', 'nodes', {'detail': 'true'}):
        shown = _shown(NODES, node) | {name: node[name] for name in (REASON, *STATES)}
        # The config drive of an instance, and where its image is fetched with a password in the address.
        shown['instance_info'] = {name: value for name, value in node['instance_info'].items() if value != MASK}
        shown['traits'] = node['traits']
        shown |= {noun.key: of_node[node['uuid']] for noun, of_node in belongings.items() if node['uuid'] in of_node}
        document['nodes'].append(shown)
    return {key: items for key, items in document.items() if items}


def _by_node(client, noun):
    """Give all of a noun by the nodes that they belong to, as a document has them."""
    of_node = collections.defaultdict(list)
    for each in client.pages(noun.path, noun.page_key, {'detail': 'true'}):
        of_node[each['node_uuid']].append({k: v for k, v in _shown(noun, each).items() if k != 'node_uuid'})
    return of_node


def _shown(noun, each):
    """Give what a document says of something: all of it, so that what has ended ends elsewhere, too."""
    return {name: each.get(name) for name in noun.fields}
