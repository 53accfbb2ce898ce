"""The fields of a portgroup."""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.v1 import node_ident
from ironic_traits.api.v1.records import Records
from ironic_traits.context import Context
from ironic_traits.inventory.records.portgroups import PORTGROUPS as KIND


class PortgroupBody(types.Base):
    """The fields of a portgroup that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    node_uuid = types.UUID
    name = types.TEXT
    address = types.Mac()
    mode = types.TEXT_255
    standalone_ports_supported = types.BOOLEAN
    properties = types.OBJECT
    extra = types.OBJECT
    physical_network = types.Text(minimum=1, maximum=64)
    category = types.Text(maximum=80)


class Portgroup(types.Stored, PortgroupBody):
    """A portgroup in a response."""

    internal_info = types.OBJECT
    dynamic_portgroup = types.BOOLEAN
    ports = types.LINKS


def _check(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    name = new['name']
    if name is not None and name != old.get('name') and not node_ident.is_name(context, name):
        raise failures.InvalidInput(reason=f"A portgroup cannot have the invalid name '{name}'")


PORTGROUPS = Records(kind=KIND, rule='baremetal:portgroup', returns=Portgroup, body=PortgroupBody, check=_check)
