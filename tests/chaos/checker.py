"""Compares the record of the clients with the stored data at the end."""

import collections
import itertools
import math
import re
import time

from ironic_traits.deploy import states
from tests.chaos.clients import LIMIT, followed
from tests.chaos.history import MAYBE, NO, OK

_CHANGES = {verb: re.compile(rf'{verb} ([A-Z0-9_, ]+)') for verb in ('added', 'removed')}
#: Seconds after the last fault within which all deploys must end.
DEPLOYS = 60


class Stored:
    """The stored data, as clients read it.

    :param ask: function that sends a request.
    """

    def __init__(self, ask):
        self._ask = ask
        self.nodes = {node['uuid']: node for node in self._all('/v1/nodes/detail', 'nodes')}
        self.reservations = self._all('/v1/reservations', 'reservations')
        self.allocations = self._all('/v1/allocations', 'allocations')
        self.providers = {
            each['uuid']: each for each in self.get('/placement/resource_providers')['resource_providers']
        }

    def get(self, path):
        """Return the document at a path. Retry during a short outage."""
        deadline = time.monotonic() + 60
        while True:
            status, document = self._ask('GET', path)
            if status == 200:
                return document
            assert time.monotonic() < deadline, (path, status, document)
            time.sleep(0.1)

    def _all(self, path, name):
        items, path = [], f'{path}?limit=1000'
        while path:
            document = self.get(path)
            items += document[name]
            following = document.get('next')
            path = following and '/v1/' + following.partition('/v1/')[2]
        return items

    def changes(self, node):
        """Return how often each trait was added and removed, by the history of a node: {verb: {trait: number}}."""
        counts = {verb: collections.Counter() for verb in _CHANGES}
        for entry in self._all_events(node):
            for verb, words in _CHANGES.items():
                match = words.search(entry['event'])
                if entry['event_type'] == 'trait' and match:
                    counts[verb].update(trait.strip() for trait in match[1].split(','))
        return counts

    def _all_events(self, node):
        items, path = [], f'/v1/nodes/{node}/history?detail=true&limit=1000'
        while path:
            document = self.get(path)
            items += document['history']
            following = document.get('next')
            path = following and '/v1/' + following.partition('/v1/')[2]
        return items


def settle(ask, world):
    """Wait until all deploys have ended, and return a problem for each one that hangs."""
    deadline = time.monotonic() + DEPLOYS
    busy = list(world.deployed)
    while busy and time.monotonic() < deadline:
        states = {node: ask('GET', f'/v1/nodes/{node}') for node in busy}
        busy = [node for node, (status, shown) in states.items() if status != 200 or _works(shown)]
        time.sleep(0.2)
    return [f'the work on node {node} does not end: {states[node][1]["provision_state"]}' for node in busy]


def _works(node):
    # A node whose deploy has failed keeps its target, as in Ironic.
    is_moving = node['provision_state'] in states.WORKING | states.WAITING
    return bool(is_moving or node['reservation'] or node['target_power_state'])


def problems(history, world, stored, copy=None):
    """Return the problems: [sentence, …].

    :param copy: the copy of a follower of the changes; None without a follower.
    """
    found = list(history.problems)
    by_kind = collections.defaultdict(list)
    for entry in history.entries:
        by_kind[entry.kind].append(entry)
    found += _traits(by_kind, world, stored)
    found += _hot(by_kind, world, stored)
    found += _nodes(by_kind, stored)
    found += _holders(by_kind, stored)
    found += _periods(by_kind)
    found += _providers(stored)
    if copy is not None:
        found += _copy(copy, stored)
    return found


def recorded(history):
    """Return the problems that the record alone shows, also while the clients work: [sentence, …]."""
    by_kind = collections.defaultdict(list)
    for entry in list(history.entries):
        by_kind[entry.kind].append(entry)
    return [*history.problems, *_periods(by_kind)]


def _traits(by_kind, world, stored):
    """Each acknowledged write is in the history of its nodes once, and a refused write is not in it.

    Each node has the traits that its history says.
    """
    writes = [(entry, [entry.values['node']]) for entry in by_kind['put_traits']]
    writes += [(entry, entry.values['nodes']) for entry in by_kind['edit']]
    writes += [(entry, [world.hot]) for entry in by_kind['add_hot']]
    counts = {node: stored.changes(node) for node in {node for _, nodes in writes for node in nodes}}
    yield from _replayed(counts, stored)
    for entry, nodes in writes:
        trait = entry.values['trait']
        numbers = {counts[node]['added'][trait] for node in nodes}
        if entry.outcome == OK and numbers != {1}:
            yield f'lost or repeated: {trait} was acknowledged, and is {numbers} times in the history of {nodes}'
        if entry.outcome == NO and numbers != {0}:
            yield f'{trait} was refused, and is in the history of {nodes}'
        if entry.outcome == MAYBE and numbers not in ({0}, {1}):
            yield f'{trait} is {numbers} times in the history of {nodes}'
    last = {}
    unknown = collections.defaultdict(set)
    for entry in by_kind['put_traits']:
        node, trait = entry.values['node'], entry.values['trait']
        if entry.outcome == OK:
            last[node] = trait
        elif entry.outcome == MAYBE:
            unknown[node].add(trait)
    for node, trait in last.items():
        traits = set(stored.nodes[node]['traits']) if node in stored.nodes else set()
        if trait not in traits and not traits & unknown[node]:
            yield f'lost: {trait} was the last acknowledged write of node {node}, which has {sorted(traits)}'


def _replayed(counts, stored):
    """Each trait was removed as often as it was added, or once less if the node has it.

    :param counts: {node: what ``Stored.changes`` returns}.
    """
    for node, of_node in counts.items():
        traits = set(stored.nodes[node]['traits']) if node in stored.nodes else set()
        added, removed = of_node['added'], of_node['removed']
        for trait in added.keys() | removed.keys() | traits:
            if added[trait] - removed[trait] != (trait in traits):
                has = 'has' if trait in traits else 'does not have'
                times = f'added {added[trait]} times and removed {removed[trait]} times in the history'
                yield f'{trait} was {times} of node {node}, which {has} it'


def _hot(by_kind, world, stored):
    """The node to which all clients write has the acknowledged traits, and no more than the limit."""
    traits = set(stored.nodes[world.hot]['traits'])
    if len(traits) > LIMIT:
        yield f'over the limit: node {world.hot} has {len(traits)} traits'
    removals = {entry.values['trait']: entry.outcome for entry in by_kind['remove_hot']}
    for entry in by_kind['add_hot']:
        trait = entry.values['trait']
        removal = removals.get(trait)
        if entry.outcome == OK and removal in (None, NO) and trait not in traits:
            yield f'lost: {trait} was added'
        if entry.outcome == NO and trait in traits:
            yield f'{trait} was refused, and is there'
        if entry.outcome == OK and removal == OK and trait in traits:
            yield f'lost: {trait} was removed'


def _nodes(by_kind, stored):
    """Created nodes exist, and deleted nodes do not."""
    deletions = {entry.values['node']: entry.outcome for entry in by_kind['delete']}
    for entry in by_kind['create']:
        node = entry.values['node']
        deletion = deletions.get(node)
        if entry.outcome == OK and deletion in (None, NO) and node not in stored.nodes:
            yield f'lost: node {node} was created'
        if entry.outcome == NO and node in stored.nodes:
            yield f'node {node} was refused, and is there'
        if deletion == OK and node in stored.nodes:
            yield f'lost: node {node} was deleted'


def _stored_holders(by_kind, stored):
    """Return the holders of each node at the end: {node: {holder}}."""
    holders = collections.defaultdict(set)
    for each in stored.reservations:
        holders[each['node_uuid']].add(each['instance_uuid'])
    for each in stored.allocations:
        if each['node_uuid']:
            holders[each['node_uuid']].add(each['uuid'])
    for node in stored.nodes.values():
        if node['instance_uuid']:
            holders[node['uuid']].add(node['instance_uuid'])
    for node in {entry.values.get('node') for entry in by_kind['hold'] if entry.values['way'] == 'placement'}:
        if node in stored.providers:
            holders[node] |= set(stored.get(f'/placement/resource_providers/{node}/allocations')['allocations'])
    return holders


def _holders(by_kind, stored):
    """Each node has at most one holder, and it is the last one that was acknowledged."""
    holders = _stored_holders(by_kind, stored)
    for node, names in holders.items():
        if len(names) > 1:
            yield f'double holder: node {node} is held by {sorted(names)}'
    everyone = {name for names in holders.values() for name in names}
    releases = {entry.values['holder']: entry.outcome for entry in by_kind['release']}
    for entry in by_kind['hold']:
        holder, node, way = entry.values['holder'], entry.values.get('node'), entry.values['way']
        release = releases.get(holder)
        if entry.outcome == OK and node and release in (None, NO) and holder not in holders[node]:
            yield f'lost: {holder} holds node {node} ({way})'
        if entry.outcome == NO and holder in everyone:
            yield f'{holder} was refused, and holds a node ({way})'
        if release == OK and holder in everyone:
            yield f'lost: {holder} was released ({way})'


def _periods(by_kind):
    """No node had two acknowledged holders at the same time."""
    releases = {entry.values['holder']: entry.began for entry in by_kind['release']}
    periods = collections.defaultdict(list)
    for entry in by_kind['hold']:
        holder, node = entry.values['holder'], entry.values.get('node')
        if entry.outcome == OK and node:
            periods[node].append((entry.ended, releases.get(holder, math.inf), holder))
    for node, held in periods.items():
        for (_, end, first), (begin, _, second) in itertools.pairwise(sorted(held)):
            if begin < end:
                yield f'double holder: node {node} was held by {first} and {second} at once'


def _providers(stored):
    """Each node with a resource class is a provider with the same traits, and no other provider exists."""
    classes = {uuid for uuid, node in stored.nodes.items() if node['resource_class']}
    if classes != set(stored.providers):
        yield f'providers differ from nodes: {classes ^ set(stored.providers)}'
    for uuid in classes & set(stored.providers):
        traits = stored.get(f'/placement/resource_providers/{uuid}/traits')['traits']
        if set(traits) != set(stored.nodes[uuid]['traits']):
            yield f'provider {uuid} has other traits than its node'


def _copy(copy, stored):
    """The copy of a follower equals the stored data."""
    if missed := set(stored.nodes) - set(copy):
        # Nodes from before the first token are not in the changes.
        yield f'the change feed missed new nodes: {sorted(missed)}'
    if extra := set(copy) - set(stored.nodes):
        yield f'the change feed missed deleted nodes: {sorted(extra)}'
    for uuid, fields in copy.items():
        if uuid in stored.nodes and fields != followed(stored.nodes[uuid]):
            yield f'the change feed missed a change of node {uuid}: {fields}, {followed(stored.nodes[uuid])}'
