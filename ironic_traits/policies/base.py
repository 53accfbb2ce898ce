"""Rules that others are made of."""

from oslo_policy import policy

# Of the Bare Metal API: who somebody is to the whole system, and to the project that owns or leases a node.
SYSTEM_ADMIN = 'rule:system_admin'
SYSTEM_MEMBER = 'rule:system_member'
SYSTEM_READER = 'rule:system_reader'
SERVICE = 'rule:baremetal_service'
SYSTEM_SERVICE = 'role:service and system_scope:all'
OWNER_ADMIN = 'rule:owner_admin'
OWNER_MEMBER = 'rule:owner_member'
OWNER_READER = 'rule:owner_reader'
OWNER_SERVICE = 'rule:owner_service'
LESSEE_ADMIN = 'rule:lessee_admin'
LESSEE_MEMBER = 'rule:lessee_member'
LESSEE_READER = 'rule:lessee_reader'


def any_of(*personas):
    """Give the check that somebody is one of these."""
    return ' or '.join(personas)


#: Who sees a node, who works with it, who uses it, and who decides what it is.
SEES = any_of(SYSTEM_READER, SERVICE, OWNER_READER, LESSEE_READER, OWNER_SERVICE)
USES = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, LESSEE_MEMBER)
WORKS = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, LESSEE_ADMIN, OWNER_SERVICE)
OWNS = any_of(SYSTEM_MEMBER, SERVICE, OWNER_MEMBER, OWNER_SERVICE)
DECIDES = any_of(SYSTEM_MEMBER, SERVICE, OWNER_ADMIN, OWNER_SERVICE)
#: Who says what a node is made of.
BUILDS = any_of(SYSTEM_ADMIN, SYSTEM_SERVICE, OWNER_ADMIN, OWNER_SERVICE)
#: Who may look at everything; and who may ask at all, for what the own project has.
SEES_ALL = any_of(SYSTEM_READER, SERVICE)
ASKS = 'role:reader or role:service'

# Of the Placement API, by the real service's names.
ADMIN_OR_SERVICE = 'rule:admin_or_service_api'
SERVICE_API = 'rule:service_api'
ADMIN_OR_PROJECT_READER_OR_SERVICE = 'rule:admin_or_project_reader_or_service_api'
#: Everyone who is known.
ANYONE = ''

#: What the Placement rules were, and are beside what they have become, until [oslo_policy] enforce_new_defaults.
_DEPRECATED = policy.DeprecatedRule(
    name='admin_api',
    check_str='role:admin',
    deprecated_reason='The Placement API has roles of its own for services and for projects.',
    deprecated_since='5.0.0',
)

RULES = [
    policy.RuleDefault('system_admin', 'role:admin and system_scope:all', description='Administers the system.'),
    policy.RuleDefault('system_member', 'role:member and system_scope:all', description='Works with the system.'),
    policy.RuleDefault('system_reader', 'role:reader and system_scope:all', description='Looks at the system.'),
    policy.RuleDefault(
        'service_role',
        'role:service and project_name:%(config.service_project_name)s',
        description='A service, by the project that services are in: [api] service_project_name.',
    ),
    policy.RuleDefault(
        'baremetal_service',
        '(role:service and system_scope:all) or rule:service_role',
        description='A service that works for the whole system, as nova does.',
    ),
    policy.RuleDefault(
        'owner_admin',
        '(role:admin or role:manager) and project_id:%(node.owner)s',
        description='Administers or manages the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_member',
        'role:member and project_id:%(node.owner)s',
        description='Works in the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_reader',
        'role:reader and project_id:%(node.owner)s',
        description='Looks at the project that owns the node.',
    ),
    policy.RuleDefault(
        'owner_service',
        'role:service and project_id:%(node.owner)s',
        description='A service of the project that owns the node.',
    ),
    policy.RuleDefault(
        'lessee_admin',
        '(role:admin or role:manager) and project_id:%(node.lessee)s',
        description='Administers or manages the project that leases the node.',
    ),
    policy.RuleDefault(
        'lessee_member',
        'role:member and project_id:%(node.lessee)s',
        description='Works in the project that leases the node.',
    ),
    policy.RuleDefault(
        'lessee_reader',
        'role:reader and project_id:%(node.lessee)s',
        description='Looks at the project that leases the node.',
    ),
    policy.RuleDefault(
        'admin_api', 'role:admin', description='Default of most Placement rules, in the past.', scope_types=['project']
    ),
    policy.RuleDefault(
        'service_api',
        'role:service',
        description='Default of the Placement rules for services.',
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
        description='May look at what is of the own project.',
        deprecated_rule=_DEPRECATED,
    ),
    policy.RuleDefault(
        'admin_or_project_reader_or_service_api',
        'role:admin or rule:project_reader_api or role:service',
        description='Default of the Placement rules for what is of a project.',
        scope_types=['project'],
        deprecated_rule=_DEPRECATED,
    ),
]


def rule(name, check, description, *operations):
    """Make a rule.

    :param operations: the routes that it guards, as 'METHOD /path'.
    """
    split = [operation.split(' ', 1) for operation in operations]
    return policy.DocumentedRuleDefault(
        name,
        check,
        description,
        [{'method': method, 'path': path} for method, path in split],
        scope_types=['project'] if name.startswith('placement:') else None,
    )
