"""/v1/nodes/{node}/states/power"""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import patch, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.deploy import states
from ironic_traits.inventory.provisioning import node_states

#: The minor version that brought the soft targets, and the timeout.
_TIMEOUT_SINCE = 27


class PowerBody(types.Base):
    """The requested power state. ``timeout``, in seconds, is passed to the driver."""

    _since = {'timeout': _TIMEOUT_SINCE}

    target = types.TEXT
    timeout = types.PositiveInteger(is_converted=True)


class NodePowerController(Resource):
    """The power state of a node."""

    @expose('baremetal:node:set_power_state', of=access.node, body=Body(PowerBody, optional=True), statuses=(202,))
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> Response:
        arguments = read_arguments(body)
        target = arguments.pop('target')
        if target in (states.SOFT_REBOOT, states.SOFT_POWER_OFF):
            context.needs(_TIMEOUT_SINCE, f"the target '{target}'")
        if 'timeout' in arguments:
            context.needs(_TIMEOUT_SINCE, "'timeout'")
        node_states.power(context, node_ident, target, arguments)
        return Response(status=202, location=f'/v1/nodes/{node_ident}/states')


def read_arguments(body: Any) -> dict[str, Any]:
    """Return the arguments of a request to change a state.

    :param body: an object of a WSME type with ``target``; None for no body.
    :returns: {name: value}, without nulls. ``target`` is always there, and may be None.
    :raises failures.InvalidInput: the body has no target.
    """
    if body is None or body.target is wsme.types.Unset:
        raise failures.InvalidInput(reason='Missing mandatory parameter: target')
    fields = patch.stated_fields(body)
    return {name: value for name, value in fields.items() if name == 'target' or value is not None}
