"""Policy rules of runbooks."""

from ironic_traits.policies.base import of_fields, rules
from ironic_traits.resources.roles import READER, SYSTEM_MEMBER, SYSTEM_READER, any_of
from ironic_traits.resources.runbooks import RUNBOOKS

_ADMIN = any_of(SYSTEM_MEMBER, '(role:manager and project_id:%(runbook.owner)s)', 'role:service')

RULES = rules(
    'baremetal:runbook',
    '/v1/runbooks/{runbook_ident}',
    (
        'get',
        any_of(SYSTEM_READER, '(role:reader and project_id:%(runbook.owner)s)', 'role:service'),
        'Show a runbook that is not public, or the traits of a runbook.',
        'GET /v1/runbooks/{runbook_ident} /traits',
    ),
    ('list', READER, 'List runbooks.', 'GET /v1/runbooks'),
    (
        'list_all',
        SYSTEM_READER,
        "See all runbooks, not only the public ones and those of the caller's project.",
        'GET /v1/runbooks',
    ),
    ('create', any_of(SYSTEM_MEMBER, 'role:manager', 'role:service'), 'Create a runbook.', 'POST /v1/runbooks'),
    (
        'update',
        _ADMIN,
        'Change a runbook, or its traits.',
        'PATCH',
        'PUT /traits /traits/{trait}',
        'DELETE /traits /traits/{trait}',
    ),
    *of_fields(RUNBOOKS.change_rules, 'PATCH'),
    ('delete', _ADMIN, 'Delete a runbook.', 'DELETE'),
    ('use', _ADMIN, 'Clean or service a node with a runbook.', 'PUT /v1/nodes/{node_ident}/states/provision'),
)
