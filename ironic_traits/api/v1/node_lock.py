"""/v1/nodes/{node}/lock"""

import logging

from ironic_traits.api.expose import Response, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.inventory import transitions

LOG = logging.getLogger(__name__)


class NodeLockController(Resource):
    """The lock of a node, which is held by the work in progress."""

    @expose()
    def delete(self, context, node_ident, /):
        context.limit_to('baremetal:node:unlock')
        context.needs(38, 'to break the lock of a node')
        ident = access.node(context, node_ident)
        caller = f'user {context.user_id}' if context.user_id else 'request'
        action = transitions.give_up(context, ident, f'The lock of the node was broken by {caller}.')
        LOG.warning(
            'Node %s: user %s of project %s broke its lock, and gave up %s',
            ident,
            context.user_id,
            context.project_id,
            action or 'no work',
        )
        return Response(status=204)
