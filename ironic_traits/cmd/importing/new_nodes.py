"""Rows for the new nodes of a document, validated, to be inserted in bulk.

The types, checks and limits are those of the API requests that would create the nodes one by one. A node that fails a
check raises ``Unusual`` here. The importer then sends those requests, and their error says what is wrong.
"""

import datetime
import json
from collections.abc import Iterable, Mapping
from typing import Any

import wsme.exc

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api.v1 import node_maintenance, node_traits, node_types, nodes
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.ports import PORTS
from ironic_traits.api.v1.records import Records
from ironic_traits.api.v1.volume import CONNECTORS, TARGETS
from ironic_traits.context import Context
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy import states
from ironic_traits.inventory.nodes import nodes as inventory
from ironic_traits.inventory.nodes.new_nodes import NewNode, Unusual
from ironic_traits.inventory.provisioning import node_states
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.inventory.records.records import new_row
from ironic_traits.resources.nodes import NODES
from ironic_traits.transfer import documents, imports, sources
from ironic_traits.transfer.documents import Item

#: {key in a document: the API's definition of the noun}.
RECORDS = {'portgroups': PORTGROUPS, 'ports': PORTS, 'volume_connectors': CONNECTORS, 'volume_targets': TARGETS}


def read(context: Context, item: Item, now: datetime.datetime, source: str | None = None) -> NewNode:
    """Return the rows of the node that an item of a document describes.

    :param context: context of the requests that would create the node.
    :param now: the time of the database, for ``provision_updated_at``.
    :param source: the source of the import, as for ``imports.Importer``.
    :raises Unusual: only requests can create the node, or say why it cannot be created.
    """
    try:
        return _read(context, item, now, source)
    except (failures.Failure, wsme.exc.ClientSideError, TypeError, ValueError) as error:
        raise Unusual from error


def _read(context: Context, item: Item, now: datetime.datetime, source: str | None) -> NewNode:
    fields, later = imports.split(NODES, item)
    row = inventory.new_row(context, nodes.new_values(context, _typed(context, node_types.NodeBody, fields)))
    if row['parent_node']:
        # The parent may be a name, and must exist.
        raise Unusual
    if row['instance_uuid']:
        # Whether the instance may have the node depends on reservations, also on those created concurrently.
        raise Unusual
    row |= dict.fromkeys(('target_provision_state', 'provision_updated_at', 'power_state', 'maintenance_reason'))
    stated = {name: item[name] for name in documents.STATES if name in item}
    if stated:
        row |= node_states.placed(row, now, **stated)
    row |= _protection(context, row, later) | _reason(context, row, item)
    return NewNode(row, _traits(context, item, source), list(_records(context, item, row['uuid'])))


def _typed(context: Context, datatype: type, document: Any) -> Any:
    """Validate a document as a route validates its body.

    :param datatype: wsme type of the body.
    :returns: an instance of it.
    :raises Unusual: the body is too large; other invalid bodies raise what the route would raise.
    """
    body = json.dumps(document).encode()
    if len(body) > context.conf.api.max_request_body_size:
        raise Unusual
    return request_body.typed(datatype, request_body.parse(context, body))


def _protection(context: Context, row: Mapping[str, Any], later: Item) -> dict[str, Any]:
    body = _typed(context, node_types.Settable, later)
    if later and not (row['provision_state'] in states.PROTECTABLE and body.protected is True):
        raise Unusual
    return {name: getattr(body, name) for name in later}


def _reason(context: Context, row: Mapping[str, Any], item: Item) -> dict[str, str]:
    reason = item.get(documents.REASON)
    if not item.get('maintenance') or reason is None:
        return {}
    if row['maintenance'] is not True:
        raise Unusual
    return {documents.REASON: _typed(context, node_maintenance.MaintenanceBody, {'reason': reason}).reason}


def _traits(context: Context, item: Item, source: str | None) -> dict[str, list[str]]:
    """Return {source: [trait, …]}, without sources that hold none."""
    if 'traits' not in item:
        return {}
    # The sources hold no other names.
    traits = set(_typed(context, node_traits.TraitsBody, {'traits': item['traits']}).traits)
    if len(traits) > context.conf.inventory.max_traits_per_node:
        raise Unusual
    names = sources.targets(item, source, {}).names
    return {source: sorted(each) for source, each in names.items() if each}


def _records(context: Context, item: Item, node_uuid: str) -> list[tuple[Kind, Values]]:
    """Return [(Kind, row), …] of the ports, portgroups, connectors and targets of a node."""
    rows: dict[str, list[Values]] = {key: [] for key in RECORDS}
    for key, noun in RECORDS.items():
        for each in item.get(key, ()):
            row = _values(context, noun, each, {'node_uuid': node_uuid})
            rows[key].append(row)
            owners = {'node_uuid': node_uuid, 'portgroup_uuid': row['uuid']}
            rows['ports'] += [_values(context, PORTS, port, owners) for port in each.get('ports', ())]
    _check_members(rows['portgroups'], rows['ports'])
    return [(RECORDS[key].kind, row) for key, each in rows.items() for row in each]


def _check_members(portgroups: Iterable[Values], ports: Iterable[Values]) -> None:
    """Raise Unusual unless each port may be in its portgroup, which must be one of the same node.

    A portgroup without a physical network gets that of its ports.
    """
    by_uuid = {each['uuid']: each for each in portgroups}
    networks: dict[str, set] = {}
    for port in ports:
        uuid = port['portgroup_uuid']
        if uuid:
            if uuid not in by_uuid or (port['pxe_enabled'] and not by_uuid[uuid]['standalone_ports_supported']):
                raise Unusual
            networks.setdefault(uuid, set()).add(port['physical_network'])
    for uuid, names in networks.items():
        group, (network, *more) = by_uuid[uuid], names
        if more or group['physical_network'] not in (None, network):
            raise Unusual
        # As when the first port joins the portgroup.
        group['physical_network'] = network


def _values(context: Context, noun: Records, item: Item, owners: Mapping[str, str]) -> Values:
    fields = {name: value for name, value in item.items() if value is not None and name != 'ports'}
    return new_row(noun.kind, noun.new_values(context, _typed(context, noun.body, {**fields, **owners})))
