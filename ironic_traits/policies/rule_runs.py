"""Policy rules of runs of inspection rules over stored data."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OWNER_ADMIN

RULES = rules(
    'baremetal:inspection_rule',
    '/v1/inspection_rules',
    (
        'preview',
        NODE_OWNER_ADMIN,
        'See what inspection rules would do on nodes. The rule for seeing the data of the inspection of a node must '
        'allow it, too, for each of the nodes.',
        'POST /preview',
    ),
    ('apply', NODE_OWNER_ADMIN, 'Run the inspection rules in force over the stored data of nodes.', 'POST /apply'),
)
