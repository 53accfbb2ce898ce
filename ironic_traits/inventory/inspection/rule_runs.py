"""Runs inspection rules on nodes, and writes their changes.

Each rule is a source (``matching.rules.rule_holds``). A run replaces the traits that each rule holds on a node. Rules
that are no longer in force lose their traits. A run also replaces the node's mismatches. All this happens under the
node's lock, in one transaction, with one entry in the history for the traits.
"""

import functools
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import clauses
from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import referring
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core import history, mismatches
from ironic_traits.inventory.core.mismatches import Replacement
from ironic_traits.inventory.inspection import node_inventories
from ironic_traits.inventory.nodes import node_facts
from ironic_traits.inventory.traits import trait_store
from ironic_traits.inventory.traits.node_traits import NodeEdit, store
from ironic_traits.inventory.traits.trait_store import Hold
from ironic_traits.matching.rules import rule_evaluation, rule_fields, rule_holds
from ironic_traits.matching.rules.inspection_rules import Rule
from ironic_traits.matching.rules.rule_evaluation import Evaluation

LOG = logging.getLogger(__name__)
#: Maximum number of entries of a node that are compared with new entries.
_RECENT = 100
#: Maximum number of nodes whose data is read at once.
_AT_ONCE = 20


class Run(NamedTuple):
    """The result of a run of rules on a node.

    :ivar node: row with ``id`` and ``uuid``.
    :ivar evaluation: the result of each rule.
    :ivar stored: the stored traits of the node before the run.
    :ivar settled: the changes of the traits.
    :ivar mismatches: the mismatches before and after.
    :ivar failures: {name of a rule: why it cannot be applied}.
    """

    node: sa.Row
    evaluation: Evaluation
    stored: trait_store.StoredTraits
    settled: rule_holds.Settled
    mismatches: Replacement
    failures: dict[str, str]

    @property
    def is_changing(self) -> bool:
        """Whether the run changes the traits or the mismatches."""
        return self.settled.edit.changes or self.mismatches.before != self.mismatches.after


def run(
    context: Context,
    connection: sa.Connection,
    node: sa.Row,
    document: Mapping[str, Any],
    rules: Sequence[Rule],
    *,
    whole: bool,
) -> Run:
    """Run rules on a node.

    :param connection: connection of a writer that has taken the node's lock. The outermost writer is ``retried``.
    :param node: row with ``id`` and ``uuid``.
    :param document: data of an inspection: {'inventory': {…}, 'plugin_data': {…}}.
    :param rules: all rules in force.
    :param whole: whether this is the end of an inspection. Then failures are always recorded, and the caller applies
        the other changes (``rule_effects``). If a rule ends the inspection, nothing changes.
    """
    result = preview(context, connection, node, document, rules)
    write(context, connection, [result], whole)
    return result


def preview(
    context: Context, connection: sa.Connection, node: sa.Row, document: Mapping[str, Any], rules: Sequence[Rule]
) -> Run:
    """Return what ``run`` would do. Write nothing."""
    (result,) = _decide(context, connection, [node], lambda node_id: document, rules)
    return result


def decide(
    context: Context,
    connection: sa.Connection,
    nodes: Sequence[sa.Row],
    rules: Sequence[Rule],
    seconds: float,
) -> tuple[list[Run], int]:
    """Return the results of a run of rules on nodes with their stored data. Write nothing.

    The run ends early when it takes too long. With a hostile rule or inventory, a node may take some seconds.

    :param nodes: rows with ``id`` and ``uuid``. Those without data are skipped.
    :param seconds: time limit, after which no further node is started.
    :returns: ([Run, …] without the facts, number of nodes that were considered).
    """
    runs: list[Run] = []
    end = time.monotonic() + seconds
    for begin in range(0, len(nodes), _AT_ONCE):
        some = nodes[begin : begin + _AT_ONCE]
        inventories = node_inventories.read_all(connection, [node.id for node in some])
        with_data = [node for node in some if node.id in inventories]
        # Parsed one after another, because the data of a node may have megabytes.
        decided = _decide(context, connection, with_data, functools.partial(_parsed, inventories), rules)
        for run in decided:
            run.evaluation.node = run.evaluation.plugin_data = run.evaluation.unmasked = {}
            runs.append(run)
            if time.monotonic() > end:
                return runs, nodes.index(run.node) + 1
    return runs, len(nodes)


def _parsed(inventories: Mapping[int, node_inventories.Inventory], node_id: int) -> Mapping[str, Any]:
    return orjson.loads(inventories[node_id].json)


def _decide(
    context: Context,
    connection: sa.Connection,
    nodes: Sequence[sa.Row],
    document: Callable[[int], Mapping[str, Any]],
    rules: Sequence[Rule],
) -> Iterator[Run]:
    """Yield the results of a run of rules on nodes.

    :param document: function from a node id to the data of the node's inspection.
    """
    ids = [node.id for node in nodes]
    fields = node_facts.read_all(connection, ids, rule_fields.fields(rules))
    stored = trait_store.read_many(connection, context.service.writers, ids)
    before = mismatches.read_all(connection, ids)
    limit = context.conf.inventory.max_traits_per_node
    for node in nodes:
        evaluation = rule_evaluation.evaluate(rules, fields[node.id].with_data(document(node.id)), limit=None)
        yield _run(node, evaluation, stored[node.id], before.get(node.id, {}), limit)


def _run(
    node: sa.Row, evaluation: Evaluation, stored: trait_store.StoredTraits, before: Mapping[str, str], limit: int
) -> Run:
    if evaluation.failure is not None:
        # A rule ends the inspection. Then the results of the other rules do not count.
        unchanged = rule_holds.Settled(rule_holds.Edit(stored.traits, stored.traits), {})
        return Run(node, evaluation, stored, unchanged, Replacement(node.id, before, before), {})
    wanted = {result.rule.name: result.traits for result in evaluation.results}
    settled = rule_holds.settle(stored.traits, wanted, _pending, limit)
    failures = {result.rule.name: result.failure for result in evaluation.results if result.failure is not None}
    failures |= {name: rule_evaluation.no_room(traits, limit) for name, traits in settled.excess.items()}
    after = {
        result.rule.name: mismatches.message(result.effects.mismatches)
        for result in evaluation.results
        if result.effects.mismatches
    }
    return Run(node, evaluation, stored, settled, Replacement(node.id, before, after), failures)


class _Pending(NamedTuple):
    """The hold of a source whose writer is not known yet."""

    source: str


def _pending(source: str) -> _Pending:
    return _Pending(source)


def write(context: Context, connection: sa.Connection, runs: Sequence[Run], whole: bool) -> None:
    """Store the changes of runs.

    :param connection: connection of a writer that has taken the nodes' locks.
    :param runs: results of ``decide`` under the locks.
    :param whole: as for ``run``.
    """
    moment = read_clock(connection)
    author = _author(context, whole)
    changing = [each for each in runs if each.settled.edit.changes]
    edits = _edits(context, connection, changing, moment)
    entries = [
        history.rules_edit(author, each.node.uuid, moment, each.settled.changed, each.settled.edit) for each in changing
    ]
    if edits:
        _store(connection, edits, entries)
    mismatches.replace(connection, [each.mismatches for each in runs], moment)
    recent = {} if whole else _recent(connection, [each.node.uuid for each in runs if each.failures])
    history.record(connection, *(entry for each in runs for entry in _events(each, author, moment, recent)))
    for each in runs:
        _log(each)


def _author(context: Context, whole: bool) -> history.Author:
    """Return the author of the entries in the history. Workers end the inspections."""
    if whole:
        return functools.partial(history.entry, None, conductor=context.conf.host)
    return functools.partial(history.entry, context)


def _edits(context: Context, connection: sa.Connection, runs: Sequence[Run], moment: Any) -> list[NodeEdit]:
    """Return the edits of runs, with the holds to store."""
    sources = {hold.source for each in runs for _, hold in _new_holds(each)}
    ids = context.service.writers.ids_in(connection, context, sources)
    edits = []
    for each in runs:
        edit = each.settled.edit
        for holds, hold in _new_holds(each):
            holds[hold.source] = Hold(ids[hold.source], moment)
        edits.append(NodeEdit(each.node, each.stored, edit))
    return edits


def _new_holds(run: Run) -> list[tuple[Any, _Pending]]:
    """Return the holds that a run adds, each with the holds of its trait."""
    after = run.settled.edit.after.holders.values()
    return [(holds, hold) for holds in after for hold in holds.values() if isinstance(hold, _Pending)]


def _store(connection: sa.Connection, edits: Sequence[NodeEdit], entries: Sequence[Values]) -> None:
    names.ensure(connection, tables.traits, {name for each in edits for name in each.edit.added})
    try:
        with referring():
            store(connection, edits, entries)
    except joined.MissingRows as error:
        # Another transaction has deleted one of the traits in the meantime.
        raise db_exception.RetryRequest(error) from error


def _events(run: Run, author: history.Author, moment: Any, recent: Mapping[str, Collection[str]]) -> Iterator[Values]:
    """Yield the entries for rules that failed, and for mismatches that begin, change or end.

    :param recent: {uuid of a node: texts of its last entries}. A failure with the same text is not repeated.
    """
    for name, failure in run.failures.items():
        event = f'Rule {name} failed: {failure}.'
        if event not in recent.get(run.node.uuid, ()):
            yield author(run.node.uuid, moment, history.INSPECTION, event, severity=history.ERROR)
    _, before, after = run.mismatches
    for name, message in after.items():
        if before.get(name) != message:
            event = f'The node is {mismatches.text(name, message)}.'
            yield author(run.node.uuid, moment, history.INSPECTION, event, severity=history.WARNING)
    for name in before.keys() - after.keys():
        event = f'The node is what {clauses.EXPECTED.format(name)}, or the rule has gone.'
        yield author(run.node.uuid, moment, history.INSPECTION, event)


def _recent(connection: sa.Connection, uuids: Sequence[str]) -> dict[str, set[str]]:
    """Return the texts of the last entries about inspections of nodes, {uuid of a node: texts}."""
    columns = tables.node_history.c
    statement = sa.select(columns.event).order_by(columns.id.desc()).limit(_RECENT)
    return {
        uuid: set(
            connection.scalars(statement.where(columns.node_uuid == uuid, columns.event_type == history.INSPECTION))
        )
        for uuid in uuids
    }


def _log(run: Run) -> None:
    for result in run.evaluation.results:
        for level, text in result.effects.messages:
            LOG.log(logging.getLevelName(level.upper()), 'Node %s, rule %s: %s', run.node.uuid, result.rule.name, text)
