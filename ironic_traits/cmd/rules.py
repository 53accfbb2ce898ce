"""ironic-traits-manage rules check|import: inspection rules in files, without a service and without a database."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironic_traits import yaml_documents
from ironic_traits.cmd import rule_machines
from ironic_traits.deploy import inspection_hooks
from ironic_traits.matching.facts import NodeFacts
from ironic_traits.matching.rules import inspection_rules, inspector_rules, rule_evaluation, rule_files
from ironic_traits.matching.rules.inspection_rules import InvalidRules, Rule
from ironic_traits.matching.rules.rule_evaluation import Evaluation, InvalidInventory, RuleResult
from ironic_traits.printing import count, printable

#: Exit codes. 1: a rule fails on a node, or an expectation is not met. 2: a file cannot be used.
_BAD, _UNUSABLE = 1, 2


def check(conf: Any) -> None:
    """Check files with rules, and print what the rules would do on the nodes of inventories.

    :raises SystemExit: a file cannot be used, or a rule fails.
    """
    command = conf.command
    if not (command.file or command.inventories or command.redfish_urls or command.redfish_trees):
        sentence = 'Name a file with rules, or an --inventory, --redfish or --redfish-tree for the standard rules'
        print(sentence, file=sys.stderr)
        sys.exit(_UNUSABLE)
    problems: list[str] = []
    rules = list(_rules(command.file, problems)) if command.file else list(inspection_rules.standard())
    if command.file and command.standard:
        rules += inspection_rules.standard()
    inventories = list(_inventories(conf, problems))
    names = [rule.name for rule in rules]
    problems += [f'Two rules have the name {name}' for name in sorted(set(names)) if names.count(name) > 1]
    if problems:
        print('\n'.join(map(printable, problems)), file=sys.stderr)
        sys.exit(_UNUSABLE)
    # The hooks are those of this machine's configuration.
    evaluations = [
        _report(path, rules, inspection_hooks.read_facts(conf.inspection, facts), unread)
        for path, facts, unread in inventories
    ]
    if not all(evaluation.is_good for evaluation in evaluations):
        sys.exit(_BAD)


def _rules(paths: Iterable[str], problems: list[str]) -> Iterator[Rule]:
    """Generate the rules in files, and print the number of rules in each file."""
    for path in paths:
        try:
            rules = rule_files.read_rules(path)
        except InvalidRules as error:
            problems += [f'{path}: {problem}' for problem in error.problems]
        else:
            print(f'{path}: {count(len(rules), "valid rule")}')
            yield from rules


def _inventories(conf: Any, problems: list[str]) -> Iterator[tuple[str, NodeFacts, Mapping[str, str]]]:
    """Generate (path, facts, {part: why it could not be read}) of files with inspection data, and of machines."""
    node = conf.command.node_file
    try:
        fields = rule_files.read_json(node) if node else {}
    except InvalidInventory as error:
        problems.append(f'{node}: {error}')
        return
    if not isinstance(fields, Mapping):
        problems.append(f'{node}: it is not an object with the fields of a node')
        return
    for path in conf.command.inventories:
        try:
            yield path, rule_files.read_inventory(path, fields), {}
        except InvalidInventory as error:
            problems.append(f'{path}: {error}')
    for path, inspection in rule_machines.read(conf, problems):
        yield path, rule_evaluation.facts_of(inspection.document, fields), inspection.unread


def _report(path: str, rules: Sequence[Rule], facts: NodeFacts, unread: Mapping[str, str]) -> Evaluation:
    """Evaluate rules on an inventory, and print what they do."""
    evaluation = rule_evaluation.evaluate(rules, facts)
    print(f'\n{path}:')
    for part, reason in unread.items():
        print(printable(f'  {part} could not be read: {reason}'))
    for result in evaluation.results:
        for line in _lines(result):
            print(printable(f'  {line}'))
    if evaluation.failure is not None:
        print(printable(f'  The inspection fails: {evaluation.failure}'))
    print(f'  {count(len(evaluation.traits), "trait")}')
    for trait, names in evaluation.traits.items():
        print(f'    {trait}  ({", ".join(names)})')
    return evaluation


def _lines(result: RuleResult) -> Iterator[str]:
    """Generate the lines of a rule in a report."""
    effects = result.effects
    if result.failure is not None:
        yield f'{result.rule.name}: failed: {result.failure}'
    elif result.unmet is not None:
        yield f'{result.rule.name}: not matched: {result.unmet}'
    else:
        yield f'{result.rule.name}: matched: {count(len(result.traits), "trait")}'
    is_sensitive = result.rule.is_sensitive
    yield from (f'    {f"change of {change.kind}" if is_sensitive else change}' for change in effects.changes)
    yield from (f'    remove {trait}' for trait in sorted(effects.removed))
    yield from (f'    log {level}: {text}' for level, text in effects.messages)
    yield from (f'    {result.rule.name}: not what it expects: {mismatch}' for mismatch in effects.mismatches)
    yield from (f'    warning: {warning}' for warning in result.warnings)


def import_rules(conf: Any) -> None:
    """Convert rules of ironic-inspector, and print them as YAML.

    :raises SystemExit: the file cannot be read, or a rule is left out.
    """
    path = conf.command.from_inspector
    try:
        document = rule_files.read_document(path)
    except InvalidRules as error:
        print(f'{path}: {error}', file=sys.stderr)
        sys.exit(_UNUSABLE)
    conversion = inspector_rules.convert(document)
    if conversion.rules:
        print(yaml_documents.dump(conversion.rules, width=120), end='')
    for sentence in (*conversion.problems, *conversion.notes):
        print(printable(sentence), file=sys.stderr)
    if conversion.problems:
        sys.exit(_BAD)
