"""Policy rules of deploy templates."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

RULES = rules(
    'baremetal:deploy_template',
    '/v1/deploy_templates/{template_ident}',
    (
        'get',
        SYSTEM_READER,
        'List deploy templates, or show one; see which of them a request for matches would run.',
        'GET /v1/deploy_templates /v1/deploy_templates/{template_ident}',
    ),
    ('create', SYSTEM_ADMIN, 'Create a deploy template.', 'POST /v1/deploy_templates'),
    ('update', SYSTEM_ADMIN, 'Change a deploy template.', 'PATCH'),
    ('delete', SYSTEM_ADMIN, 'Delete a deploy template.', 'DELETE'),
)
