"""What runs of inspection rules do, in responses."""

from collections import Counter
from typing import Any

from ironic_traits.api import types
from ironic_traits.api.v1.trait_edits import LockedNode
from ironic_traits.inventory.inspection import rule_previews
from ironic_traits.inventory.inspection.rule_applications import RuleApplication
from ironic_traits.inventory.inspection.rule_runs import Run
from ironic_traits.matching.rules.rule_evaluation import Evaluation, RuleResult
from ironic_traits.matching.sources import RULE


class RuleOutcome(types.Base):
    """What one rule does on a node."""

    rule = str
    matched = bool
    unmet = str
    failure = str
    traits = [str]
    changes = [str]
    mismatches = [str]
    warnings = [str]


class PreviewedNode(types.Base):
    """What rules would do on a node."""

    uuid = types.UUID
    name = str
    added = [str]
    removed = [str]
    kept = [str]
    vetoed = [str]
    failure = str
    rules = [RuleOutcome]


class RuleTotals(types.Base):
    """Numbers of the nodes on a page."""

    nodes = int
    changed = int
    added = {str: int}
    removed = {str: int}
    matched = {str: int}
    failed = {str: int}
    mismatched = {str: int}


class RulePreview(types.Base):
    """A page of a preview. That of a document has neither digest nor selected nodes."""

    digest = str
    selected = int
    without_data = int
    nodes = [PreviewedNode]
    totals = RuleTotals
    overlaps = types.OBJECT
    next = str


class AppliedRules(types.Base):
    """What a run over a page of nodes has done."""

    selected = int
    without_data = int
    applied = int
    changed = int
    ended = int
    failed = {str: int}
    mismatched = {str: int}
    locked = [LockedNode]
    next = str


def preview(result: rule_previews.RulePreviewPage) -> dict[str, Any]:
    """Return a preview of nodes."""
    return {
        'digest': result.digest,
        'selected': len(result.selected.nodes),
        'without_data': result.selected.without_data,
        **_page([_run(run) for run in result.runs]),
        'next': result.marker,
    }


def document_preview(evaluation: Evaluation) -> dict[str, Any]:
    """Return the preview of one document."""
    failed = {result.rule.name: result.failure for result in evaluation.results if result.failure is not None}
    return _page([{'uuid': None, 'name': None, **_node(evaluation, failed), 'added': sorted(evaluation.traits)}])


def application(result: RuleApplication) -> dict[str, Any]:
    """Return what a run over nodes has done."""
    return {
        'selected': len(result.selected.nodes),
        'without_data': result.selected.without_data,
        'applied': result.applied,
        'changed': result.changed,
        'ended': result.ended,
        'failed': dict(sorted(result.failed.items())),
        'mismatched': dict(sorted(result.mismatched.items())),
        'locked': [{'uuid': node.uuid, 'name': node.name} for node in result.locked],
        'next': result.marker,
    }


def _page(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    totals: dict[str, Counter] = {name: Counter() for name in ('added', 'removed', 'matched', 'failed', 'mismatched')}
    holders: dict[str, set] = {}
    for node in nodes:
        totals['added'].update(node['added'])
        totals['removed'].update(node['removed'])
        for rule in node['rules']:
            totals['matched'].update([rule['rule']] if rule['matched'] else [])
            totals['failed'].update([rule['rule']] if rule['failure'] else [])
            totals['mismatched'].update([rule['rule']] if rule['mismatches'] else [])
            for trait in rule['traits']:
                holders.setdefault(trait, set()).add(rule['rule'])
    numbers = {name: dict(sorted(counter.items())) for name, counter in totals.items()}
    changed = sum(bool(node['added'] or node['removed']) for node in nodes)
    return {
        'nodes': nodes,
        'totals': {'nodes': len(nodes), 'changed': changed, **numbers},
        'overlaps': {trait: sorted(names) for trait, names in sorted(holders.items()) if len(names) > 1},
    }


def _run(run: Run) -> dict[str, Any]:
    edit = run.settled.edit
    of_rules = {trait for trait, holds in edit.after.holders.items() if any(map(_is_of_rule, holds))}
    return {
        'uuid': run.node.uuid,
        'name': run.node.name,
        **_node(run.evaluation, run.failures),
        'added': sorted(edit.added),
        'removed': sorted(edit.removed),
        'kept': sorted(of_rules & edit.before.holders.keys()),
        'vetoed': sorted(edit.refused),
    }


def _is_of_rule(source: str) -> bool:
    return source.startswith(RULE)


def _node(evaluation: Evaluation, failed: dict[str, str]) -> dict[str, Any]:
    outcomes = [_outcome(result, failed.get(result.rule.name)) for result in evaluation.results]
    return {
        **{name: [] for name in ('added', 'removed', 'kept', 'vetoed')},
        'failure': evaluation.failure,
        'rules': outcomes,
    }


def _outcome(result: RuleResult, failure: str | None) -> dict[str, Any]:
    effects = result.effects
    changes = [f'change of {each.kind}' if result.rule.is_sensitive else str(each) for each in effects.changes]
    return {
        'rule': result.rule.name,
        'matched': result.is_matched,
        'unmet': result.unmet,
        'failure': failure,
        'traits': sorted(result.traits) if failure is None else [],
        'changes': changes,
        'mismatches': effects.mismatches,
        'warnings': result.warnings,
    }
