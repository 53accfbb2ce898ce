"""Reports of previews and of runs of inspection rules, as lines."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.printing import count

#: Maximum number of nodes, and of names in a line, that a report lists.
_LISTED = 20


class PreviewReport:
    """The totals of a preview, and some of its nodes.

    :param is_long: whether to report what each rule does on each node, instead of some nodes that change.
    :ivar page: the last page.
    """

    def __init__(self, is_long: bool = False) -> None:
        self._is_long = is_long
        self._totals: dict[str, Counter[str]] = {name: Counter() for name in ('added', 'removed', *_OUTCOMES)}
        self._changed = 0
        self._overlaps: dict[str, set[str]] = {}
        self._nodes: list[Mapping[str, Any]] = []
        self.page: Mapping[str, Any] = {}

    def add(self, page: Mapping[str, Any]) -> Iterator[str]:
        """Add a page. In a long report, generate the lines about its nodes."""
        self.page = page
        self._changed += page['totals']['changed']
        for name, counter in self._totals.items():
            counter.update(page['totals'][name])
        for trait, names in page['overlaps'].items():
            self._overlaps.setdefault(trait, set()).update(names)
        if self._is_long:
            for node in page['nodes']:
                yield from _of_node(node, is_long=True)
            return
        worthy = [node for node in page['nodes'] if _is_worthy(node)]
        self._nodes += worthy[: _LISTED + 1 - len(self._nodes)]

    def lines(self) -> Iterator[str]:
        """Generate the lines about all pages."""
        if 'selected' in self.page:
            yield f'Selected: {count(self.page["selected"])}{_without_data(self.page)}.'
        for name, what in (('added', 'get it'), ('removed', 'lose it')):
            for trait, number in sorted(self._totals[name].items()):
                yield f'  {trait}: {count(number)} would {what}'
        for trait, names in sorted(self._overlaps.items()):
            yield f'  {trait}: held by several rules: {_listed(sorted(names))}'
        yield from _of_rules({name: self._totals[name] for name in _OUTCOMES})
        for node in self._nodes[:_LISTED]:
            yield from _of_node(node, is_long=False)
        if len(self._nodes) > _LISTED:
            yield '  …'
        yield f'Would change: {count(self._changed)}.'


class ApplicationReport:
    """The totals of a run over many nodes.

    :ivar page: the last response.
    :ivar done: number of nodes on which the rules ran.
    """

    def __init__(self) -> None:
        self.done = 0
        self._changed = self._ended = 0
        self._totals: dict[str, Counter[str]] = {name: Counter() for name in _OUTCOMES}
        self._locked: list[str] = []
        self.page: Mapping[str, Any] = {}

    def add(self, page: Mapping[str, Any]) -> None:
        """Add the response for some nodes."""
        self.page = page
        self.done += page['applied']
        self._changed += page['changed']
        self._ended += page['ended']
        for name in ('failed', 'mismatched'):
            self._totals[name].update(page[name])
        self._locked += [node['name'] or node['uuid'] for node in page['locked']]

    def lines(self) -> Iterator[str]:
        """Generate the lines about all nodes."""
        yield from _of_rules(self._totals)
        if self._ended:
            yield f'  A rule would end the inspection of {count(self._ended)}: nothing changed there.'
        if self._locked:
            yield f'  Locked by work in progress, and left out: {count(len(self._locked))} ({_listed(self._locked)}).'
        yield f'Done: the rules ran on {count(self.done)}, {self._changed} of them changed{_without_data(self.page)}.'


#: {key of numbers of nodes in a response: what a rule does on these nodes}.
_OUTCOMES = {
    'matched': 'matches {}',
    'failed': 'fails on {}',
    'mismatched': 'finds a mismatch on {}',
}


def _of_rules(totals: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Generate a line for each rule: what it does on how many nodes."""
    for rule in sorted(set().union(*totals.values())):
        parts = [what.format(count(totals[key][rule])) for key, what in _OUTCOMES.items() if totals[key][rule]]
        yield f'  rule {rule} {", ".join(parts)}'


def _of_node(node: Mapping[str, Any], is_long: bool) -> Iterator[str]:
    """Generate the lines about a node in a preview."""
    label = node['name'] or node['uuid'] or 'the inventory'
    changes = [f'+{trait}' for trait in node['added']] + [f'-{trait}' for trait in node['removed']]
    changes += [f'vetoed: {trait}' for trait in node['vetoed']]
    yield f'  {label}: {" ".join(changes) or "no change"}'
    if node['failure'] is not None:
        yield f'    The inspection would fail: {node["failure"]}'
    for rule in node['rules']:
        yield from _of_rule(rule, is_long)


def _of_rule(rule: Mapping[str, Any], is_long: bool) -> Iterator[str]:
    """Generate the lines about a rule on a node: its failure and mismatches; in a long report, everything."""
    name = rule['rule']
    if rule['failure'] is not None:
        yield f'    {name}: failed: {rule["failure"]}'
    elif is_long:
        unmet = rule['unmet']
        yield f'    {name}: matched' if unmet is None else f'    {name}: not matched: {unmet}'
        if rule['traits']:
            yield f'      {" ".join(rule["traits"])}'
        yield from (f'      {change}' for change in rule['changes'])
    yield from (f'    {name}: not what it expects: {mismatch}' for mismatch in rule['mismatches'])
    if is_long:
        yield from (f'      warning: {warning}' for warning in rule['warnings'])


def _is_worthy(node: Mapping[str, Any]) -> bool:
    """Whether a short report lists a node: its traits change, or a rule fails or finds a mismatch."""
    is_wrong = any(rule['failure'] is not None or rule['mismatches'] for rule in node['rules'])
    return bool(node['added'] or node['removed'] or node['failure'] or is_wrong)


def _without_data(page: Mapping[str, Any]) -> str:
    number = page.get('without_data', 0)
    return f'; {count(number)} without inspection data left out' if number else ''


def _listed(names: list[str]) -> str:
    return ', '.join(names[:_LISTED]) + (', …' if len(names) > _LISTED else '')
