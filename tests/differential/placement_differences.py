"""The differences from Placement 16.0.0 that generated requests show: (reason, predicate of Differences)."""

import re

from tests.differential.rows import has, status


def _is_refused_otherwise(difference):
    statuses = {difference.theirs, difference.ours}
    return statuses <= {400, 404, 409} or (difference.theirs, difference.ours) == (403, 400)


def _has_more_candidates(difference):
    """Whether a request has a group without a suffix and others, and our candidates include theirs."""
    theirs, ours = (each['answer']['allocation_requests'] for each in difference.calls)
    path = difference.calls[0]['path']
    return 'resources=' in path and re.search(r'resources\w', path) and all(each in ours for each in theirs)


ROWS = [
    (
        'Candidates have the amounts that were asked (Placement: some twice, if a provider serves several groups)',
        has(
            r'^answer\.allocation_requests\[\]',
            operation='/allocation_candidates',
            when=lambda difference: re.search(r'resources\w', difference.calls[0]['path']),
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
        'A PUT of no allocations leaves no consumer behind (Placement: one with generation 0)',
        has(r'^answer\.consumer_(type|generation)$', operation='^GET /allocations'),
    ),
    ('A request with several faults may be refused for another one of them', has(r'^answer\.code$')),
    (
        'A request with several faults may be refused for another one of them',
        has('^status$', when=_is_refused_otherwise),
    ),
]
