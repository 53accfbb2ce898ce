"""Runs the inspection rules in force on the stored data of many nodes.

Nodes are written in batches, each in its own transaction. An interrupted request leaves complete batches. It can be
sent again: a repeated run changes nothing.
"""

import dataclasses
import datetime
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context, Grant
from ironic_traits.db.engine import retried
from ironic_traits.inventory.core import node_selection
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.inventory.inspection import rule_runs, rule_selection
from ironic_traits.inventory.inspection.rule_runs import Run
from ironic_traits.matching.rules import rule_digest

LOG = logging.getLogger(__name__)

#: Policy rule that must allow the request for each of the nodes.
RULE = 'baremetal:inspection_rule:apply'
#: Maximum number of nodes in one transaction, so that their locks are held only for some tenths of a second.
BATCH = 50
#: Time limits of a batch, so that nodes do not stay locked, and of a request.
_BATCH_SECONDS, _SECONDS = 2, 20


@dataclasses.dataclass
class RuleApplication:
    """The result of a run on nodes.

    :ivar selected: the selected nodes.
    :ivar applied: number of nodes on which the rules ran.
    :ivar changed: number of nodes whose traits or mismatches changed.
    :ivar failed: {name of a rule: number of nodes on which it failed}.
    :ivar mismatched: {name of a rule: number of nodes that do not meet its expectations}.
    :ivar ended: number of nodes on which a rule would end the inspection. Nothing changed there.
    :ivar locked: rows of the nodes that were left out because a worker has locked them.
    :ivar marker: marker of the next page; None after the last one.
    """

    selected: rule_selection.Selected
    applied: int = 0
    changed: int = 0
    failed: Counter[str] = dataclasses.field(default_factory=Counter)
    mismatched: Counter[str] = dataclasses.field(default_factory=Counter)
    ended: int = 0
    locked: list[sa.Row] = dataclasses.field(default_factory=list)
    marker: str | None = None

    def add(self, runs: Sequence[Run], locked: Sequence[sa.Row]) -> None:
        """Add a batch of nodes."""
        self.applied += len(runs)
        self.locked += locked
        for run in runs:
            self.changed += run.is_changing
            self.ended += run.evaluation.failure is not None
            self.failed.update(run.failures.keys())
            self.mismatched.update(run.mismatches.after.keys())


def execute(
    context: Context, grant: Grant, selection: Selection, digest: str, limit: int, marker: str | None
) -> RuleApplication:
    """Run the rules in force on the stored data of nodes.

    :param digest: digest of a preview of the rules in force.
    :param limit: maximum number of nodes.
    :param marker: uuid of the last node of the previous page; None for the first page.
    :raises failures.PreviewOutdated: a preview would have another digest now.
    :raises failures.NodeNotFound: the selection or the marker names a node that does not exist, or that the caller may
        not see.
    :raises failures.EditForbidden: policy does not allow the request for one of the nodes.
    """
    with context.read() as connection:
        rules = rule_digest.digest(rule_selection.rules(context, connection))
        start = rule_selection.start(context, connection, grant, marker)
        selected = rule_selection.read(context, connection, grant, selection, RULE)
    current = selected.digest(rules)
    if current != digest:
        raise failures.PreviewOutdated(current)
    nodes, following = selected.page(start, limit)
    result = RuleApplication(selected, marker=following)
    end, begin = time.monotonic() + _SECONDS, 0
    while begin < len(nodes):
        batch = selected.received_by(nodes[begin : begin + BATCH])
        runs, locked, considered = _batch(context, grant, selection, batch, rules)
        result.add(runs, locked)
        begin += considered
        if begin < len(nodes) and time.monotonic() > end:
            result.marker = nodes[begin - 1].uuid
            break
    LOG.info('The inspection rules ran on %d nodes, %d of them changed', result.applied, result.changed)
    return result


@retried
def _batch(
    context: Context, grant: Grant, selection: Selection, received: Mapping[int, datetime.datetime], digest: str
) -> tuple[list[Run], list[sa.Row], int]:
    """Run the rules on nodes in one transaction.

    :param received: {node id: when its data was stored}, by id. These nodes were selected.
    :param digest: digest of the rules.
    :returns: ([Run, …], rows of the nodes that workers have locked, number of nodes that were considered).
    :raises failures.PreviewOutdated: other rules are in force now, or a node is not selected any more or has other
        data.
    """
    with context.write() as connection:
        ids = list(received)
        node_selection.lock(connection, ids)
        # Read again: another transaction may have changed the nodes before they were locked.
        selected = rule_selection.read(context, connection, grant, selection, RULE, ids)
        rules = rule_selection.rules(context, connection)
        current = rule_digest.digest(rules)
        if current != digest or selected.received != received:
            every = rule_selection.read(context, connection, grant, selection, RULE)
            raise failures.PreviewOutdated(every.digest(current))
        locked = [row for row in selected.nodes if row.reservation]
        free = [row for row in selected.nodes if not row.reservation]
        runs, considered = rule_runs.decide(context, connection, free, rules, _BATCH_SECONDS)
        rule_runs.write(context, connection, runs, whole=False)
        if considered == len(free):
            return runs, locked, len(ids)
        last = free[considered - 1].id
        return runs, [row for row in locked if row.id < last], ids.index(last) + 1
