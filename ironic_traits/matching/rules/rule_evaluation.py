"""Evaluates inspection rules on the facts of a node. It changes nothing: it returns what the rules would do.

Rules with a higher priority run first, and the next ones see what these have changed. Rules of equal priority all see
the same, so that their order does not matter. A trait that one rule removes is not held by any other.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_traits.matching.facts import NodeFacts
from ironic_traits.matching.rules import rule_actions, rule_changes, rule_conditions, rule_holds, rule_values
from ironic_traits.matching.rules.inspection_rules import Rule
from ironic_traits.matching.rules.rule_actions import ActionFailed, RuleEffects
from ironic_traits.matching.rules.rule_changes import InvalidPath, RuleChange
from ironic_traits.matching.rules.rule_values import TemplateScope, Unusable
from ironic_traits.matching.sources import Traits

#: Maximum depth of inspection data, and maximum number of values in it.
MAX_DEPTH, MAX_VALUES = 50, 2_000_000
#: Maximum number of traits of a node (invariant 3).
MAX_TRAITS = 50
#: Maximum work of all rules on one node. One rule may do rule_values.MAX_WORK.
MAX_WORK = 10 * rule_values.MAX_WORK
_HIDDEN = 'the rule is sensitive'


class InvalidInventory(ValueError):
    """A document that is not inspection data."""


@dataclasses.dataclass
class RuleResult:
    """What one rule does on a node.

    :ivar is_matched: whether its conditions are met.
    :ivar unmet: the first condition that is not met, with its values; None if all are.
    :ivar failure: why the rule cannot be carried out; None if it can. It does nothing then.
    :ivar traits: the traits that it holds at the end: none that another rule removes.
    :ivar warnings: [sentence, …].
    """

    rule: Rule
    is_matched: bool = False
    unmet: str | None = None
    failure: str | None = None
    effects: RuleEffects = dataclasses.field(default_factory=RuleEffects)
    traits: set[str] = dataclasses.field(default_factory=set)
    warnings: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Evaluation:
    """What rules do on a node.

    :ivar results: [RuleResult, …], in the order in which the rules ran.
    :ivar node: the fields of the node, changed.
    :ivar plugin_data: the plugin data, changed.
    :ivar failure: the message with which a rule ends the inspection; None if none does.
    :ivar unmasked: the fields with secrets, as sensitive rules see them, changed.
    """

    results: list[RuleResult]
    node: Mapping[str, Any]
    plugin_data: Mapping[str, Any]
    failure: str | None = None
    unmasked: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def traits(self) -> dict[str, list[str]]:
        """The traits with the names of the rules that hold them, {trait: [name, …]}."""
        traits: dict[str, list[str]] = {}
        for result in self.results:
            for trait in result.traits:
                traits.setdefault(trait, []).append(result.rule.name)
        return dict(sorted(traits.items()))

    @property
    def changes(self) -> list[RuleChange]:
        """The changes of the node, its ports and the plugin data, in order."""
        return [change for result in self.results for change in result.effects.changes]

    @property
    def is_good(self) -> bool:
        """Whether no rule failed, every expectation is met, and the inspection does not fail."""
        return self.failure is None and not any(each.failure or each.effects.mismatches for each in self.results)


def facts_of(document: Any, node: Mapping[str, Any] | None = None) -> NodeFacts:
    """Return the facts in a document.

    :param document: what ``baremetal node inventory save`` writes, or what a ramdisk posts: there, everything beside
        ``inventory`` is plugin data.
    :param node: fields of the node, as the API shows them.
    :raises InvalidInventory: it has no inventory, or is too large.
    """
    if not isinstance(document, dict) or not isinstance(document.get('inventory'), dict):
        raise InvalidInventory('it is not an object with the key "inventory"')
    _check_size(document)
    if document.keys() <= {'inventory', 'plugin_data'}:
        plugin_data = document.get('plugin_data') or {}
        if not isinstance(plugin_data, dict):
            raise InvalidInventory('"plugin_data" is not an object')
    else:
        plugin_data = {key: value for key, value in document.items() if key != 'inventory'}
    return NodeFacts(document['inventory'], plugin_data, node or {})


def _check_size(document: Any) -> None:
    values, level = 0, [document]
    for _ in range(MAX_DEPTH):
        values += len(level)
        if values > MAX_VALUES:
            raise InvalidInventory(f'it has more than {MAX_VALUES} values')
        containers = (
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)
        )
        level = list(itertools.islice(itertools.chain.from_iterable(containers), MAX_VALUES + 1))
        if not level:
            return
    raise InvalidInventory(f'it is nested deeper than {MAX_DEPTH}')


def evaluate(rules: Iterable[Rule], facts: NodeFacts, limit: int | None = MAX_TRAITS) -> Evaluation:
    """Evaluate rules on the facts of a node.

    :param limit: maximum number of traits that the rules may hold together; None for any number. A rule with which they
        would hold more fails: those that run first come first.
    :raises ValueError: two rules have the same name.
    """
    ordered = sorted(rules, key=lambda rule: (-rule.priority, rule.name))
    if len({rule.name for rule in ordered}) != len(ordered):
        raise ValueError('two rules have the same name')
    evaluation = Evaluation([], facts.node, facts.plugin_data, unmasked=facts.unmasked)
    work = [MAX_WORK]
    for _, group in itertools.groupby(ordered, key=lambda rule: rule.priority):
        results = [_run(rule, facts.inventory, evaluation, work) for rule in group]
        _settle(evaluation, results)
        evaluation.results += results
        if evaluation.failure is not None:
            break
    _hold(evaluation.results, limit)
    return evaluation


def _settle(evaluation: Evaluation, results: Sequence[RuleResult]) -> None:
    """Add the results of rules of equal priority to an evaluation."""
    for result in results:
        evaluation.failure = evaluation.failure or result.effects.failure
        for change in result.effects.changes:
            try:
                evaluation.node, evaluation.plugin_data = rule_changes.applied(
                    change, evaluation.node, evaluation.plugin_data
                )
                if change.kind == 'node' and change.path[0] in evaluation.unmasked:
                    evaluation.unmasked, _ = rule_changes.applied(change, evaluation.unmasked, {})
            except InvalidPath as error:
                # Another rule of the same priority has changed what this one expects.
                result.warnings.append(_HIDDEN if result.rule.is_sensitive else str(error))


def _hold(results: Sequence[RuleResult], limit: int | None) -> None:
    """Set the traits that rules hold: without those that a rule removes. A rule that exceeds the limit holds none."""
    removed = {trait for result in results for trait in result.effects.removed}
    for result in results:
        result.traits = result.effects.added - removed
    if limit is None:
        return
    wanted = {result.rule.name: result.traits for result in results}
    excess = rule_holds.settle(Traits(), wanted, lambda source: None, limit).excess
    for result in results:
        if result.rule.name in excess:
            result.traits = set()
            result.failure = no_room(excess[result.rule.name], limit)


def no_room(traits: Sequence[str], limit: int) -> str:
    """Return why a rule adds nothing.

    :param traits: what it would add.
    """
    return f'the node would have more than {limit} traits with {", ".join(traits)}'


def _run(rule: Rule, inventory: Mapping[str, Any], before: Evaluation, work: list[int]) -> RuleResult:
    """Evaluate one rule.

    :param work: what all rules may still do together; what this one does is taken from it.
    """
    result = RuleResult(rule)
    allowed = min(work[0], rule_values.MAX_WORK)
    node = {**before.node, **before.unmasked} if rule.is_sensitive else before.node
    scope = TemplateScope(node, inventory, before.plugin_data, is_sensitive=rule.is_sensitive, work=[allowed])
    try:
        result.unmet = _unmet(rule, scope, result.warnings)
        result.is_matched = result.unmet is None
        if result.is_matched:
            _act(rule, scope, result)
    except (ActionFailed, InvalidPath, Unusable) as error:
        result.failure = str(error)
        result.effects = RuleEffects()
    work[0] -= allowed - max(scope.work[0], 0)
    if rule.is_sensitive:
        _hide(result)
    return result


def _unmet(rule: Rule, scope: TemplateScope, warnings: list[str]) -> str | None:
    for number, condition in enumerate(rule.conditions, 1):
        try:
            checked = rule_conditions.check(condition, scope)
        except Unusable as error:
            raise Unusable(f'condition {number}, {condition.op}: {error}') from None
        warnings += checked.warnings
        if not checked.is_met:
            return f'condition {number}, {checked.reason}'
    return None


def _act(rule: Rule, scope: TemplateScope, result: RuleResult) -> None:
    """Carry out the actions of a rule: each sees what those before it have changed."""
    effects = result.effects
    for action in rule.actions:
        done = len(effects.changes)
        rule_actions.run(action, scope, effects)
        for change in effects.changes[done:]:
            scope.spend(10 * rule_changes.cost(change, scope.node, scope.plugin_data))
            scope.node, scope.plugin_data = rule_changes.applied(change, scope.node, scope.plugin_data)
    result.warnings += effects.warnings


def _hide(result: RuleResult) -> None:
    """Remove values from the sentences of a sensitive rule."""
    result.unmet = result.unmet and f'{result.unmet.partition(" (")[0]}: {_HIDDEN}'
    result.failure = result.failure and _HIDDEN
    result.warnings = [_HIDDEN for _ in result.warnings]
    effects = result.effects
    # Everyone who sees the node sees it, in last_error.
    effects.failure = effects.failure and f'rule {result.rule.name}: {_HIDDEN}'
    effects.mismatches = [_HIDDEN for _ in effects.mismatches]
    effects.messages = [(level, _HIDDEN) for level, _ in effects.messages]
