"""/v1/nodes/actions: one action on many nodes."""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import node_selection
from ironic_traits.context import Context
from ironic_traits.deploy import states
from ironic_traits.inventory.provisioning import node_actions
from ironic_traits.inventory.provisioning.node_actions import Action, Outcome
from ironic_traits.resources.additions import ADDED

#: {action: the minor version from which on it is possible in each state in which the state machine allows it}.
_SINCE = {verb: states.VERBS[verb].since for verb in node_actions.VERBS} | {'abort': 110}


class ActionBody(types.Base):
    """An action, the nodes, and whether to preview or to execute it."""

    action = wsme.types.wsattr(wsme.types.Enum(str, *node_actions.RULES), mandatory=True)
    reason = types.TEXT
    where = types.OBJECT
    nodes = [types.TEXT]
    preview = types.BOOLEAN
    digest = types.TEXT


class ActionOutcome(types.Base):
    """What the action does to a node. Only a refused one has an error: that of the request for this node."""

    uuid = types.UUID
    name = str
    outcome = wsme.types.Enum(str, *node_actions.OUTCOMES)
    status = int
    code = str
    error = str


class NodeActions(types.Base):
    """What an action would do, or has done. Only a preview has a digest."""

    digest = str
    matched = int
    done = int
    unchanged = int
    refused = int
    nodes = [ActionOutcome]


class NodeActionsController(Resource):
    """Actions on many nodes."""

    since = ADDED

    # Policy must allow one of the actions. After the body is read, it must allow the one that the body names.
    @expose(tuple(dict.fromkeys(node_actions.RULES.values())), NodeActions, since=ADDED, before=405, body=ActionBody)
    def post(self, context: Context, grant: Any, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        action = Action(body.action, fields.get('reason'))
        context.needs(_SINCE.get(action.name, 0), f"the action '{action.name}'")
        if action.reason is not None and not action.is_maintenance:
            raise failures.InvalidInput(reason="Only the action 'maintenance' has a 'reason'.")
        selection = node_selection.parse(context, fields)
        node_selection.check_step(fields)
        if 'digest' in fields:
            report, digest = node_actions.execute(context, action, selection, fields['digest']), {}
        else:
            report = node_actions.preview(context, action, selection)
            digest = {'digest': report.digest}
        nodes = [_outcome(each) for each in report.outcomes]
        return digest | {'matched': len(nodes)} | report.counts | {'nodes': nodes}


def _outcome(each: Outcome) -> dict[str, Any]:
    document = {'uuid': each.node.uuid, 'name': each.node.name, 'outcome': each.outcome}
    if each.failure:
        document |= {'status': each.failure.status, 'code': each.failure.code, 'error': str(each.failure)}
    return document
