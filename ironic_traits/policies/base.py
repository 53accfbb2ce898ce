"""Rules that others are made of."""

from oslo_policy import policy

# Of the Bare Metal API.
ADMIN = 'rule:baremetal_admin_api'
READER = 'rule:baremetal_reader_api'

# Of the Placement API, by the real service's names.
ADMIN_OR_SERVICE = 'rule:admin_or_service_api'
SERVICE = 'rule:service_api'
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
    policy.RuleDefault('baremetal_admin_api', 'role:admin or role:service', description='May do everything.'),
    policy.RuleDefault(
        'baremetal_reader_api', 'rule:baremetal_admin_api or role:reader', description='May look at everything.'
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
