"""/v1/nodes/{node}/vifs"""

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import Response, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1 import node_ident as idents
from ironic_traits.inventory import node_vifs

#: The minor versions that brought VIFs, and their ``port_uuid`` and ``portgroup_uuid``.
SINCE = 28
PORTS_SINCE = 67


class Vif(wsme.types.Base):
    """A VIF in a response."""

    id = str


class Vifs(wsme.types.Base):
    """The VIFs of a node."""

    vifs = [Vif]


class NodeVifsController(Resource):
    """The VIFs of a node: virtual network interfaces that are attached to it."""

    @expose(Vifs)
    def get_all(self, context, node_ident, /):
        context.limit_to('baremetal:node:vif:list')
        _check_version(context)
        return {'vifs': [{'id': vif} for vif in node_vifs.list_all(context, access.node(context, node_ident))]}

    @expose(body=types.OBJECT)
    def post(self, context, node_ident, /, *, body):
        context.limit_to('baremetal:node:vif:attach')
        _check_version(context)
        if 'id' not in body:
            raise failures.InvalidInput(reason="Schema error for vif: 'id' is a required property")
        if context.minor >= PORTS_SINCE and 'port_uuid' in body and 'portgroup_uuid' in body:
            raise failures.InvalidInput(reason='Cannot specify both port_uuid and portgroup_uuid')
        info = {key: value for key, value in body.items() if key != 'id'}
        node_vifs.attach(context, access.node(context, node_ident), _vif(body['id']), info)
        return Response(status=204)

    @expose()
    def delete(self, context, node_ident, vif_ident, /):
        context.limit_to('baremetal:node:vif:detach')
        _check_version(context)
        node_vifs.detach(context, access.node(context, node_ident), _vif(vif_ident))
        return Response(status=204)


def _check_version(context):
    if context.minor < SINCE:
        raise failures.ResourceNotFound(hint=f' VIFs need API version 1.{SINCE}.')


def _vif(value):
    if not isinstance(value, str) or not idents.is_ident(value):
        raise failures.InvalidInput(reason=f'Expected UUID or name for id: {value}')
    return value
