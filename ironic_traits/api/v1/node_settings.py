"""/v1/nodes/{node}/bios and /v1/nodes/{node}/firmware

The service reads neither BIOS settings nor firmware from hardware. The lists of a node without such hardware are empty,
as they are in Ironic. For any other node, the response is that of a resource that is not implemented.
"""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import nodes

_BIOS_SINCE, _REGISTRY_SINCE, _FIRMWARE_SINCE = 40, 74, 86
_QUERY = {'fields': [types.Names()], 'detail': types.BOOLEAN}


class BiosSettings(types.Base):
    """The BIOS settings of a node: none."""

    bios = [types.OBJECT]


class FirmwareComponents(types.Base):
    """The firmware of a node: none."""

    firmware = [types.OBJECT]


class NodeBiosController(Resource):
    """The BIOS settings of a node."""

    @expose(
        'baremetal:node:bios:get',
        BiosSettings,
        of=access.node,
        since=_BIOS_SINCE,
        query=_QUERY,
        query_since=dict.fromkeys(_QUERY, _REGISTRY_SINCE),
    )
    def get_all(self, context: Context, grant: Grant, node_ident: str, /, **query: Any) -> dict[str, Any]:
        return {'bios': _empty(context, grant, 'bios', query)}

    @expose('baremetal:node:bios:get', types.OBJECT, of=access.node, since=_BIOS_SINCE)
    def get_one(self, context: Context, grant: Grant, node_ident: str, setting: str, /) -> None:
        _empty(context, grant, 'bios', {})
        raise failures.SettingNotFound(node=node_ident, setting=setting)


class NodeFirmwareController(Resource):
    """The firmware of a node."""

    @expose('baremetal:node:firmware:get', FirmwareComponents, of=access.node, since=_FIRMWARE_SINCE, query=_QUERY)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /, **query: Any) -> dict[str, Any]:
        return {'firmware': _empty(context, grant, 'firmware', query)}


def _empty(context: Context, grant: Grant, kind: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an empty list.

    :param kind: bios or firmware.
    :raises failures.NotImplementedHere: the node may have hardware with settings, which the service does not read.
    """
    if query.get('detail') and 'fields' in query:
        raise failures.InvalidInput(reason='Can not specify ?detail=True and fields in the same request.')
    node = nodes.get(context, grant, ('uuid', 'driver', f'{kind}_interface', 'origin'))
    driver = None if node.origin else context.service.drivers.get(node.driver)
    if node[2] != f'no-{kind}' and not (driver and driver.simulates):
        raise failures.NotImplementedHere(path=f'/v1/nodes/{node.uuid}/{kind}')
    return []
