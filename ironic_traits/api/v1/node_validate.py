"""/v1/nodes/{node}/validate"""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.provisioning import node_states


class Validation(types.Base):
    """The result of the validation of an interface, and the reason if it failed."""

    result = bool
    reason = str


class NodeValidateController(Resource):
    """The validation of the interfaces of a node."""

    @expose('baremetal:node:validate', {str: Validation}, of=access.node)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /) -> dict[str, Any]:
        return _validation(context, grant)


class NodesValidateController(Resource):
    """The validation of a node that the query names."""

    @expose(
        'baremetal:node:validate',
        {str: Validation},
        of=access.node,
        query={'node': types.TEXT, 'node_uuid': types.UUID},
    )
    def get_all(self, context: Context, grant: Grant, /, *, node: Any = None, node_uuid: Any = None) -> dict[str, Any]:
        if node_uuid is None and not node:
            raise failures.InvalidInput(reason='Expected a logical name or UUID but received None.')
        return _validation(context, access.node(context, grant, node_uuid or node))


def _validation(context: Context, grant: Grant) -> dict[str, Any]:
    reasons = node_states.validate_node(context, grant.ident)
    return {
        interface: {'result': False, 'reason': reason} if reason else {'result': True}
        for interface, reason in reasons.items()
    }
