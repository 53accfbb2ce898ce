"""Helpers for tests of runs of inspection rules."""

import json
import zlib

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.types import now, read_clock
from ironic_traits.inventory.core.single_node import take
from ironic_traits.inventory.inspection import node_inventories, rule_runs
from ironic_traits.inventory.records import inspection_rules
from ironic_traits.matching.rules import inspection_rules as grammar

#: Inspection data of a machine: it has an SSD.
DATA = {
    'inventory': {
        'cpu': {'architecture': 'x86_64', 'count': 8, 'flags': ['avx', 'avx2'], 'model_name': 'Intel Xeon'},
        'disks': [{'name': '/dev/sda', 'rotational': False, 'size': 10**12}],
        'memory': {'physical_mb': 65536},
    },
    'plugin_data': {'rack': 'r7'},
}


def rule(name, *actions, **fields):
    """Return the document of a rule.

    :param actions: (operator, arguments) of each.
    """
    return {'name': name, 'actions': [{'op': op, 'args': args} for op, args in actions], **fields}


def add(name, trait, **fields):
    """Return the document of a rule that adds a trait."""
    return rule(name, ('add-trait', {'name': trait}), **fields)


def has_flag(flag):
    """Return conditions for a flag of the processor."""
    return [{'op': 'has', 'args': {'value': '{inventory[cpu][flags]}', 'member': flag}}]


def expect(name, least):
    """Return the document of a rule that expects more CPUs than a number."""
    more = {'op': 'gt', 'args': {'values': ['{inventory[cpu][count]}', least]}}
    return rule(name, ('expect', {'conditions': [more], 'msg': 'too few CPUs'}))


def data(**inventory):
    """Return DATA with other parts of the inventory. None removes a part."""
    parts = DATA['inventory'] | inventory
    return DATA | {'inventory': {name: part for name, part in parts.items() if part is not None}}


def store_rules(app, *documents):
    """Replace the stored rules, as another process of the service would."""
    table = tables.inspection_rules
    rows = [
        {
            'uuid': f'aaaaaaaa-0000-4000-8000-{number:012}',
            'created_at': now(),
            'priority': document.get('priority', 0),
            'sensitive': document.get('sensitive', False),
            'conditions': document.get('conditions', []),
            'actions': document['actions'],
            'name': document.get('name'),
        }
        for number, document in enumerate(documents)
    ]
    with app.service.write() as connection:
        connection.execute(sa.delete(table))
        if rows:
            connection.execute(sa.insert(table), rows)


def store_data(app, uuid, document=DATA):
    """Store the inspection data of a node, without a run of the rules."""
    with app.service.write() as connection:
        node = take(connection, uuid)
        node_inventories.store(connection, node.id, document, read_clock(connection))


def insert_data(service, document=DATA):
    """Store the same inspection data for all nodes, which must have none."""
    row = {'received_at': now(), 'data': zlib.compress(json.dumps(document).encode())}
    with service.write() as connection:
        ids = connection.scalars(sa.select(tables.nodes.c.id)).all()
        connection.execute(sa.insert(tables.node_inventories), [row | {'node_id': node_id} for node_id in ids])


def run(app, uuid, document=DATA, rules=None, whole=False):
    """Run rules on a node.

    :param rules: documents of rules; None for all rules in force.
    :param whole: whether this is the end of an inspection, which a worker runs.
    """

    @retried
    def attempt(context):
        with context.write() as connection:
            node = take(connection, uuid)
            parsed = inspection_rules.in_force(app.service, connection) if rules is None else grammar.parse(list(rules))
            return rule_runs.run(context, connection, node, document, parsed, whole=whole)

    return attempt(Context(app.service, None, 0, ''))


def sources(client, uuid):
    """Return {trait: [source, …]} of a node."""
    shown = client.get(f'/v1/nodes/{uuid}/traits?detail=true')
    return {each['trait']: sorted(hold['source'] for hold in each['sources']) for each in shown['traits']}


def history(client, uuid):
    """Return the entries of traits and inspections of a node: [(severity, source, event), …], the oldest first."""
    entries = client.get(f'/v1/history?node={uuid}')['history']
    return [
        (each['severity'], each['source'], each['event'])
        for each in entries
        if each['event_type'] in ('trait', 'inspection')
    ]
