"""Policy rules of inspection rules."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

RULES = rules(
    'baremetal:inspection_rule',
    '/v1/inspection_rules',
    ('get', SYSTEM_READER, 'List inspection rules, or show one.', 'GET /v1/inspection_rules /{rule_ident}'),
    ('create', SYSTEM_ADMIN, 'Create an inspection rule.', 'POST'),
    ('update', SYSTEM_ADMIN, 'Change an inspection rule.', 'PATCH /{rule_ident}'),
    ('delete', SYSTEM_ADMIN, 'Delete an inspection rule.', 'DELETE /{rule_ident}'),
)
