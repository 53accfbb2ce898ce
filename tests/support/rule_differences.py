"""The intended differences from Ironic 39.0.0 of inspection rules: a part of ``differences.DIFFERENCES``."""

from tests.support.recorded_calls import RECORDED, fails, fails_in_routing, named

_PATH = '/v1/inspection_rules'
_UUID = '44444444-4444-4444-8444-0000000000'


def _rules(*names):
    """Return a predicate that selects calls about inspection rules by name."""
    return named(*(f'inspection rules: {name}' for name in names))


def _has_rules(call):
    return call['name'].startswith('inspection rules: ') and call['status'] in (200, 201)


def _links(uuid):
    return [
        {'href': f'http://HOST/{version}inspection_rules/{uuid}', 'rel': rel}
        for version, rel in (('v1/', 'self'), ('', 'bookmark'))
    ]


def _is_right(call):
    """Correct the links of all rules in an answer."""
    for rule in call['answer'].get('inspection_rules', [call['answer']]):
        if 'links' in rule:
            rule['links'] = _links(rule['links'][0]['href'].rpartition('/')[2])


def _succeeds(status, like, **fields):
    """Return a change of a recorded call into a success, with a rule like that of another call."""

    def change(call):
        rule = {**RECORDED[f'inspection rules: {like}']['answer'], **fields}
        call.update(status=status, answer=rule | {'links': _links(rule['uuid'])})
        if status == 201:
            call['answer_headers']['Location'] = f'http://HOST{_PATH}/{rule["uuid"]}'

    return change


def _fails_before(method, path):
    """Return (status, change) of a call at a version before inspection rules."""
    sentence = f'Resource could not be found. {method} {path} needs API version 1.96.'
    return fails(404, sentence) if method == 'GET' else fails_in_routing(405, 'Method Not Allowed')


RULE_DIFFERENCES = [
    (
        'The links lead to the inspection rules (Ironic: to /v1/inspection)',
        lambda call: _has_rules(call) and 'links' in str(call['answer']),
        _is_right,
    ),
    *(
        ('A 404 of what came with a later version names it', _rules(f'{name} before 1.96'), _fails_before(method, path))
        for name, method, path in (
            ('list', 'GET', _PATH),
            ('show', 'GET', f'{_PATH}/{{rule_ident}}'),
            ('create', 'POST', _PATH),
            ('delete', 'DELETE', _PATH),
            ('patch', 'PATCH', _PATH),
        )
    ),
    *(
        (
            'Null is the default (Ironic: 400, and 500 for a rule without conditions, which is stored all the same)',
            _rules(f'create {name}'),
            _succeeds(201, 'create', uuid=f'{_UUID}{number}'),
        )
        for name, number in (
            *(('null conditions', 11), ('null priority', 12)),
            *(('null phase', 13), ('without conditions', 14)),
        )
    ),
    (
        'Numbers and booleans may be text, as python-ironicclient sends them (Ironic: 400)',
        _rules('create text priority'),
        _succeeds(201, 'create', uuid=f'{_UUID}15', priority=5),
    ),
    (
        'Numbers and booleans may be text, as python-ironicclient sends them (Ironic: 400)',
        _rules('create text sensitive'),
        _succeeds(201, 'create', uuid=f'{_UUID}16', sensitive=True, actions=None, conditions=None),
    ),
    (
        'Numbers and booleans may be text, as python-ironicclient sends them (Ironic: 400)',
        _rules('patch text priority'),
        _succeeds(200, 'patch priority', priority=8),
    ),
    (
        'Rules may have names',
        _rules('create name'),
        _succeeds(201, 'create', uuid=f'{_UUID}17', name='x'),
    ),
    (
        'A uuid that is none is the name of the rule (Ironic stores any text, and cannot find the rule again)',
        _rules('create bad uuid'),
        fails(409, 'A rule with name x already exists.'),
    ),
    (
        'The level of a log entry must be one (Ironic checks it when the rule runs)',
        _rules('create bad level'),
        fails(400),
    ),
    (
        'A rule has a name in place of its uuid (Ironic: 400)',
        _rules('show by name', 'patch by name', 'delete bad uuid'),
        fails(404, 'Rule x could not be found.'),
    ),
    (
        'A rule has a name in place of its uuid (Ironic: 400)',
        _rules('show of detail'),
        fails(404, 'Rule detail could not be found.'),
    ),
    (
        'The filter phase filters (Ironic: it does not)',
        _rules('list ?phase=nope'),
        lambda call: call['answer'].update(inspection_rules=[]),
    ),
    (
        'All rules at once cannot be changed or deleted (Ironic: 400, and 500)',
        _rules('patch all', 'delete all'),
        fails_in_routing(405, 'Method Not Allowed'),
    ),
    (
        'The uuid of a rule cannot be changed (Ironic looks for a rule with the new one)',
        _rules('patch uuid'),
        fails(400),
    ),
    (
        'A sensitive rule stays sensitive (Ironic: the flag can be removed, which shows what the rule has)',
        _rules('patch remove sensitive'),
        fails(400),
    ),
    (
        'A sensitive rule stays sensitive (Ironic: the flag can be removed, which shows what the rule has)',
        _rules('show after'),
        lambda call: call['answer'].update(sensitive=True, conditions=None, actions=None),
    ),
    (
        'A rule without conditions is shown (Ironic: 500)',
        _rules('patch remove conditions'),
        _succeeds(200, 'create null description', updated_at='TIME'),
    ),
    (
        'The phase is main by default (Ironic: null after a PATCH, and the rule cannot be changed any more)',
        _rules('patch remove phase'),
        _succeeds(200, 'create null description', updated_at='TIME'),
    ),
    (
        'A full page has a link to the next one only if there is one',
        _rules(f'list ?limit=2&marker={_UUID}02'),
        lambda call: call['answer'].pop('next'),
    ),
    ('A marker that is no uuid is refused with 400', _rules('list ?marker=x'), fails(400)),
]
