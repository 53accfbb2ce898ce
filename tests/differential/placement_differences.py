"""The differences from Placement 16.0.0 that generated requests show: (reason, predicate of Differences)."""

import json
import re

from tests.differential.rows import has, status


def _is_refused_otherwise(difference):
    """Whether this service refuses a request for bad input, and Placement for a conflict, an object or the user."""
    return difference.ours == 400 and difference.theirs in (403, 404, 409)


def _is_cut(difference):
    """Whether both services have as many candidates as the request allows."""
    limit = re.search(r'[?&]limit=(\d+)', difference.calls[0]['path'])
    numbers = {len(call['answer']['allocation_requests']) for call in difference.calls}
    return limit and numbers == {int(limit[1])}


def _has_same_candidates(difference):
    """Whether a request has groups with a suffix, and the candidates differ only in amounts."""
    theirs, ours = _candidates(difference)
    return bool(re.search(r'resources\w', difference.calls[0]['path'])) and theirs == ours


def _has_more_candidates(difference):
    """Whether a request has a group without a suffix and others, and our candidates include theirs."""
    theirs, ours = _candidates(difference)
    path = difference.calls[0]['path']
    return 'resources=' in path and bool(re.search(r'resources\w', path)) and theirs < ours


def _has_group_without_resources(difference):
    """Whether a request has a group with filters and without resources, which "same_subtree" names."""
    path = difference.calls[0]['path']
    return bool(re.search(r'(required|in_tree)_A=', path)) and 'resources_A=' not in path and 'same_subtree' in path


def _candidates(difference):
    """Return the candidates of both answers without amounts."""
    return [{_shape(each) for each in call['answer']['allocation_requests']} for call in difference.calls]


def _shape(candidate):
    allocated = {uuid: sorted(each['resources']) for uuid, each in candidate['allocations'].items()}
    return json.dumps([allocated, candidate.get('mappings')], sort_keys=True)


ROWS = [
    (
        'Candidates have the amounts that were asked (Placement: some twice, if a provider serves several groups)',
        has(
            r'^answer\.allocation_requests',
            operation='/allocation_candidates',
            when=_has_same_candidates,
        ),
    ),
    (
        'A sharing provider can serve the whole group without a suffix for another tree (Placement: only a part of it)',
        has(
            r'^answer\.(allocation_requests|provider_summaries)',
            operation='/allocation_candidates',
            when=_has_more_candidates,
        ),
    ),
    (
        'All filters of a group without resources count (Placement: no in_tree, and no group without a required trait)',
        has(
            r'^answer\.(allocation_requests|provider_summaries)',
            operation='/allocation_candidates',
            when=_has_group_without_resources,
        ),
    ),
    (
        'An unknown trait is refused with 400, even if another group finds nothing',
        status(200, 400, '^GET /allocation_candidates$', 'No such trait'),
    ),
    (
        'An unknown resource class is refused with 400, even if other filters find nothing',
        status(200, 400, '^GET', when=lambda difference: 'NONE' in difference.calls[0]['path']),
    ),
    (
        'A PUT of no allocations leaves no consumer behind (Placement: one with generation 0)',
        status((204, 409), (204, 409), '/allocations', 'consumer generation conflict'),
    ),
    ('Reading traits needs no role, as the specification says', status(403, (200, 204, 400, 404), '^GET /traits')),
    (
        '"!!A" in required is refused with 400 (Placement: as "!A")',
        status(200, 400, '^GET', when=lambda difference: '%21%21' in difference.calls[0]['path']),
    ),
    (
        'A request with several faults may be refused for another one of them',
        has(r'^answer\.code$', operation='^(GET /allocation_candidates|PUT /allocations|POST /(allocations|reshaper))'),
    ),
    (
        'A limit leaves any of the candidates (Placement: those that its database reads first)',
        has(
            r'^answer\.(allocation_requests\[\]|provider_summaries)', operation='/allocation_candidates$', when=_is_cut
        ),
    ),
    (
        'A request with several faults may be refused for another one of them',
        has('^status$', when=_is_refused_otherwise),
    ),
]
