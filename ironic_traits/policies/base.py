"""Rules that others are made of."""

from oslo_policy import policy

ADMIN = 'rule:admin_api'
READER = 'rule:reader_api'

RULES = [
    policy.RuleDefault('admin_api', 'role:admin or role:service', description='May do everything.'),
    policy.RuleDefault('reader_api', 'rule:admin_api or role:reader', description='May look at everything.'),
]


def rule(name, check, description, *operations):
    """Make a rule.

    :param operations: the routes that it guards, as 'METHOD /path'.
    """
    split = [operation.split(' ', 1) for operation in operations]
    return policy.DocumentedRuleDefault(
        name, check, description, [{'method': method, 'path': path} for method, path in split]
    )
