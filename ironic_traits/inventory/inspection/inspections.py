"""The data of inspections: how it is received, and how it changes a node at the end of the inspection.

A ramdisk posts the data while the node waits (``receive``). The transition of the node becomes due in the same
transaction, and the worker that claims it ends the inspection (``finish``). A client can store data in any state
(``put``).
"""

import datetime
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.deploy import base, inspection_hooks, merged_facts, states
from ironic_traits.deploy.inspection_data import InspectionData
from ironic_traits.inventory.core import history
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import MOMENT, change, read, take
from ironic_traits.inventory.inspection import (
    inspected_ports,
    inspection_lookup,
    node_inventories,
    rule_effects,
    rule_runs,
)
from ironic_traits.inventory.provisioning import transitions
from ironic_traits.inventory.records import inspection_rules

_PLACE = (tables.nodes.c.provision_state, MOMENT)


def get(context: Context, grant: Grant, previous: bool = False) -> node_inventories.Inventory:
    """Return the data of the last inspection of a node.

    :param grant: Grant for the node.
    :param previous: whether to return the data of the inspection before the last one.
    :raises failures.InventoryNotFound: the node has no such data.
    """
    with context.read() as connection:
        node = read(connection, grant.ident, (tables.nodes.c.id, tables.nodes.c.uuid))
        inventory = node_inventories.read(connection, node.id, previous)
    if inventory is None:
        raise failures.InventoryNotFound(node=node.uuid)
    return inventory


@waiting_for_lock
@retried
def put(context: Context, ident: str, data: InspectionData) -> node_inventories.Inventory:
    """Store inspection data of a node in any state.

    :returns: what ``get`` returns afterwards.
    :raises failures.NodeLocked: a worker holds the node's lock, or has not read the data of a ramdisk yet.
    """
    with context.write() as connection:
        node = take(connection, ident, tables.nodes.c.reservation, MOMENT)
        if node.reservation:
            # The traits of a node must not change while a worker deploys or cleans it.
            raise failures.NodeLocked(node=node.uuid, host=node.reservation)
        if transitions.has_data(connection, node.id):
            # Otherwise the worker would derive the properties and ports from the client's data.
            raise failures.NodeLocked(node=node.uuid, host=context.conf.host)
        document = inspection_hooks.read(context.conf.inspection, data.document)
        node_inventories.store(connection, node.id, document, node.moment)
        rules = inspection_rules.in_force(context.service, connection)
        rule_runs.run(context, connection, node, document, rules, whole=False)
        inventory = node_inventories.read(connection, node.id)
    assert inventory is not None
    return inventory


def check_expected(context: Context) -> None:
    """Raise ResourceNotFound unless a node waits for the data of a ramdisk.

    :raises failures.ResourceNotFound: none does.
    """
    with context.read() as connection:
        if not inspection_lookup.is_expected(connection):
            raise failures.ResourceNotFound(hint='')


@retried
def receive(context: Context, data: InspectionData, node_uuid: str | None = None) -> str:
    """Store the data that a ramdisk has sent, and let a worker end the inspection of its node.

    :param node_uuid: the uuid in the request; None if it has no uuid.
    :returns: uuid of the node.
    :raises failures.ResourceNotFound: no node waits for this data. The message does not say why.
    """
    with context.read() as connection:
        uuid = inspection_lookup.find(connection, data, node_uuid)
    if uuid is None:
        # Not in the transaction: a caller who is not authenticated cannot make others wait for a lock.
        raise failures.ResourceNotFound(hint='')
    with context.write() as connection:
        node = _take_waiting(connection, uuid)
        if inspection_lookup.find(connection, data, node_uuid) != node.uuid:
            raise failures.ResourceNotFound(hint='')
        arguments = transitions.receive(connection, node.id, node.moment)
        if arguments is None:
            raise failures.ResourceNotFound(hint='')
        # Data that the same inspection has sent before is replaced, and is not kept as the previous data.
        write = node_inventories.amend if base.DATA_RECEIVED in arguments else node_inventories.store
        document = merged_facts.with_earlier(data.document, node_inventories.document(connection, node.id))
        write(connection, node.id, document, node.moment)
    context.service.wake_worker()
    return uuid


def finish(
    context: Context, connection: sa.Connection, node: sa.Row, moment: datetime.datetime, author: history.Author
) -> None:
    """Apply the data that a ramdisk has sent for a node, at the end of its inspection.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: the result of ``take``, with ``properties``.
    :param moment: time by the database's clock.
    :param author: author of the entries in the node's history.
    :raises base.WorkFailed: the inspection fails. The caller rolls back the transaction.
    """
    document = node_inventories.document(connection, node.id)
    if not document:
        return
    options = context.conf.inspection
    before = node_inventories.document(connection, node.id, previous=True) if 'raid-device' in options.hooks else {}
    findings = inspection_hooks.run(options, node.uuid, node.properties, document, before)
    _write_findings(context, connection, node, findings, moment, author)
    changed = {'inventory': document['inventory'], 'plugin_data': findings.plugin_data}
    changed['plugin_data'] = _run_rules(context, connection, node, changed, author)
    if changed != document:
        node_inventories.amend(connection, node.id, changed)


def finish_bmc(
    context: Context,
    connection: sa.Connection,
    node: sa.Row,
    facts: base.Facts,
    moment: datetime.datetime,
    author: history.Author,
) -> None:
    """Apply what a BMC shows of a node, at the end of its inspection. The parameters are those of ``finish``.

    :raises base.WorkFailed: a rule ends the inspection. The caller rolls back the transaction.
    """
    before = node_inventories.document(connection, node.id)
    document = merged_facts.merge(before, facts)
    findings = inspection_hooks.run_partial(context.conf.inspection, node.uuid, node.properties, document)
    record_unread(connection, node, before, facts, author)
    _write_findings(context, connection, node, findings, moment, author)
    document['plugin_data'] = findings.plugin_data
    document['plugin_data'] = _run_rules(context, connection, node, document, author)
    node_inventories.store(connection, node.id, document, moment)


def record_unread(
    connection: sa.Connection,
    node: sa.Row,
    before: Mapping[str, Any],
    facts: base.Facts,
    author: history.Author,
) -> None:
    """Write the parts that a BMC did not show to the history of a node, unless they are those of the last time.

    :param connection: connection of a writer that has taken the node's lock.
    :param before: the document of the node before.
    """
    if facts.unread and facts.unread != merged_facts.unread(before):
        event = 'The BMC did not show everything: ' + ' '.join(f'{part}: {why}' for part, why in facts.unread.items())
        history.record(connection, author(node.uuid, None, history.INSPECTION, event, severity=history.WARNING))


def _write_findings(
    context: Context,
    connection: sa.Connection,
    node: sa.Row,
    findings: inspection_hooks.Findings,
    moment: datetime.datetime,
    author: history.Author,
) -> None:
    """Write the ports and the properties that the hooks have found."""
    for event in inspected_ports.write(connection, node.uuid, findings.ports, context.conf.inspection.max_ports):
        history.record(connection, author(node.uuid, moment, history.INSPECTION, event, severity=history.WARNING))
    if findings.properties != node.properties:
        change(connection, node, {'properties': findings.properties})


def _run_rules(
    context: Context, connection: sa.Connection, node: sa.Row, document: Mapping[str, Any], author: history.Author
) -> dict[str, Any]:
    """Run the inspection rules on the data that the hooks return. Return the plugin data after the rules.

    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :raises base.WorkFailed: a rule ends the inspection.
    """
    rules = inspection_rules.in_force(context.service, connection)
    run = rule_runs.run(context, connection, node, document, rules, whole=True)
    if run.evaluation.failure is not None:
        raise base.WorkFailed(
            f'Failed to finish inspection: Failed to inspect hardware. Reason: {run.evaluation.failure}'
        )
    for name, reason in rule_effects.carry_out(connection, node, run.evaluation):
        event = f'The changes of the rule {name} were left out: {reason}.'
        history.record(connection, author(node.uuid, None, history.INSPECTION, event, severity=history.ERROR))
    return dict(run.evaluation.plugin_data)


def _take_waiting(connection: sa.Connection, uuid: str) -> sa.Row:
    try:
        node = take(connection, uuid, *_PLACE)
    except failures.NodeNotFound:
        raise failures.ResourceNotFound(hint='') from None
    if node.provision_state != states.INSPECTWAIT:
        raise failures.ResourceNotFound(hint='')
    return node
