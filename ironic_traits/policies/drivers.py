"""Rules of drivers."""

from ironic_traits.policies.base import READER, rule

RULES = [
    rule(
        'baremetal:driver:get',
        READER,
        'List the enabled drivers, or show one.',
        'GET /v1/drivers',
        'GET /v1/drivers/{driver_name}',
    ),
    rule(
        'baremetal:driver:get_properties',
        READER,
        'List the driver_info keys that a driver understands.',
        'GET /v1/drivers/{driver_name}/properties',
    ),
]
