"""Nodes of a document that are not there yet: typed, checked and ready to be inserted together.

The types and the checks are those of the requests that would make them one by one, and so are the limits.  A node that
does not pass is ``Unusual`` here: those requests then say what is wrong with it.
"""

import json

import wsme.exc

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api.v1 import node_maintenance, node_traits, node_types, nodes
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.ports import PORTS
from ironic_traits.api.v1.volume_connectors import CONNECTORS
from ironic_traits.api.v1.volume_targets import TARGETS
from ironic_traits.deploy import states
from ironic_traits.inventory import node_states
from ironic_traits.inventory import nodes as inventory
from ironic_traits.inventory.new_nodes import NewNode, Unusual
from ironic_traits.inventory.records import new_row
from ironic_traits.transfer import documents, imports

#: The API's nouns by their keys in a document.
RECORDS = {'portgroups': PORTGROUPS, 'ports': PORTS, 'volume_connectors': CONNECTORS, 'volume_targets': TARGETS}


def read(context, item, moment):
    """Return the node that an item of a document describes.

    :param context: whose requests these would be.
    :param moment: the time of the database, since when the node is in its state.
    :returns: ironic_traits.inventory.new_nodes.NewNode.
    :raises Unusual: it must be made by requests, if it can be made at all.
    """
    try:
        return _read(context, item, moment)
    except (failures.Failure, wsme.exc.ClientSideError, TypeError, ValueError) as error:
        raise Unusual from error


def _read(context, item, moment):
    fields, later = imports.split(documents.NODES, item)
    row = inventory.new_row(context, nodes.new_values(context, _typed(context, node_types.NodeBody, fields)))
    if row['instance_uuid']:
        # Whether it may have the node depends on its reservations, and on who makes one at the same time.
        raise Unusual
    row |= dict.fromkeys(('target_provision_state', 'provision_updated_at', 'power_state', 'maintenance_reason'))
    said = {name: item[name] for name in documents.STATES if name in item}
    if said:
        row |= node_states.placed(row, moment, **said)
    row |= _protection(context, row, later) | _reason(context, row, item)
    return NewNode(row, _traits(context, item), list(_records(context, item, row['uuid'])))


def _typed(context, datatype, document):
    """Turn a document into what a route would make of it; bodies that a route would refuse are refused here."""
    raw = json.dumps(document).encode()
    if len(raw) > context.conf.api.max_request_body_size:
        raise Unusual
    return request_body.typed(datatype, request_body.parse(raw))


def _protection(context, row, later):
    body = _typed(context, node_types.Settable, later)
    if later and not (row['provision_state'] in states.PROTECTABLE and body.protected is True):
        raise Unusual
    return {name: getattr(body, name) for name in later}


def _reason(context, row, item):
    reason = item.get(documents.REASON)
    if not item.get('maintenance') or reason is None:
        return {}
    if row['maintenance'] is not True:
        raise Unusual
    return {documents.REASON: _typed(context, node_maintenance.MaintenanceBody, {'reason': reason}).reason}


def _traits(context, item):
    if 'traits' not in item:
        return []
    traits = sorted(set(_typed(context, node_traits.TraitsBody, {'traits': item['traits']}).traits))
    if len(traits) > context.conf.inventory.max_traits_per_node:
        raise Unusual
    return traits


def _records(context, item, node_uuid):
    """Return [(Kind, row), …] of all that belongs to a node."""
    rows: dict[str, list] = {key: [] for key in RECORDS}
    for key, noun in RECORDS.items():
        for each in item.get(key, ()):
            row = _values(context, noun, each, {'node_uuid': node_uuid})
            rows[key].append(row)
            belongs = {'node_uuid': node_uuid, 'portgroup_uuid': row['uuid']}
            rows['ports'] += [_values(context, PORTS, port, belongs) for port in each.get('ports', ())]
    _check_members(rows['portgroups'], rows['ports'])
    return [(RECORDS[key].kind, row) for key, each in rows.items() for row in each]


def _check_members(portgroups, ports):
    """Raise Unusual unless the ports may be in their portgroups, which are those of the same node."""
    supported = {each['uuid']: each['standalone_ports_supported'] for each in portgroups}
    networks: dict[str, set] = {}
    for port in ports:
        uuid = port['portgroup_uuid']
        if uuid:
            if uuid not in supported or (port['pxe_enabled'] and not supported[uuid]):
                raise Unusual
            networks.setdefault(uuid, set()).add(port['physical_network'])
    if any(len(each) > 1 for each in networks.values()):
        raise Unusual


def _values(context, noun, item, belongs):
    fields = {name: value for name, value in item.items() if value is not None and name != 'ports'} | belongs
    return new_row(noun.kind, noun.new_values(context, _typed(context, noun.body, fields)))
