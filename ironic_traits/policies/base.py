"""Base policy rules, and the check strings that the rules of the Placement API combine."""

from collections.abc import Iterable, Iterator, Sequence

from oslo_policy import policy

from ironic_traits.resources.fields import Rule

# Placement API: the names of openstack-placement.
ADMIN_OR_SERVICE = 'rule:admin_or_service_api'
SERVICE_API = 'rule:service_api'
ADMIN_OR_PROJECT_READER_OR_SERVICE = 'rule:admin_or_project_reader_or_service_api'
#: Every authenticated user.
ANY_USER = ''

#: The former default of the Placement rules. It stays in force beside the new defaults, unless [oslo_policy]
#: enforce_new_defaults is set.
_DEPRECATED = policy.DeprecatedRule(
    name='admin_api',
    check_str='role:admin',
    deprecated_reason='Placement rules now also allow the role service, or readers of the project.',
    deprecated_since='5.0.0',
)

RULES = [
    policy.RuleDefault(
        'system_admin', 'role:admin and system_scope:all', description='An administrator of the system.'
    ),
    policy.RuleDefault('system_member', 'role:member and system_scope:all', description='A member of the system.'),
    policy.RuleDefault('system_reader', 'role:reader and system_scope:all', description='A reader of the system.'),
    policy.RuleDefault(
        'service_role',
        'role:service and project_name:%(config.service_project_name)s',
        description='An OpenStack service: the role "service" in the project [api] service_project_name.',
    ),
    policy.RuleDefault(
        'baremetal_service',
        '(role:service and system_scope:all) or rule:service_role',
        description='An OpenStack service that acts on the whole system, as nova does.',
    ),
    policy.RuleDefault(
        'owner_admin',
        '(role:admin or role:manager) and project_id:%(node.owner)s',
        description='An administrator or manager of the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_member',
        'role:member and project_id:%(node.owner)s',
        description='A member of the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_reader',
        'role:reader and project_id:%(node.owner)s',
        description='A reader of the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_service',
        'role:service and project_id:%(node.owner)s',
        description='A service of the project that owns the node.',
    ),
    policy.RuleDefault(
        'lessee_admin',
        '(role:admin or role:manager) and project_id:%(node.lessee)s',
        description='An administrator or manager of the project that leases the node.',
    ),
    policy.RuleDefault(
        'lessee_member',
        'role:member and project_id:%(node.lessee)s',
        description='A member of the project that leases the node.',
    ),
    policy.RuleDefault(
        'lessee_reader',
        'role:reader and project_id:%(node.lessee)s',
        description='A reader of the project that leases the node.',
    ),
    policy.RuleDefault(
        'admin_api', 'role:admin', description='Former default of most Placement rules.', scope_types=['project']
    ),
    policy.RuleDefault(
        'service_api',
        'role:service',
        description='Default of the Placement rules that only services need.',
        scope_types=['project'],
        deprecated_rule=_DEPRECATED,
    ),
    policy.RuleDefault(
        'admin_or_service_api',
        'role:admin or role:service',
        description='Default of most Placement rules.',
        scope_types=['project'],
        deprecated_rule=_DEPRECATED,
    ),
    policy.RuleDefault(
        'project_reader_api',
        'role:reader and project_id:%(project_id)s',
        description='A reader of the project that the request is about.',
        deprecated_rule=_DEPRECATED,
    ),
    policy.RuleDefault(
        'admin_or_project_reader_or_service_api',
        'role:admin or rule:project_reader_api or role:service',
        description='Default of the Placement rules for the resources of a project.',
        scope_types=['project'],
        deprecated_rule=_DEPRECATED,
    ),
]


def rule(name: str, check: str, description: str, *operations: str) -> policy.DocumentedRuleDefault:
    """Return a documented policy rule.

    :param name: name of the rule; those of the Placement API begin with "placement:".
    :param check: check string that is the default.
    :param description: what the rule allows, as a sentence.
    :param operations: the routes that the rule guards, as 'METHOD /path'.
    """
    routes = [operation.split(' ', 1) for operation in operations]
    return policy.DocumentedRuleDefault(
        name,
        check,
        description,
        [{'method': method, 'path': path} for method, path in routes],
        scope_types=['project'] if name.startswith('placement:') else None,
    )


def rules(prefix: str, path: str, *entries: Sequence[str]) -> list[policy.DocumentedRuleDefault]:
    """Return documented policy rules.

    :param prefix: the beginning of their names, such as 'baremetal:port'.
    :param path: the path of the resource, such as '/v1/ports'.
    :param entries: (the rest of the name, check string, description, 'METHOD PATH PATH', …), as for ``rule``. A path
        may be one below that of the resource, such as '/detail'. Without one, it is that of the resource.
    """
    root = path[: path.index('/', 1) + 1]
    return [
        rule(f'{prefix}:{name}', check, description, *_operations(root, path, routes))
        for name, check, description, *routes in entries
    ]


def of_fields(field_rules: Iterable[Rule], operations: str) -> list[Sequence[str]]:
    """Return the entries of ``rules`` for the rules of single fields.

    :param operations: 'METHOD PATH PATH'.
    """
    return [(each.name.split(':', 2)[2], each.check, each.description, operations) for each in field_rules]


def _operations(root: str, path: str, routes: Sequence[str]) -> Iterator[str]:
    for method, *paths in map(str.split, routes):
        yield from (f'{method} {each}' if each.startswith(root) else f'{method} {path}{each}' for each in paths or [''])
