"""Explanations of the API, in sentences and tables for people."""

#: What the parts of a request are called, by how their clauses begin.
_REQUIREMENTS = {
    'required': 'has the trait {}',
    'required_any': 'has one of the traits {}',
    'forbidden': 'does not have the trait {}',
    'resource_class': 'is of the class {}',
}
#: What makes a node one that can be held, by the clause that it fails.
_ELIGIBLE = {
    'provision state': 'is available',
    'maintenance': 'is not in maintenance',
    'instance': 'has no instance',
    'power state': 'has a power state that is known and not error',
    'reserved': 'is not reserved',
    'allocated': 'is not allocated',
}


def requirement(clause):
    """Return what a clause asks of a node, as 'has the trait CUSTOM_A'."""
    kind, _, value = clause.partition(':')
    if kind == 'eligible':
        return _ELIGIBLE.get(value, value)
    return _REQUIREMENTS.get(kind, kind.replace('_', ' ') + ' is {}').format(value.replace(',', ', '))


def headline(explanation):
    """Return how many nodes match, in a sentence."""
    matched, considered = explanation['matched'], explanation['considered']
    count = 'No node matches' if not matched else f'{_nodes(matched)} match{"es" if matched == 1 else ""}'
    return f'{count} ({matched} of {_nodes(considered)}).'


def sentences(explanation):
    """Generate a sentence for each part of the request that rules nodes out, and for what is best left out."""
    for clause in _rejecting(explanation):
        alone = f', {clause["rejected_only"]} of them by itself' if clause['rejected_only'] else ''
        yield f'"{requirement(clause["clause"])}" rules out {_nodes(clause["rejected"])}{alone}.'
    yield from relaxations(explanation)


def relaxations(explanation):
    """Generate a sentence for each smallest set of requirements without which nodes would match."""
    for each in explanation['relaxations']:
        dropped = ' and '.join(f'"{requirement(clause)}"' for clause in each['drop'])
        yield f'Without {dropped}, {_nodes(each["nodes"])} would match.'


def requirement_rows(explanation):
    """Return (columns, rows) of the table of requirements: how many nodes each of them rules out."""
    rows = [(requirement(each['clause']), each['rejected'], each['rejected_only']) for each in _rejecting(explanation)]
    return ('Requirement', 'Rules out', 'Only by it'), rows


def nearest_rows(explanation):
    """Return (columns, rows) of the table of the nodes that nearly match."""
    rows = [
        (miss.get('name') or miss['node'], '; '.join(map(requirement, miss['rejected_by'])))
        for miss in explanation['near_misses']
    ]
    return ('Nearest node', 'Unmet requirements'), rows


def _rejecting(explanation):
    return [each for each in explanation['clauses'] if each['rejected']]


def _nodes(count):
    return f'{count} node{"" if count == 1 else "s"}'
