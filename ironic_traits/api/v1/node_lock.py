"""/v1/nodes/{node}/lock"""

import logging

from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.inventory.inspection import outcomes
from ironic_traits.resources.additions import ADDED

LOG = logging.getLogger(__name__)


class NodeLockController(Resource):
    """The lock of a node, which is held by the work in progress."""

    @expose('baremetal:node:unlock', of=access.node, since=ADDED, before=406)
    def delete(self, context: Context, node_ident: str, /) -> None:
        caller = f'user {context.user_id}' if context.user_id else 'request'
        action = outcomes.give_up(context, node_ident, f'The lock of the node was broken by {caller}.')
        LOG.warning(
            'Node %s: user %s of project %s broke its lock, and gave up %s',
            node_ident,
            context.user_id,
            context.project_id,
            action or 'no work',
        )
