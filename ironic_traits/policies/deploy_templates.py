"""Policy rules of deploy templates."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

RULES = [
    rule(
        'baremetal:deploy_template:get',
        SYSTEM_READER,
        'List deploy templates, or show one; see which of them a request for matches would run.',
        'GET /v1/deploy_templates',
        'GET /v1/deploy_templates/{template_ident}',
    ),
    rule('baremetal:deploy_template:create', SYSTEM_ADMIN, 'Create a deploy template.', 'POST /v1/deploy_templates'),
    rule(
        'baremetal:deploy_template:update',
        SYSTEM_ADMIN,
        'Change a deploy template.',
        'PATCH /v1/deploy_templates/{template_ident}',
    ),
    rule(
        'baremetal:deploy_template:delete',
        SYSTEM_ADMIN,
        'Delete a deploy template.',
        'DELETE /v1/deploy_templates/{template_ident}',
    ),
]
