"""Previews of inspection rules: the changes that a run would make on nodes. They write nothing and lock nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ironic_traits.context import Context, Grant
from ironic_traits.deploy import inspection_hooks
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.inventory.inspection import rule_runs, rule_selection
from ironic_traits.inventory.inspection.rule_runs import Run
from ironic_traits.matching.facts import NodeFacts
from ironic_traits.matching.rules import rule_digest, rule_evaluation
from ironic_traits.matching.rules.inspection_rules import Rule
from ironic_traits.matching.rules.rule_evaluation import Evaluation

#: Policy rule that must allow a preview for each of the nodes.
RULE = 'baremetal:inspection_rule:preview'
#: Time limit of a page.
_SECONDS = 20


class Draft(NamedTuple):
    """The differences of a preview from the rules in force.

    :ivar rules: rules to add. They replace rules with the same names.
    :ivar without: names of rules to leave out.
    """

    rules: Sequence[Rule] = ()
    without: Sequence[str] = ()


class RulePreviewPage(NamedTuple):
    """The changes that rules would make on nodes.

    :ivar digest: digest for the execution.
    :ivar selected: the nodes.
    :ivar runs: one page, [Run, …]. It is shorter if the rules take too long.
    :ivar marker: marker of the next page; None after the last one.
    """

    digest: str
    selected: rule_selection.Selected
    runs: list[Run]
    marker: str | None


def preview_nodes(
    context: Context, grant: Grant, draft: Draft, selection: Selection, limit: int, marker: str | None
) -> RulePreviewPage:
    """Return the changes that rules would make on nodes.

    :param limit: maximum number of nodes on the page.
    :param marker: uuid of the last node of the previous page; None for the first page.
    :raises failures.InvalidInput: ``draft.without`` names a rule that is not in force.
    :raises failures.NodeNotFound: the selection or the marker names a node that does not exist, or that the caller may
        not see.
    :raises failures.EditForbidden: policy does not allow the preview for one of the nodes.
    """
    with context.read() as connection:
        rules = rule_selection.rules(context, connection, draft.rules, draft.without)
        start = rule_selection.start(context, connection, grant, marker)
        selected = rule_selection.read(context, connection, grant, selection, RULE)
        nodes, following = selected.page(start, limit)
        runs, considered = rule_runs.decide(context, connection, nodes, rules, _SECONDS)
        if considered < len(nodes):
            following = nodes[considered - 1].uuid
    return RulePreviewPage(selected.digest(rule_digest.digest(rules)), selected, runs, following)


def preview_document(context: Context, draft: Draft, document: Any, node: Mapping[str, Any]) -> Evaluation:
    """Return the changes that rules would make on a node that is not in the inventory.

    :param document: data of an inspection, as ``rule_evaluation.facts_of`` takes it.
    :param node: fields of the node.
    :raises failures.InvalidInput: ``draft.without`` names a rule that is not in force.
    :raises rule_evaluation.InvalidInventory: the document is not the data of an inspection.
    """
    facts: NodeFacts = inspection_hooks.read_facts(context.conf.inspection, rule_evaluation.facts_of(document, node))
    with context.read() as connection:
        rules = rule_selection.rules(context, connection, draft.rules, draft.without)
    return rule_evaluation.evaluate(rules, facts, context.conf.inventory.max_traits_per_node)
