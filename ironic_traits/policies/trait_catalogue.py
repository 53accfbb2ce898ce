"""Policy rules of the catalogue of traits."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER, SYSTEM_MEMBER

RULES = [
    rule(
        'baremetal:trait:get',
        READER,
        'Show what traits mean, and how many of the nodes that the caller may see have them.',
        'GET /v1/traits',
        'GET /v1/traits/{trait}',
    ),
    rule('baremetal:trait:update', SYSTEM_MEMBER, 'Describe or retire a trait.', 'PUT /v1/traits/{trait}'),
]
