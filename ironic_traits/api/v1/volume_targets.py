"""/v1/volume/targets"""

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.records.volume import TARGETS as KIND


class TargetBody(types.Base):
    """The fields of a volume target that clients may set."""

    _resource = KIND.resource

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


class Targets(types.Base):
    """A page of volume targets."""

    targets = [Target]
    next = str


TARGETS = Records(kind=KIND, body=TargetBody)
SINCE = TARGETS.served_since


class NodeTargetsController(Resource):
    """The volume targets of a node."""

    @expose('baremetal:volume:list', Targets, within=access.visible_node, since=SINCE, query=LIST_QUERY)
    def get_all(self, context, grant, node_ident, /, **query):
        return TARGETS.page(context, grant, {**query, 'node': node_ident})


class TargetsController(Resource):
    """Volume targets: the remote volumes of nodes."""

    @expose('baremetal:volume:list', Targets, since=SINCE, query={**LIST_QUERY, 'node': types.TEXT})
    def get_all(self, context, grant, /, **query):
        return TARGETS.page(context, grant, query)

    @expose('baremetal:volume:get', Target, of=TARGETS.allowed, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, target_uuid, /, *, fields=None):
        return TARGETS.show(context, grant, fields)

    @expose('baremetal:volume:create', Target, since=SINCE, body=TargetBody, statuses=(201,))
    def post(self, context, grant, /, *, body):
        return TARGETS.create(context, grant, body)

    @expose('baremetal:volume:update', Target, of=TARGETS.allowed, since=SINCE, body=[types.PatchOperation])
    def patch(self, context, grant, target_uuid, /, *, body):
        return TARGETS.change(context, grant, body)

    @expose('baremetal:volume:delete', of=TARGETS.allowed, since=SINCE)
    def delete(self, context, grant, target_uuid, /):
        return TARGETS.delete(context, grant)
