"""Policy rules of the catalogue of traits."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import READER, SYSTEM_ADMIN, SYSTEM_MEMBER

RULES = rules(
    'baremetal:trait',
    '/v1/traits/{trait}',
    (
        'get',
        READER,
        'Show what traits mean, and how many of the nodes that the caller may see have them.',
        'GET /v1/traits /v1/traits/{trait}',
    ),
    ('update', SYSTEM_MEMBER, 'Describe or retire a trait.', 'PUT', 'PATCH'),
    (
        'update:exclusive',
        SYSTEM_ADMIN,
        'Make a trait exclusive, or not exclusive any more. The rule baremetal:trait:update must allow it, too.',
        'PUT',
        'PATCH',
    ),
)
