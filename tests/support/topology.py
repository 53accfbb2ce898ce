"""Plain answers to requests with a topology, from all sets of nodes, for comparisons."""

import itertools
from collections import Counter


def is_possible(policies, related, cells):
    """Whether a choice of nodes fulfils hard policies.

    :param cells: for each chosen node, its group for each policy.
    """
    for place, policy in enumerate(policies):
        numbers = Counter(related[place]) + Counter(cell[place] for cell in cells)
        if policy.name == 'affinity' and len(numbers) > 1:
            return False
        chosen = {cell[place] for cell in cells}
        if policy.limit is not None and any(numbers[value] > policy.limit for value in chosen):
            return False
    return True


def degrees(policies, related, cells):
    """Return how far a choice misses each soft policy: the number of groups, or the most nodes in one."""
    result = []
    for place, policy in enumerate(policies):
        numbers = Counter(related[place]) + Counter(cell[place] for cell in cells)
        if policy.name == 'soft-affinity':
            result.append(len(numbers))
        elif policy.name == 'soft-anti-affinity':
            result.append(max(numbers[cell[place]] for cell in cells))
    return result


def choices(policies, related, cells, count):
    """Return all choices of some nodes that fulfil hard policies. Nodes without a group are never chosen."""
    grouped = [cell for cell in cells if None not in cell]
    return [each for each in itertools.combinations(grouped, count) if is_possible(policies, related, each)]


def largest(policies, related, cells):
    """Return the most nodes that can be chosen."""
    sizes = range(len(cells), 0, -1)
    return next((size for size in sizes if choices(policies, related, cells, size)), 0)


def count_blocks(policies, related, cells, count):
    """Return how many blocks of nodes can be chosen at once."""
    cells = [cell for cell in cells if None not in cell]
    if len(cells) < count:
        return 0
    best = count_blocks(policies, related, cells[1:], count)
    for others in itertools.combinations(range(1, len(cells)), count - 1):
        block = [cells[0], *(cells[other] for other in others)]
        if is_possible(policies, related, block):
            rest = [cell for place, cell in enumerate(cells[1:], 1) if place not in others]
            best = max(best, 1 + count_blocks(policies, related, rest, count))
    return best
