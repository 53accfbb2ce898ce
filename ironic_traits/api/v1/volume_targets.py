"""/v1/volume/targets"""

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.volume import TARGETS as KIND


class TargetBody(wsme.types.Base):
    """The fields of a volume target that clients may set."""

    uuid = types.UUID
    node_uuid = types.UUID
    volume_type = types.TEXT_255
    boot_index = types.Integer()
    volume_id = types.TEXT_255
    properties = types.OBJECT
    extra = types.OBJECT


class Target(TargetBody):
    """A volume target in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    links = types.LINKS


class Targets(wsme.types.Base):
    """A page of volume targets."""

    targets = [Target]
    next = str


TARGETS = Records(kind=KIND, body=TargetBody)


class NodeTargetsController(Resource):
    """The volume targets of a node."""

    @expose(Targets, query=LIST_QUERY)
    def get_all(self, context, node_ident, /, **query):
        access.visible_node(context, node_ident)
        context.can('baremetal:volume:list')
        return TARGETS.page(context, {**query, 'node': node_ident})


class TargetsController(Resource):
    """Volume targets: the remote volumes of nodes."""

    @expose(Targets, query={**LIST_QUERY, 'node': types.TEXT})
    def get_all(self, context, /, **query):
        context.can('baremetal:volume:list')
        return TARGETS.page(context, query)

    @expose(Target, query=FIELDS_QUERY)
    def get_one(self, context, target_uuid, /, *, fields=None):
        context.limit_to('baremetal:volume:get')
        return TARGETS.show(context, target_uuid, fields)

    @expose(Target, body=TargetBody)
    def post(self, context, /, *, body):
        context.can('baremetal:volume:create')
        return TARGETS.create(context, body)

    @expose(Target, body=[types.PatchOperation])
    def patch(self, context, target_uuid, /, *, body):
        context.limit_to('baremetal:volume:update')
        return TARGETS.change(context, target_uuid, body)

    @expose()
    def delete(self, context, target_uuid, /):
        context.limit_to('baremetal:volume:delete')
        return TARGETS.delete(context, target_uuid)
