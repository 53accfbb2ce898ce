"""Policy rules of drivers."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_READER, SYSTEM_SERVICE, any_of

RULES = [
    rule(
        'baremetal:driver:get',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List the enabled drivers, or show one.',
        'GET /v1/drivers',
        'GET /v1/drivers/{driver_name}',
    ),
    rule(
        'baremetal:driver:get_properties',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List the driver_info keys of a driver.',
        'GET /v1/drivers/{driver_name}/properties',
    ),
]
