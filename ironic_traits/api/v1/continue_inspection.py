"""/v1/continue_inspection"""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import node_fields, node_types
from ironic_traits.api.v1.inspection_types import RAMDISK_DATA
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import inspections
from ironic_traits.inventory.nodes import nodes

#: The minor version that brought the route. Ramdisks name no version, which means the first.
SINCE, FIRST = 84, 1
_PATH = '/v1/continue_inspection'
_FIELDS = ('uuid', 'properties', 'instance_info', 'driver_internal_info')


class InspectedNode(types.Base):
    """The node that the data of an inspection is from: its uuid, or, from 1.84 on, the node.

    Ironic's ``config`` is for heartbeats, which this service does not have.
    """

    uuid = types.UUID
    node = node_types.Node
    config = types.OBJECT


def _check_served(context: Context) -> None:
    """Raise unless the route is enabled, served at the version of the request, and a node waits for a large body."""
    if not context.conf.api.enable_ramdisk_endpoints:
        raise failures.Forbidden(rule=_PATH)
    if FIRST < context.minor < SINCE:
        raise _too_early()
    # To read a small body costs nothing, and what is wrong with it is said first, as in Ironic.
    if not request_body.is_small(context):
        inspections.check_expected(context)


def _too_early() -> failures.ResourceNotFound:
    return failures.ResourceNotFound(hint=f' POST {_PATH} needs API version 1.{SINCE}.')


class ContinueInspectionController(Resource):
    """The data of inspections, as ramdisks send it. They cannot authenticate."""

    since = SINCE

    @expose(
        'baremetal:driver:ipa_continue_inspection',
        InspectedNode,
        query={'node_uuid': types.UUID},
        body=Body(RAMDISK_DATA, max_size=lambda conf: conf.inspection.max_ramdisk_data_size, check=_check_served),
        statuses=(202,),
    )
    def post(self, context: Context, /, *, body: Any, node_uuid: str | None = None) -> Response:
        if node_uuid and context.minor < SINCE:
            raise _too_early()
        if not (body.macs or body.bmc_addresses or node_uuid):
            raise failures.InvalidInput(reason='No lookup information provided')
        uuid = inspections.receive(context, body, node_uuid)
        return Response(_shown(context, uuid), status=202)


def _shown(context: Context, uuid: str) -> dict[str, Any]:
    if context.minor < SINCE:
        return {'uuid': uuid}
    row = nodes.get(context, Grant(()).of(uuid), _FIELDS)
    return {'node': node_fields.presenter(context, _FIELDS, 'node')(row), 'config': {}}
