"""Changes of the nodes of an Ironic, and the lag of each change in this service (``benchmarks.churn``)."""

import collections
import json
import time
import uuid

import sqlalchemy as sa

from ironic_traits.db import tables

#: {kind of change: how many of 100}.
_KINDS = {
    'create': 5,
    'delete': 5,
    'trait': 30,
    'power': 15,
    'provision': 15,
    'maintenance': 15,
    'rename': 10,
    'description': 5,
}
#: Number of nodes that change often, and the probability that a change is of one of them.
_HOT, _OFTEN = 50, 0.2
#: Seconds between two reads of the database.
_PAUSE = 0.2


class Changes:
    """Changes of nodes, chosen at random.

    :param ironic: tests.support.mirror.Ironic.
    :param chooser: random.Random.
    :ivar nodes: the uuids of its nodes.
    :ivar count: number of changes.
    """

    def __init__(self, ironic, chooser):
        self._ironic, self._chooser = ironic, chooser
        self.nodes = self._uuids()
        self.count = 0
        self._made, self._refused = collections.Counter(), collections.Counter()
        self._busy = set()
        self._powered, self._maintained = set(), set()

    def __str__(self):
        made = ', '.join(f'{kind} {number}' for kind, number in sorted(self._made.items()))
        return f'{made}; refused: {dict(self._refused)}'

    def one(self, waiting, kind=None):
        """Make one change.

        :param waiting: Waiting.
        :param kind: key of _KINDS; None for any.
        """
        self.count += 1
        kind = kind or self._chooser.choices(list(_KINDS), list(_KINDS.values()))[0]
        node = self._node()
        try:
            expected = getattr(self, f'_{kind}')(node)
        except RuntimeError as error:
            # The node is locked, or its state does not allow the change.
            self._refused[kind] += 1
            if 'Client' not in str(error):
                raise
            return
        self._made[kind] += 1
        if expected:
            waiting.add(kind, *expected)

    def create(self):
        """Create a node, and return its uuid."""
        name = f'churn-{uuid.UUID(int=self._chooser.getrandbits(128))}'
        node = self._ironic.node(name=name, resource_class='baremetal', properties={'cpus': 4}, extra={'rack': name})
        self.nodes.append(node)
        return node

    def settle(self):
        """Wait until the conductor works on no node."""
        deadline = time.monotonic() + 120
        for node in self._busy & set(self.nodes):
            while time.monotonic() < deadline:
                shown = self._ironic.ask('GET', f'/v1/nodes/{node}')
                if not any(shown[each] for each in ('reservation', 'target_power_state', 'target_provision_state')):
                    break
                time.sleep(0.1)

    def _uuids(self):
        uuids, marker = [], ''
        while page := self._ironic.ask('GET', f'/v1/nodes?fields=uuid&limit=1000{marker}')['nodes']:
            uuids += [each['uuid'] for each in page]
            marker = f'&marker={uuids[-1]}'
        return uuids

    def _node(self):
        if self._chooser.random() < _OFTEN:
            return self.nodes[self._chooser.randrange(min(_HOT, len(self.nodes)))]
        return self._chooser.choice(self.nodes)

    def _create(self, node):
        return self.create(), None, None

    def _delete(self, node):
        self._ironic.ask('DELETE', f'/v1/nodes/{node}')
        self.nodes.remove(node)
        return node, 'uuid', None

    def _trait(self, node):
        trait = f'CUSTOM_CHURN_{self._chooser.randrange(20)}'
        if self._chooser.random() < 0.5 and trait in self._ironic.traits(node):
            self._ironic.ask('DELETE', f'/v1/nodes/{node}/traits/{trait}')
            return node, 'trait', (trait, False)
        self._ironic.ask('PUT', f'/v1/nodes/{node}/traits/{trait}')
        return node, 'trait', (trait, True)

    def _power(self, node):
        target = 'power off' if node in self._powered else 'power on'
        self._ironic.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': target})
        (self._powered.discard if target == 'power off' else self._powered.add)(node)
        self._busy.add(node)

    def _provision(self, node):
        state = self._ironic.ask('GET', f'/v1/nodes/{node}?fields=provision_state')['provision_state']
        target = {'available': 'manage', 'manageable': 'provide', 'enroll': 'manage'}.get(state, 'manage')
        self._ironic.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': target})
        self._busy.add(node)

    def _maintenance(self, node):
        if node in self._maintained:
            self._ironic.ask('DELETE', f'/v1/nodes/{node}/maintenance')
            self._maintained.discard(node)
            return node, 'maintenance', False
        self._ironic.ask('PUT', f'/v1/nodes/{node}/maintenance', {'reason': f'change {self.count}'})
        self._maintained.add(node)
        return node, 'maintenance', True

    def _rename(self, node):
        name = f'renamed-{self.count}-{self._chooser.randrange(10**6)}'
        self._ironic.patch(f'/v1/nodes/{node}', name=name)
        return node, 'name', name

    def _description(self, node):
        text = json.dumps({'change': self.count})
        self._ironic.patch(f'/v1/nodes/{node}', description=text)
        return node, 'description', text


class Waiting:
    """Changes that this service does not have yet.

    :param service: ironic_traits.service.Service.
    :ivar lags: {kind: [seconds, …]} of the changes that it has.
    """

    def __init__(self, service):
        self._service = service
        self._pending = {}
        self._looked_at = 0.0
        self.lags = collections.defaultdict(list)

    def __str__(self):
        return ', '.join(f'{kind} of {node}' for (node, *_), (kind, _, _) in list(self._pending.items())[:20])

    @property
    def number(self):
        """Return the number of changes that this service does not have."""
        return len(self._pending)

    def add(self, kind, node, field, value):
        """Add a change. It replaces an earlier one of the same field.

        :param kind: key of the lags.
        :param field: column of a node; ``trait``; ``uuid`` for a deletion; None for a creation.
        :param value: the value; (name, whether the node has it) of a trait.
        """
        if field == 'uuid':
            self._pending = {key: change for key, change in self._pending.items() if key[0] != node}
        key = (node, field, value[0] if field == 'trait' else None)
        self._pending[key] = kind, value, time.monotonic()

    def look(self):
        """Record the lags of the changes that this service now has."""
        if time.monotonic() < self._looked_at + _PAUSE or not self._pending:
            return
        uuids = sorted({key[0] for key in self._pending})
        nodes, traits = tables.nodes.c, tables.node_traits.c
        with self._service.read() as connection:
            columns = nodes.uuid, nodes.name, nodes.description, nodes.maintenance
            rows = {row.uuid: row for row in connection.execute(sa.select(*columns).where(nodes.uuid.in_(uuids)))}
            of_nodes = sa.select(nodes.uuid, traits.trait).where(nodes.id == traits.node_id, nodes.uuid.in_(uuids))
            present = {tuple(row) for row in connection.execute(of_nodes)}
        now = self._looked_at = time.monotonic()
        for key, (kind, value, since) in list(self._pending.items()):
            if _is_known(key, value, rows, present):
                del self._pending[key]
                self.lags[kind].append(now - since)


def _is_known(key, value, rows, present):
    """Whether the rows of this service have a change."""
    node, field, name = key
    if field == 'uuid':
        return node not in rows
    if field is None or node not in rows:
        return node in rows
    if field == 'trait':
        return ((node, name) in present) == value[1]
    return getattr(rows[node], field) == value
