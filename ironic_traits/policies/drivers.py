"""Policy rules of drivers."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import SYSTEM_READER, SYSTEM_SERVICE, any_of

RULES = rules(
    'baremetal:driver',
    '/v1/drivers/{driver_name}',
    (
        'get',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List the enabled drivers, or show one.',
        'GET /v1/drivers /v1/drivers/{driver_name}',
    ),
    (
        'get_properties',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List the driver_info keys of a driver.',
        'GET /properties',
    ),
)
