"""/v1/ports"""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, local_link, node_ident
from ironic_traits.api.v1.local_link import LocalLink, is_smart
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.records import Records
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.records import records
from ironic_traits.inventory.records.ports import PORTS as KIND

#: The minor versions that brought ``node_ident`` of new ports, and the physical network of portgroups.
_NODE_IDENT_SINCE, _NETWORK_OF_PORTGROUP_SINCE = 94, 102


class PortBody(types.Base):
    """The fields of a port that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    node_uuid = types.UUID
    address = types.Mac()
    portgroup_uuid = types.UUID
    pxe_enabled = types.BOOLEAN
    is_smartnic = types.BOOLEAN
    physical_network = types.Text(minimum=1, maximum=64)
    local_link_connection = LocalLink()
    extra = types.OBJECT
    name = types.TEXT
    description = types.TEXT_255
    vendor = types.Text(maximum=32)
    category = types.Text(maximum=80)
    available_for_dynamic_portgroup = types.BOOLEAN


class Port(types.Stored, PortBody):
    """A port in a response."""

    internal_info = types.OBJECT


class NewPort(PortBody):
    """A port in a POST."""

    _since = {'node_ident': _NODE_IDENT_SINCE}

    node_ident = types.TEXT


def _check(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    link, name = new['local_link_connection'], new['name']
    local_link.check(context, old.get('local_link_connection'), link)
    if name is not None and name != old.get('name') and not node_ident.is_name(context, name):
        raise failures.InvalidInput(reason=f"A port cannot have the invalid name '{name}'")
    _check_network(context, old, new)
    if new['is_smartnic'] and not is_smart(link):
        raise failures.InvalidInput(reason='Smart NIC port must have port_id and hostname in local_link_connection')


def _check_network(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    is_changed = old and new['physical_network'] != old['physical_network']
    if is_changed and new['portgroup_uuid'] and context.minor >= _NETWORK_OF_PORTGROUP_SINCE:
        raise failures.InvalidInput(reason='physical_network cannot be changed while the port belongs to a portgroup.')


class _Ports(Records):
    """Ports. Their list has filters of its own."""

    def page(self, context: Context, grant: Grant, query: dict[str, Any], detail: bool = False) -> dict[str, Any]:
        self.check_filters(context, query)
        if 'portgroup' in query:
            query['portgroup'] = (PORTGROUPS.kind, PORTGROUPS.ident(context, query['portgroup']))
        if 'node_uuid' in query:
            # Both parameters are the same filter: the response is 404 if the node does not exist.
            query['node'] = query.pop('node_uuid')
        return super().page(context, grant, query, detail)


PORTS = _Ports(
    kind=KIND,
    rule='baremetal:port',
    returns=Port,
    body=PortBody,
    new_body=NewPort,
    check=_check,
    views={'local_link_connection': local_link.shown},
)


def _resolve_node(context: Context, grant: Grant, body: Any) -> None:
    """Replace the name of the node of a new port by its uuid.

    :raises failures.VersionTooLow: the version of the request does not have it.
    :raises failures.InvalidInput: there is no such node that the caller may see, or the body names two.
    :raises failures.Forbidden: the caller may see the node, but policy does not allow the request.
    """
    ident = body.node_ident
    if ident in (None, wsme.types.Unset):
        body.node_ident = wsme.types.Unset
        return
    context.needs(_NODE_IDENT_SINCE, "the field 'node_ident'")
    if body.node_uuid:
        raise failures.InvalidInput(reason="A new port needs either 'node_uuid' or 'node_ident', not both.")
    if not node_ident.is_ident(ident):
        raise failures.InvalidInput(reason=f'Expected UUID or name for node: {ident}')
    ident = node_ident.ident(context, ident)
    access.new_record(context, grant, ident)
    try:
        body.node_uuid, body.node_ident = nodes.uuid_of(context, ident), wsme.types.Unset
    except failures.NodeNotFound:
        raise records.no_node(ident) from None


class PortsController(RecordsController):
    """Ports: the NICs of nodes."""

    records = PORTS

    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        _resolve_node(context, grant, body)
        return super().post(context, grant, body=body)
