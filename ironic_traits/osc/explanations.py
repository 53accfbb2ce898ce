"""Explanations of POST /v1/matches, as sentences and tables."""

#: {kind of a clause: how to describe it}.
_REQUIREMENTS = {
    'required': 'has the trait {}',
    'required_any': 'has one of the traits {}',
    'forbidden': 'does not have the trait {}',
    'resource_class': 'is of the class {}',
    'expect': 'is what the inspection rule {} expects',
}
#: {eligibility clause: how to describe it}. Each is a condition that a node must meet to be reserved.
_ELIGIBLE = {
    'provision state': 'is available',
    'maintenance': 'is not in maintenance',
    'instance': 'has no instance',
    'power state': 'has a power state other than error or unknown',
    'reserved': 'is not reserved',
    'allocated': 'is not allocated',
    'cloud': 'can be held in its cloud',
}


def requirement(clause):
    """Return what a clause requires of a node, such as 'has the trait CUSTOM_A'."""
    kind, _, value = clause.partition(':')
    if kind == 'eligible':
        return _ELIGIBLE.get(value, value)
    if clause == 'expect':
        return 'is what other inspection rules expect'
    return _REQUIREMENTS.get(kind, kind.replace('_', ' ') + ' is {}').format(value.replace(',', ', '))


def headline(explanation):
    """Return a sentence with the number of nodes that match."""
    matched, considered = explanation['matched'], explanation['considered']
    count = 'No node matches' if not matched else f'{_nodes(matched)} match{"es" if matched == 1 else ""}'
    return f'{count} ({matched} of {_nodes(considered)}).'


def sentences(explanation):
    """Generate a sentence for each requirement that rules out nodes, and for each set of requirements to drop."""
    for clause in _rejecting(explanation):
        only = f'; for {clause["rejected_only"]} of them it is the only reason' if clause['rejected_only'] else ''
        yield f'"{requirement(clause["clause"])}" rules out {_nodes(clause["rejected"])}{only}.'
    yield from relaxations(explanation)


def relaxations(explanation):
    """Generate a sentence for each smallest set of requirements to drop so that nodes match."""
    for each in explanation['relaxations']:
        dropped = ' and '.join(f'"{requirement(clause)}"' for clause in each['drop'])
        yield f'Without {dropped}, {_nodes(each["nodes"])} would match.'


def requirement_rows(explanation):
    """Return (columns, rows) of a table with the numbers of nodes that each requirement rules out."""
    rows = [(requirement(each['clause']), each['rejected'], each['rejected_only']) for each in _rejecting(explanation)]
    return ('Requirement', 'Nodes ruled out', 'By it alone'), rows


def nearest_rows(explanation):
    """Return (columns, rows) of a table with the nodes that come closest, and what they lack."""
    rows = [
        (miss.get('name') or miss['node'], '; '.join(map(requirement, miss['rejected_by'])))
        for miss in explanation['near_misses']
    ]
    return ('Closest node', 'Unmet requirements'), rows


def _rejecting(explanation):
    return [each for each in explanation['clauses'] if each['rejected']]


def _nodes(count):
    return f'{count} node{"" if count == 1 else "s"}'
