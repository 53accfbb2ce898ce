"""Actions on many nodes: the same request for each of them, and one report.

Each node has its own transaction, that of the request for a single node. A node that refuses the action does not stop
the others. An interrupted request leaves each node either done or untouched.
"""

import functools
import hashlib
import logging
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import orjson
import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant, target_of
from ironic_traits.db import tables
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.inventory.core import node_selection, origins
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.provisioning import node_states

LOG = logging.getLogger(__name__)

#: The verbs that need no arguments, and that neither deploy an instance nor end one.
VERBS = ('manage', 'provide', 'inspect', 'adopt', 'abort', 'unhold')
#: {action: policy rule that must allow it for a node}. The rules are those of the routes of a single node.
RULES = {
    'maintenance': 'baremetal:node:set_maintenance',
    'unset_maintenance': 'baremetal:node:clear_maintenance',
    **dict.fromkeys(VERBS, 'baremetal:node:set_provision_state'),
}
#: What an action does to a node, or has done.
DONE, UNCHANGED, REFUSED = OUTCOMES = ('done', 'unchanged', 'refused')
_READ = (
    sa.select(*node_states.VISIBLE)
    .where(tables.nodes.c.id.in_(sa.bindparam('ids', expanding=True)))
    .order_by(tables.nodes.c.id)
)
_LOCK = prepared(
    sa.select(*(tables.nodes.c[name] for name in ('uuid', 'provision_state', 'maintenance', 'maintenance_reason')))
    .where(tables.nodes.c.id == sa.bindparam('id'))
    .with_for_update()
)


class Action(NamedTuple):
    """An action on any node.

    :ivar name: a key of RULES.
    :ivar reason: the reason of a maintenance; None for no reason.
    """

    name: str
    reason: str | None = None

    @property
    def is_maintenance(self) -> bool:
        """Whether the action sets maintenance."""
        return self.name == 'maintenance'


class Outcome(NamedTuple):
    """What an action does to a node.

    :ivar node: row with ``uuid`` and ``name``.
    :ivar outcome: one of OUTCOMES.
    :ivar failure: why it is refused; None for other outcomes.
    """

    node: sa.Row
    outcome: str
    failure: failures.Failure | None = None


class Report(NamedTuple):
    """What an action does to all selected nodes.

    :ivar digest: digest of the action, of the nodes and of their states before it.
    :ivar outcomes: the outcome of each node, in the order of their ids.
    """

    digest: str
    outcomes: list[Outcome]

    @property
    def counts(self) -> dict[str, int]:
        """{outcome: number of nodes}, for each of OUTCOMES."""
        counts = Counter(each.outcome for each in self.outcomes)
        return {outcome: counts[outcome] for outcome in OUTCOMES}


def preview(context: Context, action: Action, selection: Selection) -> Report:
    """Return what an action would do. Nothing is locked: each node is checked again when the action is executed.

    :raises failures.NodeNotFound: the selection names a node that does not exist, or that the caller may not see.
    :raises failures.InvalidInput: it selects more than ``[api] max_limit`` nodes.
    :raises failures.Forbidden: policy allows the caller the action for no node.
    """
    grant = context.can(RULES[action.name])
    with context.read() as connection:
        selected = node_selection.select(context, connection, Grant(()), selection)
        if len(selected) > context.conf.api.max_limit:
            limit = f'at most {context.conf.api.max_limit} ([api] max_limit) are allowed'
            raise failures.InvalidInput(reason=f'The request selects {len(selected)} nodes, and {limit}.')
        batches = node_selection.batches([node.id for node in selected])
        rows = [row for ids in batches for row in connection.execute(_READ, {'ids': ids})]
        return Report(_digest(action, rows), [_expected(context, connection, grant, action, row) for row in rows])


def execute(context: Context, action: Action, selection: Selection, digest: str) -> Report:
    """Carry out an action on each selected node on which it is possible.

    :param digest: digest of a preview.
    :raises failures.ActionOutdated: a preview would have another digest now.
    :raises failures.Failure: as ``preview``.
    """
    expected = preview(context, action, selection)
    if expected.digest != digest:
        raise failures.ActionOutdated(expected.digest)
    # A refused node is not tried: the request would wait for the lock of each node that a worker has locked.
    report = Report(
        digest, [_carry_out(context, action, each) if each.outcome == DONE else each for each in expected.outcomes]
    )
    LOG.info('The action %s was executed on %d selected nodes: %s', action.name, len(report.outcomes), report.counts)
    return report


def _expected(context: Context, connection: sa.Connection, grant: Grant, action: Action, node: sa.Row) -> Outcome:
    """Return what an action would do to a node.

    :param grant: what policy allows the action for.
    :param node: row with ``node_states.VISIBLE``.
    """
    try:
        if grant.rules and not any(context.may(rule, target_of(node)) for rule in grant.rules):
            raise context.forbidden(*grant.rules)
        if action.name in VERBS:
            node_states.check(context, connection, node, action.name)
            return Outcome(node, DONE)
        origins.check_own(connection, node)
    except failures.Failure as failure:
        return Outcome(node, REFUSED, failure)
    # Without a new reason, a node in maintenance keeps the one that it has.
    is_kept = action.is_maintenance and action.reason is None and node.maintenance
    is_set = is_kept or nodes.is_maintenance(node, action.is_maintenance, action.reason)
    return Outcome(node, UNCHANGED if is_set else DONE)


def _carry_out(context: Context, action: Action, expected: Outcome) -> Outcome:
    """Carry out an action on a node as a request for this node does, unless another request has changed the node."""
    uuid = expected.node.uuid
    context.guard = functools.partial(_check_unchanged, action, expected.node)
    try:
        if action.name in VERBS:
            node_states.provision(context, uuid, action.name, {})
        else:
            nodes.set_maintenance(context, uuid, action.is_maintenance, action.reason)
    except failures.Failure as failure:
        return Outcome(expected.node, REFUSED, failure)
    finally:
        context.guard = None
    return expected


def _check_unchanged(action: Action, before: sa.Row, connection: sa.Connection) -> None:
    """Lock a node, and raise NodeChanged unless it is in the state on which the action was previewed."""
    node = connection.execute(_LOCK, {'id': before.id}).first()
    # The action itself refuses a node that is gone.
    names = ('provision_state',) if action.name in VERBS else ('maintenance', 'maintenance_reason')
    if node and any(getattr(node, name) != getattr(before, name) for name in names):
        maintenance = f', and in maintenance: {node.maintenance_reason or "no reason"}' if node.maintenance else ''
        since = f'since the preview: it is in state "{node.provision_state}"{maintenance}'
        raise failures.NodeChanged(node=node.uuid, since=since, result='It was left as it is.')


def _digest(action: Action, rows: Sequence[sa.Row]) -> str:
    """Return the digest of an action and of nodes. It does not depend on locks: a refused node stops no other."""
    states = [(node.uuid, node.provision_state, node.maintenance, node.maintenance_reason) for node in rows]
    return hashlib.sha256(orjson.dumps([*action, states])).hexdigest()
