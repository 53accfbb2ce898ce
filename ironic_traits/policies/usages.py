"""Policy rules of usages."""

from ironic_traits.policies.base import ADMIN_OR_PROJECT_READER_OR_SERVICE, ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement',
    '/placement/resource_providers/{uuid}/usages',
    ('resource_providers:usages', ADMIN_OR_SERVICE, 'Show the usages of a resource provider.', 'GET'),
    ('usages', ADMIN_OR_PROJECT_READER_OR_SERVICE, 'Show the usages of a project.', 'GET /placement/usages'),
)
