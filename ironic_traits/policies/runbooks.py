"""Policy rules of runbooks."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER, SYSTEM_MEMBER, SYSTEM_READER, any_of
from ironic_traits.resources.runbooks import RUNBOOKS

_ADMIN = any_of(SYSTEM_MEMBER, '(role:manager and project_id:%(runbook.owner)s)', 'role:service')
_RUNBOOK, _TRAITS = '/v1/runbooks/{runbook_ident}', '/v1/runbooks/{runbook_ident}/traits'

RULES = [
    rule(
        'baremetal:runbook:get',
        any_of(SYSTEM_READER, '(role:reader and project_id:%(runbook.owner)s)', 'role:service'),
        'Show a runbook that is not public, or the traits of a runbook.',
        f'GET {_RUNBOOK}',
        f'GET {_TRAITS}',
    ),
    rule('baremetal:runbook:list', READER, 'List runbooks.', 'GET /v1/runbooks'),
    rule(
        'baremetal:runbook:list_all',
        SYSTEM_READER,
        "See all runbooks, not only the public ones and those of the caller's project.",
        'GET /v1/runbooks',
    ),
    rule(
        'baremetal:runbook:create',
        any_of(SYSTEM_MEMBER, 'role:manager', 'role:service'),
        'Create a runbook.',
        'POST /v1/runbooks',
    ),
    rule(
        'baremetal:runbook:update',
        _ADMIN,
        'Change a runbook, or its traits.',
        f'PATCH {_RUNBOOK}',
        f'PUT {_TRAITS}',
        f'PUT {_TRAITS}/{{trait}}',
        f'DELETE {_TRAITS}',
        f'DELETE {_TRAITS}/{{trait}}',
    ),
    *(rule(each.name, each.check, each.description, f'PATCH {_RUNBOOK}') for each in RUNBOOKS.change_rules),
    rule('baremetal:runbook:delete', _ADMIN, 'Delete a runbook.', f'DELETE {_RUNBOOK}'),
    rule(
        'baremetal:runbook:use',
        _ADMIN,
        'Clean or service a node with a runbook.',
        'PUT /v1/nodes/{node_ident}/states/provision',
    ),
]
