"""/v1/nodes/{node}/vifs"""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1 import node_ident as idents
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.provisioning import node_vifs

#: The minor versions that brought VIFs, and their ``port_uuid`` and ``portgroup_uuid``.
SINCE = 28
PORTS_SINCE = 67


class Vif(types.Base):
    """A VIF in a response."""

    id = str


class Vifs(types.Base):
    """The VIFs of a node."""

    vifs = [Vif]


class NodeVifsController(Resource):
    """The VIFs of a node: virtual network interfaces that are attached to it."""

    @expose('baremetal:node:vif:list', Vifs, of=access.node, since=SINCE)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /) -> dict[str, Any]:
        return {'vifs': [{'id': vif} for vif in node_vifs.list_all(context, grant)]}

    @expose('baremetal:node:vif:attach', of=access.node, since=SINCE, body=types.OBJECT)
    def post(self, context: Context, node_ident: str, /, *, body: Any) -> None:
        if 'id' not in body:
            raise failures.InvalidInput(reason="Schema error for vif: 'id' is a required property")
        if context.minor >= PORTS_SINCE and 'port_uuid' in body and 'portgroup_uuid' in body:
            raise failures.InvalidInput(reason='Cannot specify both port_uuid and portgroup_uuid')
        info = {key: value for key, value in body.items() if key != 'id'}
        node_vifs.attach(context, node_ident, _vif(body['id']), info)

    @expose('baremetal:node:vif:detach', of=access.node, since=SINCE)
    def delete(self, context: Context, node_ident: str, vif_ident: str, /) -> None:
        node_vifs.detach(context, node_ident, _vif(vif_ident))


def _vif(value: Any) -> str:
    if not isinstance(value, str) or not idents.is_ident(value):
        raise failures.InvalidInput(reason=f'Expected UUID or name for id: {value}')
    return value
