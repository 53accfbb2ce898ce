"""The clauses of explanations, and the reasons of refusals, in words.

Clauses and reasons are codes for programs, such as "required:CUSTOM_A". Messages and tables have these words instead.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.printing import count

#: What a rule with an expectation expects.
EXPECTED = 'the inspection rule {} expects'
#: {kind of a clause: how to describe it}.
_REQUIREMENTS = {
    'required': 'has the trait {}',
    'required_any': 'has one of the traits {}',
    'not_all': 'lacks one of the traits {}',
    'forbidden': 'does not have the trait {}',
    'exclusive': 'does not have the exclusive trait {}, which the request does not ask for',
    'resource_class': 'is of the class {}',
    'expect': f'is what {EXPECTED}',
    'topology': 'is in one group of {}',
}
#: {eligibility clause: how to describe it}. Each is a condition that a node must meet to be reserved.
_ELIGIBLE = {
    'provision state': 'is available',
    'maintenance': 'is not in maintenance',
    'instance': 'has no instance',
    'power state': 'has a power state other than error or unknown',
    'health': 'is healthy',
    'reserved': 'is not reserved',
    'allocated': 'is not allocated',
    'cloud': 'can be held in its cloud',
}
#: {why nodes cannot be reserved: how to describe that after a number of nodes}.
_REASONS = {
    'provision state': 'in a provision state other than available',
    'maintenance': 'in maintenance',
    'instance': 'with an instance',
    'power state': 'with a power state of error or unknown',
    'health': 'not healthy',
    'reserved': 'reserved',
    'allocated': 'allocated',
    'expectation': 'not as an inspection rule expects',
    'cloud': 'not free in the cloud',
    'rejected': 'not as required',
}


def requirement(clause: str) -> str:
    """Return what a clause requires of a node, such as 'has the trait CUSTOM_A'."""
    kind, _, value = clause.partition(':')
    if kind == 'eligible':
        return _ELIGIBLE.get(value, value)
    if clause == 'expect':
        return 'is what other inspection rules expect'
    return _REQUIREMENTS.get(kind, kind.replace('_', ' ') + ' is {}').format(value.replace(',', ', '))


def reason(code: str) -> str:
    """Return why nodes cannot be reserved, such as 'in maintenance'. A number of nodes stands before it."""
    return _REASONS.get(code, code)


def headline(explanation: Mapping[str, Any]) -> str:
    """Return the number of nodes that match, as a sentence without the full stop."""
    matched, considered = explanation['matched'], explanation['considered']
    if not considered:
        return 'There are no nodes'
    matches = f'{count(matched)} match{"es" if matched == 1 else ""}' if matched else 'No node matches'
    together = ''
    if matched and 'topology' in explanation:
        together = f', of which {explanation["topology"]["largest"]} can be chosen together'
    return f'{matches} ({matched} of {count(considered)}){together}'


def sentences(explanation: Mapping[str, Any]) -> Iterator[str]:
    """Generate sentences: requirements that rule out nodes, the best groups, and sets of requirements to drop."""
    for each in rejecting(explanation):
        rejected, alone = each['rejected'], each['rejected_only']
        of_them = f'for {alone} of them ' if alone < rejected else ''
        only = f'; {of_them}it is the only reason' if alone else ''
        yield f'"{requirement(each["clause"])}" rules out {count(rejected)}{only}.'
    yield from groups(explanation)
    yield from map(relaxation, explanation['relaxations'])


def relaxation(each: Mapping[str, Any]) -> str:
    """Return a sentence about a smallest set of requirements to drop so that nodes match."""
    dropped = ' and '.join(f'"{requirement(clause)}"' for clause in each['drop'])
    return f'Without {dropped}, {count(each["nodes"])} would match.'


def groups(explanation: Mapping[str, Any]) -> Iterator[str]:
    """Generate a sentence for each group, the best first: its nodes, and what to drop so that it has more."""
    for each in explanation.get('topology', {}).get('groups', ()):
        nodes, needed = each['nodes'], explanation['topology']['count']
        number = f'{nodes} of {count(needed)}' if nodes < needed else count(nodes)
        more = ''.join(f'; without {without(gain)} it has {gain["nodes"]}' for gain in each['relaxations'])
        yield f'{group(each["groups"])} has {number}{more}.'


def group(values: Mapping[str, Any]) -> str:
    """Return the name of a group.

    :param values: {key: value}; without a key, the nodes are chosen from all groups.
    """
    names = (
        str(value) if key.startswith('trait:') else f'{key.rpartition("/")[2]} {value}' for key, value in values.items()
    )
    return ' with '.join(names) or 'The best choice'


def without(each: Mapping[str, Any]) -> str:
    """Return the requirements to drop from a group. A required trait is only named."""
    kinds = (clause.partition(':') for clause in each['drop'])
    return ' and '.join(
        value if kind == 'required' else f'"{requirement(kind + colon + value)}"' for kind, colon, value in kinds
    )


def rejecting(explanation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the clauses that rule out nodes, with their numbers."""
    return [each for each in explanation['clauses'] if each['rejected']]
