"""/v1/nodes/{node}/states/power"""

import wsme.types

from ironic_traits import failures
from ironic_traits.api import patch, types
from ironic_traits.api.expose import Answer, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.deploy import states
from ironic_traits.inventory import node_states


class PowerBody(wsme.types.Base):
    """What power state is asked for.

    ``timeout``, in seconds, is passed on to the driver.
    """

    target = types.TEXT
    timeout = types.PositiveInteger()


class NodePowerController(Resource):
    """The power state of a node."""

    @expose(body=PowerBody, optional_body=True)
    def put(self, context, node_ident, /, *, body):
        context.limit_to('baremetal:node:set_power_state')
        ident = access.node(context, node_ident)
        given = asked(body)
        target = given.pop('target')
        if target in (states.SOFT_REBOOT, states.SOFT_POWER_OFF):
            context.needs(27, f"the target '{target}'")
        if 'timeout' in given:
            context.needs(27, "'timeout'")
        node_states.power(context, ident, target, given)
        return Answer(status=202, location=f'/v1/nodes/{node_ident}/states')


def asked(body):
    """Give what the body of a change of state says.

    :param body: an object of a WSME type with ``target``; None for no body.
    :returns: {name: value} of what is not null, and ``target`` always.
    :raises failures.InvalidInput: there is no target.
    """
    if body is None or body.target is wsme.types.Unset:
        raise failures.InvalidInput(reason='Missing mandatory parameter: target')
    return {name: value for name, value in patch.given(body).items() if name == 'target' or value is not None}
