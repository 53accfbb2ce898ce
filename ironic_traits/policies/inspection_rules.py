"""Policy rules of inspection rules."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

_RULE = '/v1/inspection_rules/{rule_ident}'

RULES = [
    rule(
        'baremetal:inspection_rule:get',
        SYSTEM_READER,
        'List inspection rules, or show one.',
        'GET /v1/inspection_rules',
        f'GET {_RULE}',
    ),
    rule('baremetal:inspection_rule:create', SYSTEM_ADMIN, 'Create an inspection rule.', 'POST /v1/inspection_rules'),
    rule('baremetal:inspection_rule:update', SYSTEM_ADMIN, 'Change an inspection rule.', f'PATCH {_RULE}'),
    rule('baremetal:inspection_rule:delete', SYSTEM_ADMIN, 'Delete an inspection rule.', f'DELETE {_RULE}'),
]
